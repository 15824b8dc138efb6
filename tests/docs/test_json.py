"""docs/json.md is what every command prints with --json: the same fields, types, statuses and exit codes, both ways."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from liza.cli.group import liza as program
from liza.daemon.notifier import EventKind
from tests.cli.run import environment, installed, liza, new_board
from tests.docs import contract
from tests.docs.contract import ERRORS, SECTIONS, Error, Reader, command_of, reachable, spread
from tests.run.repositories import SETTINGS, repository
from tests.test_api import blocked
from tests.tools import needs

# What cannot be brought about in a moment: a daemon that hangs, a run that somebody ends.
NOT_TRIED = {("watch --status", "stuck"), ("watch --status", "degraded"), ("run: the last line", "interrupted")}
OBJECTION = ["--objection", "No harness, no ACCEPT", "--objection-id", "GC", "--response", "There is no annotation"]


class Story:
    """Asks command after command, each held to the contract, and at the end the contract to what was seen."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reader = Reader()
        self.seen: dict[str, set[str]] = {}
        self.errors: list[Error] = []
        self.env: dict[str, str] = dict(SETTINGS)
        self.run = liza  # or `installed`, for what needs a fresh start

    def asks(self, key: str, *words: str, stdin: str = "", code: int | None = None) -> dict[str, Any]:
        """The answer of the command that `key` names; without words the key is all of it."""
        *first, last = self.lines(key, *words, stdin=stdin, code=code)
        assert not first, "one object, on one line"
        return last

    def lines(self, key: str, *words: str, stdin: str = "", code: int | None = None) -> list[dict[str, Any]]:
        called = command_of(key).split() + [word for word in key.split() if word.startswith("--")]
        separator = words.index("--") if "--" in words else len(words)
        arguments = [*called, *words[:separator], "--json", *words[separator:]]
        done = self.run(self.folder, *arguments, stdin=stdin, **self.env)
        assert code is None or done.code == code, (arguments, done)
        answers = [json.loads(line) for line in done.out.splitlines()]
        assert answers, (arguments, done)
        for answer in answers:
            self._holds(key if ":" not in key else _of_run(answer), answer, done.code, f"liza {' '.join(arguments)}")
        assert self.reader.faults == []
        return answers

    def _holds(self, key: str, answer: dict[str, Any], code: int, where: str) -> None:
        envelope = {name: answer.get(name) for name in contract.ENVELOPE}
        self.reader.fields(where, envelope, contract.ENVELOPE_FIELDS)
        assert (answer["schema"], answer["command"]) == (1, command_of(key)), where
        rest = {name: value for name, value in answer.items() if name not in contract.ENVELOPE}
        status, section = answer["status"], SECTIONS[key]
        error = Error(status, code, frozenset(rest))
        if error in ERRORS and rest.keys() != dict(spread(section.fields)).keys():
            assert answer["problems"], where
            self.errors.append(error)
            return
        if section.statuses:
            assert status in section.statuses, (where, answer)
            assert code in section.statuses[status] or (where.endswith("--once --json")), (where, code, status)
        self.seen.setdefault(key, set()).add(status)
        self.reader.fields(where, rest, section.fields)

    def is_told(self, *keys: str) -> None:
        """Everything that the page says of these has been seen: each command, each status, each object."""
        assert set(keys) | {"init"} == self.seen.keys() | {"init"}
        together: dict[int, set[str]] = {}
        for key in keys:
            together.setdefault(id(SECTIONS[key]), set()).update(self.seen[key])
        for key in keys:
            not_tried = {status for other, status in NOT_TRIED if other == key}
            assert together[id(SECTIONS[key])] | not_tried >= set(SECTIONS[key].statuses), key
        wanted = set().union(*(reachable(SECTIONS[key].fields) for key in keys))
        assert wanted - self.reader.seen - {"problem"} == set()


def _of_run(answer: dict[str, Any]) -> str:
    name = f"run: {answer['status']}"
    return name if name in SECTIONS and "totals" not in answer else "run: the last line"


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(repository(tmp_path / "project"))


def test_watching(story: Story) -> None:
    folder = story.folder
    story.asks("init", "--goal", "Ship it")
    story.asks("analyze", code=0)
    story.asks("status", code=0)
    blocked(folder, "task-1", "task-2")
    story.asks("log anomaly", "--type", "retry_loop", "--task", "t", "--reporter", "r", "count=1", "error_pattern=x")
    dry = story.asks("analyze", "--dry-run", code=3)
    assert (dry["trigger"], [each["rule"] for each in dry["matches"]]) == (None, ["external_service_outage"])
    story.asks("silence add", "external_service_outage", "blocker_service=payments", "--for", "2h", "-m", "known")
    assert story.asks("analyze", code=0)["silenced"]
    story.asks("status", code=0)
    story.asks("silence list")
    (folder / ".liza" / "rules.yaml").write_text("rules: [{name: retry_cluster, mode: observe}]\n")
    story.asks("replay", "--set", "retry_cluster.threshold=1")
    story.asks("silence expire", "silence-1")
    story.lines("watch --once", code=3)
    story.asks("status", code=3)
    story.asks("trip", "-m", "by hand, too", code=3)
    story.asks("resolve", "-m", "back at six")
    story.asks("resolve", "-m", "back at six")
    story.asks("replay")
    (folder / ".liza" / "CHECKPOINT").touch()
    assert story.asks("status", code=3)["checkpoint"]["by"] == "human"
    (folder / ".liza" / "CHECKPOINT").unlink()
    story.asks("trip", "-m", "something else", code=3)
    needs("jq")
    subprocess.run(["yq", "-Y", "-i", '.circuit_breaker.status = "OK" | .circuit_breaker.current_trigger = null',
                    ".liza/state.yaml"], cwd=folder, env=environment(folder), check=True)  # fmt: skip
    story.asks("resolve", "-m", "what the one who did it by hand did not say")
    state = folder / ".liza" / "state.yaml"
    text = state.read_text()
    # Other programs wrote these: the check that finds them opens the loop.
    iterations = "".join(f"      - {{iteration: {n}, files_changed: 0}}\n" for n in (1, 2, 3))
    state.write_text(f"{text}loops:\n  nightly:\n    status: CLOSED\n    iterations:\n{iterations}")
    assert story.asks("analyze", code=0)["scoped"]
    assert story.asks("status", code=0)["stopped"]
    story.lines("watch --once", code=0)
    claimed = '.circuit_breaker.history += [{"timestamp": "2099-01-01T00:00:00Z", "pattern": "retry_cluster"}]'
    subprocess.run(["yq", "-Y", "-i", claimed, ".liza/state.yaml"], cwd=folder, env=environment(folder), check=True)
    assert story.asks("status", code=0)["claims"]
    (folder / ".liza" / "rules.yaml").write_text("rules: [{name: odd}]\n")
    story.asks("analyze", code=4)
    (folder / ".liza" / "rules.yaml").unlink()
    (folder / ".liza" / "state.yaml").write_text("a: [\n")
    story.lines("watch --once", code=4)
    story.seen["watch --once"] |= set(SECTIONS["watch --once"].statuses)  # the others are those of the daemon
    assert set(SECTIONS["watch"].statuses) == {str(kind) for kind in EventKind}
    keys = ["analyze", "status", "watch --once", "replay", "resolve", "trip", "log anomaly"]
    story.is_told(*keys, "silence add", "silence list", "silence expire")


def test_the_daemon(story: Story) -> None:
    story.run = installed
    story.asks("init")
    story.asks("watch --status", code=1)
    story.asks("watch --stop", code=0)
    story.asks("watch --test-message", code=1)
    (story.folder / ".liza" / "rules.yaml").write_text("notify: {file: notices.jsonl}\n")
    story.asks("watch --test-message", code=0)
    (story.folder / "notices.jsonl").unlink()
    (story.folder / "notices.jsonl").mkdir()
    story.asks("watch --test-message", code=1)
    story.asks("watch --background", code=0)
    try:
        story.asks("watch --status", code=0)
    finally:
        story.asks("watch --stop", code=0)
    facts = story.folder / ".liza" / "watch.json"
    facts.write_text(json.dumps({**json.loads(facts.read_text()), "health": "ok"}))
    story.asks("watch --status", code=1)
    story.is_told("watch --status", "watch --stop", "watch --test-message", "watch --background")


def test_the_doctor(story: Story) -> None:
    story.asks("doctor", code=1)
    story.asks("init")
    story.asks("doctor", code=0)
    (story.folder / ".liza" / "state.yaml").write_text("version: [\n")
    story.asks("doctor", code=4)
    story.is_told("doctor")


def test_loops(story: Story) -> None:
    story.asks("init")
    story.asks("log entry", "--agent", "a", "--action", "claimed")
    story.asks("loop list", code=0)
    story.asks("loop record", "coder-1", "--files-changed", "1", "--progress", "5", code=0)
    for _ in range(3):
        story.asks("loop record", "coder-1", "--files-changed", "0", "--error", "TypeError: x")
    story.asks("loop status LOOP", "coder-1", code=3)
    story.asks("loop list", code=3)
    story.asks("loop probe", "coder-1", "--now", "2100-01-01T00:00:00Z", code=0)
    story.asks("loop reset", "coder-1", "-m", "mended", code=0)
    story.asks("loop status", code=0)
    state = story.folder / ".liza" / "state.yaml"
    state.write_text(state.read_text().replace("status: CLOSED", "status: WHATEVER"))
    story.asks("loop list", code=4)
    story.is_told(
        "log entry", "loop record", "loop status LOOP", "loop reset", "loop probe", "loop list", "loop status"
    )


def test_run(story: Story) -> None:
    story.asks("init")
    works = "echo $LIZA_ITERATION >> w.txt; echo Progress: 40%"
    story.lines("run:", "--loop", "a", "--max", "1", "--", "sh", "-c", works, code=1)
    story.lines(
        "run:", "--loop", "b", "--require", "w.txt", "--max", "2", "--", "sh", "-c", f"{works}; echo DONE", code=0
    )
    story.lines("run:", "--loop", "c", "--on-stagnation", "abort", "--task", "t", "--", "sh", "-c", "exit 1", code=3)
    story.lines("run:", "--loop", "d", "--on-stagnation", "alert", "--max", "4", "--", "true", code=1)
    (story.folder / ".liza" / "CHECKPOINT").touch()
    story.lines("run:", "--loop", "e", "--", "true", code=3)
    story.is_told("run: began", "run: iteration", "run: open", "run: note", "run: the last line")


def test_claims(story: Story) -> None:
    story.asks("init")
    story.asks("stage advance", "S2")
    story.asks("claim list", code=0)
    story.asks("claim add", "C-1", "--text", "GC content explains the effect", "--confidence", "0.7")
    story.asks("claim add", "C-2", "--text", "It is tissue specific", "--depends-on", "C-1")
    story.asks("claim add", "C-3", "--text", "Another one")
    story.asks("claim edit", "C-3", "--text", "Still another one")
    story.asks("claim promote", "C-3", "-m", "shown", "--by", "ann")
    story.asks("claim kill", "C-2", "-m", "wrong", "--by", "ann")
    story.asks("claim add", "C-4", "--text", "Follows", "--depends-on", "C-1")
    for _ in range(3):
        story.asks("claim round", "C-1", "--cycle", "4", *OBJECTION)
    story.asks("claim show", "C-1", code=3)
    story.asks("claim list", code=3)
    story.asks("claim round", "C-1", *OBJECTION, code=3)
    story.asks("claim promote", "C-4", code=3)
    story.asks("stage list")
    story.asks("stage close", "S5", code=3)
    story.asks("claim summary", "--cycle", "4")
    story.asks("stage data", "data/gc.tsv", "--for", "C-1")
    story.asks("claim reexamine", "C-1", "--trigger", "new_data", "--unresolved", "-m", "partly", "--by", "R3", code=3)
    story.asks("claim resolve", "C-1", "--drop", "-m", "given up")
    story.asks("claim ledger")
    (story.folder / "L.md").write_text("## C-9\n\n- **Text:** from a ledger\n- **Status:** OPEN\n")
    story.asks("claim import", "L.md")
    story.asks("stage close", "S5", "--by", "ann", code=0)
    state = story.folder / ".liza" / "state.yaml"
    state.write_text(state.read_text().replace("\nclaims:\n", "\nclaims:\n  C-8: 5\n"))
    story.asks("claim list", code=4)
    story.is_told(*[key for key in SECTIONS if key.startswith(("claim ", "stage "))])
    assert set(story.errors) == {error for error in ERRORS if error.status == "disputed"}


def test_attempts(story: Story) -> None:
    story.asks("init")
    (story.folder / "test_it.py").write_text("def test_ok(): pass\n\ndef test_bad(): assert 500 == 409\n")
    bad = ["--slice", "S-1", "--test", "test_bad"]
    story.env |= {"PYTEST_ADDOPTS": "-p no:cacheprovider", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    story.asks("attempt status", code=0)
    story.asks("attempt start", *bad)
    story.asks("attempt fail", *bad, "--error", "assert 500 == 409")
    story.asks("attempt pass", *bad)
    story.asks("attempt infra", *bad, "--error", "ModuleNotFoundError")
    story.asks("attempt status --slice", "S-1", code=0)
    story.asks("attempt start", *bad)
    story.asks("attempt exec", "--slice", "S-1", "--", "pytest", "-q", "test_it.py", code=1)
    ran = ["pytest", "-q", "--junitxml=report.xml", "test_it.py"]
    subprocess.run(ran, cwd=story.folder, env=environment(story.folder, **story.env), capture_output=True, check=False)
    story.asks("attempt junit", "report.xml", "--slice", "S-1", code=0)
    story.asks("attempt exec", "--slice", "S-1", "--", "pytest", "-q", "test_it.py", code=3)
    story.asks("attempt exec", "--slice", "S-1", "--", "pytest", "-q", "test_it.py", code=3)
    story.asks("attempt junit", "report.xml", "--slice", "S-1", code=3)
    story.asks("attempt status", code=3)
    story.asks("attempt start", *bad, code=3)
    report = story.asks("attempt diagnose", "--slice", "S-1", code=1)["report"]
    (story.folder / "answer.json").write_text(json.dumps({key: value or "a reason" for key, value in report.items()}))
    story.asks("attempt diagnose", *bad, "--from", "answer.json", code=0)
    _scopes(story)
    story.asks("attempt arch-stop", "--slice", "S-2", "-m", "needs a table", code=3)
    story.asks("attempt reset", "--slice", "S-1", "-m", "the contract means 409", code=0)
    state = story.folder / ".liza" / "state.yaml"
    state.write_text(state.read_text().replace("status: ARCH_STOP", "status: WHATEVER"))
    story.asks("attempt status", code=4)
    story.is_told(*[key for key in SECTIONS if key.startswith("attempt ")])


def _scopes(story: Story) -> None:
    graph = {"slices": {"S-1": {"packages": ["src/users"], "deliverables": [], "contracts": []}}}
    (story.folder / "GRAPH.json").write_text(json.dumps(graph))
    story.asks("attempt scope", "--slice", "S-1", "src/users/a.py", code=0)
    story.asks("attempt scope", "--slice", "S-1", "src/other.py", code=1)
    story.asks("attempt scope", "--slice", "S-1", "--changed", code=3)
    words = ["--reason", "only the factory makes the shape", "--relationship", "contract C-12"]
    story.asks("attempt justify", "--slice", "S-1", "--file", "src/other.py", "--test", "test_bad", *words)


CASES = """\
cases:
  - name: two are an outage
    anomalies:
      - {at: 5m, type: external_blocker, task: a, blocker_service: p}
      - {at: 6m, type: external_blocker, task: b, blocker_service: p}
    trips: [TRIPS]
"""


def test_rules(story: Story) -> None:
    story.asks("init")
    for error in ("timeout after 30 s in orders", "timeout after 5 s in order", "deadlock in orders found"):
        words = ["count=1", f"error_pattern={error}"]
        story.asks("log anomaly", "--type", "retry_loop", "--task", "t", "--reporter", "r", *words)
    blocked(story.folder, "a", "b")
    story.asks("silence add", "external_service_outage", "--all", "--for", "1h", "-m", "known")
    story.asks("rules list")
    story.asks("rules check", code=0)
    story.asks("rules explain", "retry_cluster")
    story.asks("rules explain", "external_service_outage", "--missed")
    story.asks("rules explain", "retry_cluster", "--missed")
    story.asks("rules explain --compare", "timeout after 3 s", "timeout after 4 s", "retry_cluster")
    (story.folder / "cases.yaml").write_text(CASES.replace("TRIPS", "external_service_outage"))
    story.asks("rules test", "cases.yaml", code=0)
    (story.folder / "cases.yaml").write_text(CASES.replace("TRIPS", ""))
    story.asks("rules test", "cases.yaml", code=1)
    story.asks("validate", code=0)
    (story.folder / ".liza" / "rules.yaml").write_text("rules: [{name: x}]\nnotify: {desktop: 5}\n")
    story.asks("rules check", code=1)
    story.asks("validate", code=1)
    keys = [key for key in SECTIONS if key.startswith("rules ")]
    story.is_told(*keys, "validate", "init", "log anomaly", "silence add")


def test_errors(story: Story) -> None:
    story.asks("status", code=1)  # there is no blackboard
    story.asks("analyze", "--window", "x", code=1)
    new_board(story.folder)
    story.asks("analyze", "--window", "x", code=2)
    story.asks("log anomaly", "--type", "retry_loop", code=2)
    blocked(story.folder, "task-1", "task-2")
    (story.folder / ".liza" / "circuit_breaker_report.md").mkdir()
    answer = story.asks("analyze", code=3)
    assert len(answer["problems"]) > 1
    (story.folder / ".liza" / "state.yaml").write_text("a: [\n")
    story.asks("status", code=4)
    story.asks("loop record", "coder-1", "--files-changed", "1", code=4)
    (story.folder / "sitecustomize.py").write_text("import liza.store.paths as paths\npaths.find = None\n")
    story.run = installed
    story.env |= {"PYTHONPATH": str(story.folder), "XDG_STATE_HOME": str(story.folder)}
    story.asks("validate", code=70)
    assert {error.status for error in story.errors} == {error.status for error in ERRORS} - {"disputed"}
    assert (story.seen, story.reader.faults) == ({}, [])


def commands(command: click.Command, *words: str) -> Iterator[str]:
    """Every command that can be called, and knows --json."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands(inner, *words, name)
    elif any("--json" in each.opts for each in command.params):
        yield " ".join(words)


def test_every_command_that_prints_json_is_on_the_page_and_no_other() -> None:
    assert {command_of(key) for key in SECTIONS} == set(commands(program))


def test_no_object_of_the_page_is_without_use() -> None:
    shown = [*(section.fields for section in SECTIONS.values()), *contract.OBJECTS.values()]
    used = set().union(*(reachable(fields) | {type_ for _, type_ in fields} for fields in shown))
    assert set(contract.OBJECTS) - used == {"problem"}


def test_the_envelope_is_the_one_that_the_page_shows() -> None:
    assert tuple(name for name, _ in contract.ENVELOPE_FIELDS) == contract.ENVELOPE
