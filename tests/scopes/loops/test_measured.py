"""Without --files-changed, a git work tree is measured from the end of one iteration to the end of the next."""

import subprocess
from pathlib import Path

import pytest

from tests.scopes.loops.run import Loops


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(loops: Loops) -> Loops:
    git(loops.root, "init")
    (loops.root / "a.txt").write_text("one\n")
    git(loops.root, "add", "a.txt")
    git(loops.root, "commit", "-m", "first")
    loops.record()
    return loops


def measured(loops: Loops) -> int | None:
    loops.record()
    found: int | None = loops.at()["iterations"][-1].get("files_changed")
    return found


def test_the_first_iteration_has_nothing_to_compare_with(repository: Loops) -> None:
    assert "files_changed" not in repository.at()["iterations"][0]


def test_an_iteration_that_does_nothing_after_a_real_commit_changed_nothing(repository: Loops) -> None:
    (repository.root / "a.txt").write_text("two\n")
    git(repository.root, "commit", "-am", "second")
    assert measured(repository) == 1
    assert measured(repository) == 0


def test_a_tree_that_was_dirty_before_is_no_progress(repository: Loops) -> None:
    (repository.root / "a.txt").write_text("two\n")
    assert measured(repository) == 1
    assert measured(repository) == 0


def test_files_that_git_does_not_know_yet_count(repository: Loops) -> None:
    (repository.root / "b c.txt").write_text("new\n")
    assert measured(repository) == 1


def test_work_below_the_blackboard_does_not_count(repository: Loops) -> None:
    (repository.folder / "notes.md").write_text("thinking\n")
    assert measured(repository) == 0


def test_three_idle_iterations_trip(repository: Loops) -> None:
    assert [repository.record().code for _ in range(3)] == [0, 0, 3]


def test_what_changed_before_an_iteration_that_nobody_measured_counts_for_none_after_it(repository: Loops) -> None:
    (repository.root / "b.txt").write_text("new\n")
    repository.record("--files-changed", "1")
    assert measured(repository) is None
    assert measured(repository) == 0


def test_other_work_trees_than_the_last_time_are_nothing_to_compare_with(repository: Loops) -> None:
    (repository.root / "two").mkdir()
    git(repository.root / "two", "init")
    (repository.root / "two" / "x").write_text("there from the start\n")
    repository.record("--workdir", "two")
    assert "files_changed" not in repository.at()["iterations"][-1]


def test_a_work_tree_that_is_not_there_is_refused_and_nothing_is_recorded(repository: Loops) -> None:
    ran = repository.record("--workdir", "nowhere")
    assert (ran.code, "--workdir nowhere: not a folder" in ran.err) == (1, True)
    assert repository.at()["loop_count"] == 1


def test_long_names_that_begin_alike_have_files_of_their_own(repository: Loops) -> None:
    one, other = ("日本語" * 20 + each for each in "ab")
    for name in (one, other, one):
        repository.record(name=name)
    (repository.root / "b.txt").write_text("new\n")
    assert [repository.record(name=name).code for name in (one, other)] == [0, 0]
    assert [repository.at(name)["iterations"][-1].get("files_changed") for name in (one, other)] == [1, 1]


def test_without_git_it_is_unknown_and_counts_neither_way(loops: Loops) -> None:
    assert [loops.record().code for _ in range(5)] == [0] * 5
    assert all("files_changed" not in each for each in loops.at()["iterations"])


def test_several_work_trees_are_measured_together(loops: Loops) -> None:
    for name in ("one", "two"):
        (loops.root / name).mkdir()
        git(loops.root / name, "init")
    words = ("--workdir", "one", "--workdir", "two")
    loops.record(*words)
    for name in ("one", "two"):
        (loops.root / name / "x").write_text(name)
    loops.record(*words)
    assert loops.at()["iterations"][-1]["files_changed"] == 2
