"""Blackboards that an attacker puts above or below the working folder."""

import os
import pwd
import subprocess
from pathlib import Path

import pytest

from tests.cli.run import BIN, LIZA, environment, new_board
from tests.security.attack import Attack, Ran, as_user
from tests.store.files import NOBODY

GO_ON, REFUSED, STOP = 0, 1, 2
STRANGER = 12345  # has no name in the list of users
two_users = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to act as two users")


@pytest.fixture
def shared(attack: Attack) -> Attack:
    """The blackboard belongs to another user; `nobody` works below it."""
    for folder in (attack.project.parents[0], *attack.project.parents[1:3]):
        folder.chmod(0o755)  # pytest's own are for its user alone
    os.chown(attack.board, STRANGER, STRANGER)
    return attack


def gate(attack: Attack, name: str = "LANG", value: str = "C.UTF-8") -> Ran:
    """The installed one, as `nobody`, with one variable in its environment."""
    return attack.liza(program="liza-gate", user=NOBODY, **{name: value})  # type: ignore[arg-type]


@two_users
def test_board_of_another_user_above_is_not_used(shared: Attack) -> None:
    """It could say "continue" while the team's own says halt, and its rules would be evaluated as the caller."""
    ran = gate(shared)
    assert ran.code == STOP
    assert str(shared.board) in ran.err
    assert f"LIZA_TRUST={STRANGER}" in ran.err
    for words in (["analyze"], ["status"], ["log", "entry", "--agent", "a", "--action", "x"], ["watch", "--once"]):
        ran = shared.liza(*words, user=NOBODY)
        assert (ran.code, f"LIZA_TRUST={STRANGER}" in ran.err) == (REFUSED, True), words
    assert os.listdir(shared.board) == ["state.yaml"], "nothing was written"
    shared.effect = "gate 2, commands refused, nothing written"


@two_users
def test_trusted_user_or_named_board_is_used(shared: Attack) -> None:
    for name, value in (("TRUST", f"alice,{STRANGER}"), ("TRUST", "*"), ("ROOT", str(shared.project))):
        assert gate(shared, f"LIZA_{name}", value).code == GO_ON, value
    assert gate(shared, "LIZA_TRUST", "1").code == STOP
    os.chown(shared.board, 1, 1)
    assert gate(shared, "LIZA_TRUST", pwd.getpwuid(1).pw_name).code == GO_ON
    shared.effect = "used when trusted or named"


@two_users
def test_own_board_and_roots_are_used(shared: Attack) -> None:
    for uid in (NOBODY, 0):
        os.chown(shared.board, uid, uid)
        assert gate(shared).code == GO_ON
    shared.effect = "used"


@two_users
def test_root_uses_the_board_of_the_user_behind_sudo(shared: Attack) -> None:
    assert shared.liza("gate").code == STOP
    assert shared.liza("gate", SUDO_UID=str(STRANGER)).code == GO_ON
    assert shared.liza("gate", SUDO_UID="1").code == STOP
    shared.effect = "that user's, no other's"


@two_users
def test_link_of_another_user_is_not_followed(shared: Attack) -> None:
    """The folder behind it is the caller's own, but the link's owner can change its target any time."""
    own = shared.outside / ".liza"
    new_board(shared.outside)
    os.chown(own, NOBODY, NOBODY)
    shared.board.rename(shared.project / "moved")
    shared.board.symlink_to(own)
    assert gate(shared).code == GO_ON, "the link is root's"
    os.chown(shared.board, STRANGER, STRANGER, follow_symlinks=False)
    assert gate(shared).code == STOP
    shared.effect = "gate 2"


@two_users
def test_linked_worktree_does_not_lead_to_another_users_board(shared: Attack) -> None:
    common = shared.project / ".git" / "worktrees" / "x"
    common.mkdir(parents=True)
    (common / "commondir").write_text("../..\n")
    (shared.outside / ".git").write_text(f"gitdir: {common}\n")
    for env in (environment(shared.outside), environment(shared.outside, LIZA_ROOT=str(shared.outside))):
        command = [*as_user(NOBODY), str(BIN / "liza-gate")]
        assert subprocess.run(command, cwd=shared.outside, env=env, check=False).returncode == STOP
    shared.effect = "gate 2"


# --- an empty folder below ------------------------------------------------------------------------------------------


def below(attack: Attack, *words: str) -> tuple[int, str]:
    folder = attack.project / "src"
    done = subprocess.run([LIZA, *words], cwd=folder, env=environment(folder), capture_output=True, check=False)
    return done.returncode, done.stderr.decode()


def hide(attack: Attack) -> Path:
    """An agent's `mkdir -p src/.liza` while the agents are halted."""
    (attack.board / "CHECKPOINT").touch()
    inner = attack.project / "src" / ".liza"
    inner.mkdir(parents=True)
    return inner


def test_empty_folder_below_does_not_open_the_gate(attack: Attack) -> None:
    inner = hide(attack)
    for words, code in ((["gate"], STOP), (["gate", "--claim", "c-1"], STOP), (["analyze"], REFUSED)):
        got, err = below(attack, *words)
        assert got == code, words
        assert str(inner) in err
        assert str(attack.board) in err
    attack.effect = "gate 2, both are named"


def test_empty_folder_blocks_the_gate_before_a_halt_too(attack: Attack) -> None:
    hide(attack)
    (attack.board / "CHECKPOINT").unlink()
    assert below(attack, "gate")[0] == STOP
    attack.effect = "gate 2"


def test_hint_turns_the_empty_folder_into_a_board(attack: Attack) -> None:
    hide(attack)
    command = below(attack, "gate")[1].rpartition("of its own: ")[2].strip().removesuffix(")")
    assert below(attack, *command.split()[1:])[0] == 0
    assert below(attack, "gate")[0] == GO_ON
    attack.effect = "a person's decision"


def test_empty_folder_alone_hides_nothing(attack: Attack) -> None:
    hide(attack)
    attack.board.rename(attack.project / "moved")
    assert below(attack, "gate")[0] == GO_ON
    attack.effect = "go on"


def test_named_root_ignores_boards_below(attack: Attack) -> None:
    """Hooks set LIZA_ROOT as documented: only that folder is used, none below it."""
    hide(attack)
    folder = attack.project / "src"
    new_board(folder / "deep")
    env = environment(folder, LIZA_ROOT=str(attack.project))
    done = subprocess.run([BIN / "liza-gate"], cwd=folder / "deep", env=env, check=False)
    assert done.returncode == STOP
    attack.effect = "the halt counts"
