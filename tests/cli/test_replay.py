"""`liza replay`: the records of a blackboard played back, without leaving a trace."""

from collections.abc import Sequence
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.cli.run import Result, environment, liza, new_board, on_a_terminal, served
from tests.cli.test_untrusted_text import NASTY, harmless
from tests.store.oracle import libyaml_value

OWN = """\
rules:
  - {name: retry_cluster, enabled: false}
  - {name: pair, condition: "count(type=workaround) >= 2", severity: SPEC_FLAW}
  - {name: streak, condition: "streak(type=retry_loop) >= 2", severity: SPEC_FLAW}
  - {name: watched, condition: "count() >= 1", severity: SPEC_FLAW, mode: observe}
"""
LOG_RULE = "rules:\n  - {name: deploys, condition: count(log where action=deploy) >= 2, severity: SPEC_FLAW}\n"


class Step(NamedTuple):
    """One step of a team: an anomaly, or a decision on the open trip."""

    minutes: int  # since the step before
    kind: str  # of the anomaly; "" for a decision
    text: str


def time(minutes: int) -> str:
    return f"2025-01-{18 + minutes // 1440}T{minutes // 60 % 24:02}:{minutes % 60:02}:00Z"


def live(folder: Path, steps: Sequence[Step], rules: str | None = None) -> list[dict[str, Any]]:
    """Run a team that checks its blackboard after each record and each decision; returns its trips."""
    state = new_board(folder, f"version: 1\nsprint: {{timeline: {{started: {time(0)}}}}}\nanomalies: []\n")
    if rules is not None:
        (folder / ".liza" / "rules.yaml").write_text(rules)
    env = environment(folder)

    def run(*words: str) -> Result:
        ran = served(words, folder, env)
        assert ran.code in (0, 3), ran.err
        return ran

    now = 0
    for number, step in enumerate(steps):
        now += step.minutes
        if step.kind:
            names = ("what", "error_pattern", "assumption", "reality", "blocker_service")
            details = ["count=3", *(f"{name}={step.text}" for name in names)]
            about = ("--task", f"task-{number}", "--reporter", "coder-1", "--timestamp", time(now))
            run("log", "anomaly", "--type", step.kind, *about, *details)
        else:
            run("resolve", "-m", step.text, "--by", "ann", "--now", time(now))
        run("analyze", "--quiet", "--now", time(now))
    history = libyaml_value(state.read_bytes())["circuit_breaker"]["history"]
    return [entry for entry in history if entry["result"] == "TRIGGERED"]


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file of the blackboard, with its bytes and mtime."""
    return {
        str(path): (path.read_bytes() if path.is_file() else b"", path.stat().st_mtime_ns)
        for path in sorted((folder / ".liza").rglob("*"), key=str)
    } | {".": (b"", (folder / ".liza").stat().st_mtime_ns)}


def board(folder: Path, *minutes: int) -> Path:
    """A blackboard with a retry at each of these times, in file order."""
    record = "- {timestamp: %s, task: task-%s, type: retry_loop, details: {error_pattern: a b c, count: 3}}\n"
    lines = [record % (time(at), number) for number, at in enumerate(minutes)]
    return new_board(folder, "version: 1\nanomalies:\n" + "".join(lines))


def retries(*minutes: int, text: str = "timeout after 30 s") -> list[Step]:
    """Retries with these gaps in minutes."""
    return [Step(each, "retry_loop", text) for each in minutes]


ENOUGH = [Phase.explicit, Phase.generate]  # each example is many processes: no shrinking
DECIDED = Step(5, "", "ADR-7")


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("worked")
    live(folder, [*retries(10, 10, 10, 10), DECIDED, *retries(60, 10, 10)])
    return folder


@pytest.fixture
def twice(worked: Path, tmp_path: Path) -> Path:
    """A blackboard with two trips, the first resolved, the second open."""
    copytree(worked, tmp_path, dirs_exist_ok=True)
    return tmp_path


# --- replaying recorded trips -----------------------------------------------------------------------------------------

STEPS = st.lists(
    st.builds(
        Step,
        st.integers(1, 400),
        st.sampled_from(["retry_loop", "retry_loop", "workaround", "assumption_violated", "external_blocker", "", ""]),
        st.sampled_from(["timeout after 30 s", "Timeout after 5 s.", "no shared clock"]),
    ),
    max_size=12,
)


@settings(max_examples=10, phases=ENOUGH)
@given(steps=STEPS, rules=st.sampled_from([None, OWN]))
def test_replay_repeats_every_recorded_trip(steps: list[Step], rules: str | None) -> None:
    with TemporaryDirectory() as folder:
        history = live(Path(folder), steps, rules) if steps else []
        if not steps:
            new_board(Path(folder))
        ran = served(["replay", "--json"], Path(folder), environment(Path(folder)))
        assert ran.code == 0, ran.err
        (replay,) = ran.json["replays"]
    played = [
        (trip["rule"], trip["at"], trip["trip_id"], trip["resolved_at"], trip["as_recorded"])
        for trip in replay["trips"]
    ]
    assert played == [
        (
            entry["pattern"],
            entry["timestamp"],
            entry["trip_id"],
            entry.get("resolved_at"),
            True,
        )
        for entry in history
    ]
    also = [{each["rule"] for each in trip["joined"]} for trip in replay["trips"]]
    assert also == [set(entry.get("also_matched", ())) for entry in history]


def test_trips_are_shown_with_records_and_outcome(twice: Path) -> None:
    ran = liza(twice, "replay")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "7 records, 1 resolution, 2025-01-18T00:10:00Z to 2025-01-18T02:05:00Z (1 h 55 min)",
        "",
        "with the active rules: 2 trips",
        "  ● 2025-01-18T00:30:00Z  retry_cluster  3 of 3  anomalies[2] task-2  timeout after 30 s",
        "      resolved after 15 min by ann: ADR-7  (as recorded)",
        "  ● 2025-01-18T02:05:00Z  retry_cluster  3 of 3  anomalies[6] task-7  timeout after 30 s",
        "      still open at the end  (as recorded)",
    ]


def test_json_names_the_records_of_each_trip(twice: Path) -> None:
    document = liza(twice, "replay", "--json").json
    assert document["events"] == {"records": 7, "resolutions": 1, "without_time": 0}
    first, second = document["replays"][0]["trips"]
    assert first["record"] == {"stream": "anomalies", "key": 2}
    assert [each["key"] for each in first["evidence"]] == [0, 1, 2]
    assert second["record"] == {"stream": "anomalies", "key": 6}
    assert [each["key"] for each in second["evidence"]] == [4, 5, 6]


def test_recorded_trip_missing_in_replay_is_named(twice: Path) -> None:
    state = twice / ".liza" / "state.yaml"
    state.write_text(state.read_text().replace("task: task-2", "task: task-99"))
    lines = liza(twice, "replay").out.splitlines()
    assert lines[4] == "      resolved after 15 min by ann: ADR-7"
    assert "not in this replay: retry_cluster of 2025-01-18T00:30:00Z" in lines[-1]


def test_records_out_of_order_trip_as_recorded(tmp_path: Path) -> None:
    board(tmp_path, 10, 5, 20)
    assert liza(tmp_path, "analyze", "--now", time(20)).code == 3
    lines = liza(tmp_path, "replay").out.splitlines()
    assert "with the active rules: 1 trip" in lines
    assert lines[-1] == "      still open at the end  (as recorded)"


def test_invalid_trip_id_is_left_out(tmp_path: Path) -> None:
    state = board(tmp_path, 1)
    entry = "{pattern: x, trip_id: [1], result: TRIGGERED}"
    state.write_text(f"{state.read_text()}circuit_breaker: {{history: [{entry}]}}\n")
    for words in ([], ["--json"]):
        ran = liza(tmp_path, "replay", *words)
        assert (ran.code, ran.err) == (0, "")


# --- what would have happened -----------------------------------------------------------------------------------------


def test_higher_threshold_trips_later_or_never(twice: Path) -> None:
    now, then = liza(twice, "replay", "--set", "retry_cluster.threshold=4", "--json").json["replays"]
    assert [trip["at"] for trip in now["trips"]] == ["2025-01-18T00:30:00Z", "2025-01-18T02:05:00Z"]
    assert [(trip["at"], trip["as_recorded"]) for trip in then["trips"]] == [("2025-01-18T00:40:00Z", False)]
    assert then["rules"] == "with retry_cluster.threshold=4"
    out = liza(twice, "replay", "--set", "retry_cluster.threshold=4").out
    assert out.splitlines()[-1] == "difference: 1 trip fewer"


@settings(max_examples=10, phases=ENOUGH)
@given(st.lists(st.integers(1, 60), max_size=12), st.integers(1, 6))
def test_higher_threshold_never_finds_more(gaps: list[int], threshold: int) -> None:
    with TemporaryDirectory() as folder:
        now = 0
        lines = []
        for gap in gaps:
            now += gap
            lines.append(
                f"- {{timestamp: {time(now)}, task: t, type: retry_loop, details: {{error_pattern: a b c}}}}\n"
            )
        new_board(Path(folder), "version: 1\nanomalies:\n" + "".join(lines) if lines else None)
        words = ["replay", "--json", "--set", f"retry_cluster.threshold={threshold}"]
        (one,) = served(words, Path(folder), environment(Path(folder))).json["replays"][1:]
        words[-1] = f"retry_cluster.threshold={threshold + 1}"
        (other,) = served(words, Path(folder), environment(Path(folder))).json["replays"][1:]
    assert len(one["trips"]) == (len(gaps) >= threshold)
    assert len(other["trips"]) == (len(gaps) >= threshold + 1)


def test_other_rules_are_compared_with_active_ones(twice: Path) -> None:
    (twice / "other.yaml").write_text("rules: [{name: any, condition: count() >= 1, severity: SPEC_FLAW}]\n")
    _, then = liza(twice, "replay", "--rules", "other.yaml", "--json").json["replays"]
    assert (then["rules"], [trip["rule"] for trip in then["trips"]]) == ("other.yaml", ["any", "any"])
    assert then["trips"][0]["record"]["key"] == 0


def test_exact_matching_groups_equal_texts(tmp_path: Path) -> None:
    texts = ["timeout after 30 s", "timeout after 5 s", "timeout after 30 s", "timeout after 7 s", "timeout after 30 s"]
    live(tmp_path, [Step(10, "retry_loop", text) for text in texts])
    (similar,) = liza(tmp_path, "replay", "--json").json["replays"]
    (exact,) = liza(tmp_path, "replay", "--exact", "--json").json["replays"]
    assert [trip["record"]["key"] for trip in similar["trips"]] == [2]
    assert [trip["record"]["key"] for trip in exact["trips"]] == [4]
    assert [each["key"] for each in exact["trips"][0]["evidence"]] == [0, 2, 4]


@pytest.mark.parametrize(("window", "trips"), [("all", 2), ("15m", 0), ("1h", 2), ("last 2", 0), ("current_sprint", 2)])
def test_window_applies_to_all_rules(twice: Path, window: str, trips: int) -> None:
    (replay,) = liza(twice, "replay", "--window", window, "--json").json["replays"]
    assert len(replay["trips"]) == trips


@pytest.mark.parametrize(
    ("since", "trips"),
    [("2025-01-18T00:45:00Z", 2), ("2025-01-18T00:45:01Z", 1), ("10m", 1), ("2h", 2), ("99999999d", 2)],
)
def test_since_shows_trips_open_or_later(twice: Path, since: str, trips: int) -> None:
    (replay,) = liza(twice, "replay", "--since", since, "--json").json["replays"]
    assert len(replay["trips"]) == trips


def test_since_limits_observed_matches(tmp_path: Path) -> None:
    board(tmp_path, 1, 2, 3)
    watched = "rules: [{name: watched, condition: count() >= 2, severity: SPEC_FLAW, mode: observe}]\n"
    (tmp_path / ".liza" / "rules.yaml").write_text(watched)

    def observed(since: str) -> list[str]:
        (replay,) = liza(tmp_path, "replay", "--since", since, "--json").json["replays"]
        return [each["at"] for each in replay["observed"]]

    assert observed(time(2)) == [time(2)]
    assert observed(time(3)) == []


def test_difference_counts_only_shown_trips(twice: Path) -> None:
    words = ("replay", "--set", "retry_cluster.window=15m")
    assert liza(twice, *words).out.splitlines()[-1] == "difference: 2 trips fewer"
    assert liza(twice, *words, "--since", "2025-01-18T00:45:01Z").out.splitlines()[-1] == "difference: 1 trip fewer"


@pytest.mark.parametrize(("file", "words"), [(".liza/rules.yaml", []), ("other.yaml", ["--rules", "other.yaml"])])
def test_log_rules_read_the_log(tmp_path: Path, file: str, words: list[str]) -> None:
    new_board(tmp_path)
    (tmp_path / file).write_text(LOG_RULE)
    entries = [f"- {{timestamp: {time(at)}, agent: a, action: deploy, detail: x}}\n" for at in (1, 2)]
    (tmp_path / ".liza" / "log.yaml").write_text("".join(entries))
    replays = liza(tmp_path, "replay", "--json", *words).json["replays"]
    assert [len(each["trips"]) for each in replays] == [*([0] if words else []), 1]
    assert [trip["record"] for trip in replays[-1]["trips"]] == [{"stream": "log", "key": 1}]


# --- no traces, and no control characters on a terminal ---------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [[], ["--json"], ["--exact"], ["--set", "retry_cluster.threshold=4"], ["--window", "all"], ["--svg", "drawn.svg"]],
    ids=" ".join,
)
def test_replay_changes_no_file(twice: Path, words: list[str]) -> None:
    before = files(twice)
    assert liza(twice, "replay", *words).code == 0
    assert files(twice) == before


def test_svg_is_written_where_asked(twice: Path) -> None:
    assert liza(twice, "replay", "--svg", "drawn.svg").out.splitlines()[-1] == "written: drawn.svg"
    assert ElementTree.parse(twice / "drawn.svg").getroot().tag.endswith("svg")


def test_unwritable_svg_is_reported(twice: Path) -> None:
    ran = liza(twice, "replay", "--svg", "no/such/folder.svg")
    assert (ran.code, ran.err) == (
        1,
        "liza: no/such/folder.svg: the picture could not be written: No such file or directory\n",
    )


def test_empty_board_has_no_trips(tmp_path: Path) -> None:
    new_board(tmp_path)
    assert liza(tmp_path, "replay").out.splitlines() == [
        "there are no records to replay",
        "",
        "with the active rules: 0 trips",
    ]


def test_records_without_time_are_reported(tmp_path: Path) -> None:
    records = "".join(f"- {{type: retry_loop, task: t{n}, details: {{error_pattern: a b c}}}}\n" for n in range(3))
    new_board(tmp_path, f"version: 1\nanomalies:\n{records}")
    ran = liza(tmp_path, "replay")
    assert ran.code == 0
    assert "! 3 records without a usable time: placed with the one before" in ran.out
    assert "with the active rules: 1 trip" in ran.out


def test_untrusted_text_is_escaped(tmp_path: Path) -> None:
    text = NASTY.replace("\x1b", "\\e").replace("\x07", "\\a").replace("\x9b", "\\x9b")
    record = f'  - {{timestamp: %s, task: "{text}", type: retry_loop, details: {{error_pattern: "{text}"}}}}\n'
    decided = f'resolution: "{text}", resolved_at: {time(5)}, resolved_by: "{text}"'
    entry = f'{{timestamp: "{text}", pattern: "{text}", result: TRIGGERED, trip_id: "{text}", {decided}}}'
    records = "".join(record % time(at) for at in range(1, 5))
    new_board(tmp_path, f"version: 1\nanomalies:\n{records}circuit_breaker:\n  history: [{entry}]\n")
    (tmp_path / f"{NASTY}.yaml").write_text("window: all\n")
    for words in ([], ["--rules", f"{NASTY}.yaml"], ["--svg", f"{NASTY}.svg"]):
        ran = on_a_terminal(tmp_path, "replay", *words)
        assert ran.code == 0
        assert "owned" in ran.out
        assert harmless(ran.out), ascii(ran.out)
    assert liza(tmp_path, "replay", "--json").out.isascii()


# --- wrong usage ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["--set", "retry_cluster"], "RULE.SETTING=VALUE", "retry_cluster.threshold=4"),
        (["--set", "retry_clustr.threshold=4"], "'retry_clustr'", "did you mean retry_cluster?"),
        (["--set", "nothing_like_it.threshold=4"], "'nothing_like_it'", "liza rules list"),
        (["--set", "retry_cluster.threshold=four"], "threshold: expected a number, got 'four'", "threshold=4"),
        (["--set", "retry_cluster.threshold=nan"], "threshold: expected a number, got 'nan'", "threshold=4"),
        (["--set", "retry_cluster.threshold=inf"], "threshold: expected a number, got 'inf'", "threshold=4"),
        (["--set", "retry_cluster.threshold=-inf"], "threshold: expected", "retry_cluster.threshold=4"),
        (["--set", "retry_cluster.thresh=4"], "unknown setting 'thresh'", "did you mean threshold?"),
        (["--set", "external_service_outage.foo=3"], "unknown setting 'foo'", "threshold, window"),
        (["--set", "retry_cluster.window=often"], "window: expected current_sprint", ""),
        (["--window", "often"], "--window: expected current_sprint", ""),
        (["--since", "yesterday"], "--since", "2h"),
    ],
)
def test_invalid_setting_is_refused(tmp_path: Path, words: list[str], message: str, hint: str) -> None:
    new_board(tmp_path)
    ran = liza(tmp_path, "replay", *words)
    assert ran.code == 2
    assert message in ran.err
    assert not hint or hint in ran.hint()
