"""A stuck session is halted before anything is entered, and what was not entered is completed once."""

from pathlib import Path

from liza.store.paths import Paths
from tests.cli.run import installed, liza
from tests.clients.hook import SESSION, event, run
from tests.daemon.daemon import until
from tests.faults.holders import held_by_flock
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
