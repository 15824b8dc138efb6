"""Going back to where a slice began, on real repositories: all of it, and nothing of it lost."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from liza.errors import Refused
from liza.runner import checkpoints, rollback
from tests.runner.repositories import SETTINGS, commit, git, repository
from tests.runner.slices import NOW, Begun, files, state


@pytest.fixture(autouse=True)
def only_the_settings_of_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with a file to change, one to delete, one to move, a program and a link."""
    made = repository(tmp_path / "a team's repo", kept="1\n", changed="1\n", deleted="1\n", moved="a longer text\n" * 9)
    (made / "src").mkdir()
    (made / "src" / "program").write_text("#!/bin/sh\n")
    (made / "link").symlink_to("kept")
    (made / ".gitignore").write_text("*.o\nsecret\n")
    commit(made)
    return made


def dirty(folder: Path) -> None:
    """A tree that is not as committed: changed, deleted, untracked, staged, staged and changed again."""
    (folder / "changed").write_text("not committed\n")
    (folder / "deleted").unlink()
    (folder / "un tracked").write_text("mine\n")
    (folder / "staged").write_text("staged\n")
    (folder / "twice").write_text("first\n")
    git(folder, "add", "staged", "twice")
    (folder / "twice").write_text("second\n")


def fail(folder: Path) -> None:
    """What an agent leaves behind: some of it committed, some staged, some neither."""
    (folder / "changed").write_text("2\n")
    (folder / "added").write_text("new\n")
    git(folder, "mv", "moved", "src/moved here")
    (folder / "src" / "program").chmod(0o755)
    commit(folder)
    (folder / "changed").write_text("3\n")
    git(folder, "add", "changed")
    git(folder, "rm", "-q", "kept")
    for path in ("link", "deleted", "staged", "un tracked"):
        (folder / path).unlink(missing_ok=True)
    (folder / "link").write_text("no link any more\n")
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "new").write_text("untracked\n")
    (folder / "result.o").write_text("ignored\n")


STARTS = {"a clean start": lambda folder: None, "a dirty start": dirty}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS.keys())
def test_everything_is_as_it_was_and_the_failed_work_can_be_had_again(
    folder: Path, start: Callable[[Path], None]
) -> None:
    start(folder)
    begun = Begun(folder)
    assert git(folder, "rev-parse", "HEAD") == begun.checkpoint.commit + "\n"
    fail(folder)
    failed = files(folder)
    plan = begun.go_back()
    after = state(folder)
    assert after["files"].pop(b"result.o") == ("file", b"ignored\n"), "what git ignores is left alone"
    assert after == begun.before
    assert plan.commits == (git(folder, "log", "-1", "--format=%h %s", f"{plan.saved}^1").strip(),)
    subprocess.run(["sh", "-ec", rollback.way_back(plan)], check=True)
    assert failed.items() <= files(folder).items()


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS.keys())
def test_the_commands_of_the_plan_do_the_same_by_hand(folder: Path, start: Callable[[Path], None]) -> None:
    start(folder)
    begun = Begun(folder)
    fail(folder)
    plan = begun.plan()
    script = "\n".join(rollback.commands(plan))
    subprocess.run(["sh", "-euc", script], check=True, env={**os.environ, **SETTINGS}, stdout=subprocess.DEVNULL)
    after = state(folder)
    del after["files"][b"result.o"]
    assert after == begun.before
    assert git(folder, "cat-file", "-t", plan.saved) == "commit\n"


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS.keys())
def test_a_beginning_changes_nothing_and_a_plan_leaves_no_trace(folder: Path, start: Callable[[Path], None]) -> None:
    start(folder)
    before, index = state(folder), (folder / ".git" / "index").read_bytes()
    begun = Begun(folder)
    assert (folder / ".git" / "index").read_bytes() == index
    assert state(folder) == before
    fail(folder)
    inside = {path: path.read_bytes() for path in (folder / ".git").rglob("*") if path.is_file()}
    plan = begun.plan()
    assert {path: path.read_bytes() for path in (folder / ".git").rglob("*") if path.is_file()} == inside
    assert {(each.status, each.path) for each in plan.changes} >= {("A", "added"), ("M", "changed"), ("D", "kept")}


def test_a_dirty_start_is_said_and_kept_and_a_clean_one_is_kept_too(folder: Path) -> None:
    clean = Begun(folder)
    assert (clean.checkpoint.dirty, clean.notes) == (False, ())
    assert git(folder, "rev-parse", str(clean.checkpoint.ref)).strip() == clean.checkpoint.commit
    dirty(folder)
    begun = Begun(folder)
    assert (begun.checkpoint.dirty, begun.checkpoint.commit) == (True, clean.checkpoint.commit)
    assert "not committed" in begun.notes[0]
    assert git(folder, "show", f"{begun.checkpoint.ref}:un tracked") == "mine\n"


def test_the_beginning_is_kept_from_being_thrown_away(folder: Path) -> None:
    begun = Begun(folder)
    (folder / "changed").write_text("2\n")
    commit(folder, "--amend")
    git(folder, "reflog", "expire", "--expire=now", "--all")
    git(folder, "gc", "-q", "--prune=now")
    plan = begun.go_back()
    assert state(folder) == begun.before
    assert "rebased or amended" in plan.notes[0]


# --- what is never touched ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tracked", [False, True])
def test_no_blackboard_is_touched_wherever_it_is(folder: Path, tracked: bool) -> None:
    boards = [folder / ".liza", folder / "src" / ".liza"]
    for board in boards:
        board.mkdir()
        (board / "state.yaml").write_text("version: 1\n")
    if tracked:
        commit(folder)
    begun = Begun(folder)
    assert begun.checkpoint.dirty is False
    for board in boards:
        (board / "state.yaml").write_text("version: 1\nslices: {}\n")
        (board / "reports").mkdir()
        (board / "reports" / "new.md").write_text("why\n")
    before = [(path, path.stat().st_mtime_ns, path.stat().st_ino) for board in boards for path in board.rglob("*")]
    fail(folder)
    plan = begun.go_back()
    assert [(path, path.stat().st_mtime_ns, path.stat().st_ino) for path, _, _ in before] == before
    assert [each.path for each in plan.changes if ".liza" in each.path] == []
    assert not (folder / "added").exists()


def test_a_repository_inside_is_somebody_elses(folder: Path) -> None:
    inner = repository(folder / "vendor" / "inner", x="1")
    git(folder, "init", "-q", "empty one")
    (folder / "empty one" / "file").write_text("not committed anywhere\n")
    begun = Begun(folder)
    (inner / "x").write_text("2")
    (folder / "changed").write_text("2\n")
    begun.go_back()
    assert (inner / "x").read_text() == "2"
    assert (folder / "empty one" / "file").read_text() == "not committed anywhere\n"
    assert (folder / "changed").read_text() == "1\n"


def test_a_submodule_is_left_as_it_is_and_that_is_said(folder: Path, tmp_path: Path) -> None:
    library = repository(tmp_path / "library", x="1")
    git(folder, "submodule", "add", "-q", str(library), "lib")
    commit(folder)
    begun = Begun(folder)
    (folder / "lib" / "x").write_text("2")
    commit(folder / "lib")
    commit(folder)
    plan = begun.go_back()
    assert plan.notes == ("the submodule lib is left as it is: git submodule update --init lib",)
    assert (folder / "lib" / "x").read_text() == "2"
    git(folder, "submodule", "update", "-q", "--init", "lib")
    assert (folder / "lib" / "x").read_text() == "1"


def test_no_hook_runs(folder: Path) -> None:
    for name in ("post-checkout", "post-commit", "pre-commit", "reference-transaction", "post-index-change"):
        hook = folder / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch '{folder}/ran'\n")
        hook.chmod(0o755)
    begun = Begun(folder)
    (folder / "changed").write_text("2\n")
    begun.go_back()
    assert not (folder / "ran").exists()


# --- what stands in the way -----------------------------------------------------------------------------------------


def test_ignored_files_where_something_is_put_back_are_saved_first(folder: Path) -> None:
    (folder / "config").write_text("tracked\n")
    commit(folder)
    begun = Begun(folder)
    git(folder, "rm", "-q", "config", "kept")
    (folder / ".gitignore").write_text("config\nkept\nsrc\n")
    commit(folder)
    (folder / "config").write_text("a secret that exists nowhere else\n")
    (folder / "kept").mkdir()
    (folder / "kept" / "inside").write_text("so does this\n")
    git(folder, "rm", "-q", "-r", "src")
    (folder / "src").write_text("a file in the place of a folder\n")
    failed = files(folder)
    plan = begun.go_back()
    assert set(plan.forced) == {"config", "kept/inside", "src"}
    assert state(folder) == begun.before
    assert git(folder, "show", f"{plan.saved}:config") == "a secret that exists nowhere else\n"
    subprocess.run(["sh", "-ec", rollback.way_back(plan)], check=True)
    assert files(folder) == failed


def test_a_link_in_the_place_of_a_folder_leads_nowhere(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "program").write_text("not yours\n")
    begun = Begun(folder)
    git(folder, "rm", "-q", "-r", "src")
    (folder / "src").symlink_to(elsewhere)
    begun.go_back()
    assert state(folder) == begun.before
    assert (elsewhere / "program").read_text() == "not yours\n"


def test_names_of_every_kind_are_put_back(folder: Path) -> None:
    names = [
        b"two words",
        b"a\nline",
        b"quo\"te's",
        b"-dash",
        b"*",
        b":(top)x",
        b"\xff\xfe",
        "ä".encode(),
        b"a\\b",
        b"!x",
    ]
    for name in names:
        with open(os.path.join(os.fsencode(folder), name), "wb") as file:
            file.write(b"1")
    commit(folder)
    begun = Begun(folder, "S 1/ä..~^:?*[\\.lock")
    for name in names[::2]:
        os.unlink(os.path.join(os.fsencode(folder), name))
    for name in names[1::2]:
        os.rename(os.path.join(os.fsencode(folder), name), os.path.join(os.fsencode(folder), name + b" new"))
    plan = begun.go_back()
    assert state(folder) == begun.before
    assert plan.saved.startswith("refs/liza/saved/S%201%2F")


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
        assert begun.checkpoint.commit == ""
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
            rollback.plan({"checkpoint_tag": tag}, "S-1", str(folder), NOW)
    with pytest.raises(Refused, match="has no checkpoint"):
        rollback.plan({}, "S-1", str(folder), NOW)
    begun.record["checkpoint"]["work_tree"] = "gone"
    with pytest.raises(Refused, match="is no git work tree"):
        begun.plan()
    assert checkpoints.capture(str(tmp_path), str(tmp_path), "S-1").checkpoint is None


def test_a_tag_that_a_person_wrote_is_gone_back_to(folder: Path) -> None:
    git(folder, "tag", "v1")
    before = state(folder)
    fail(folder)
    for record in ({"checkpoint_tag": "v1"}, {"tests": [{"test_name": "a", "checkpoint_tag": "v1"}]}):
        plan = rollback.plan(record, "S-1", str(folder), NOW)
        assert plan.target.content == git(folder, "rev-parse", "v1").strip()
    rollback.carry_out(plan)
    after = state(folder)
    del after["files"][b"result.o"]
    assert after == before


def test_a_dirty_start_that_is_gone_is_not_mistaken_for_a_clean_one(folder: Path) -> None:
    dirty(folder)
    begun = Begun(folder)
    git(folder, "update-ref", "-d", str(begun.checkpoint.ref))
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
        rollback.carry_out(plan)
    assert rollback.way_back(plan) in str(refused.value.hint)
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
