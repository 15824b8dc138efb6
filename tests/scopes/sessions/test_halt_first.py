"""A stuck session is halted before anything is entered, and what was not entered is completed once."""

import json
from pathlib import Path

import pytest

from liza.scopes.rules_file import rules_in_force
from liza.scopes.sessions import monitor
from liza.store.paths import Paths
from tests.cli.run import installed, liza
from tests.clients.hook import SESSION, event, run
from tests.daemon.daemon import until
from tests.faults.holders import held_by_flock
from tests.scopes.sessions.team import Team, moment
from tests.scopes.sessions.test_sessions import fail, look, record, sessions
from tests.store.oracle import libyaml_value

BEFORE = event("PreToolUse", tool_name="Bash", tool_input={"command": "pytest -q"}, tool_use_id="next")


def stops(folder: Path) -> int:
    """How often the log says that a session was stopped."""
    log = folder / ".liza" / "log.yaml"
    entries = libyaml_value(log.read_bytes()) if log.exists() else []
    return sum("STOPPED" in str(each.get("detail")) for each in entries or [])


def test_halt_of_a_session_waits_for_no_lock(folder: Path) -> None:
    before = (folder / ".liza" / "state.yaml").read_bytes()
    with held_by_flock(Paths(str(folder / ".liza"))):
        try:
            assert installed(folder, "watch", "--background").code == 0
            fail(folder, 5)
            until(lambda: "action: stop" in (folder / ".liza" / "stopped" / SESSION).read_text(), "it is halted")
            assert run(folder, "before", BEFORE, LIZA_HOOK_LIMIT="60.5").code == 2
            assert (folder / ".liza" / "state.yaml").read_bytes() == before
        finally:
            liza(folder, "watch", "--stop")
    for _ in range(3):
        look(folder)
    assert (record(folder)["status"], stops(folder)) == ("STOPPED", 1)


def test_halt_that_was_not_entered_is_entered_once(folder: Path) -> None:
    """As after a daemon that was killed between the two: the halt file says all that there is to enter."""
    state = folder / ".liza" / "state.yaml"
    before = state.read_bytes()
    fail(folder, 5)
    look(folder)
    first = record(folder)
    (folder / ".liza" / "log.yaml").unlink()
    state.write_bytes(before)
    for _ in range(3):
        look(folder)
    assert record(folder)["current_trip"]["trip_id"] == first["current_trip"]["trip_id"]
    assert (record(folder)["status"], stops(folder)) == ("STOPPED", 1)
    assert sessions(folder)[SESSION]["reason"] == first["current_trip"]["reason"]


def test_flood_of_sessions_delays_no_halt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent can have as many as it likes. Each has its turn, those that wait before those that come again."""
    monkeypatch.setattr(monitor, "MOST", 3)
    monkeypatch.setattr(monitor, "ENTERED", 1)
    team = Team(tmp_path / "p", "budgets: {session: {steps: 1}}\n")
    names = [f"s{number:04}" for number in range(7)]
    for name in names:
        team.step(name, moment(), 1)
    rules, _ = rules_in_force(team.paths.rules)
    halts = team.folder / ".liza" / "stopped"
    for turn in range(3):
        found = team.monitor.poll(team.board, team.board.read(), rules, moment())
        assert (len(list(halts.iterdir())), found.has_more) == (min((turn + 1) * 3, 7), True)
        assert len(found.events) == 1
        team.step(names[0], moment(), turn + 2)
    while found.has_more:
        found = team.monitor.poll(team.board, team.board.read(), rules, moment())
    rows = {
        each["session"]: each["session_status"] for each in liza(team.folder, "sessions", "--json").json["sessions"]
    }
    assert rows == dict.fromkeys(names, "STOPPED")


def test_every_session_of_a_flood_has_its_turn_in_one_run(folder: Path) -> None:
    (folder / ".liza" / "rules.yaml").write_text("budgets: {session: {steps: 2}}\n")
    spool = folder / ".liza" / "spool"
    spool.mkdir()
    for number, session in enumerate([*(f"s{number}" for number in range(monitor.MOST + 5)), "z", "z"]):
        call = {"tool_name": "Bash", "tool_input": {"command": f"{number}"}, "tool_response": {"stdout": f"{number}"}}
        made = event("PostToolUse", session, tool_use_id=f"t{number}", **call)
        (spool / f"claude-after-{number:08}").write_text(json.dumps(made))
    assert installed(folder, "watch", "--once").code == 0
    shown = {name: each["session_status"] for name, each in sessions(folder).items()}
    assert (len(shown), [name for name, status in shown.items() if status == "STOPPED"]) == (monitor.MOST + 6, ["z"])
