"""A slice in a real working tree: started, worked on, and rolled back."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from liza.git import rollback
from liza.git.capture import capture_base
from liza.scopes.slices.rollback import plan_rollback
from tests.run.repositories import commit, git

NOW = datetime(2025, 1, 18, 12, 0, tzinfo=UTC)


class StartedSlice:
    """A slice that starts in the present state of a working tree."""

    def __init__(self, folder: Path, name: str = "S-1") -> None:
        self.folder = folder
        self.name = name
        found = capture_base(str(folder), str(folder), name)
        assert found.base is not None
        self.notes = found.notes
        self.base = found.base
        self.record: dict[str, Any] = {
            "checkpoint_tag": found.base.commit,
            "checkpoint": found.base.fields(NOW),
        }
        self.before = state(folder)

    def plan(self) -> rollback.Plan:
        return plan_rollback(self.record, self.name, str(self.folder), NOW)

    def go_back(self) -> rollback.Plan:
        plan = self.plan()
        rollback.roll_back(plan)
        return plan


def files(folder: Path) -> dict[bytes, tuple[str, bytes]]:
    """All files of a working tree with their kinds, without git's own folder."""
    found: dict[bytes, tuple[str, bytes]] = {}
    top = os.fsencode(folder)
    for here, folders, names in os.walk(top):
        folders[:] = [each for each in folders if each != b".git"]
        for name in [*names, *(each for each in folders if os.path.islink(os.path.join(here, each)))]:
            path = os.path.join(here, name)
            if os.path.islink(path):
                found[os.path.relpath(path, top)] = ("link", os.readlink(path))
            else:
                with open(path, "rb") as file:
                    kind = "program" if os.access(path, os.X_OK) else "file"
                    found[os.path.relpath(path, top)] = (kind, file.read())
    return found


def state(folder: Path) -> dict[str, Any]:
    """Everything that a rollback restores: the files, the index, the branch and its commit."""
    return {
        "files": {path: each for path, each in files(folder).items() if b".liza" not in path.split(b"/")},
        "status": [line for line in git(folder, "status", "--porcelain", "-z").split("\0") if ".liza" not in line],
        "branch": git(folder, "branch", "--show-current"),
        "head": (folder / git(folder, "rev-parse", "--git-path", "HEAD").strip()).read_text(),
        "branches": git(folder, "for-each-ref", "refs/heads"),
    }


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
    """Leave an agent's work behind: some of it committed, some staged, some neither."""
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
