"""The target of a rollback, and the commits it removes: the base of the reset tests, and only the slice's own."""

from pathlib import Path

import pytest

from tests.run.repositories import SETTINGS, commit, git, repository
from tests.run.slices import state
from tests.scopes.slices.run import Slices


@pytest.fixture
def team(slices: Slices) -> Slices:
    """A blackboard in a repository."""
    repository(slices.root, a__py="1\n", b__py="1\n")
    slices.env |= SETTINGS
    return slices


def head(root: Path) -> str:
    return git(root, "rev-parse", "HEAD").strip()


def edit(slices: Slices, file: str, text: str = "2\n", *, committed: bool = True) -> None:
    (slices.root / file).write_text(text)
    if committed:
        git(slices.root, "add", file)
        git(slices.root, "commit", "-q", "-m", f"change {file}")


def fail(slices: Slices, test: str, *words: str, name: str = "S-1") -> None:
    codes = [slices.attempt("fail", "--slice", name, "--test", test, *words).code for _ in range(3)]
    assert codes == [0, 0, 3]


def refused(slices: Slices, *words: str) -> list[str]:
    """The commits that block a rollback; nothing is changed."""
    before, board = (state(slices.root), head(slices.root)), slices.state.read_bytes()
    ran = slices.attempt("reset", "--slice", "S-1", "-m", "again", "--rollback", "--json", *words)
    assert (ran.code, ran.json["status"]) == (1, "refused")
    assert ((state(slices.root), head(slices.root)), slices.state.read_bytes()) == (before, board)
    assert git(slices.root, "for-each-ref", "refs/liza/saved") == ""
    assert "--force" in ran.err
    titles = [title.partition(" ")[2] for title in ran.json["others"]]
    assert all(title in ran.err for title in titles)
    return titles


def rolled_back(slices: Slices, *words: str) -> dict[str, object]:
    ran = slices.attempt("reset", "--slice", "S-1", "-m", "again", "--rollback", "--json", *words)
    assert ran.code == 0, ran.err
    found: dict[str, object] = ran.json["rollback"]
    return found


# --- commits of others ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [("--files", "a.py"), ()], ids=["files are named", "git is asked"])
def test_commit_of_another_slice_is_not_removed(team: Slices, named: tuple[str, ...]) -> None:
    """git also lists the second slice's file for the first slice's attempt; that does not make it its own."""
    team.does("start t")
    team.does("start u", name="S-2")
    edit(team, "b.py")
    team.does("pass u", name="S-2")
    edit(team, "a.py")
    fail(team, "t", *named)
    assert refused(team) == ["change b.py"]
    began = team.at()["checkpoint_tag"]
    plan = rolled_back(team, "--force")
    assert head(team.root) == began
    saved = plan["done"]["saved"]  # type: ignore[index]
    assert git(team.root, "show", f"{saved}:b.py") == "2\n"


def test_commit_with_one_foreign_file_is_not_own(team: Slices) -> None:
    team.does("start t")
    edit(team, "b.py", committed=False)
    edit(team, "a.py", committed=False)
    commit(team.root)
    fail(team, "t", "--files", "a.py")
    assert refused(team) == ["more"]


def test_own_commits_are_removed_without_force(team: Slices) -> None:
    began = head(team.root)
    team.does("start t")
    edit(team, "a.py")
    edit(team, "two words.py")
    git(team.root, "commit", "-q", "--allow-empty", "-m", ":100644 nothing")
    fail(team, "t")
    plan = rolled_back(team)
    assert (head(team.root), plan["others"], len(plan["commits"])) == (began, [], 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("named", [("--files", "a.py"), ()], ids=["named", "from git"])
def test_merge_of_others_is_not_removed(team: Slices, named: tuple[str, ...]) -> None:
    """git lists the merged file for the attempt after the merge; that does not make it its own."""
    git(team.root, "switch", "-q", "-c", "side")
    edit(team, "b.py")
    git(team.root, "switch", "-q", "main")
    team.does("start t")
    edit(team, "a.py")
    git(team.root, "merge", "-q", "--no-ff", "-m", "merge side", "side")
    fail(team, "t", *named)
    assert refused(team) == ["change b.py"]


def test_slice_finished_earlier_does_not_conflict(team: Slices) -> None:
    team.does("start u", name="S-2")
    edit(team, "a.py")
    team.does("pass u", name="S-2")
    team.does("start t")
    edit(team, "a.py", "3\n")
    fail(team, "t")
    assert rolled_back(team)["others"] == []


def test_commits_of_the_previous_run_are_own(team: Slices) -> None:
    began = head(team.root)
    team.does("start t")
    edit(team, "a.py")
    fail(team, "t")
    assert team.attempt("reset", "--slice", "S-1", "-m", "once more").code == 0
    edit(team, "b.py")
    fail(team, "t")
    rolled_back(team)
    assert head(team.root) == began


def test_rolled_back_work_does_not_claim_later_commits(team: Slices) -> None:
    team.does("start t")
    edit(team, "b.py")
    fail(team, "t")
    rolled_back(team)
    edit(team, "b.py", "a person's\n")
    team.does("start t")
    edit(team, "a.py")
    fail(team, "t", "--files", "a.py")
    assert refused_after_rollback(team) == ["change b.py"]


def refused_after_rollback(slices: Slices) -> list[str]:
    ran = slices.attempt("reset", "--slice", "S-1", "-m", "again", "--rollback", "--json")
    assert ran.code == 1
    return [title.partition(" ")[2] for title in ran.json["others"]]


def test_force_needs_rollback(team: Slices) -> None:
    team.does("start t", "fail t")
    assert team.attempt("reset", "--slice", "S-1", "-m", "again", "--force").code == 2
    assert team.counts() == ({"t": 1}, 1, 0)


def test_plan_lists_commits_of_others(team: Slices) -> None:
    team.does("start t")
    edit(team, "b.py")
    edit(team, "a.py")
    fail(team, "t", "--files", "a.py")
    ran = team.attempt("reset", "--slice", "S-1", "-m", "again", "--json")
    assert ran.code == 0
    assert [title.partition(" ")[2] for title in ran.json["rollback"]["others"]] == ["change b.py"]


# --- the base -------------------------------------------------------------------------------------------------------


def begun_after_another(team: Slices) -> str:
    """The commit where the test `t` began: that of a test that has passed; then `t` was worked on."""
    team.does("start done")
    edit(team, "a.py")
    team.does("pass done", "start t")
    began = head(team.root)
    edit(team, "b.py")
    return began


def test_passing_test_keeps_its_work(team: Slices) -> None:
    """The base is that of the reset test, not that of the slice: the finished commit stays."""
    began = begun_after_another(team)
    fail(team, "t")
    plan = rolled_back(team)
    assert (head(team.root), plan["to"]) == (began, began)
    assert ((team.root / "a.py").read_text(), (team.root / "b.py").read_text()) == ("2\n", "1\n")
    tags = {test["test_name"]: test["checkpoint_tag"] for test in team.at()["tests"]}
    assert (tags["t"], tags["done"]) == (began, team.at()["checkpoint_tag"])


def test_oldest_base_of_several_tests_is_used(team: Slices) -> None:
    began = begun_after_another(team)
    team.does("fail t", "start u")
    edit(team, "c.py")
    fail(team, "u")
    rolled_back(team)
    assert head(team.root) == began
    tags = {test["test_name"]: test["checkpoint_tag"] for test in team.at()["tests"]}
    assert (tags["t"], tags["u"]) == (began, began)


def test_finished_uncommitted_work_stays(team: Slices) -> None:
    team.does("start done")
    edit(team, "a.py", committed=False)
    team.does("pass done", "start t")
    before = state(team.root)
    edit(team, "b.py", committed=False)
    fail(team, "t")
    rolled_back(team)
    assert state(team.root) == before
    edit(team, "b.py", "3\n")
    fail(team, "t")
    rolled_back(team)
    assert state(team.root) == before, "the next rollback goes to the same place"


def test_rollback_after_reset_uses_the_same_base(team: Slices) -> None:
    began = begun_after_another(team)
    fail(team, "t")
    assert team.attempt("reset", "--slice", "S-1", "-m", "look first").code == 0
    rolled_back(team)
    assert head(team.root) == began
    assert team.at()["tests"][1]["checkpoint_tag"] == began
