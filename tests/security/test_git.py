"""Programs that a repository configures are never run, and no other repository is written to."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.run.repositories import commit, git, repository
from tests.security.attack import Attack, Ran

SLICE = ("--slice", "S-1", "--test", "t")


def _configure(project: Path, program: Callable[[str], str]) -> None:
    """Everything that git can be configured to run, each with its own program."""
    kinds = {
        "txt": ("filter", "clean"),
        "sm": ("smudging", "smudge"),
        "a=b.c": ("odd filter", "clean"),
        "p": ("process", "process"),
    }
    for name, (kind, key) in kinds.items():
        git(project, "config", f"filter.{name}.{key}", program(kind))
        git(project, "config", f"filter.{name}.required", "true")
    (project / ".git" / "info" / "attributes").write_text(
        "*.txt filter=txt diff=evil\n*.sm filter=sm\n*.odd filter=a=b.c\n*.p filter=p\n"
    )
    for key in (
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "gpg.program",
        "core.pager",
        "core.fsmonitor",
    ):
        git(project, "config", key, program(key))
    git(project, "config", "log.showSignature", "true")
    for folder in (project / ".git" / "hooks", project / "hooks"):
        folder.mkdir(exist_ok=True)
        for name in ("post-index-change", "reference-transaction", "post-checkout"):
            (folder / name).write_text(f"#!/bin/sh\n{program(f'{folder.name} {name}')}\n")
            (folder / name).chmod(0o755)
    git(project, "config", "core.hooksPath", "hooks")


def _with_submodule(project: Path, program: Callable[[str], str]) -> None:
    """A nested repository with its own configuration."""
    git(project, "submodule", "-q", "add", str(repository(project.parent / "other")), "inside")
    commit(project)
    inside = project / "inside"
    folder = Path(git(inside, "rev-parse", "--absolute-git-dir").strip())
    git(inside, "config", "core.fsmonitor", program("monitor of the submodule"))
    git(inside, "config", "filter.inner.clean", program("filter of the submodule"))
    (folder / "info").mkdir(exist_ok=True)
    (folder / "info" / "attributes").write_text("* filter=inner\n")
    (inside / "a.txt").write_text("two\n")  # as long as before: only its content differs


def test_no_program_of_a_repository_is_run(attack: Attack) -> None:
    """Every command that starts git, over a repository whose configuration names programs in every place."""
    marks = attack.outside / "ran"
    project = repository(attack.project, a__txt="one\n", a__sm="one\n", a__odd="one\n", a__p="one\n")

    def program(kind: str) -> str:
        return f"mkdir -p '{marks}'; touch '{marks}/{kind}'; cat"

    def work(text: str) -> None:
        for ending in ("txt", "sm", "odd", "p"):
            (project / f"a.{ending}").write_text(text)

    _with_submodule(project, program)
    _configure(project, program)
    commands: list[tuple[str, ...]] = [
        ("attempt", "start", *SLICE),
        ("attempt", "fail", *SLICE),
        ("attempt", "reset", "--slice", "S-1", "-m", "again", "--rollback"),
        ("run", "--max", "1", "--loop", "l", "--", "sh", "-c", "for each in txt sm odd p; do echo six > a.$each; done"),
        ("loop", "record", "l"),
    ]
    shutil.rmtree(marks, ignore_errors=True)  # by the git of this test
    for words in commands:
        work("two\n")
        ran = attack.liza(*words)
        assert ran.code in (0, 1), ran
        assert not marks.exists(), (words, sorted(os.listdir(marks)))
    attack.effect = f"{len(commands)} commands, no program was run"


def reset(attack: Attack, *words: str) -> Ran:
    return attack.liza("attempt", "reset", "--slice", "S-1", "-m", "again", *words)


def begin(attack: Attack, **files: str) -> Path:
    project = repository(attack.project, **files)
    assert attack.liza("attempt", "start", *SLICE).code == 0
    assert attack.liza("attempt", "fail", *SLICE).code == 0
    return project


def test_rollback_leaves_other_repositories_alone(attack: Attack) -> None:
    """The blackboard names a worktree of another repository and a commit of that one."""
    begin(attack)
    other = repository(attack.outside / "other")
    first = git(other, "rev-parse", "HEAD").strip()
    (other / "a.txt").write_text("theirs\n")
    commit(other)
    tip, refs = git(other, "rev-parse", "HEAD"), git(other, "for-each-ref")
    text = (attack.board / "state.yaml").read_text()
    text = re.sub(r"work_tree: .*", f"work_tree: {other}", text)
    attack.write(re.sub(r"checkpoint_tag: .*", f"checkpoint_tag: {first}", text))
    for words in (("--rollback",), ("--rollback", "--force")):
        ran = reset(attack, *words)
        assert ran.code == 1
        assert "another repository" in ran.err
    attack.liza("attempt", "start", "--slice", "S-1", "--test", "u")
    assert (git(other, "rev-parse", "HEAD"), git(other, "for-each-ref")) == (tip, refs)
    assert (other / "a.txt").read_text() == "theirs\n"
    attack.effect = "refused; its branch, references and files are as they were"


def test_rollback_leaves_other_folders_alone(attack: Attack) -> None:
    """core.worktree says that the files of the repository are elsewhere."""
    project = begin(attack, a__txt="one\n")
    (attack.outside / "a.txt").write_text("theirs\n")
    git(project, "config", "core.worktree", str(attack.outside))
    assert reset(attack, "--rollback", "--force").code == 1
    assert [path.name for path in attack.outside.iterdir()] == ["a.txt"]
    assert (attack.outside / "a.txt").read_text() == "theirs\n"
    attack.effect = "refused; the folder is as it was"


def test_rollback_works_in_a_linked_worktree(attack: Attack) -> None:
    """It belongs to the repository of the blackboard, whatever its place."""
    project = repository(attack.project)
    tree = attack.outside / "tree"
    git(project, "worktree", "add", "-q", "-b", "side", str(tree))
    assert attack.liza("attempt", "start", *SLICE, "--workdir", str(tree)).code == 0
    (tree / "a.txt").write_text("failed\n")
    attack.liza("attempt", "fail", *SLICE)
    assert reset(attack, "--rollback").code == 0
    assert (tree / "a.txt").read_text() == "one\n"
    attack.effect = "rolled back"


def _pointers(project: Path) -> str:
    """A filter like git-lfs: the committed content differs from the working tree."""
    git(project, "config", "filter.big.clean", "tr a-z A-Z")
    git(project, "config", "filter.big.smudge", "tr A-Z a-z")
    (project / ".gitattributes").write_text("*.bin filter=big\n")
    (project / "one.bin").write_text("first\n")
    (project / "two.bin").write_text("second\n")
    commit(project)
    return git(project, "show", "HEAD:one.bin")


@pytest.mark.parametrize("attributes_removed", [False, True], ids=["as_it_was", "attributes_removed"])
def test_rollback_leaves_filtered_files_as_they_are(attack: Attack, attributes_removed: bool) -> None:
    """Put back without its filter, a file of git-lfs would be its pointer; saved without it, it would be whole."""
    project = repository(attack.project)
    assert _pointers(project) == "FIRST\n"
    assert attack.liza("attempt", "start", *SLICE).code == 0
    (project / "one.bin").write_text("third\n")
    (project / "new.bin").write_text("fourth\n")
    (project / "a.txt").write_text("failed\n")
    (project / "two.bin").unlink()
    if attributes_removed:
        (project / ".gitattributes").write_text("")
    attack.liza("attempt", "fail", *SLICE)
    ran = reset(attack, "--rollback")
    assert ran.code == 0, ran
    assert (project / "a.txt").read_text() == "one\n"
    assert (project / "one.bin").read_text() == "third\n"
    assert (project / "new.bin").read_text() == "fourth\n"
    assert not (project / "two.bin").exists()
    if not attributes_removed:
        saved = git(project, "for-each-ref", "--format=%(refname)", "refs/liza/saved").split()
        kept = {path: git(project, "show", f"{saved[0]}:{path}") for path in ("one.bin", "two.bin")}
        assert kept == {"one.bin": "FIRST\n", "two.bin": "SECOND\n"}
    command = next(line.partition("to restore it: ")[2] for line in ran.out.splitlines() if "two.bin is left" in line)
    assert os.system(command) == 0  # as a person pastes it
    assert (project / "two.bin").read_text() == "second\n"
    attack.effect = "left as they are, and named with the command that puts them back"
