"""Creating a new blackboard."""

import os
from contextlib import suppress
from shlex import quote
from typing import NamedTuple

from liza import templates
from liza.errors import Refused
from liza.store import edit, files
from liza.store.backups import newest_backup
from liza.store.document import parse
from liza.store.locate import FOLDER, boards_upward, main_board
from liza.store.paths import Paths

FILES = ("state.yaml", "log.yaml", "rules.yaml")
# In git these would halt the agents of every clone, or share a lock file that locks nothing between machines.
HARMFUL = ("CHECKPOINT", "PAUSE", "ABORT", "stopped/", "*.lock")
# What git ignores in .liza/: halts and locks, what is local, private or regenerated, and drafts of interrupted writes.
# The rest belongs to the project: its state, log and rules, and the reports of trips.
IGNORED = (
    *HARMFUL, "ESCALATION", "alerts.log*", "watch.json", "watch.log*", "inbox/", "spool/", "steps/", "runs/",
    "backups/", ".*.new", ".*.swap", ".*.aside",
)  # fmt: skip
_GITIGNORE = "# Written by liza: git tracks the blackboard, not what is local to a machine or temporary.\n"


class Created(NamedTuple):
    files: tuple[str, ...]
    above: str | None  # a blackboard in a parent folder, which this one hides


def create(root: str, goal: str | None) -> Created:
    """Create `.liza/` in `root`, or complete one that has no state.yaml; `Refused` if there is a blackboard."""
    project = os.path.dirname(os.path.abspath(root)) if os.path.basename(os.path.abspath(root)) == FOLDER else root
    folder = os.path.join(project, FOLDER)
    if project == root and (main := main_board(project)) is not None:
        hint = f"to use a separate one here: liza init --root {quote(folder)} && export LIZA_ROOT={quote(folder)}"
        raise Refused(f"this is a linked worktree of git, whose agents use {main}", hint=hint)
    contents = {name: templates.read_template(name).encode() for name in FILES} | {".gitignore": gitignore()}
    if goal is not None:
        state = parse(contents["state.yaml"], "state.yaml")
        contents["state.yaml"] = edit.replace_section(state, "goal", {**state.data["goal"], "description": goal})
    made: list[str] = []
    try:
        os.mkdir(folder)
        made.append(folder)
    except FileExistsError:
        _require_unused(folder)
    except OSError as error:
        is_absent = isinstance(error, FileNotFoundError)
        hint = f"create the folder: mkdir -p {quote(project)}" if is_absent else f"make {project} a writable folder"
        raise Refused(f"{folder} could not be created: {error.strerror}", hint=hint) from None
    try:
        for name, content in contents.items():
            path = os.path.join(folder, name)
            if not os.path.lexists(path):
                with open(path, "xb", opener=files.open_fd) as file:
                    made.append(path)
                    file.write(content)
    except OSError as error:
        for path in reversed(made):
            with suppress(OSError):
                (os.rmdir if path == folder else os.unlink)(path)
        raise Refused(f"no files could be created in {folder}: {error.strerror}", hint="free some disk space") from None
    return Created(tuple(path for path in made if path != folder), _above(project))


def gitignore() -> bytes:
    """The text of `.liza/.gitignore`; its patterns are anchored, so they do not apply to subfolders."""
    return (_GITIGNORE + "".join(f"/{pattern}\n" for pattern in IGNORED)).encode()


def _require_unused(folder: str) -> None:
    """`Refused` unless the folder is only what a daemon or a deletion left: no history starts beside an old one."""
    paths = Paths(folder)
    if os.path.lexists(paths.state) or not os.path.isdir(folder):
        raise Refused(f"{folder} already exists; nothing was overwritten", hint="check it with: liza validate")
    copy = newest_backup(paths)
    if copy is not None or os.path.lexists(paths.reports):
        restore = f"restore the last copy: cp {quote(copy)} {quote(paths.state)}; " if copy is not None else ""
        start_over = f"to start over, move the old one away: mv {quote(folder)} {quote(folder)}.old"
        raise Refused(f"{folder} has no state.yaml, but backups or reports of one", hint=restore + start_over)


def _above(project: str) -> str | None:
    return next(boards_upward(os.path.dirname(os.path.abspath(project))), None)
