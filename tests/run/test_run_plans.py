"""`liza run` with a plan: progress and completion from its check boxes."""

from pathlib import Path

from tests.run.projects import CLAIMS, Project, lines

TICKS = """\
echo "$LIZA_ITERATION" >> work.txt
sed -i '0,/\\[ \\]/s//[x]/' PLAN.md
"""


def test_plan_gives_progress_and_completion(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", TICKS)
    (project.folder / "PLAN.md").write_text("# Plan\n- [ ] one\n* [ ] two\n1. [ ] three\n# Later\n- [ ] four\n")
    result = project.run("--plan", "PLAN.md", "--optional-sections", "later,never")
    assert result.code == 0
    assert [each["progress"] for each in project.recorded] == [33.33, 66.67, 100]
    assert project.recorded[-1]["evidence"] == {"plan": "pass"}
    assert project.kept(3, "completion_signals")["plan"] == {"done": 3, "total": 3, "open": []}


def test_claim_with_open_plan_items_is_not_accepted(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", CLAIMS)
    (project.folder / "PLAN.md").write_text("- [x] one\n- [ ] two\n")
    result = project.run("--plan", "PLAN.md", "--verify", "touch verified", "--max", "1")
    assert result.code == 1
    assert project.recorded[0]["evidence"] == {"plan": "fail"}
    assert "open in the plan: two" in result.err
    assert not (project.folder / "verified").exists()


def test_emptied_or_removed_plan_completes_nothing(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", "echo $LIZA_ITERATION > work.txt; : > PLAN.md; echo DONE")
    (project.folder / "PLAN.md").write_text("- [ ] one\n")
    assert project.run("--plan", "PLAN.md", "--max", "1").code == 1
    project.agent.write_text("rm PLAN.md; echo DONE")
    assert project.run("--plan", "PLAN.md", "--max", "1").code == 3
    assert [each["evidence"] for each in project.recorded] == [{"plan": "fail"}] * 2


def test_item_deleted_from_the_plan_counts_as_open(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", "echo $LIZA_ITERATION > work.txt; sed -i '/two/d' PLAN.md; echo DONE")
    (project.folder / "PLAN.md").write_text("- [x] one\n- [ ] two\n- [ ] two and a half\n")
    result = project.run("--plan", "PLAN.md", "--max", "1")
    assert result.code == 1
    assert lines(result, "liza run: the plan lost 2 boxes")
    (done,) = project.recorded
    assert (done["progress"], done["evidence"]) == (33.33, {"plan": "fail"})
    project.agent.write_text("echo 1 >> work.txt")
    assert project.run("--plan", "PLAN.md", "--max", "1").code == 0  # a new run begins with the plan as it is


def test_progress_file_counts_in_the_iteration_that_wrote_it(tmp_path: Path) -> None:
    project = Project(
        tmp_path / "p",
        'echo $LIZA_ITERATION > work.txt; [ $LIZA_ITERATION != 1 ] || echo 40 > "$LIZA_PROGRESS_FILE"; '
        '[ $LIZA_ITERATION != 2 ] || echo "Progress: 60%"',
    )
    project.run("--max", "3")
    assert [each["progress"] for each in project.recorded] == [40, 60, 40]
