"""What an iteration changed, measured on real repositories."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from liza.runner import git as measure
from tests.runner.repositories import commit, git, repository
from tests.watch.daemon import until


@pytest.fixture(autouse=True)
def only_the_settings_of_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def names(folder: Path, work: Callable[[], object], *more: Path, exclude: tuple[str, ...] = ()) -> set[str] | None:
    """The paths below `folder` that are different after some work; None where nobody can know."""
    roots = [str(folder), *map(str, more)]
    before = measure.snapshot(roots, exclude)
    work()
    after = measure.snapshot(roots, exclude)
    found = measure.changed(before, after)
    assert measure.files_changed(before, after) == (None if found is None else len(found))
    return None if found is None else {os.path.relpath(path, folder) for path in found}


def nothing() -> None:
    pass


# --- what is no change ----------------------------------------------------------------------------------------------


def test_nothing_done_after_a_real_commit_is_no_change(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "a.txt").write_text("two\n")
    commit(tmp_path)
    assert names(tmp_path, nothing) == set()


def test_a_tree_that_was_dirty_before_and_stays_so_is_no_change(tmp_path: Path) -> None:
    repository(tmp_path, a="1", b="1", c="1")
    (tmp_path / "a").write_text("2")
    (tmp_path / "b").unlink()
    (tmp_path / "new").write_text("untracked")
    git(tmp_path, "rm", "-q", "--cached", "c")
    assert names(tmp_path, nothing) == set()


def test_a_file_that_is_only_touched_is_no_change(tmp_path: Path) -> None:
    repository(tmp_path, a="1")
    (tmp_path / "new").write_text("1")

    def touch() -> None:
        for name in ("a", "new"):
            os.utime(tmp_path / name, (1, 1))

    assert names(tmp_path, touch) == set()


def test_staging_what_was_dirty_is_no_change(tmp_path: Path) -> None:
    repository(tmp_path, a="1")
    (tmp_path / "a").write_text("2")
    (tmp_path / "new").write_text("1")
    assert names(tmp_path, lambda: git(tmp_path, "add", "-A")) == set()


def test_an_empty_commit_and_another_message_are_no_change(tmp_path: Path) -> None:
    repository(tmp_path)
    assert names(tmp_path, lambda: commit(tmp_path)) == set()
    assert names(tmp_path, lambda: commit(tmp_path, "--amend", "-m", "in other words")) == set()


def test_work_that_is_undone_again_is_no_change(tmp_path: Path) -> None:
    repository(tmp_path, a="1")

    def back_and_forth() -> None:
        (tmp_path / "a").write_text("2")
        commit(tmp_path)
        git(tmp_path, "revert", "--no-edit", "HEAD")

    assert names(tmp_path, back_and_forth) == set()


def test_ignored_files_do_not_count(tmp_path: Path) -> None:
    repository(tmp_path, __gitignore="build/\n")
    (tmp_path / "build").mkdir()
    assert names(tmp_path, lambda: (tmp_path / "build" / "x").write_text("1")) == set()


@pytest.mark.parametrize("folder", [".liza", "deep/down/.liza"])
def test_a_blackboard_does_not_count_wherever_it_lies(tmp_path: Path, folder: str) -> None:
    repository(tmp_path)
    (tmp_path / folder).mkdir(parents=True)
    assert names(tmp_path, lambda: (tmp_path / folder / "state.yaml").write_text("1")) == set()
    assert names(tmp_path, lambda: commit(tmp_path)) == set()


def test_a_name_that_only_begins_like_the_blackboards_counts(tmp_path: Path) -> None:
    repository(tmp_path)
    assert names(tmp_path, lambda: (tmp_path / ".lizard").write_text("1")) == {".lizard"}


def test_what_is_excluded_does_not_count_changed_or_committed(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "logs").mkdir()

    def write() -> None:
        (tmp_path / "logs" / "x").write_text("1")
        (tmp_path / "logs2").write_text("1")

    exclude = (str(tmp_path / "logs"),)
    assert names(tmp_path, write, exclude=exclude) == {"logs2"}
    assert names(tmp_path, lambda: commit(tmp_path), exclude=exclude) == {"logs2"}


# --- what is one ----------------------------------------------------------------------------------------------------


def test_files_modified_deleted_and_added_are_counted_each(tmp_path: Path) -> None:
    repository(tmp_path, a="1", b="1", c="1")

    def work() -> None:
        (tmp_path / "a").write_text("2")
        (tmp_path / "b").unlink()
        (tmp_path / "deep").mkdir()
        (tmp_path / "deep" / "new").write_text("1")

    assert names(tmp_path, work) == {"a", "b", "deep/new"}


def test_a_dirty_file_that_becomes_different_counts(tmp_path: Path) -> None:
    repository(tmp_path, a="1")
    (tmp_path / "a").write_text("2")
    (tmp_path / "new").write_text("1")

    def work() -> None:
        for name in ("a", "new"):
            (tmp_path / name).write_text("3")

    assert names(tmp_path, work) == {"a", "new"}


def test_a_dirty_file_that_is_put_back_counts(tmp_path: Path) -> None:
    repository(tmp_path, a="1")
    (tmp_path / "a").write_text("2")
    assert names(tmp_path, lambda: git(tmp_path, "checkout", "-q", "a")) == {"a"}


def test_a_change_of_the_same_size_and_time_counts_in_a_huge_file(tmp_path: Path) -> None:
    repository(tmp_path)
    huge = tmp_path / "huge"
    huge.write_bytes(b"x" * 5_000_000)
    os.utime(huge, (1_000_000_000, 1_000_000_000))

    def flip_the_last_byte() -> None:
        with huge.open("r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(b"y")
        os.utime(huge, (1_000_000_000, 1_000_000_000))

    assert names(tmp_path, flip_the_last_byte) == {"huge"}


def test_commits_made_meanwhile_count(tmp_path: Path) -> None:
    repository(tmp_path, a="1", b="1")

    def work() -> None:
        for name in ("a", "b"):
            (tmp_path / name).write_text("2")
            commit(tmp_path)

    assert names(tmp_path, work) == {"a", "b"}


def test_a_commit_of_what_was_dirty_counts(tmp_path: Path) -> None:
    repository(tmp_path, a="1")
    (tmp_path / "a").write_text("2")
    assert names(tmp_path, lambda: commit(tmp_path)) == {"a"}


def test_an_amended_commit_counts(tmp_path: Path) -> None:
    repository(tmp_path, a="1")

    def amend() -> None:
        (tmp_path / "a").write_text("2")
        commit(tmp_path, "--amend")

    assert names(tmp_path, amend) == {"a"}


def test_an_amended_commit_whose_old_one_is_gone_counts(tmp_path: Path) -> None:
    repository(tmp_path, a="1")

    def amend() -> None:
        (tmp_path / "a").write_text("2")
        commit(tmp_path, "--amend")
        git(tmp_path, "reflog", "expire", "--expire=now", "--all")
        git(tmp_path, "gc", "-q", "--prune=now")

    assert names(tmp_path, amend) == {"."}


def test_the_first_commit_counts(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("1")
    assert names(tmp_path, nothing) == set()
    assert names(tmp_path, lambda: commit(tmp_path)) == {"a"}


def test_commits_on_a_detached_head_count(tmp_path: Path) -> None:
    repository(tmp_path, a="1")
    git(tmp_path, "checkout", "-q", "--detach")

    def work() -> None:
        (tmp_path / "b").write_text("1")
        commit(tmp_path)

    assert names(tmp_path, work) == {"b"}


def test_a_renamed_file_is_two_paths(tmp_path: Path) -> None:
    repository(tmp_path, a="a long enough text\n" * 20)
    assert names(tmp_path, lambda: git(tmp_path, "mv", "a", "b")) == {"a", "b"}
    assert names(tmp_path, lambda: commit(tmp_path)) == {"a", "b"}


def test_a_mode_change_counts_tracked_and_untracked(tmp_path: Path) -> None:
    repository(tmp_path, a="1")
    (tmp_path / "new").write_text("1")

    def chmod() -> None:
        for name in ("a", "new"):
            (tmp_path / name).chmod(0o755)

    assert names(tmp_path, chmod) == {"a", "new"}


def test_a_symlink_counts_by_where_it_points_and_is_not_followed(tmp_path: Path) -> None:
    repository(tmp_path / "r")
    outside = tmp_path / "outside"
    outside.write_text("1")
    link = tmp_path / "r" / "link"
    link.symlink_to(outside)
    assert names(tmp_path / "r", lambda: outside.write_text("2")) == set()

    def point_elsewhere() -> None:
        link.unlink()
        link.symlink_to("nowhere")

    assert names(tmp_path / "r", point_elsewhere) == {"link"}


def test_a_file_that_becomes_a_pipe_does_not_keep_us_waiting(tmp_path: Path) -> None:
    repository(tmp_path, a="1")
    (tmp_path / "a").write_text("2")

    def replace() -> None:
        (tmp_path / "a").unlink()
        os.mkfifo(tmp_path / "a")

    assert names(tmp_path, replace) == {"a"}


ODD = ("two\nlines", 'a "quoted" one', "a\ttab", "größe ", "-rf", "*", "\udcff\udcfe", "a -> b")


@pytest.mark.parametrize("name", ODD)
def test_any_file_name_is_seen_once_and_kept(tmp_path: Path, name: str) -> None:
    repository(tmp_path)
    assert names(tmp_path, lambda: (tmp_path / name).write_text("1")) == {name}
    now = measure.snapshot([str(tmp_path)])
    assert now is not None
    kept = measure.load(json.loads(json.dumps(measure.dump(now))))
    assert kept == now
    assert measure.files_changed(kept, measure.snapshot([str(tmp_path)])) == 0
    assert names(tmp_path, lambda: commit(tmp_path)) == {name}


# --- several repositories, and odd ones -----------------------------------------------------------------------------


def test_several_roots_are_counted_together_and_each_work_tree_once(tmp_path: Path) -> None:
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


def test_a_folder_stands_for_the_whole_work_tree_around_it(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "deep").mkdir()
    assert names(tmp_path / "deep", lambda: (tmp_path / "x").write_text("1")) == {"../x"}


def test_a_linked_work_tree_is_its_own(tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    git(main, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))

    def work() -> None:
        (tmp_path / "side" / "x").write_text("1")
        commit(tmp_path / "side")

    assert names(main, work) == set()
    assert names(tmp_path / "side", lambda: (tmp_path / "side" / "y").write_text("1")) == {"y"}


def test_a_repository_inside_another_is_looked_into(tmp_path: Path) -> None:
    repository(tmp_path)
    inner = repository(tmp_path / "inner")

    def work() -> None:
        (inner / "b").write_text("1")

    assert names(tmp_path, nothing) == set()
    assert names(tmp_path, work) == {"inner/b"}
    assert names(tmp_path, lambda: commit(inner)) == {"inner/b"}


def test_a_repository_that_appears_inside_another_is_one_change(tmp_path: Path) -> None:
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


def test_a_submodule_that_is_not_checked_out_is_no_trouble(tmp_path: Path) -> None:
    main = with_submodule(tmp_path)
    git(main, "submodule", "--quiet", "deinit", "-f", "sub")
    assert names(main, lambda: (main / "b").write_text("1")) == {"b"}


# --- what nobody can know -------------------------------------------------------------------------------------------


def test_without_a_repository_it_is_unknown(tmp_path: Path) -> None:
    assert measure.snapshot([str(tmp_path)]) is None
    assert measure.snapshot([]) is None
    assert measure.files_changed(None, None) is None


def test_without_git_it_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert measure.snapshot([str(tmp_path)]) is None


def test_a_bare_repository_is_unknown(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "r.git")
    assert measure.snapshot([str(tmp_path / "r.git")]) is None


def test_a_folder_that_is_gone_is_unknown(tmp_path: Path) -> None:
    assert measure.snapshot([str(tmp_path / "gone")]) is None


def test_a_folder_that_is_no_repository_any_more_is_unknown(tmp_path: Path) -> None:
    repository(tmp_path / "r")
    assert names(tmp_path / "r", lambda: os.rename(tmp_path / "r" / ".git", tmp_path / "away")) is None


def test_one_unknown_root_makes_no_change_unknown_but_not_a_change(tmp_path: Path) -> None:
    known = repository(tmp_path / "known")
    (tmp_path / "unknown").mkdir()
    assert names(known, nothing, tmp_path / "unknown") is None
    assert names(known, lambda: (known / "x").write_text("1"), tmp_path / "unknown") == {"x"}


def test_a_git_that_does_not_answer_is_ended_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = tmp_path / "pid"
    slow = tmp_path / "git"
    slow.write_text(f"#!/bin/sh\nsleep 1000 & echo $! > {pid}.new; mv {pid}.new {pid}; wait\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(measure, "TIME_LIMIT", 0.3)
    assert measure.snapshot([str(tmp_path)]) is None
    until(lambda: gone(int(pid.read_text())), "what it started has ended")


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"  # nobody has asked yet how it ended


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


def test_an_index_that_another_git_has_locked_is_no_trouble(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / ".git" / "index.lock").touch()
    assert names(tmp_path, lambda: (tmp_path / "x").write_text("1")) == {"x"}


def test_no_hook_and_no_monitor_is_started(tmp_path: Path) -> None:
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


def test_the_variables_of_a_git_hook_do_not_lead_us_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = repository(tmp_path / "one"), repository(tmp_path / "two")
    for name, value in (("GIT_DIR", two / ".git"), ("GIT_WORK_TREE", two), ("GIT_INDEX_FILE", two / ".git" / "index")):
        monkeypatch.setenv(name, str(value))
    before = measure.snapshot([str(one)])
    (one / "x").write_text("1")
    assert measure.changed(before, measure.snapshot([str(one)])) == frozenset({str(one / "x")})


def test_settings_that_hide_untracked_files_are_not_followed(tmp_path: Path) -> None:
    repository(tmp_path)
    git(tmp_path, "config", "status.showUntrackedFiles", "no")
    assert names(tmp_path, lambda: (tmp_path / "x").write_text("1")) == {"x"}


# --- between two calls ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [None, [], "text", {}, {"trees": {}}, {"trees": [], "unknown": [], "exclude": []},
     {"trees": {"/a": {}}, "unknown": [], "exclude": []}, {"trees": {}, "unknown": [1], "exclude": []},
     {"trees": {"/a": {"commit": 1, "tree": None, "dirty": {}}}, "unknown": [], "exclude": []},
     {"trees": {"/a": {"commit": None, "tree": None, "dirty": {"x": None}}}, "unknown": [], "exclude": []}],
)  # fmt: skip
def test_what_is_no_snapshot_is_not_loaded_as_one(value: object) -> None:
    assert measure.load(value) is None
