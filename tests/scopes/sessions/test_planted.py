"""What an agent, or a mistake, puts where liza keeps events, steps and halts: each session is still stopped, everyone's
halt still works, and a person sees what is wrong."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import environment, installed, liza
from tests.clients.hook import SESSION, event, failing, run, spooled
from tests.daemon.daemon import until
from tests.scopes.sessions.test_sessions import OTHER, fail, look, sessions

BEFORE = event("PreToolUse", tool_name="Bash", tool_input={"command": "pytest -q"}, tool_use_id="next")
SERVICE = 'version: 1\nanomalies:\n' + "".join(
    f"  - {{timestamp: '2026-01-17T14:0{number}:00Z', task: t{number}, reporter: c, type: external_blocker,"
    f" details: {{blocker_service: payments, description: down, impact: all}}}}\n" for number in range(3)
)  # fmt: skip


def linked(path: Path) -> None:
    path.symlink_to(theirs(path))


def linked_twice(path: Path) -> None:
    os.link(theirs(path), path)


def theirs(path: Path) -> Path:
    """A file outside the blackboard."""
    file = next(each for each in path.parents if each.name == ".liza").with_name("theirs")
    file.write_text("theirs\n")
    return file


PLANTED: dict[str, Callable[[Path], None]] = {
    "link": linked,
    "hard link": linked_twice,
    "FIFO": os.mkfifo,
    "folder": lambda path: (path / "inner").mkdir(parents=True),
}


@pytest.fixture(params=PLANTED)
def plant(request: pytest.FixtureRequest) -> Callable[[Path], None]:
    return PLANTED[request.param]


def test_steps_of_another_session_are_planted(folder: Path, plant: Callable[[Path], None]) -> None:
    """Sessions with files of their own are stopped, and the sprint's rules are evaluated."""
    (folder / ".liza" / "steps").mkdir()
    plant(folder / ".liza" / "steps" / f"{OTHER}.jsonl")
    (folder / ".liza" / "state.yaml").write_text(SERVICE)
    fail(folder, 5)
    look(folder)
    assert sessions(folder)[SESSION]["session_status"] == "STOPPED"
    shown = liza(folder, "sessions", "--json")
    assert shown.code == 3
    assert [each["file"] for each in shown.json["problems"]] == [f"{folder}/.liza/steps/{OTHER}.jsonl"]
    assert (folder / ".liza" / "CHECKPOINT").exists()
    assert liza(folder, "status", "--json").code == 3
    assert liza(folder, "doctor", "--json").code in (0, 1)


TIMES = ("2026-03-10T1234Z", "2026W011T12:00Z", "0005-01-01T00:00:00Z", "20260310T12Z", "9999-99-99T99:99:99Z", "", 5)


def test_times_in_odd_forms_are_planted(folder: Path) -> None:
    (folder / ".liza" / "rules.yaml").write_text("budgets: {session: {steps: 90}, day: {hours: 90}}\n")
    (folder / ".liza" / "steps").mkdir()
    lines = [{"v": 1, "time": time, "session": OTHER, "tool": "Bash", "seconds": 60} for time in TIMES]
    (folder / ".liza" / "steps" / f"{OTHER}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    fail(folder, 5)
    look(folder)
    shown = sessions(folder)
    assert (shown[SESSION]["session_status"], shown[OTHER]["steps"]) == ("STOPPED", len(TIMES))
    assert [liza(folder, *words).code for words in (("status",), ("stats",), ("analyze",))] == [0, 0, 0]


def test_steps_of_its_own_are_planted(folder: Path, plant: Callable[[Path], None]) -> None:
    """What is in the way is moved aside, and not written to."""
    (folder / ".liza" / "steps").mkdir()
    plant(folder / ".liza" / "steps" / f"{SESSION}.jsonl")
    fail(folder, 5)
    look(folder)
    assert sessions(folder)[SESSION]["session_status"] == "STOPPED"
    assert run(folder, "before", BEFORE, LIZA_HOOK_LIMIT="60.5").code == 2
    assert spooled(folder) == ["aside"]
    assert all(file.read_text() == "theirs\n" for file in folder.rglob("theirs"))


@pytest.mark.parametrize("where", ["stopped", f"stopped/{SESSION}"])
def test_halt_of_a_session_is_planted(folder: Path, plant: Callable[[Path], None], where: str) -> None:
    path = folder / ".liza" / where
    if where != "stopped":
        path.parent.mkdir()
    fail(folder, 5)
    plant(path)
    look(folder)
    assert sessions(folder)[SESSION]["session_status"] == "STOPPED"
    assert run(folder, "before", BEFORE, LIZA_HOOK_LIMIT="60.5").code == 2
    assert run(folder, "before", {**BEFORE, "session_id": OTHER}).code == 0
    assert liza(folder, "session", "resume", SESSION, "-m", "tidied up").code == 0
    assert run(folder, "before", BEFORE).code == 0
    assert [each.name for each in (folder / ".liza").glob("stopped/*")] in ([], ["inner"])


def test_steps_folder_that_is_a_link_is_reported_and_halts_still_work(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (folder / ".liza" / "steps").symlink_to(tmp_path / "outside")
    (folder / ".liza" / "state.yaml").write_text(SERVICE)
    fail(folder, 1)
    found = installed(folder, "watch", "--once")
    assert found.code == 3
    assert "bug" not in found.out + found.err
    assert (folder / ".liza" / "CHECKPOINT").exists()
    assert (len(spooled(folder)), list((tmp_path / "outside").iterdir())) == (1, [])
    assert [each["file"] for each in liza(folder, "sessions", "--json").json["problems"]] == [f"{folder}/.liza/steps"]


def test_thousands_of_unreadable_events_hold_up_no_other(folder: Path) -> None:
    """They are put aside, and reported as long as they are there."""
    spool = folder / ".liza" / "spool"
    spool.mkdir()
    for number in range(2_100):
        (spool / f"claude-after-{number:08}").write_text("rm -rf /")
    for number in range(100):
        (spool / f"odd {number}").write_text("rm -rf /")
    fail(folder, 5)
    assert len(installed(folder, "watch", "--once").out.splitlines()) < 60
    assert sessions(folder)[SESSION]["session_status"] == "STOPPED"
    shown = liza(folder, "sessions", "--json").json
    assert (shown["waiting"], [each["file"] for each in shown["problems"]]) == (0, [str(spool / "aside")])
    shutil.rmtree(spool / "aside")
    assert liza(folder, "sessions", "--json").json["problems"] == []


FULL = """
mkdir -p "$BOARD/steps" && mount -t tmpfs -o size=64k tmpfs "$BOARD/steps" || exit 99
cat /dev/zero > "$BOARD/steps/filled" 2> /dev/null
for size in 200 1200 4; do truncate -s -$size "$BOARD/steps/filled"; liza watch --once; echo "exit $?"; done
rm "$BOARD/steps/filled"
liza watch --once
liza sessions --json > "$SHOWN"
cp "$BOARD/steps/"*.jsonl "$SHOWN.steps"
"""


def test_events_on_a_full_disk_wait_and_are_entered_once(folder: Path, tmp_path: Path) -> None:
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("only root may mount a disk on this system")
    for number in range(5):
        command: dict[str, Any] = {"command": f"make {number}", "why": "x" * 3000}
        assert run(folder, "after", {**failing(f"t{number}"), "tool_input": command}).code == 0
    shown = tmp_path / "shown"
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", FULL], cwd=folder, check=False, capture_output=True, text=True, timeout=60,
        env=environment(folder, BOARD=str(folder / ".liza"), SHOWN=str(shown)),
    )  # fmt: skip
    assert done.stdout.count("exit 4") == 3, done
    assert "bug" not in done.stdout + done.stderr
    lines = (tmp_path / "shown.steps").read_text().splitlines()
    assert sorted(line.count('"event"') for line in lines if '"tool"' in line) == [1] * 5


@pytest.mark.parametrize("how", ["removed", "cut", "replaced"])
def test_steps_that_vanish_are_alarmed(folder: Path, how: str) -> None:
    """The daemon has read them; an agent would like it to start over."""
    file = folder / ".liza" / "steps" / f"{SESSION}.jsonl"
    alerts = folder / ".liza" / "alerts.log"
    try:
        assert installed(folder, "watch", "--background").code == 0
        fail(folder, 2)
        until(lambda: not spooled(folder) and file.stat().st_size > 0, "they are entered")
        fail(folder, 1, session=OTHER)
        until(lambda: not spooled(folder), "those of another are entered")
        assert not alerts.exists()
        if how == "replaced":
            file.rename(file.with_name("away"))
        file.write_text("") if how != "removed" else file.unlink()
        until(lambda: str(file) in alerts.read_text(), "it is alarmed")
    finally:
        liza(folder, "watch", "--stop")
