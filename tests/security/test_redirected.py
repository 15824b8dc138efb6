"""Names and settings by which an agent leads liza elsewhere, or to numbers that no program can use."""

import os
from pathlib import Path

import pytest

from tests.security.attack import TRIPPING, Attack
from tests.security.test_files import trip

STOP = 2


def test_git_file_that_leads_to_another_board_opens_no_gate(attack: Attack) -> None:
    """The repository is made to look like a linked worktree of one whose blackboard says "go on"."""
    (attack.board / "CHECKPOINT").touch()
    other = attack.outside / "main"
    (other / ".liza").mkdir(parents=True)
    (other / ".liza" / "state.yaml").write_text("version: 1\n")
    gitdir = other / ".git" / "worktrees" / "x"
    gitdir.mkdir(parents=True)
    (gitdir / "commondir").write_text("../..\n")
    (attack.project / ".git").write_text(f"gitdir: {gitdir}\n")
    for ran in (attack.liza("gate"), attack.liza("gate", LIZA_ROOT=str(attack.project))):
        assert (ran.code, str(attack.board / "CHECKPOINT") in ran.err) == (STOP, True)
    (attack.board / "CHECKPOINT").unlink()
    assert attack.liza("gate").code == 0
    attack.effect = "gate 2, with and without LIZA_ROOT"


@pytest.mark.parametrize("ending", ["aside", "new"])
def test_process_number_that_is_none_is_stepped_over(attack: Attack, ending: str) -> None:
    """The name of a draft holds the process that made it; an agent can write any number there."""
    trip(attack)
    for name in ("CHECKPOINT", "watch.json"):
        (attack.board / f".{name}.{'9' * 30}-1.{ending}").touch()
    codes = [attack.liza(*words).code for words in (("analyze",), ("watch", "--once"), ("status",))]
    assert (codes, attack.halted) == ([3, 3, 3], True)
    assert attack.liza("resolve", "-m", "done", "--by", "alice").code == 0
    attack.effect = "halted"


NUMBERS = {"decimal": "9" * 5000, "hexadecimal": "0x" + "f" * 400}
PLACES = {
    "an anomaly": "- {{type: workaround, task: t, reporter: r, details: {{what: {n}}}}}\n",
    "a claim": "claims: [{{id: c, text: {n}, rounds: [{{by: {n}}}]}}]\n",
    "a task": "tasks: [{{id: t, status: CLAIMED, review_cycles_current: {n}}}]\n",
    "a decision": "circuit_breaker: {{history: [{{timestamp: 2025-01-18T10:00:00Z, pattern: x, resolution: {n}}}]}}\n",
}


@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS.keys())
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
def test_integer_that_cannot_be_printed_keeps_no_halt_from_coming(attack: Attack, place: str, number: str) -> None:
    """Python refuses to print it or to divide by it, far from where it was read."""
    attack.write("version: 1\nanomalies:\n" + TRIPPING + place.format(n=number))
    for words in (("analyze",), ("watch", "--once"), ("status",), ("analyze", "--json")):
        ran = attack.liza(*words)
        assert ran.code == 3, ran
        assert "a bug in liza" not in ran.out
    assert attack.halted
    assert attack.liza("resolve", "-m", "done", "--by", "alice").code == 0
    attack.effect = "halted"


@pytest.mark.parametrize("name", [".git/hooks/pre-commit", ".envrc", ".config/x", "run.sh", "../outside/x"])
def test_messages_go_into_no_file_that_a_program_runs(attack: Attack, name: str) -> None:
    """A line of JSON in a shell script runs what is in `$(...)`, and most of its text is an agent's."""
    trip(attack)
    target = Path(os.path.normpath(attack.project / name))
    target.parent.mkdir(parents=True, exist_ok=True)
    if name == "run.sh":
        target.write_text("echo\n")
    before = target.read_text() if target.exists() else None
    (attack.board / "rules.yaml").write_text(f"notify: {{file: '{name}'}}\n")
    assert attack.liza("watch", "--once").code == 3
    assert (target.read_text() if target.exists() else None) == before
    attack.effect = "refused"


def test_millions_of_digits_are_degraded_at_once(attack: Attack) -> None:
    attack.write("version: 1\nanomalies:\n" + TRIPPING + f"goal: {'9' * 9_000_000}\n")
    ran = attack.liza("analyze", limit=20)
    assert (ran.code, "state.yaml:6" in ran.err) == (4, True)
    attack.effect = "DEGRADED with the line"
