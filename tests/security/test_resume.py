"""`liza run --resume` runs only commands that liza recorded or a person has confirmed."""

import json
import os
import stat
from pathlib import Path

import pytest

from tests.cli.run import environment
from tests.run.terminals import Terminal
from tests.security.attack import Attack, Ran


@pytest.fixture
def session(attack: Attack) -> Path:
    """The session of a run that stopped after one iteration."""
    assert attack.liza("run", "--max", "1", "--", "true").code == 1
    return next((attack.board / "runs").glob("*/session.json"))


def forge(attack: Attack, session: Path, **changed: object) -> Path:
    """Replace the commands as an agent would; returns the file that they would create."""
    mark = attack.outside / "ran"
    facts = json.loads(session.read_text())
    facts["job"] |= {"maximum": 3, **(changed or {"command": ["touch", str(mark)]})}
    session.write_text(json.dumps(facts))
    return mark


def resume(attack: Attack, session: Path, *words: str) -> Ran:
    return attack.liza("run", "--resume", session.parent.name, *words)


def test_resume_continues_an_unchanged_session(attack: Attack, session: Path) -> None:
    ran = resume(attack, session, "--max", "2")  # more
    assert (ran.code, json.loads(session.read_text())["iterations"]) == (1, 3)
    key = Path(environment(attack.project)["XDG_STATE_HOME"]) / "liza" / "key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    attack.effect = "resumed, the key is the user's alone"


def test_resume_refuses_a_forged_command(attack: Attack, session: Path) -> None:
    mark = forge(attack, session)
    ran = resume(attack, session)
    assert (ran.code, mark.exists()) == (1, False)
    assert f"touch {mark}" in ran.err
    command = ran.err.rpartition("to run it anyway: liza ")[2].split()
    assert command[:3] == ["run", "--resume", session.parent.name]
    forge(attack, session, command=["touch", str(mark), str(mark)])  # after the person has looked
    assert (attack.liza(*command).code, mark.exists()) == (1, False)
    forge(attack, session)
    attack.liza(*command)
    assert mark.exists()
    attack.effect = "refused and shown; run with the code of what was shown"


@pytest.mark.parametrize("field", ["verify", "test"])
def test_resume_refuses_forged_checks(attack: Attack, session: Path, field: str) -> None:
    """Also if the command itself is given on the command line."""
    mark = attack.outside / "ran"
    forge(attack, session, **{field: f"touch {mark}"})
    assert resume(attack, session, "--", "sh", "-c", "echo x > changed; echo DONE").code == 1
    assert not mark.exists()
    attack.effect = "refused"


def test_resume_refuses_the_file_of_another_session(attack: Attack, session: Path) -> None:
    attack.liza("run", "--max", "1", "--loop", "other", "--", "false")
    other = next(path for path in session.parent.parent.glob("*/session.json") if path != session)
    session.write_text(other.read_text())
    assert resume(attack, session).code == 1
    assert json.loads(session.read_text())["iterations"] == 1
    attack.effect = "refused"


def test_resume_refuses_without_a_valid_key(attack: Attack, session: Path) -> None:
    """An unwritable state folder, or a key that others can read, proves nothing."""
    assert attack.liza("run", "--resume", session.parent.name, XDG_STATE_HOME="/dev/null").code == 1
    key = Path(environment(attack.project)["XDG_STATE_HOME"]) / "liza" / "key"
    os.chmod(key, 0o644)
    before = json.loads(session.read_text())["iterations"]
    assert resume(attack, session, "--max", "5").code == 1
    assert json.loads(session.read_text())["iterations"] == before
    attack.effect = "refused"


@pytest.mark.parametrize(("answer", "runs"), [("n", False), ("y", True)])
def test_resume_shows_a_forged_command_and_asks(attack: Attack, session: Path, answer: str, runs: bool) -> None:
    """On a terminal, with escape sequences removed."""
    mark = attack.outside / "ran"
    forge(attack, session, command=["sh", "-c", f"touch {mark}", "\x1b[2K\u202e"])
    with Terminal(attack.project, "run", "--resume", session.parent.name) as terminal:
        terminal.shows(f"touch {mark}")
        terminal.shows("[y/N]")
        shown = terminal.raw.decode()
        terminal.types(f"{answer}\n")
        assert (terminal.code(), mark.exists()) == (1, runs)
    assert "\x1b[2K" not in shown
    assert "\u202e" not in shown
    attack.effect = f"asked, inert, {'run' if runs else 'not run'} after {answer}"
