"""`import liza`: the same functions that the commands call, for programs."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import liza
import liza.api
from liza.errors import LizaError, NoBlackboard, Refused, Unreadable
from liza.scopes.sprint.evaluate import FollowUpFailed
from tests.cli.run import anomalies, environment, new_board
from tests.cli.run import liza as command

NOW = datetime(2025, 1, 18, 17, 30, tzinfo=UTC)
DISPUTED = "claims:\n  - {id: c-1, status: DISPUTED}\n  - {id: c-2, status: OPEN}\n"


def blocked(root: Path, *tasks: str) -> None:
    for task in tasks:
        liza.record(
            "external_blocker", task=task, reporter="coder-1", details={"blocker_service": "payments"}, root=root
        )


# --- the package itself ---------------------------------------------------------------------------------------------


def test_import_loads_no_other_module() -> None:
    code = "import sys; before = set(sys.modules); import liza; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['liza']\n"


def test_package_exports_the_api() -> None:
    assert set(liza.__all__) - {"__version__"} == set(liza.api.__all__)
    assert set(liza.__all__) <= set(dir(liza))
    assert all(getattr(liza, name) is getattr(liza.api, name) for name in liza.api.__all__)
    assert all(getattr(liza, name).__doc__ for name in liza.api.__all__)


def test_unknown_attribute_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'analyse'"):
        _ = getattr(liza, "analyse")  # noqa: B009 - mypy knows that it is not there


@pytest.mark.slow
def test_type_checker_sees_api_types(tmp_path: Path) -> None:
    """Slow because it runs mypy; `make test` checks only that these tests type-check."""
    lines = [
        "import liza",
        "liza.analyze().is_open.bit_length()",
        "liza.gate(loop='a').why.title()",
        "liza.resolve('text')",
        "liza.record('retry_loop', task='t', repoter='r')",
        "liza.analyse()",
    ]
    (tmp_path / "agent.py").write_text("\n".join(lines) + "\n")
    cache = Path(liza.__file__).parent.parent / ".mypy_cache" / "api"
    words = ["--strict", "--follow-imports=silent", "--cache-dir", str(cache), "agent.py"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    faults = [line.split(":")[1] for line in done.stdout.splitlines() if ": error:" in line]
    assert list(dict.fromkeys(faults)) == ["4", "5", "6"], done.stdout


# --- where the blackboard is ----------------------------------------------------------------------------------------


def test_api_finds_same_blackboard_as_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_board(tmp_path / "one")
    new_board(tmp_path / "two")
    deep = tmp_path / "one" / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    monkeypatch.delenv("LIZA_ROOT", raising=False)
    found = [liza.record("scope_deviation", task="t", reporter="r").file]
    monkeypatch.setenv("LIZA_ROOT", str(tmp_path / "two"))
    found += [liza.record("scope_deviation", task="t", reporter="r").file]
    found += [liza.record("scope_deviation", task="t", reporter="r", root=root).file for root in _spellings(tmp_path)]
    names = ["one", "two", "one", "one", "one"]
    assert [Path(file).resolve() for file in found] == [tmp_path / name / ".liza" / "state.yaml" for name in names]


def _spellings(folder: Path) -> list[str | os.PathLike[str]]:
    return [folder / "one", str(folder / "one"), folder / "one" / ".liza"]


def test_missing_blackboard_raises_file_not_found(tmp_path: Path) -> None:
    for call in (
        liza.analyze,
        lambda root: liza.resolve("x", by="ann", root=root),
        lambda root: liza.loop("a", root=root),
    ):
        with pytest.raises(FileNotFoundError) as caught:
            call(tmp_path)
        assert isinstance(caught.value, NoBlackboard)
        assert "liza init" in str(caught.value.hint)


# --- from an anomaly to a decision ----------------------------------------------------------------------------------


def test_recorded_anomalies_trip_halt_and_resolve(tmp_path: Path) -> None:
    new_board(tmp_path)
    blocked(tmp_path, "task-1")
    assert not liza.analyze(tmp_path).is_open
    blocked(tmp_path, "task-2")
    assert liza.gate(tmp_path)
    found = liza.analyze(tmp_path)
    assert (found.is_open, found.tripped) == (True, True)
    assert found.trigger is not None
    assert (found.trigger["pattern"], found.trigger["severity"]) == ("external_service_outage", "EXTERNAL_DEPENDENCY")
    stopped = liza.gate(tmp_path)
    assert not stopped
    assert "external_service_outage" in stopped.why
    assert "liza resolve" in stopped.hint
    again = liza.analyze(tmp_path)
    assert (again.is_open, again.tripped) == (True, False)
    done = liza.resolve("back at six", by="ann", root=tmp_path, now=NOW)
    assert done.trigger is not None
    assert (done.trigger["trip_id"], done.left) == (found.trigger["trip_id"], None)
    assert liza.gate(tmp_path)
    assert not liza.analyze(tmp_path).is_open
    answer = command(tmp_path, "status", "--json").json
    assert (answer["status"], answer["history"][1]["resolved_by"]) == ("ok", "ann")
    assert answer["history"][1]["resolved_at"] == "2025-01-18T17:30:00Z"


def test_dry_run_reports_match_and_writes_nothing(tmp_path: Path) -> None:
    file = new_board(tmp_path)
    blocked(tmp_path, "task-1", "task-2")
    before = file.read_bytes()
    found = liza.analyze(tmp_path, dry_run=True)
    assert (found.is_open, found.tripped, found.trigger) == (True, False, None)
    assert [match.rule.name for match in found.verdict.matches] == ["external_service_outage"]
    assert (file.read_bytes(), bool(liza.gate(tmp_path))) == (before, True)


def test_record_writes_same_anomaly_as_command(tmp_path: Path) -> None:
    for name in ("api", "command"):
        new_board(tmp_path / name)
    at = NOW.astimezone(UTC) - timedelta(hours=1)
    details = {"count": 3, "error_pattern": "TypeError: x"}
    added = liza.record("retry_loop", task="t-1", reporter="c-1", details=details, timestamp=at, root=tmp_path / "api")
    words = ["count=3", "error_pattern=TypeError: x", "--timestamp", "2025-01-18T16:30:00Z"]
    ran = command(
        tmp_path / "command", "log", "anomaly", "--type", "retry_loop", "--task", "t-1", "--reporter", "c-1", *words
    )
    assert ran.code == 0
    assert anomalies(tmp_path / "api") == anomalies(tmp_path / "command")
    assert (added.record["details"], added.line, added.warnings) == (details, 3, ())


@pytest.mark.parametrize(
    ("kind", "details", "message"),
    [
        ("retry_loop", None, "error_pattern"),
        ("external_blocker", {"blocker_service": object()}, "object"),
        ("external_blocker", {"blocker_service": 5}, "blocker_service"),
    ],
)
def test_unusable_anomaly_is_refused(
    tmp_path: Path, kind: str, details: dict[str, object] | None, message: str
) -> None:
    file = new_board(tmp_path)
    before = file.read_bytes()
    with pytest.raises(ValueError, match=message):
        liza.record(kind, task="t", reporter="r", details=details, root=tmp_path)
    assert file.read_bytes() == before


def test_unknown_type_is_recorded_with_warning(tmp_path: Path) -> None:
    new_board(tmp_path)
    added = liza.record("retryloop", task="t", reporter="r", root=tmp_path)
    assert [(fault.level, fault.hint) for fault in added.warnings] == [("warning", "did you mean retry_loop?")]


@pytest.mark.parametrize(("text", "by"), [("", "ann"), (" ", "ann"), ("decided", ""), ("decided", " \t")])
def test_resolve_needs_text_and_person(tmp_path: Path, text: str, by: str) -> None:
    new_board(tmp_path)
    blocked(tmp_path, "task-1", "task-2")
    liza.analyze(tmp_path)
    with pytest.raises(Refused):
        liza.resolve(text, by=by, root=tmp_path)
    assert not liza.gate(tmp_path)


def test_time_without_zone_is_refused(tmp_path: Path) -> None:
    new_board(tmp_path)
    naive = datetime(2025, 1, 18)
    for call in (
        lambda: liza.analyze(tmp_path, now=naive),
        lambda: liza.record("scope_deviation", task="t", reporter="r", timestamp=naive, root=tmp_path),
        lambda: liza.resolve("x", by="ann", root=tmp_path, now=naive),
    ):
        with pytest.raises(Refused, match="no time zone"):
            call()
    assert "anomalies: []" in (tmp_path / ".liza" / "state.yaml").read_text()


# --- degraded blackboards -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "a: [\n", "anomalies: 5\n", "{}\n"])
def test_unreadable_blackboard_raises_degraded_error(tmp_path: Path, text: str) -> None:
    new_board(tmp_path, text)
    with pytest.raises(Unreadable) as caught:
        liza.analyze(tmp_path)
    assert isinstance(caught.value, LizaError)
    assert (caught.value.exit_code, bool(caught.value.hint)) == (4, True)


def test_invalid_rules_are_an_error(tmp_path: Path) -> None:
    new_board(tmp_path)
    (tmp_path / ".liza" / "rules.yaml").write_text("rules: [{name: x}]\n")
    with pytest.raises(Unreadable):
        liza.analyze(tmp_path)


def test_unwritable_report_still_halts_and_raises(tmp_path: Path) -> None:
    new_board(tmp_path)
    blocked(tmp_path, "task-1", "task-2")
    (tmp_path / ".liza" / "circuit_breaker_report.md").mkdir()
    with pytest.raises(FollowUpFailed) as caught:
        liza.analyze(tmp_path)
    assert caught.value.trigger["pattern"] == "external_service_outage"
    assert not liza.gate(tmp_path)


# --- the gate -------------------------------------------------------------------------------------------------------


def test_gate_answers_for_each_scope(tmp_path: Path) -> None:
    loops = "loops:\n  nightly: {status: OPEN, trigger_reason: stuck}\n"
    slices = "slices:\n  s-1: {status: STOPPED}\n"
    new_board(tmp_path, f"version: 1\n{DISPUTED}{loops}{slices}stages:\n  - {{name: S5, status: BLOCKED}}\n")
    assert liza.gate(tmp_path, claim="c-2", slice="s-9", loop="daily", stage="S1")
    stopped = [
        liza.gate(tmp_path, claim="c-1"),
        liza.gate(tmp_path, slice="s-1"),
        liza.gate(tmp_path, loop="nightly"),
        liza.gate(tmp_path, stage="S5"),
    ]
    assert [bool(answer) for answer in stopped] == [False] * 4
    assert [answer.why.split()[0] for answer in stopped] == ["claim", "slice", "loop", "stage"]
    assert all(answer.hint for answer in stopped)


def test_gate_allows_nowhere_but_not_root_without_blackboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LIZA_ROOT", raising=False)
    assert liza.gate()
    assert liza.gate(loop="a")
    assert not liza.gate(tmp_path)
    monkeypatch.setenv("LIZA_ROOT", str(tmp_path))
    assert str(tmp_path) in liza.gate().why


def test_scoped_gate_stops_on_unreadable_blackboard(tmp_path: Path) -> None:
    new_board(tmp_path, "claims: [\n")
    assert liza.gate(tmp_path)
    stopped = liza.gate(tmp_path, loop="a")
    assert not stopped
    assert "state.yaml" in stopped.why


# --- loops ----------------------------------------------------------------------------------------------------------


def test_loop_without_progress_opens_and_ends(tmp_path: Path) -> None:
    new_board(tmp_path)
    loop = liza.loop("coder-1", task="task-3", root=tmp_path)
    numbers = []
    for number in loop:
        numbers.append(number)
        loop.record(files_changed=0)
    assert (numbers, loop.completed) == ([1, 2, 3], False)
    assert loop.why == "loop coder-1 is OPEN: No progress for 3 iterations"
    assert loop.last is not None
    assert loop.last.status == "OPEN"
    assert list(liza.loop("coder-1", root=tmp_path)) == []
    assert command(tmp_path, "loop", "status", "coder-1").code == 3


def test_completed_loop_ends(tmp_path: Path) -> None:
    new_board(tmp_path)
    loop = liza.loop("coder-1", root=tmp_path)
    for number in loop:
        loop.record(progress=50 * number, files_changed=1)
    assert (loop.completed, loop.why) == (True, "loop coder-1 is completed")
    assert next(iter(liza.loop("coder-1", root=tmp_path))) == 1, "the next loop starts over"


def test_claimed_done_needs_evidence(tmp_path: Path) -> None:
    new_board(tmp_path)
    loop = liza.loop("coder-1", root=tmp_path)
    for number in loop:
        loop.record(claims_done=True, files_changed=1, evidence={"tests": number > 1})
    assert (loop.completed, len(loop.last.loop["iterations"]) if loop.last else 0) == (True, 2)


def test_loop_ends_when_agents_are_halted(tmp_path: Path) -> None:
    new_board(tmp_path)
    loop = liza.loop("coder-1", root=tmp_path)
    for number in loop:
        loop.record(progress=number, files_changed=1)
        if number == 2:
            (tmp_path / ".liza" / "CHECKPOINT").touch()
    assert (loop.completed, "CHECKPOINT" in loop.why) == (False, True)


def test_loop_ends_on_unreadable_blackboard(tmp_path: Path) -> None:
    file = new_board(tmp_path)
    loop = liza.loop("coder-1", root=tmp_path)
    for number in loop:
        assert number == 1
        loop.record(files_changed=1)
        file.write_text("loops: [\n")
    assert "state.yaml" in loop.why


def test_unrecorded_iteration_counts(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, env=environment(tmp_path), check=True)
    new_board(tmp_path)
    loop = liza.loop("coder-1", root=tmp_path)
    assert list(loop) == [1, 2, 3, 4]  # what the first one changed is unknown
    assert "No progress for 3 iterations" in loop.why


def test_loop_reads_error_from_output(tmp_path: Path) -> None:
    new_board(tmp_path)
    loop = liza.loop("coder-1", root=tmp_path)
    for number in loop:
        loop.record(output=f"attempt {number}\nTypeError: total is not a function\n", files_changed=1)
    assert loop.last is not None
    assert (loop.last.status, loop.last.loop["history"][0]["rules"]) == ("OPEN", ["repeated_errors"])
    signatures = [each["signature"] for each in loop.last.loop["error_history"]]
    assert signatures == ["TypeError: total is not a function"] * 3


def test_disabled_loop_breaker_warns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_board(tmp_path)
    monkeypatch.setenv("CIRCUIT_BREAKER_DISABLED", "true")
    loop = liza.loop("coder-1", root=tmp_path)
    with pytest.warns(RuntimeWarning, match="CIRCUIT_BREAKER_DISABLED"):
        next(iter(loop))


@pytest.mark.parametrize(
    "wrong",
    [
        {"progress": 101}, {"progress": -1}, {"progress": float("nan")}, {"files_changed": -1}, {"tokens": True},
        {"duration": "5"}, {"outcome": "fine"}, {"error": "a", "output": "b"},
    ],
    ids=str,
)  # fmt: skip
def test_invalid_loop_values_are_refused(tmp_path: Path, wrong: dict[str, object]) -> None:
    file = new_board(tmp_path)
    before = file.read_bytes()
    known: dict[str, object] = {"files_changed": 1}
    with pytest.raises(Refused):
        liza.loop("coder-1", root=tmp_path).record(**{**known, **wrong})  # type: ignore[arg-type]
    assert file.read_bytes() == before
