"""The changes of an iteration in several or odd repositories, where they are unknown, and without a trace."""

import os
import stat
from pathlib import Path

import pytest

from liza.git import command
from liza.git import snapshot as measure
from tests.daemon.daemon import until
from tests.run.projects import alive
from tests.run.repositories import commit, git, names, nothing, repository

# --- several repositories, and odd ones -----------------------------------------------------------------------------


def test_several_roots_count_together_and_each_worktree_once(tmp_path: Path) -> None:
    one, two = repository(tmp_path / "one"), repository(tmp_path / "two")
    (one / "deep").mkdir()

    def work() -> None:
        (one / "x").write_text("1")
        (two / "x").write_text("1")

    assert names(tmp_path, work) is None
    assert names(one, work) == set()
    (one / "x").unlink()
    (two / "x").unlink()
    assert names(one, work, one / "deep", two) == {"x", "../two/x"}


def test_folder_means_the_whole_worktree_around_it(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "deep").mkdir()
    assert names(tmp_path / "deep", lambda: (tmp_path / "x").write_text("1")) == {"../x"}


def test_linked_worktree_counts_separately(tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    git(main, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))

    def work() -> None:
        (tmp_path / "side" / "x").write_text("1")
        commit(tmp_path / "side")

    assert names(main, work) == set()
    assert names(tmp_path / "side", lambda: (tmp_path / "side" / "y").write_text("1")) == {"y"}


def test_nested_repository_is_looked_into(tmp_path: Path) -> None:
    repository(tmp_path)
    inner = repository(tmp_path / "inner")

    def work() -> None:
        (inner / "b").write_text("1")

    assert names(tmp_path, nothing) == set()
    assert names(tmp_path, work) == {"inner/b"}
    assert names(tmp_path, lambda: commit(inner)) == {"inner/b"}


def test_new_nested_repository_is_one_change(tmp_path: Path) -> None:
    repository(tmp_path)
    assert names(tmp_path, lambda: repository(tmp_path / "inner", a="1", b="1")) == {"inner"}


def with_submodule(folder: Path) -> Path:
    repository(folder / "library")
    repository(folder / "r")
    git(folder / "r", "submodule", "--quiet", "add", str(folder / "library"), "sub")
    commit(folder / "r")
    return folder / "r"


def test_work_inside_a_submodule_counts(tmp_path: Path) -> None:
    main = with_submodule(tmp_path)
    assert names(main, nothing) == set()
    assert names(main, lambda: (main / "sub" / "b").write_text("1")) == {"sub/b"}
    assert names(main, lambda: (main / "sub" / "b").write_text("2")) == {"sub/b"}
    assert names(main, lambda: commit(main / "sub")) == {"sub/b"}
    assert names(main, lambda: commit(main)) == {"sub"}
    assert names(main, nothing) == set()


def test_submodule_that_is_not_checked_out_is_accepted(tmp_path: Path) -> None:
    main = with_submodule(tmp_path)
    git(main, "submodule", "--quiet", "deinit", "-f", "sub")
    assert names(main, lambda: (main / "b").write_text("1")) == {"b"}


# --- unknown changes ------------------------------------------------------------------------------------------------


def test_changes_are_unknown_without_a_repository(tmp_path: Path) -> None:
    assert measure.snapshot([str(tmp_path)]) is None
    assert measure.snapshot([]) is None
    assert measure.changed(None, None) is None


def test_changes_are_unknown_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert measure.snapshot([str(tmp_path)]) is None


def test_changes_are_unknown_in_a_bare_repository(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "r.git")
    assert measure.snapshot([str(tmp_path / "r.git")]) is None


def test_changes_are_unknown_in_a_missing_folder(tmp_path: Path) -> None:
    assert measure.snapshot([str(tmp_path / "gone")]) is None


def test_changes_are_unknown_after_the_repository_is_removed(tmp_path: Path) -> None:
    repository(tmp_path / "r")
    assert names(tmp_path / "r", lambda: os.rename(tmp_path / "r" / ".git", tmp_path / "away")) is None


def test_unknown_root_hides_no_change_but_makes_none_unknown(tmp_path: Path) -> None:
    known = repository(tmp_path / "known")
    (tmp_path / "unknown").mkdir()
    assert names(known, nothing, tmp_path / "unknown") is None
    assert names(known, lambda: (known / "x").write_text("1"), tmp_path / "unknown") == {"x"}


def test_git_that_hangs_is_killed_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = tmp_path / "pid"
    slow = tmp_path / "git"
    slow.write_text(f"#!/bin/sh\nsleep 1000 & echo $! > {pid}.new; mv {pid}.new {pid}; wait\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(command, "TIME_LIMIT", 0.3)
    assert measure.snapshot([str(tmp_path)]) is None
    until(lambda: not alive(int(pid.read_text())), "its children have ended")


# --- leaving no trace -----------------------------------------------------------------------------------------------


def files(folder: Path) -> dict[str, tuple[int, int, int]]:
    return {
        str(path): (status.st_mtime_ns, status.st_ino, status.st_size)
        for path in folder.rglob("*")
        if stat.S_ISREG((status := path.lstat()).st_mode)
    }


def test_nothing_is_written_into_the_repository(tmp_path: Path) -> None:
    repository(tmp_path, a="1", b="1")
    (tmp_path / "a").write_text("2")
    os.utime(tmp_path / "b", (1, 1))  # git would like to refresh its index
    before = files(tmp_path)
    measure.snapshot([str(tmp_path)])
    assert files(tmp_path) == before


def test_index_locked_by_another_git_is_accepted(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / ".git" / "index.lock").touch()
    assert names(tmp_path, lambda: (tmp_path / "x").write_text("1")) == {"x"}


def test_no_hook_and_no_fsmonitor_is_started(tmp_path: Path) -> None:
    repository(tmp_path)
    trap = tmp_path / ".git" / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/.git/trapped\n")
    trap.chmod(0o755)
    (tmp_path / ".git" / "hooks").mkdir(exist_ok=True)
    for hook in ("post-index-change", "post-checkout"):
        (tmp_path / ".git" / "hooks" / hook).symlink_to(trap)
    for setting in ("core.fsmonitor", "core.pager", "diff.external"):
        git(tmp_path, "config", setting, str(trap))
    assert names(tmp_path, lambda: (tmp_path / "x").write_text("1")) == {"x"}
    assert not (tmp_path / ".git" / "trapped").exists()


def test_variables_of_a_git_hook_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = repository(tmp_path / "one"), repository(tmp_path / "two")
    for name, value in (("GIT_DIR", two / ".git"), ("GIT_WORK_TREE", two), ("GIT_INDEX_FILE", two / ".git" / "index")):
        monkeypatch.setenv(name, str(value))
    before = measure.snapshot([str(one)])
    (one / "x").write_text("1")
    assert measure.changed(before, measure.snapshot([str(one)])) == frozenset({str(one / "x")})


def test_settings_that_hide_untracked_files_are_ignored(tmp_path: Path) -> None:
    repository(tmp_path)
    git(tmp_path, "config", "status.showUntrackedFiles", "no")
    assert names(tmp_path, lambda: (tmp_path / "x").write_text("1")) == {"x"}
