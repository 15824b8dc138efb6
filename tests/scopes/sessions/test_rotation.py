"""Files of steps while a daemon runs and a session is active: put aside, deleted when old; nothing lost or doubled."""

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from liza.clients.usage import Usage
from liza.scopes.sessions.step import usage_line
from liza.scopes.sessions.step_windows import StepWindows
from liza.store import steps
from liza.store.paths import Paths
from tests.cli.run import installed, liza
from tests.clients.hook import SESSION, event, failing
from tests.daemon.daemon import until

LINE = 8_000  # bytes of a step, about


@pytest.fixture
def daemon(folder: Path) -> Iterator[Path]:
    assert installed(folder, "watch", "--background").code == 0
    yield folder
    installed(folder, "watch", "--stop")


def spool(folder: Path, payloads: list[dict[str, Any]]) -> None:
    """Events as the hook leaves them: written under a hidden name, then renamed."""
    waiting = folder / ".liza" / "spool"
    waiting.mkdir(mode=0o700, exist_ok=True)
    for payload in payloads:
        draft = waiting / f".{payload['tool_use_id']:0>12}"
        draft.write_text("liza 1\ncoder-1\ntask-1\n" + json.dumps(payload))
        draft.rename(waiting / f"claude-after-{payload['tool_use_id']:0>12}")


def ok(number: int) -> dict[str, Any]:
    """A command that printed much, each time something else."""
    given = {"command": f"cat part-{number} {'x' * (LINE // 2)}"}
    result = f"part {number} {'y' * (LINE // 2)}"
    usage = {"input_tokens": 10, "output_tokens": 1}
    return event(
        "PostToolUse", tool_name="Bash", tool_input=given, tool_response=result, tool_use_id=f"c{number}", usage=usage
    )


def kept(folder: Path) -> list[dict[str, Any]]:
    found = steps.read_all(Paths(str(folder / ".liza")), SESSION)
    assert found.broken == 0
    return [dict(line) for line in found.lines]


def row(folder: Path) -> dict[str, Any]:
    (found,) = liza(folder, "sessions", "--json").json["sessions"]
    assert isinstance(found, dict)
    return found


def files(folder: Path) -> list[str]:
    return steps.in_order(os.listdir(folder / ".liza" / "steps"))


def is_taken(folder: Path) -> bool:
    return not [name for name in os.listdir(folder / ".liza" / "spool") if not name.startswith(".")]


def test_nothing_is_lost_or_doubled_when_files_are_put_aside(daemon: Path) -> None:
    total = 2_000
    for start in range(0, total, 400):
        spool(daemon, [ok(number) for number in range(start, start + 400)])
        if start in (400, 1_600):  # killed while it enters them; another daemon goes on
            os.kill(int(json.loads((daemon / ".liza" / "watch.json").read_text())["pid"]), signal.SIGKILL)
            assert installed(daemon, "watch", "--background").code == 0
        until(lambda: is_taken(daemon), patience=60)
    assert len(files(daemon)) >= 2
    assert all((daemon / ".liza" / "steps" / name).stat().st_mode & 0o777 == 0o600 for name in files(daemon))
    lines = kept(daemon)
    calls = Counter(line["id"] for line in lines if "call" in line)
    assert calls == Counter({f"c{number}": 1 for number in range(total)})
    assert sum(line["tokens"] for line in lines if line.get("note") == "usage") == 11 * total
    assert row(daemon)["tokens"] == 11 * total
    assert {line["v"] for line in lines} == {steps.VERSION}
    spool(daemon, [failing(f"f{number}") for number in range(5)])
    until((daemon / ".liza" / "stopped" / SESSION).exists, patience=30)


def test_steps_of_busy_agents_are_looked_at_together(daemon: Path) -> None:
    """However many events come, the rules about all sessions are evaluated a few times a second."""

    def checks() -> int:
        return int(json.loads((daemon / ".liza" / "watch.json").read_text())["checks"])

    def enter(number: int) -> None:
        spool(daemon, [ok(number)])
        until(partial(is_taken, daemon), "it is entered")

    enter(0)  # the rules about steps are read, and the folder is listened to
    enter(1)
    before, begin = checks(), time.monotonic()
    for number in range(2, 102):
        spool(daemon, [ok(number)])
        time.sleep(0.005)  # as if from many agents
    until(partial(is_taken, daemon), "all are entered")
    assert checks() - before <= 10 * (time.monotonic() - begin) + 3


def test_retention_deletes_the_oldest_files_of_an_active_session(folder: Path) -> None:
    (folder / ".liza" / "rules.yaml").write_text("keep_steps: {megabytes: 9}\n")
    paths = Paths(str(folder / ".liza"))
    for place, name in enumerate((f"{SESSION}.1.older.jsonl", f"{SESSION}.2.older.jsonl")):
        steps.append_lines(
            paths, SESSION, [{"session": SESSION, "time": "2026-01-01T00:00:00Z", "text": "x" * 5_000_000}]
        )
        os.rename(os.path.join(paths.steps, f"{SESSION}.jsonl"), os.path.join(paths.steps, name))
        os.utime(os.path.join(paths.steps, name), (1_900_000_000 + place, 1_900_000_000 + place))
    spool(folder, [failing(f"f{number}") for number in range(3)])
    installed(folder, "watch", "--once")
    spool(folder, [failing(f"g{number}") for number in range(2)])
    installed(folder, "watch", "--once")
    assert files(folder) == [f"{SESSION}.2.older.jsonl", f"{SESSION}.jsonl"]
    assert (folder / ".liza" / "stopped" / SESSION).exists()


# --- readers ----------------------------------------------------------------------------------------------------------


def used(number: int) -> dict[str, Any]:
    return usage_line(SESSION, f"2026-01-01T00:00:{number % 60:02}Z", Usage(number, 0))


@pytest.mark.parametrize("looks", [1, 2, 7])
def test_reader_goes_on_across_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: int) -> None:
    monkeypatch.setattr(steps, "ROTATED", 2_000)
    paths = Paths(str(tmp_path))
    windows = StepWindows(paths)
    for number in range(1, 101):
        steps.append_lines(paths, SESSION, [used(number)])
        if number % (100 // looks) == 0:
            windows.refresh()
    windows.refresh()
    assert len(os.listdir(paths.steps)) > 5
    assert sum(line["tokens"] for line in windows.sessions[SESSION].usage) == 5050
    other = StepWindows(paths)
    other.refresh()
    assert sum(line["tokens"] for line in other.sessions[SESSION].usage) == 5050


def test_new_reader_knows_the_events_of_all_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "ROTATED", 2_000)
    monkeypatch.setattr(steps, "TAIL", 500)
    paths = Paths(str(tmp_path))
    names = [f"claude-after-{number:06}" for number in range(50)]
    for name in names:
        line = {"session": SESSION, "time": "2026-01-01T00:00:00Z", "event": name, "call": "c", "tool": "Bash"}
        steps.append_lines(paths, SESSION, [line])
    steps.append_lines(paths, SESSION, [{"session": SESSION, "note": "warned", "cause": "a"}, used(1), used(2)])
    windows = StepWindows(paths)
    windows.refresh()
    window = windows.sessions[SESSION]
    assert (list(window.events), window.warned, sum(line["tokens"] for line in window.usage)) == (names, {"a"}, 3)
