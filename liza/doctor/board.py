"""The files of the blackboard: whether they can be read, evaluated and written."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime

from liza.doctor.finding import Finding, Level
from liza.errors import LizaError
from liza.rules.acknowledged import open_trigger
from liza.scopes import validate
from liza.scopes.rules_file import circuit_config, notify_problems, read_rules
from liza.store.board import Board
from liza.store.checkpoint import removal
from liza.store.paths import Paths
from liza.text import shell_quoted


def blackboard(paths: Paths, now: datetime) -> Iterator[Finding]:
    """What can be read, what is invalid, and what is in the place of a file or folder of liza's."""
    yield from _places(paths)
    found = validate.validate_board(Board(paths), now)
    errors = [problem for problem in found.problems if problem.level == "error" and problem.file != paths.rules]
    warnings = [problem for problem in found.problems if problem.level != "error"]
    for level, some in ((Level.ERROR, errors), (Level.WARNING, warnings)):
        if some:
            first = some[0]
            more = f" (and {len(some) - 1} more)" if len(some) > 1 else ""
            hint = f"liza validate --root {shell_quoted(os.path.dirname(paths.folder) or '.')}"
            yield Finding("blackboard", level, first.message + more, hint, first.file, first.line, first.column)
    if not errors:
        counts = found.checked[paths.state]
        held = ", ".join(f"{name} {count}" for name, count in counts.items() if count) or "no records"
        yield Finding("blackboard", Level.OK, f"{paths.folder}: {held}")


def _places(paths: Paths) -> Iterator[Finding]:
    """Paths that liza could not write when it has to."""
    folders = (paths.reports, paths.backups, paths.runs)
    for folder in (paths.folder, *(each for each in folders if os.path.isdir(each))):
        if not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
            text, hint = "no permission to write in it", f"chmod u+rwx {shell_quoted(folder)}   (or ask its owner)"
            yield Finding("blackboard", Level.ERROR, text, hint, folder)
    for folder in folders:
        if os.path.lexists(folder) and not os.path.isdir(folder):
            hint = f"mv {shell_quoted(folder)} {shell_quoted(folder)}.old"
            yield Finding("blackboard", Level.ERROR, "expected a folder, found something else", hint, folder)
    for file in (paths.log, paths.report, paths.alerts, paths.watch_json, paths.watch_log, paths.watch_lock):
        if os.path.isdir(file):
            hint = f"mv {shell_quoted(file)} {shell_quoted(file)}.folder"
            yield Finding("blackboard", Level.ERROR, "it is a folder, not a file", hint, file)
        elif os.path.exists(file) and not os.access(file, os.W_OK, effective_ids=True):
            text, hint = "no permission to write it", f"chmod u+rw {shell_quoted(file)}   (or ask its owner)"
            yield Finding("blackboard", Level.ERROR, text, hint, file)
    yield from _halt(paths)


def _halt(paths: Paths) -> Iterator[Finding]:
    """CHECKPOINT halts the agents whatever it is; but `liza resolve` removes only the file that a trip has made."""
    try:
        kind = os.lstat(paths.checkpoint).st_mode
    except OSError:
        with suppress(LizaError):  # an unreadable blackboard is reported elsewhere
            if open_trigger(Board(paths).read().data.get("circuit_breaker")) is not None:
                text = "missing although the breaker is open: the agents are not halted"
                hint = "halt them: liza analyze; or decide: liza resolve -m '...'"
                yield Finding("blackboard", Level.WARNING, text, hint, paths.checkpoint)
        return
    if not stat.S_ISREG(kind):
        what = "a folder" if stat.S_ISDIR(kind) else "not a regular file"
        text = f"it is {what}: the agents are halted, and liza resolve does not remove it"
        hint = f"when they may continue: {removal(paths.checkpoint)}"
        yield Finding("blackboard", Level.WARNING, text, hint, paths.checkpoint)


def rules(paths: Paths, now: datetime) -> Iterator[Finding]:
    """Whether the rules can be used, and how they differ from the shipped ones."""
    found = read_rules(paths.rules, config=circuit_config())
    for problem in notify_problems(paths.rules):
        level = Level.ERROR if problem.level == "error" else Level.WARNING
        yield Finding("rules", level, problem.message, problem.hint, problem.file, problem.line, problem.column)
    for change in found.changes:
        yield Finding("rules", Level.WARNING, change, f"if that is not intended, edit {paths.rules}", paths.rules)
    own = "shipped and in rules.yaml" if os.path.lexists(paths.rules) else "shipped, no rules.yaml"
    about = "the others are alarms, and rules for sessions, loops, claims and slices"
    yield Finding("rules", Level.OK, f"{found.counts} ({own}); {about}")
