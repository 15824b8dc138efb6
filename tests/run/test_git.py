"""The changes of an iteration, measured on real repositories."""

import json
import os
from pathlib import Path

import pytest

from liza.git import snapshot as measure
from tests.run.repositories import commit, git, names, nothing, repository

# --- no change ------------------------------------------------------------------------------------------------------


def test_nothing_after_a_commit_is_not_a_change(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "a.txt").write_text("two\n")
    commit(tmp_path)
    assert names(tmp_path, nothing) == set()


def test_tree_that_stays_dirty_is_not_a_change(tmp_path: Path) -> None:
    repository(tmp_path, a="1", b="1", c="1")
    (tmp_path / "a").write_text("2")
    (tmp_path / "b").unlink()
    (tmp_path / "new").write_text("untracked")
    git(tmp_path, "rm", "-q", "--cached", "c")
    assert names(tmp_path, nothing) == set()


def test_touched_file_is_not_a_change(tmp_path: Path) -> None:
    repository(tmp_path, a="1")
    (tmp_path / "new").write_text("1")

    def touch() -> None:
        for name in ("a", "new"):
            os.utime(tmp_path / name, (1, 1))

    assert names(tmp_path, touch) == set()


def test_staging_dirty_files_is_not_a_change(tmp_path: Path) -> None:
    repository(tmp_path, a="1")
    (tmp_path / "a").write_text("2")
    (tmp_path / "new").write_text("1")
    assert names(tmp_path, lambda: git(tmp_path, "add", "-A")) == set()


def test_empty_or_reworded_commit_is_not_a_change(tmp_path: Path) -> None:
    repository(tmp_path)
    assert names(tmp_path, lambda: commit(tmp_path)) == set()
    assert names(tmp_path, lambda: commit(tmp_path, "--amend", "-m", "in other words")) == set()


def test_reverted_work_is_not_a_change(tmp_path: Path) -> None:
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
def test_blackboard_does_not_count_in_any_folder(tmp_path: Path, folder: str) -> None:
    repository(tmp_path)
    (tmp_path / folder).mkdir(parents=True)
    assert names(tmp_path, lambda: (tmp_path / folder / "state.yaml").write_text("1")) == set()
    assert names(tmp_path, lambda: commit(tmp_path)) == set()


def test_name_with_the_blackboards_prefix_counts(tmp_path: Path) -> None:
    repository(tmp_path)
    assert names(tmp_path, lambda: (tmp_path / ".lizard").write_text("1")) == {".lizard"}


# --- changes --------------------------------------------------------------------------------------------------------


def test_modified_deleted_and_added_files_count_separately(tmp_path: Path) -> None:
    repository(tmp_path, a="1", b="1", c="1")

    def work() -> None:
        (tmp_path / "a").write_text("2")
        (tmp_path / "b").unlink()
        (tmp_path / "deep").mkdir()
        (tmp_path / "deep" / "new").write_text("1")

    assert names(tmp_path, work) == {"a", "b", "deep/new"}


def test_change_of_a_dirty_file_counts(tmp_path: Path) -> None:
    repository(tmp_path, a="1")
    (tmp_path / "a").write_text("2")
    (tmp_path / "new").write_text("1")

    def work() -> None:
        for name in ("a", "new"):
            (tmp_path / name).write_text("3")

    assert names(tmp_path, work) == {"a", "new"}


def test_restored_dirty_file_counts(tmp_path: Path) -> None:
    repository(tmp_path, a="1")
    (tmp_path / "a").write_text("2")
    assert names(tmp_path, lambda: git(tmp_path, "checkout", "-q", "a")) == {"a"}


def test_change_of_same_size_and_time_counts_in_a_huge_file(tmp_path: Path) -> None:
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


def test_commit_of_dirty_files_counts(tmp_path: Path) -> None:
    repository(tmp_path, a="1")
    (tmp_path / "a").write_text("2")
    assert names(tmp_path, lambda: commit(tmp_path)) == {"a"}


def test_amended_commit_counts(tmp_path: Path) -> None:
    repository(tmp_path, a="1")

    def amend() -> None:
        (tmp_path / "a").write_text("2")
        commit(tmp_path, "--amend")

    assert names(tmp_path, amend) == {"a"}


def test_amended_commit_counts_after_its_original_is_pruned(tmp_path: Path) -> None:
    repository(tmp_path, a="1")

    def amend() -> None:
        (tmp_path / "a").write_text("2")
        commit(tmp_path, "--amend")
        git(tmp_path, "reflog", "expire", "--expire=now", "--all")
        git(tmp_path, "gc", "-q", "--prune=now")

    assert names(tmp_path, amend) == {"."}


def test_first_commit_counts(tmp_path: Path) -> None:
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


def test_renamed_file_counts_as_two_paths(tmp_path: Path) -> None:
    repository(tmp_path, a="a long enough text\n" * 20)
    assert names(tmp_path, lambda: git(tmp_path, "mv", "a", "b")) == {"a", "b"}
    assert names(tmp_path, lambda: commit(tmp_path)) == {"a", "b"}


def test_mode_change_counts_tracked_and_untracked(tmp_path: Path) -> None:
    repository(tmp_path, a="1")
    (tmp_path / "new").write_text("1")

    def chmod() -> None:
        for name in ("a", "new"):
            (tmp_path / name).chmod(0o755)

    assert names(tmp_path, chmod) == {"a", "new"}


def test_symlink_counts_by_its_target_path_and_is_not_followed(tmp_path: Path) -> None:
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


def test_file_replaced_by_a_pipe_does_not_block(tmp_path: Path) -> None:
    repository(tmp_path, a="1")
    (tmp_path / "a").write_text("2")

    def replace() -> None:
        (tmp_path / "a").unlink()
        os.mkfifo(tmp_path / "a")

    assert names(tmp_path, replace) == {"a"}


ODD = ("two\nlines", 'a "quoted" one', "a\ttab", "größe ", "-rf", "*", "\udcff\udcfe", "a -> b")


@pytest.mark.parametrize("name", ODD)
def test_any_file_name_counts_once_and_round_trips(tmp_path: Path, name: str) -> None:
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
    [None, [], "text", {}, {"trees": {}}, {"trees": [], "unknown": []},
     {"trees": {"/a": {}}, "unknown": []}, {"trees": {}, "unknown": [1]},
     {"trees": {"/a": {"commit": 1, "tree": None, "dirty": {}}}, "unknown": []},
     {"trees": {"/a": {"commit": None, "tree": None, "dirty": {"x": None}}}, "unknown": []}],
)  # fmt: skip
def test_invalid_snapshot_is_not_loaded(value: object) -> None:
    assert measure.load(value) is None
