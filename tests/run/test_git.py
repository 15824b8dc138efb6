"""What an iteration changed, measured on real repositories."""

import json
import os
from pathlib import Path

import pytest

from liza.git import snapshot as measure
from tests.run.repositories import commit, git, names, nothing, repository

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
    assert measure.changed(kept, measure.snapshot([str(tmp_path)])) == frozenset()
    assert names(tmp_path, lambda: commit(tmp_path)) == {name}


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
