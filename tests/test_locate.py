"""Finding the blackboard, also from linked worktrees of git and with odd `.git` files."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.run import installed, liza, new_board
from tests.run.repositories import commit, git, repository

GO_ON, STOP = 0, 2


@pytest.fixture
def main(tmp_path: Path) -> Path:
    """A repository whose blackboard is halted, and not in git."""
    folder = repository(tmp_path / "main", __gitignore=".liza\n")
    new_board(folder)
    (folder / ".liza" / "CHECKPOINT").touch()
    return folder


def linked(main: Path, folder: str = "../linked", *words: str) -> Path:
    git(main, "worktree", "add", "-q", *words, folder)
    return Path(os.path.normpath(main / folder))


def gate(folder: Path) -> int:
    """Check that the gate and the other commands find the same blackboard."""
    code = liza(folder, "gate").code
    assert (liza(folder, "validate").code == 0) == (code == STOP)
    return code


def test_linked_worktree_uses_main_board(main: Path) -> None:
    tree = linked(main)
    (tree / "a" / "b").mkdir(parents=True)
    assert installed(tree / "a" / "b", "gate").code == STOP
    assert gate(tree) == STOP
    assert liza(tree, "log", "entry", "--agent", "a", "--action", "x").code == 0
    assert "action: x" in (main / ".liza" / "log.yaml").read_text()


def test_linked_worktree_can_be_named(main: Path, tmp_path: Path) -> None:
    """As a hook does that knows the folder of its agent: LIZA_ROOT="$CLAUDE_PROJECT_DIR"."""
    tree = linked(main)
    for result in (liza(tmp_path, "gate", "--root", str(tree)), liza(tmp_path, "gate", LIZA_ROOT="linked")):
        assert result.code == STOP
        assert str(main / ".liza" / "CHECKPOINT") in result.err or "linked/../main" in result.err
    assert liza(tmp_path, "validate", "--root", str(tree)).code == 0
    (tree / "src").mkdir()
    assert liza(tmp_path, "validate", "--root", str(tree / "src")).code == 1, "a named folder must be right"


def test_relative_gitdir_uses_main_board(main: Path) -> None:
    tree = linked(main)
    (tree / ".git").write_text("gitdir: ../main/.git/worktrees/linked\n")
    assert gate(tree) == STOP


def test_copy_in_linked_worktree_is_ignored(main: Path) -> None:
    """With `.liza/` in git each worktree has one; agents that each wrote to their own would see no pattern."""
    tree = linked(main)
    new_board(tree)
    assert gate(tree) == STOP
    assert liza(tree, "gate", LIZA_ROOT=str(tree)).code == STOP
    assert liza(tree, "gate", LIZA_ROOT=str(tree / ".liza")).code == GO_ON, "the copy itself was named"


def test_init_in_linked_worktree_needs_named_folder(main: Path) -> None:
    tree = linked(main)
    assert liza(tree, "init").code == 1
    assert liza(tree, "init", "--root", str(tree / ".liza")).code == 0
    assert liza(tree, "gate", LIZA_ROOT=str(tree / ".liza")).code == GO_ON


def test_main_board_comes_before_board_above_linked_tree(main: Path, tmp_path: Path) -> None:
    new_board(tmp_path / "team")
    assert gate(linked(main, "../team/linked")) == STOP


def test_board_above_linked_tree_is_the_fallback(main: Path, tmp_path: Path) -> None:
    tree = linked(main, "../team/linked")
    new_board(tmp_path / "team")
    (main / ".liza").rename(main / "moved")
    assert liza(tree, "gate").code == GO_ON
    assert liza(tree, "validate").code == 0


def test_submodule_uses_board_of_parent_project(main: Path, tmp_path: Path) -> None:
    part = repository(tmp_path / "part")
    git(main, "submodule", "add", "-q", str(part), "part")
    commit(main)
    assert gate(main / "part") == STOP
    new_board(main / "part")
    assert liza(main / "part", "gate").code == GO_ON


def test_bare_repository_worktrees_use_board_beside_it(main: Path, tmp_path: Path) -> None:
    """A bare repository has no main worktree; folders above it are searched as usual."""
    git(tmp_path, "clone", "-q", "--bare", str(main), "team/project.git")
    git(tmp_path / "team" / "project.git", "worktree", "add", "-q", "../one")
    assert gate(tmp_path / "team" / "one") == GO_ON
    new_board(tmp_path / "team")
    (tmp_path / "team" / ".liza" / "CHECKPOINT").touch()
    assert gate(tmp_path / "team" / "one") == STOP


ODD: dict[str, Callable[[Path], object]] = {
    "empty": lambda file: file.write_bytes(b""),
    "something else": lambda file: file.write_bytes(b"\xff\x00\x1b[2J\n"),
    "no path": lambda file: file.write_text("gitdir: "),
    "a NUL": lambda file: file.write_bytes(b"gitdir: /tmp/\0/x\n"),
    "a target that is gone": lambda file: file.write_text("gitdir: /nonexistent/.git/worktrees/x\n"),
    "a target that is a file": lambda file: file.write_text(f"gitdir: {file}\n"),
    "a path that is too long": lambda file: file.write_text("gitdir: " + "x" * 4000 + "\n"),
    "huge": lambda file: os.truncate(os.open(file, os.O_CREAT | os.O_WRONLY), 1 << 40),
    "a FIFO": os.mkfifo,
    "a loop of links": lambda file: file.symlink_to(".git"),
    "a dangling link": lambda file: file.symlink_to("nowhere"),
    "a device": lambda file: file.symlink_to("/dev/zero"),
    "a folder": lambda file: file.mkdir(),
}


@pytest.mark.parametrize("make", ODD.values(), ids=ODD.keys())
def test_odd_git_file_is_skipped(main: Path, make: Callable[[Path], object]) -> None:
    folder = main / "inner"
    folder.mkdir()
    make(folder / ".git")
    assert gate(folder) == STOP, "the board above is found"


@pytest.mark.parametrize("make", ODD.values(), ids=ODD.keys())
def test_odd_commondir_is_skipped(main: Path, tmp_path: Path, make: Callable[[Path], object]) -> None:
    tree = linked(main)
    common = main / ".git" / "worktrees" / "linked" / "commondir"
    common.unlink()
    make(common)
    assert gate(tree) == GO_ON, "there is no other blackboard"
