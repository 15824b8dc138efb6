"""The patch of an iteration: for reading and, if complete, for applying."""

import os
import subprocess
from pathlib import Path

import pytest

from liza.git.patch import patch
from liza.git.snapshot import snapshot
from tests.run.repositories import SETTINGS, commit, git, repository


def test_patch_turns_the_start_into_the_end(tmp_path: Path) -> None:
    work = repository(tmp_path / "r", a="1\n2\n", b="1\n", c="1\n")
    start = tmp_path / "start"
    git(tmp_path, "clone", "-q", str(work), str(start))
    before = snapshot([str(work)])
    (work / "a").write_text("1\n3\n")
    (work / "b").unlink()
    commit(work)
    (work / "c").write_text("2")
    (work / "new").write_text("x\ny")
    (work / "run.sh").write_text("#!/bin/sh\n")
    (work / "run.sh").chmod(0o755)
    (work / "link").symlink_to("a")
    (work / "empty").touch()
    (work / 'two\n"lines').write_text("größe\n")
    changes = patch(before, snapshot([str(work)]))
    applied = subprocess.run(
        ["git", "apply", "-"],
        cwd=start,
        input=changes,
        capture_output=True,
        check=False,
        env={**os.environ, **SETTINGS},
    )
    assert applied.returncode == 0, applied.stderr.decode()
    assert git(start, "status", "--short") != ""
    assert contents(start) == contents(work)


def contents(folder: Path) -> dict[str, tuple[bytes, bool]]:
    return {
        str(path.relative_to(folder)): (
            os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes(),
            not path.is_symlink() and os.access(path, os.X_OK),
        )
        for path in folder.rglob("*")
        if (path.is_symlink() or path.is_file()) and ".git" not in path.relative_to(folder).parts
    }


def test_patch_omits_files_that_stayed_dirty(tmp_path: Path) -> None:
    repository(tmp_path, a="1\n", b="1\n")
    (tmp_path / "a").write_text("2\n")
    (tmp_path / "old").write_text("1\n")
    before = snapshot([str(tmp_path)])
    (tmp_path / "b").write_text("2\n")
    changes = patch(before, snapshot([str(tmp_path)])).decode()
    assert "b/b" in changes
    assert "a/a" not in changes
    assert "old" not in changes


def test_patch_contains_the_whole_first_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    before = snapshot([str(tmp_path)])
    (tmp_path / "a").write_text("one\n")
    commit(tmp_path)
    assert "\n+one\n" in patch(before, snapshot([str(tmp_path)])).decode()


def test_binary_files_are_named_but_not_printed(tmp_path: Path) -> None:
    repository(tmp_path)
    before = snapshot([str(tmp_path)])
    (tmp_path / "image").write_bytes(b"\x00\x01" * 5000)
    changes = patch(before, snapshot([str(tmp_path)]))
    assert b"Binary files /dev/null and b/image differ" in changes
    assert b"\0" not in changes


def test_patch_is_cut_at_its_size_limit(tmp_path: Path) -> None:
    repository(tmp_path, a="x\n")
    before = snapshot([str(tmp_path)])
    (tmp_path / "a").write_text("tracked\n" * 100_000)
    (tmp_path / "new").write_text("untracked\n" * 100_000)
    changes = patch(before, snapshot([str(tmp_path)]), largest=10_000)
    assert 9_000 < len(changes) < 10_200
    assert changes.decode().splitlines()[-1].startswith("# the rest is left out")


def test_no_diff_program_of_the_repository_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository(tmp_path, a="x\n", __gitattributes="a diff=trap\n")
    trap = tmp_path / ".git" / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/.git/trapped\n")
    trap.chmod(0o755)
    for setting in ("diff.external", "diff.trap.textconv", "diff.trap.command"):
        git(tmp_path, "config", setting, str(trap))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(trap))
    before = snapshot([str(tmp_path)])
    (tmp_path / "a").write_text("y\n")
    assert b"+y" in patch(before, snapshot([str(tmp_path)]))
    assert not (tmp_path / ".git" / "trapped").exists()


def test_patch_is_empty_without_known_changes(tmp_path: Path) -> None:
    repository(tmp_path)
    now = snapshot([str(tmp_path)])
    assert patch(now, now) == b""
    assert patch(None, now) == b""


def test_patch_separates_several_repositories(tmp_path: Path) -> None:
    one, two = repository(tmp_path / "one"), repository(tmp_path / "two")
    inner = repository(one / "inner")
    roots = [str(one), str(two)]
    before = snapshot(roots)
    for folder in (one, two, inner):
        (folder / "x").write_text(f"in {folder.name}\n")
    changes = patch(before, snapshot(roots)).decode()
    assert [line for line in changes.splitlines() if line.startswith("# ")] == [f"# {inner}", f"# {one}", f"# {two}"]
    assert changes.count("+++ b/x") == 3
