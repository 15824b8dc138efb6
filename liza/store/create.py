"""Making a new blackboard."""

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
# In every clone they would halt its agents, or be one file that is no lock between two machines.
HARMFUL = ("CHECKPOINT", "PAUSE", "ABORT", "stopped/", "*.lock")
# What git is to leave alone in .liza/: halts and locks, what is of this machine, private or made anew, and drafts of an
# interrupted write. The rest belongs to the project: its state, log and rules, and what people read about trips.
IGNORED = (
    *HARMFUL, "ESCALATION", "alerts.log*", "watch.json", "watch.log*", "inbox/", "spool/", "steps/", "runs/",
    "backups/", ".*.new", ".*.swap", ".*.aside",
)  # fmt: skip
_GITIGNORE = "# Written by liza: git keeps the blackboard, not what is of one machine or one moment.\n"


class Made(NamedTuple):
    """The files that were made."""

    files: tuple[str, ...]
    above: str | None  # a blackboard further up, which this one hides


def create(root: str, goal: str | None) -> Made:
    """Make `.liza/` in `root`, or what is missing in one that has no state.yaml; `Refused` if there is a blackboard."""
    project = os.path.dirname(os.path.abspath(root)) if os.path.basename(os.path.abspath(root)) == FOLDER else root
    folder = os.path.join(project, FOLDER)
    if project == root and (main := main_board(project)) is not None:
        hint = f"to use another one here: liza init --root {quote(folder)} && export LIZA_ROOT={quote(folder)}"
        raise Refused(f"this is a linked work tree of git, and agents in it use {main}", hint=hint)
    contents = {name: templates.read_template(name).encode() for name in FILES} | {".gitignore": gitignore()}
    if goal is not None:
        state = parse(contents["state.yaml"], "state.yaml")
        contents["state.yaml"] = edit.replace_section(state, "goal", {**state.data["goal"], "description": goal})
    made: list[str] = []
    try:
        os.mkdir(folder)
        made.append(folder)
    except FileExistsError:
        _refuse_what_is_in_use(folder)
    except OSError as error:
        raise Refused(
            f"{folder} could not be made: {error.strerror}", hint=f"make {project} a folder you can write"
        ) from None
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
        raise Refused(f"{folder} could not be filled: {error.strerror}", hint="make room on that disk") from None
    return Made(tuple(path for path in made if path != folder), _above(project))


def gitignore() -> bytes:
    """What `.liza/.gitignore` says; it is anchored there, so that it means nothing to folders inside."""
    return (_GITIGNORE + "".join(f"/{pattern}\n" for pattern in IGNORED)).encode()


def _refuse_what_is_in_use(folder: str) -> None:
    """A folder without a state.yaml is what a daemon or a deletion left; but no history is begun beside an old one."""

    paths = Paths(folder)
    if os.path.lexists(paths.state) or not os.path.isdir(folder):
        raise Refused(f"{folder} is there already; nothing was overwritten", hint="check it with: liza validate")
    copy = newest_backup(paths)
    if copy is not None or os.path.lexists(paths.reports):
        back = f"go back to the last copy: cp {quote(copy)} {quote(paths.state)}; " if copy is not None else ""
        anew = f"to start anew, move the old one away: mv {quote(folder)} {quote(folder)}.old"
        raise Refused(f"{folder} has no state.yaml, but what belongs to one", hint=back + anew)


def _above(project: str) -> str | None:
    return next(boards_upward(os.path.dirname(os.path.abspath(project))), None)
