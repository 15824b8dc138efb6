"""Making a new blackboard."""

import os
from contextlib import suppress
from typing import NamedTuple

from liza import templates
from liza.blackboard import edit
from liza.blackboard.backups import last
from liza.blackboard.document import parse
from liza.blackboard.paths import FOLDER, Paths
from liza.errors import Refused

FILES = ("state.yaml", "log.yaml", "rules.yaml")
# What lies in .liza/ for a while or is made anew: locks, the daemon's own files, halts, drafts of an interrupted write.
IGNORED = (
    ".liza/*.lock", ".liza/watch.json", ".liza/watch.log*", ".liza/alerts.log*", ".liza/CHECKPOINT", ".liza/PAUSE",
    ".liza/ABORT", ".liza/ESCALATION", ".liza/runs/", ".liza/backups/", ".liza/.*.new", ".liza/.*.swap",
)  # fmt: skip


class Made(NamedTuple):
    """The files that were made, and what the project's .gitignore does not have yet."""

    files: tuple[str, ...]
    gitignore_missing: tuple[str, ...]
    above: str | None  # a blackboard further up, which this one hides


def create(root: str, goal: str | None) -> Made:
    """Make `.liza/` in `root`, or what is missing in one that has no state.yaml; `Refused` if there is a blackboard."""
    project = os.path.dirname(os.path.abspath(root)) if os.path.basename(os.path.abspath(root)) == FOLDER else root
    folder = os.path.join(project, FOLDER)
    contents = {name: templates.text(name).encode() for name in FILES}
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
                with open(path, "xb") as file:
                    made.append(path)
                    file.write(content)
    except OSError as error:
        for path in reversed(made):
            with suppress(OSError):
                (os.rmdir if path == folder else os.unlink)(path)
        raise Refused(f"{folder} could not be filled: {error.strerror}", hint="make room on that disk") from None
    return Made(tuple(path for path in made if path != folder), _not_ignored(project), _above(project))


def _refuse_what_is_in_use(folder: str) -> None:
    """A folder without a state.yaml is what a daemon or a deletion left; but no history is begun beside an old one."""
    from shlex import quote

    paths = Paths(folder)
    if os.path.lexists(paths.state) or not os.path.isdir(folder):
        raise Refused(f"{folder} is there already; nothing was overwritten", hint="check it with: liza validate")
    copy = last(paths)
    if copy is not None or os.path.lexists(paths.reports):
        back = f"go back to the last copy: cp {quote(copy)} {quote(paths.state)}; " if copy is not None else ""
        anew = f"to start anew, move the old one away: mv {quote(folder)} {quote(folder)}.old"
        raise Refused(f"{folder} has no state.yaml, but what belongs to one", hint=back + anew)


def _above(project: str) -> str | None:
    folder = os.path.dirname(os.path.abspath(project))
    while not os.path.isdir(os.path.join(folder, FOLDER)):
        if folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)
    return os.path.join(folder, FOLDER)


def _not_ignored(project: str) -> tuple[str, ...]:
    try:
        with open(os.path.join(project, ".gitignore"), encoding="utf-8", errors="replace") as file:
            there = {line.strip() for line in file}
    except OSError:
        there = set()
    return tuple(line for line in IGNORED if line not in there)
