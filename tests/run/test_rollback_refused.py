"""Going back to where a slice began, where that cannot be done: refused, with what to do, and nothing changed."""

import os
import subprocess
from pathlib import Path

import pytest

from liza.errors import Refused
from liza.scopes.slices import rollback
from liza.scopes.slices.base import capture_base
from tests.run.repositories import SETTINGS, commit, git
from tests.run.slices import NOW, Begun, dirty, fail, files, state

pytestmark = pytest.mark.slow

# --- where it cannot be done ----------------------------------------------------------------------------------------


def middle_of_a_merge(folder: Path) -> None:
    git(folder, "switch", "-q", "-c", "other")
    (folder / "changed").write_text("theirs\n")
    commit(folder)
    git(folder, "switch", "-q", "main")
    (folder / "changed").write_text("ours\n")
    commit(folder)
    subprocess.run(
        ["git", "merge", "other"], cwd=folder, env={**os.environ, **SETTINGS}, capture_output=True, check=False
    )


def middle_of_a_rebase(folder: Path) -> None:
    middle_of_a_merge(folder)
    git(folder, "merge", "--abort")
    subprocess.run(
        ["git", "rebase", "other"], cwd=folder, env={**os.environ, **SETTINGS}, capture_output=True, check=False
    )


def middle_of_a_cherry_pick(folder: Path) -> None:
    middle_of_a_merge(folder)
    git(folder, "merge", "--abort")
    subprocess.run(
        ["git", "cherry-pick", "other"], cwd=folder, env={**os.environ, **SETTINGS}, capture_output=True, check=False
    )


def middle_of_several_cherry_picks(folder: Path) -> None:
    """One of two was resolved and committed; the other one is still to come."""
    middle_of_a_merge(folder)
    git(folder, "merge", "--abort")
    subprocess.run(
        ["git", "cherry-pick", "other", "main~1"],
        cwd=folder, env={**os.environ, **SETTINGS}, capture_output=True, check=False,
    )  # fmt: skip
    commit(folder)


def middle_of_a_merge_that_is_resolved(folder: Path) -> None:
    middle_of_a_merge(folder)
    (folder / "changed").write_text("both\n")
    git(folder, "add", "changed")


def middle_of_a_bisect(folder: Path) -> None:
    commit(folder)
    git(folder, "bisect", "start", "HEAD", "HEAD~1")


MIDDLES = {
    "a merge": middle_of_a_merge,
    "a merge that is resolved": middle_of_a_merge_that_is_resolved,
    "a rebase": middle_of_a_rebase,
    "a cherry-pick": middle_of_a_cherry_pick,
    "a cherry-pick or revert of several commits": middle_of_several_cherry_picks,
    "a bisect": middle_of_a_bisect,
}


@pytest.mark.parametrize("middle", MIDDLES)
def test_in_the_middle_of_something_it_refuses_and_changes_nothing(folder: Path, middle: str) -> None:
    begun = Begun(folder)
    MIDDLES[middle](folder)
    before = state(folder)
    with pytest.raises(Refused, match=f"in the middle of {middle.split(' that')[0]}") as refused:
        begun.plan()
    assert "git -C" in str(refused.value.hint)
    assert state(folder) == before
    assert git(folder, "for-each-ref", "refs/liza/saved") == ""


def test_on_another_branch_it_refuses_with_the_command_that_leads_back(folder: Path) -> None:
    begun = Begun(folder)
    git(folder, "switch", "-q", "-c", "elsewhere")
    with pytest.raises(Refused, match=r"began on the branch main, but .* is on the branch elsewhere") as refused:
        begun.plan()
    subprocess.run(["sh", "-ec", str(refused.value.hint)], check=True, capture_output=True)
    assert begun.plan().tree.branch == "main"


def test_without_a_branch_it_goes_back_without_one(folder: Path) -> None:
    git(folder, "checkout", "-q", "--detach")
    begun = Begun(folder)
    fail(folder)
    begun.go_back()
    after = state(folder)
    del after["files"][b"result.o"]
    assert after == begun.before


def test_before_the_first_commit_it_goes_back_to_before_it(tmp_path: Path) -> None:
    for name, given in (("empty", {}), ("with files", {"a": "1", "b": "2"})):
        folder = tmp_path / name
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main")
        for file, text in given.items():
            (folder / file).write_text(text)
        begun = Begun(folder)
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


def test_another_work_tree_of_the_repository_is_left_alone(folder: Path, tmp_path: Path) -> None:
    git(folder, "worktree", "add", "-q", "-b", "slice", str(tmp_path / "tree"))
    begun = Begun(tmp_path / "tree")
    (folder / "changed").write_text("the person's own\n")
    before = state(folder)
    fail(tmp_path / "tree")
    begun.go_back()
    after = state(tmp_path / "tree")
    del after["files"][b"result.o"]
    assert after == begun.before
    assert state(folder) == before


def test_what_is_not_there_any_more_is_said(folder: Path, tmp_path: Path) -> None:
    begun = Begun(folder)
    for tag in ("0" * 40, "--exec=touch x", "no-such-tag", "a\nb"):
        with pytest.raises(Refused, match="is no commit in"):
            rollback.plan_rollback({"checkpoint_tag": tag}, "S-1", str(folder), NOW)
    with pytest.raises(Refused, match="has no base"):
        rollback.plan_rollback({}, "S-1", str(folder), NOW)
    begun.record["checkpoint"]["work_tree"] = "gone"
    with pytest.raises(Refused, match="is no git work tree"):
        begun.plan()
    assert capture_base(str(tmp_path), str(tmp_path), "S-1").base is None


def test_a_tag_that_a_person_wrote_is_gone_back_to(folder: Path) -> None:
    git(folder, "tag", "v1")
    before = state(folder)
    fail(folder)
    for record in ({"checkpoint_tag": "v1"}, {"tests": [{"test_name": "a", "checkpoint_tag": "v1"}]}):
        plan = rollback.plan_rollback(record, "S-1", str(folder), NOW)
        assert plan.target.content == git(folder, "rev-parse", "v1").strip()
    rollback.roll_back(plan)
    after = state(folder)
    del after["files"][b"result.o"]
    assert after == before


def test_a_dirty_start_that_is_gone_is_not_mistaken_for_a_clean_one(folder: Path) -> None:
    dirty(folder)
    begun = Begun(folder)
    git(folder, "update-ref", "-d", str(begun.base.ref))
    with pytest.raises(Refused, match="changes that nobody committed, and they are gone"):
        begun.plan()


def test_a_work_tree_that_is_checked_out_in_part_is_refused(folder: Path) -> None:
    begun = Begun(folder)
    git(folder, "sparse-checkout", "set", "src")
    with pytest.raises(Refused, match="in part only"):
        begun.plan()


def test_what_fails_in_between_says_where_everything_is(folder: Path) -> None:
    begun = Begun(folder)
    fail(folder)
    failed = files(folder)
    plan = begun.plan()
    (folder / ".git" / "index.lock").write_text("")
    with pytest.raises(Refused, match="the rollback is not complete: git read-tree failed") as refused:
        rollback.roll_back(plan)
    assert rollback.restore_command(plan) in str(refused.value.hint)
    assert files(folder) == failed
    (folder / ".git" / "index.lock").unlink()
    begun.go_back()
    assert (folder / "changed").read_text() == "1\n"


def test_two_rollbacks_in_one_second_keep_both(folder: Path) -> None:
    begun = Begun(folder)
    saved = []
    for text in ("2\n", "3\n"):
        (folder / "changed").write_text(text)
        saved.append(begun.go_back().saved)
    assert [git(folder, "show", f"{each}:changed") for each in saved] == ["2\n", "3\n"]


def test_a_change_in_the_very_moment_of_the_last_commit_is_seen(folder: Path) -> None:
    file, index, moment = folder / "changed", folder / ".git" / "index", (1_700_000_000, 1_700_000_000)
    git(folder, "config", "core.trustctime", "false")
    os.utime(file, moment)
    git(folder, "add", "changed")
    begun = Begun(folder)
    file.write_text("2\n")
    os.utime(file, moment)
    os.utime(index, moment)  # all that git goes by is the same
    assert [(each.status, each.path) for each in begun.plan().changes] == [("M", "changed")]
