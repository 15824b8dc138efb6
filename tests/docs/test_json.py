"""docs/json.md matches the output of every command with --json: fields, types, statuses, exit codes, both ways."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from liza.cli.group import liza as program
from liza.clients.usage import Usage
from liza.daemon.notifier import EventKind
from liza.scopes.sessions.step import usage_line
from liza.store.paths import Paths
from liza.store.steps import append_lines
from tests.cli.run import environment, installed, new_board
from tests.clients import hook
from tests.docs import contract
from tests.docs.contract import ERRORS, SECTIONS, command_of, reachable
from tests.docs.shell import Shell
from tests.run.repositories import repository
from tests.test_api import blocked
from tests.tools import needs

OBJECTION = ["--objection", "No harness, no ACCEPT", "--objection-id", "GC", "--response", "There is no annotation"]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(repository(tmp_path / "project"))


def test_json_of_watching(shell: Shell) -> None:
    folder = shell.folder
    shell.ask("init", "--goal", "Ship it")
    shell.ask("analyze", code=0)
    shell.ask("status", code=0)
    _session(shell)
    found = shell.ask("status", code=0)
    assert (len(found["sessions"]), found["hooks"][0]["problems"]) == (1, [])
    (Path(shell.env["XDG_DATA_HOME"]) / "liza" / "hook.sh").unlink()
    assert shell.ask("status", code=0)["hooks"][0]["problems"]
    blocked(folder, "task-1", "task-2")
    shell.ask("log anomaly", "--type", "retry_loop", "--task", "t", "--reporter", "r", "count=1", "error_pattern=x")
    dry = shell.ask("analyze", "--dry-run", code=3)
    assert (dry["trigger"], [each["rule"] for each in dry["matches"]]) == (None, ["external_service_outage"])
    shell.ask("silence add", "external_service_outage", "blocker_service=payments", "--for", "2h", "-m", "known")
    assert shell.ask("analyze", code=0)["silenced"]
    shell.ask("status", code=0)
    shell.ask("silence list")
    (folder / ".liza" / "rules.yaml").write_text("rules: [{name: retry_cluster, mode: observe}]\n")
    shell.ask("replay", "--set", "retry_cluster.threshold=1")
    shell.ask("silence expire", "silence-1")
    shell.lines("watch --once", code=3)
    shell.ask("status", code=3)
    shell.ask("trip", "-m", "by hand, too", code=3)
    assert shell.ask("stats", code=0)["rules"][0]["seconds_to_decision"]["median"] is None
    shell.ask("resolve", "-m", "back at six", "--cause", "false_alarm")
    shell.ask("resolve", "-m", "back at six")
    blocked(folder, "task-3", "task-4")
    shell.ask("analyze", code=3)
    used = usage_line("s", "2026-01-01T00:00:00Z", Usage(10, 1, model="of-the-house"))
    append_lines(Paths(str(folder / ".liza")), "s", [used])
    (found,) = shell.ask("stats", code=0)["rules"]
    assert (found["trips"], found["false_alarms"], len(found["tripped_again"])) == (2, 1, 1)
    shell.ask("resolve", "-m", "back at six")
    shell.ask("replay")
    shell.ask("report")
    (folder / ".liza" / "CHECKPOINT").touch()
    assert shell.ask("status", code=3)["checkpoint"]["by"] == "human"
    (folder / ".liza" / "CHECKPOINT").unlink()
    shell.ask("trip", "-m", "something else", code=3)
    needs("jq")
    subprocess.run(["yq", "-Y", "-i", '.circuit_breaker.status = "OK" | .circuit_breaker.current_trigger = null',
                    ".liza/state.yaml"], cwd=folder, env=environment(folder), check=True)  # fmt: skip
    shell.ask("resolve", "-m", "the reason for the edit by hand")
    state = folder / ".liza" / "state.yaml"
    text = state.read_text()
    # Other programs wrote these: the check that finds them opens the loop.
    iterations = "".join(f"      - {{iteration: {n}, files_changed: 0}}\n" for n in (1, 2, 3))
    state.write_text(f"{text}loops:\n  nightly:\n    status: CLOSED\n    iterations:\n{iterations}")
    assert shell.ask("analyze", code=0)["scoped"]
    assert shell.ask("status", code=0)["stopped"]
    shell.lines("watch --once", code=0)
    claimed = '.circuit_breaker.history += [{"timestamp": "2099-01-01T00:00:00Z", "pattern": "retry_cluster"}]'
    subprocess.run(["yq", "-Y", "-i", claimed, ".liza/state.yaml"], cwd=folder, env=environment(folder), check=True)
    assert shell.ask("status", code=0)["claims"]
    (folder / ".liza" / "rules.yaml").write_text("rules: [{name: odd}]\n")
    shell.ask("analyze", code=4)
    (folder / ".liza" / "rules.yaml").unlink()
    (folder / ".liza" / "state.yaml").write_text("a: [\n")
    shell.lines("watch --once", code=4)
    shell.seen["watch --once"] |= set(SECTIONS["watch --once"].statuses)  # the others are those of the daemon
    assert set(SECTIONS["watch"].statuses) == {str(kind) for kind in EventKind}
    keys = ["analyze", "status", "stats", "watch --once", "replay", "report", "resolve", "trip", "log anomaly"]
    shell.assert_all_shown(*keys, "silence add", "silence list", "silence expire")


def _session(shell: Shell) -> None:
    """A session with a step, of a client whose hook is installed."""
    data = {"XDG_DATA_HOME": str(shell.folder.parent / f"{shell.folder.name}.data")}
    installed(shell.folder, "install", "claude", **data)
    for number in range(3):  # so that it is warned
        assert hook.run(shell.folder, "after", hook.failing(f"t{number}"), LIZA_AGENT="coder-1").code == 0
    shell.env |= data
    installed(shell.folder, "watch", "--once")


def test_json_of_sessions(shell: Shell) -> None:
    shell.ask("init")
    assert shell.ask("sessions", code=0)["sessions"] == []
    _session(shell)
    stop = hook.event("Stop", usage={"input_tokens": 5, "output_tokens": 2}, total_cost_usd=0.25)
    hook.run(shell.folder, "note", stop)
    assert shell.ask("sessions", code=0)["waiting"] == 1
    installed(shell.folder, "watch", "--once")
    (found,) = shell.ask("sessions", code=0)["sessions"]
    assert (found["name"], found["steps"], found["tokens"], found["cost"]) == ("coder-1", 3, 7, 0.25)
    assert shell.ask("session stop", "coder-1", "-m", "wrong branch", code=3)["session"] == hook.SESSION
    assert shell.ask("sessions", code=3)["sessions"][0]["reason"]
    assert shell.ask("session resume", "coder-1", "-m", "go on", code=0)["session_status"] == "ACTIVE"
    for number in range(5):
        assert hook.run(shell.folder, "after", hook.failing(f"f{number}")).code == 0
    installed(shell.folder, "watch", "--once")
    assert shell.ask("replay", "--session", "coder-1")["replays"][0]["sessions"]
    assert shell.ask("rules explain", "repeated_failure", "--session", hook.SESSION[:8])["moments"]
    assert {"session", "session trip"} <= shell.reader.seen
    shell.seen = {key: seen for key, seen in shell.seen.items() if "session" in key}
    shell.assert_all_shown("sessions", "session stop", "session resume")


def test_json_of_installing(shell: Shell) -> None:
    shell.ask("init")
    shell.env["XDG_DATA_HOME"] = str(shell.folder / "data")
    shell.ask("install", "claude", "--dry-run")
    shell.ask("install", "claude", "codex")
    shell.ask("install", "claude", "--uninstall")
    shell.assert_all_shown("install")


def test_json_of_the_daemon(shell: Shell) -> None:
    shell.run = installed
    shell.ask("init")
    shell.ask("watch --status", code=1)
    shell.ask("watch --stop", code=0)
    shell.ask("watch --test-message", code=1)
    (shell.folder / ".liza" / "rules.yaml").write_text("notify: {file: notices.jsonl}\n")
    shell.ask("watch --test-message", code=0)
    (shell.folder / "notices.jsonl").unlink()
    (shell.folder / "notices.jsonl").mkdir()
    shell.ask("watch --test-message", code=1)
    shell.ask("watch --background", code=0)
    try:
        shell.ask("watch --status", code=0)
    finally:
        shell.ask("watch --stop", code=0)
    facts = shell.folder / ".liza" / "watch.json"
    facts.write_text(json.dumps({**json.loads(facts.read_text()), "health": "ok"}))
    shell.ask("watch --status", code=1)
    shell.assert_all_shown("watch --status", "watch --stop", "watch --test-message", "watch --background")


def test_json_of_the_doctor(shell: Shell) -> None:
    shell.ask("doctor", code=1)
    shell.ask("init")
    shell.ask("doctor", code=0)
    (shell.folder / ".liza" / "state.yaml").write_text("version: [\n")
    shell.ask("doctor", code=4)
    shell.assert_all_shown("doctor")


def test_json_of_loops(shell: Shell) -> None:
    shell.ask("init")
    shell.ask("log entry", "--agent", "a", "--action", "claimed")
    shell.ask("loop list", code=0)
    shell.ask("loop record", "coder-1", "--files-changed", "1", "--progress", "5", code=0)
    for _ in range(3):
        shell.ask("loop record", "coder-1", "--files-changed", "0", "--error", "TypeError: x")
    shell.ask("loop status LOOP", "coder-1", code=3)
    shell.ask("loop list", code=3)
    shell.ask("loop probe", "coder-1", "--now", "2100-01-01T00:00:00Z", code=0)
    shell.ask("loop reset", "coder-1", "-m", "fixed", code=0)
    shell.ask("loop status", code=0)
    state = shell.folder / ".liza" / "state.yaml"
    state.write_text(state.read_text().replace("status: CLOSED", "status: WHATEVER"))
    shell.ask("loop list", code=4)
    shell.assert_all_shown(
        "log entry", "loop record", "loop status LOOP", "loop reset", "loop probe", "loop list", "loop status"
    )


def test_json_of_run(shell: Shell) -> None:
    shell.ask("init")
    works = "echo $LIZA_ITERATION >> w.txt; echo Progress: 40%"
    shell.lines("run:", "--loop", "a", "--max", "1", "--", "sh", "-c", works, code=1)
    shell.lines(
        "run:", "--loop", "b", "--require", "w.txt", "--max", "2", "--", "sh", "-c", f"{works}; echo DONE", code=0
    )
    shell.lines("run:", "--loop", "c", "--on-stagnation", "abort", "--task", "t", "--", "sh", "-c", "exit 1", code=3)
    shell.lines("run:", "--loop", "d", "--on-stagnation", "alert", "--max", "4", "--", "true", code=1)
    (shell.folder / ".liza" / "CHECKPOINT").touch()
    shell.lines("run:", "--loop", "e", "--", "true", code=3)
    shell.assert_all_shown("run: began", "run: iteration", "run: open", "run: note", "run: the last line")


def test_json_of_claims(shell: Shell) -> None:
    shell.ask("init")
    shell.ask("stage advance", "S2")
    shell.ask("claim list", code=0)
    shell.ask("claim add", "C-1", "--text", "GC content explains the effect", "--confidence", "0.7")
    shell.ask("claim add", "C-2", "--text", "It is tissue specific", "--depends-on", "C-1")
    shell.ask("claim add", "C-3", "--text", "Another one")
    shell.ask("claim edit", "C-3", "--text", "Still another one")
    shell.ask("claim promote", "C-3", "-m", "shown", "--by", "ann")
    shell.ask("claim kill", "C-2", "-m", "wrong", "--by", "ann")
    shell.ask("claim add", "C-4", "--text", "Follows", "--depends-on", "C-1")
    for _ in range(3):
        shell.ask("claim round", "C-1", "--cycle", "4", *OBJECTION)
    shell.ask("claim show", "C-1", code=3)
    shell.ask("claim list", code=3)
    shell.ask("claim round", "C-1", *OBJECTION, code=3)
    shell.ask("claim promote", "C-4", code=3)
    shell.ask("stage list")
    shell.ask("stage close", "S5", code=3)
    shell.ask("claim summary", "--cycle", "4")
    shell.ask("stage data", "data/gc.tsv", "--for", "C-1")
    shell.ask("claim reexamine", "C-1", "--trigger", "new_data", "--unresolved", "-m", "partly", "--by", "R3", code=3)
    shell.ask("claim resolve", "C-1", "--drop", "-m", "given up")
    shell.ask("claim ledger")
    (shell.folder / "L.md").write_text("## C-9\n\n- **Text:** from a ledger\n- **Status:** OPEN\n")
    shell.ask("claim import", "L.md")
    shell.ask("stage close", "S5", "--by", "ann", code=0)
    state = shell.folder / ".liza" / "state.yaml"
    state.write_text(state.read_text().replace("\nclaims:\n", "\nclaims:\n  C-8: 5\n"))
    shell.ask("claim list", code=4)
    shell.assert_all_shown(*[key for key in SECTIONS if key.startswith(("claim ", "stage "))])
    assert set(shell.errors) == {error for error in ERRORS if error.status == "disputed"}


def test_json_of_attempts(shell: Shell) -> None:
    shell.ask("init")
    (shell.folder / "test_it.py").write_text("def test_ok(): pass\n\ndef test_bad(): assert 500 == 409\n")
    bad = ["--slice", "S-1", "--test", "test_bad"]
    shell.env |= {"PYTEST_ADDOPTS": "-p no:cacheprovider", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    shell.ask("attempt status", code=0)
    shell.ask("attempt start", *bad)
    shell.ask("attempt fail", *bad, "--error", "assert 500 == 409")
    shell.ask("attempt pass", *bad)
    shell.ask("attempt infra", *bad, "--error", "ModuleNotFoundError")
    shell.ask("attempt status --slice", "S-1", code=0)
    shell.ask("attempt start", *bad)
    shell.ask("attempt exec", "--slice", "S-1", "--", "pytest", "-q", "test_it.py", code=1)
    ran = ["pytest", "-q", "--junitxml=report.xml", "test_it.py"]
    subprocess.run(ran, cwd=shell.folder, env=environment(shell.folder, **shell.env), capture_output=True, check=False)
    shell.ask("attempt junit", "report.xml", "--slice", "S-1", code=0)
    shell.ask("attempt exec", "--slice", "S-1", "--", "pytest", "-q", "test_it.py", code=3)
    shell.ask("attempt exec", "--slice", "S-1", "--", "pytest", "-q", "test_it.py", code=3)
    shell.ask("attempt junit", "report.xml", "--slice", "S-1", code=3)
    shell.ask("attempt status", code=3)
    shell.ask("attempt start", *bad, code=3)
    report = shell.ask("attempt diagnose", "--slice", "S-1", code=1)["report"]
    (shell.folder / "answer.json").write_text(json.dumps({key: value or "a reason" for key, value in report.items()}))
    shell.ask("attempt diagnose", *bad, "--from", "answer.json", code=0)
    _scopes(shell)
    shell.ask("attempt arch-stop", "--slice", "S-2", "-m", "needs a table", code=3)
    shell.ask("attempt reset", "--slice", "S-1", "-m", "the contract means 409", code=0)
    state = shell.folder / ".liza" / "state.yaml"
    state.write_text(state.read_text().replace("status: ARCH_STOP", "status: WHATEVER"))
    shell.ask("attempt status", code=4)
    shell.assert_all_shown(*[key for key in SECTIONS if key.startswith("attempt ")])


def _scopes(shell: Shell) -> None:
    graph = {"slices": {"S-1": {"packages": ["src/users"], "deliverables": [], "contracts": []}}}
    (shell.folder / "GRAPH.json").write_text(json.dumps(graph))
    shell.ask("attempt scope", "--slice", "S-1", "src/users/a.py", code=0)
    shell.ask("attempt scope", "--slice", "S-1", "src/other.py", code=1)
    shell.ask("attempt scope", "--slice", "S-1", "--changed", code=3)
    shell.ask("attempt allow", "--slice", "S-3", "src", code=0)
    shell.ask("attempt allow", "--slice", "S-1", "--contract", "C-12", code=3)
    words = ["--reason", "only the factory makes the shape", "--relationship", "contract C-12"]
    shell.ask("attempt justify", "--slice", "S-1", "--file", "src/other.py", "--test", "test_bad", *words)


CASES = """\
cases:
  - name: two are an outage
    anomalies:
      - {at: 5m, type: external_blocker, task: a, blocker_service: p}
      - {at: 6m, type: external_blocker, task: b, blocker_service: p}
    trips: [TRIPS]
"""


def test_json_of_rules(shell: Shell) -> None:
    shell.ask("init")
    for error in ("timeout after 30 s in orders", "timeout after 5 s in order", "deadlock in orders found"):
        words = ["count=1", f"error_pattern={error}"]
        shell.ask("log anomaly", "--type", "retry_loop", "--task", "t", "--reporter", "r", *words)
    blocked(shell.folder, "a", "b")
    shell.ask("silence add", "external_service_outage", "--all", "--for", "1h", "-m", "known")
    shell.ask("rules list")
    shell.ask("rules check", code=0)
    shell.ask("rules explain", "retry_cluster")
    _session(shell)
    shell.ask("rules explain", "repeated_failure_warning", "--session", "coder-1")
    shell.ask("rules explain", "external_service_outage", "--missed")
    shell.ask("rules explain", "retry_cluster", "--missed")
    shell.ask("rules explain --compare", "timeout after 3 s", "timeout after 4 s", "retry_cluster")
    (shell.folder / "cases.yaml").write_text(CASES.replace("TRIPS", "external_service_outage"))
    shell.ask("rules test", "cases.yaml", code=0)
    (shell.folder / "cases.yaml").write_text(CASES.replace("TRIPS", ""))
    shell.ask("rules test", "cases.yaml", code=1)
    shell.ask("validate", code=0)
    (shell.folder / ".liza" / "rules.yaml").write_text("rules: [{name: x}]\nnotify: {desktop: 5}\n")
    shell.ask("rules check", code=1)
    shell.ask("validate", code=1)
    keys = [key for key in SECTIONS if key.startswith("rules ")]
    shell.assert_all_shown(*keys, "validate", "init", "log anomaly", "silence add")


def test_json_of_errors(shell: Shell) -> None:
    shell.ask("status", code=1)  # there is no blackboard
    shell.ask("analyze", "--window", "x", code=1)
    new_board(shell.folder)
    shell.ask("analyze", "--window", "x", code=2)
    shell.ask("log anomaly", "--type", "retry_loop", code=2)
    blocked(shell.folder, "task-1", "task-2")
    (shell.folder / ".liza" / "circuit_breaker_report.md").mkdir()
    answer = shell.ask("analyze", code=3)
    assert len(answer["problems"]) > 1
    (shell.folder / ".liza" / "state.yaml").write_text("a: [\n")
    shell.ask("status", code=4)
    shell.ask("loop record", "coder-1", "--files-changed", "1", code=4)
    (shell.folder / "sitecustomize.py").write_text("import liza.store.paths as paths\npaths.find = None\n")
    shell.run = installed
    shell.env |= {"PYTHONPATH": str(shell.folder), "XDG_STATE_HOME": str(shell.folder)}
    shell.ask("validate", code=70)
    assert {error.status for error in shell.errors} == {error.status for error in ERRORS} - {"disputed"}
    assert (shell.seen, shell.reader.faults) == ({}, [])


def commands(command: click.Command, *words: str) -> Iterator[str]:
    """Every command that accepts --json."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands(inner, *words, name)
    elif any("--json" in each.opts for each in command.params):
        yield " ".join(words)


def test_page_lists_every_command_with_json() -> None:
    assert {command_of(key) for key in SECTIONS} == set(commands(program))


def test_every_object_of_the_page_is_used() -> None:
    shown = [*(section.fields for section in SECTIONS.values()), *contract.OBJECTS.values()]
    used = set().union(*(reachable(fields) | {type_ for _, type_ in fields} for fields in shown))
    assert set(contract.OBJECTS) - used == {"problem"}


def test_envelope_matches_the_page() -> None:
    assert tuple(name for name, _ in contract.ENVELOPE_FIELDS) == contract.ENVELOPE


def test_json_of_a_team(shell: Shell) -> None:
    from tests.team.hosts import Team

    team = Team(shell.folder)
    shell.ask("init")
    for user in ("postgres", "postgres"):
        shell.ask("team init", team.url(user), code=0)
    shell.ask("team status", code=1)
    shell.ask("team join", team.url(), "--host", "one", code=0)
    (host,) = shell.ask("team status", code=0)["hosts"]
    assert host["host"] == "one"
    team.ask(
        "insert into liza.trips (team, trip_id, trigger, evidence, host) values ('default', %s, '{}', '{}', 'x')",
        "0" * 12,
    )
    assert shell.ask("team status", code=3)["trip"]["host"] == "x"
    shell.ask("team prune", "--days", "30", code=0)
    shell.ask("team leave", code=0)
