"""Making a new blackboard."""

import os
from contextlib import suppress
from typing import NamedTuple

from liza import templates
from liza.blackboard import edit
from liza.blackboard.document import parse
from liza.blackboard.paths import FOLDER
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
    """Make `.liza/` in `root`, or `Refused` if there is one."""
    project = os.path.dirname(os.path.abspath(root)) if os.path.basename(os.path.abspath(root)) == FOLDER else root
    folder = os.path.join(project, FOLDER)
    contents = {name: templates.text(name).encode() for name in FILES}
    if goal is not None:
        state = parse(contents["state.yaml"], "state.yaml")
        contents["state.yaml"] = edit.replace_section(state, "goal", {**state.data["goal"], "description": goal})
    try:
        os.mkdir(folder)
    except FileExistsError:
        raise Refused(
            f"{folder} is there already; nothing was overwritten",
            hint="check it with: liza validate",
            file=None,
        ) from None
    except OSError as error:
        raise Refused(
            f"{folder} could not be made: {error.strerror}", hint=f"make {project} a folder you can write"
        ) from None
    try:
        for name, content in contents.items():
            with open(os.path.join(folder, name), "xb") as file:
                file.write(content)
    except OSError as error:
        for name in contents:
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
        raise Refused(f"{folder} could not be filled: {error.strerror}", hint="make room on that disk") from None
    return Made(tuple(os.path.join(folder, name) for name in FILES), _not_ignored(project), _above(project))


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
