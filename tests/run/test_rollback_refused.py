"""Rollbacks that cannot be done: refused with the next step, and nothing changed."""

import os
import subprocess
from pathlib import Path

import pytest

from liza.errors import Refused
from liza.git import rollback
from liza.git.capture import capture_base
from liza.scopes.slices.rollback import plan_rollback
from tests.run.repositories import SETTINGS, commit, git
from tests.run.slices import NOW, StartedSlice, dirty, fail, files, state

pytestmark = pytest.mark.slow

# --- git operations under way ---------------------------------------------------------------------------------------


def conflicting(folder: Path, *words: str) -> None:
    """Run a git command that stops at a conflict between the branches main and other."""
    git(folder, "switch", "-q", "-c", "other")
    (folder / "changed").write_text("theirs\n")
    commit(folder)
    git(folder, "switch", "-q", "main")
    (folder / "changed").write_text("ours\n")
    commit(folder)
    subprocess.run(["git", *words], cwd=folder, env={**os.environ, **SETTINGS}, capture_output=True, check=False)


def during_a_merge(folder: Path) -> None:
    conflicting(folder, "merge", "other")


def during_a_rebase(folder: Path) -> None:
    conflicting(folder, "rebase", "other")


def during_a_cherry_pick(folder: Path) -> None:
    conflicting(folder, "cherry-pick", "other")


def during_several_cherry_picks(folder: Path) -> None:
    """One of two was resolved and committed; the other one is still to come."""
    conflicting(folder, "cherry-pick", "other", "main~1")
    commit(folder)


def during_a_resolved_merge(folder: Path) -> None:
    during_a_merge(folder)
    (folder / "changed").write_text("both\n")
    git(folder, "add", "changed")


def during_a_bisect(folder: Path) -> None:
    commit(folder)
    git(folder, "bisect", "start", "HEAD", "HEAD~1")


OPERATIONS = {
    "a merge": during_a_merge,
    "a merge that is resolved": during_a_resolved_merge,
    "a rebase": during_a_rebase,
    "a cherry-pick": during_a_cherry_pick,
    "a cherry-pick or revert of several commits": during_several_cherry_picks,
    "a bisect": during_a_bisect,
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_rollback_during_a_git_operation_is_refused_without_changes(folder: Path, operation: str) -> None:
    begun = StartedSlice(folder)
    OPERATIONS[operation](folder)
    before = state(folder)
    with pytest.raises(Refused, match=f"in the middle of {operation.split(' that')[0]}") as refused:
        begun.plan()
    assert "git -C" in str(refused.value.hint)
    assert state(folder) == before
    assert git(folder, "for-each-ref", "refs/liza/saved") == ""


def test_rollback_on_another_branch_is_refused_with_the_way_back(folder: Path) -> None:
    begun = StartedSlice(folder)
    git(folder, "switch", "-q", "-c", "elsewhere")
    with pytest.raises(Refused, match=r"began on the branch main, but .* is on the branch elsewhere") as refused:
        begun.plan()
    subprocess.run(["sh", "-ec", str(refused.value.hint)], check=True, capture_output=True)
    assert begun.plan().tree.branch == "main"


def test_rollback_of_a_detached_head_stays_detached(folder: Path) -> None:
    git(folder, "checkout", "-q", "--detach")
    begun = StartedSlice(folder)
    fail(folder)
    begun.go_back()
    after = state(folder)
    del after["files"][b"result.o"]
    assert after == begun.before


def test_rollback_before_the_first_commit_restores_the_unborn_branch(tmp_path: Path) -> None:
    for name, given in (("empty", {}), ("with files", {"a": "1", "b": "2"})):
        folder = tmp_path / name
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main")
        for file, text in given.items():
            (folder / file).write_text(text)
        begun = StartedSlice(folder)
        assert begun.base.commit == ""
        (folder / "c").write_text("3")
        (folder / "a").unlink(missing_ok=True)
        commit(folder)
        plan = begun.go_back()
        assert {path: text for path, (_, text) in files(folder).items()} == {
            file.encode(): text.encode() for file, text in given.items()
        }
        assert git(folder, "branch", "--show-current") == "main\n"
        assert git(folder, "show", f"{plan.saved}:c") == "3"


def test_another_worktree_of_the_repository_is_left_alone(folder: Path, tmp_path: Path) -> None:
    git(folder, "worktree", "add", "-q", "-b", "slice", str(tmp_path / "tree"))
    begun = StartedSlice(tmp_path / "tree")
    (folder / "changed").write_text("the person's own\n")
    before = state(folder)
    fail(tmp_path / "tree")
    begun.go_back()
    after = state(tmp_path / "tree")
    del after["files"][b"result.o"]
    assert after == begun.before
    assert state(folder) == before


def test_missing_base_or_worktree_is_refused(folder: Path, tmp_path: Path) -> None:
    begun = StartedSlice(folder)
    for tag in ("0" * 40, "--exec=touch x", "no-such-tag", "a\nb"):
        with pytest.raises(Refused, match="not a commit"):
            plan_rollback({"checkpoint_tag": tag}, "S-1", str(folder), NOW)
    with pytest.raises(Refused, match="has no base"):
        plan_rollback({}, "S-1", str(folder), NOW)
    begun.record["checkpoint"]["work_tree"] = "gone"
    with pytest.raises(Refused, match="not a git worktree"):
        begun.plan()
    assert capture_base(str(tmp_path), str(tmp_path), "S-1").base is None


def test_tag_written_by_a_person_is_a_valid_base(folder: Path) -> None:
    git(folder, "tag", "v1")
    before = state(folder)
    fail(folder)
    for record in ({"checkpoint_tag": "v1"}, {"tests": [{"test_name": "a", "checkpoint_tag": "v1"}]}):
        plan = plan_rollback(record, "S-1", str(folder), NOW)
        assert plan.target.content == git(folder, "rev-parse", "v1").strip()
    rollback.roll_back(plan)
    after = state(folder)
    del after["files"][b"result.o"]
    assert after == before


def test_lost_dirty_start_is_not_replaced_by_a_clean_one(folder: Path) -> None:
    dirty(folder)
    begun = StartedSlice(folder)
    git(folder, "update-ref", "-d", str(begun.base.ref))
    with pytest.raises(Refused, match="uncommitted changes"):
        begun.plan()


def test_sparse_worktree_is_refused(folder: Path) -> None:
    begun = StartedSlice(folder)
    git(folder, "sparse-checkout", "set", "src")
    with pytest.raises(Refused, match="sparse checkout"):
        begun.plan()


def test_failure_halfway_reports_where_everything_is(folder: Path) -> None:
    begun = StartedSlice(folder)
    fail(folder)
    failed = files(folder)
    plan = begun.plan()
    (folder / ".git" / "index.lock").write_text("")
    with pytest.raises(Refused, match="git read-tree failed") as refused:
        rollback.roll_back(plan)
    assert rollback.restore_command(plan) in str(refused.value.hint)
    assert files(folder) == failed
    (folder / ".git" / "index.lock").unlink()
    begun.go_back()
    assert (folder / "changed").read_text() == "1\n"


def test_two_rollbacks_in_one_second_keep_both(folder: Path) -> None:
    begun = StartedSlice(folder)
    saved = []
    for text in ("2\n", "3\n"):
        (folder / "changed").write_text(text)
        saved.append(begun.go_back().saved)
    assert [git(folder, "show", f"{each}:changed") for each in saved] == ["2\n", "3\n"]


def test_change_with_unchanged_size_and_times_is_noticed(folder: Path) -> None:
    file, index, moment = folder / "changed", folder / ".git" / "index", (1_700_000_000, 1_700_000_000)
    git(folder, "config", "core.trustctime", "false")
    os.utime(file, moment)
    git(folder, "add", "changed")
    begun = StartedSlice(folder)
    file.write_text("2\n")
    os.utime(file, moment)
    os.utime(index, moment)  # everything that git compares is the same
    assert [(each.status, each.path) for each in begun.plan().changes] == [("M", "changed")]
