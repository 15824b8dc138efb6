"""Run every check in turn; one that fails does not prevent the others."""

import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from importlib import import_module

from liza.doctor.finding import Finding, Level, error_findings
from liza.errors import LizaError
from liza.store.paths import Paths, find
from liza.text import shell_quoted

# Each is checked by the function of that name. Their modules are imported one by one, so that a missing library
# disables only the checks that need it.
_HERE = {
    "blackboard": "liza.doctor.board",
    "rules": "liza.doctor.board",
    "inbox": "liza.doctor.inbox",
    "leftovers": "liza.doctor.leftovers",
    "git": "liza.doctor.git",
    "lock": "liza.doctor.lock",
    "daemon": "liza.doctor.daemon",
    "hooks": "liza.doctor.hooks",
    "filesystem": "liza.doctor.filesystem",
    "clock": "liza.doctor.clock",
    "team": "liza.doctor.team",
}
_ANYWHERE = {
    "inotify": "liza.doctor.inotify",
    "versions": "liza.doctor.installed",
    "tools": "liza.doctor.installed",
}


def examine(root: str | None, now: datetime) -> list[Finding]:
    """All findings. Writes nothing but two short-lived empty files, to probe the file system."""
    found: list[Finding] = []
    paths: Paths | None = None
    started = time.monotonic()
    try:
        paths = find(root)
    except LizaError as error:
        found += error_findings("blackboard", error)
    if paths is not None:
        for about in _HERE:
            found += run_check(about, paths, _later(now, started))
    for about in _ANYWHERE:
        found += run_check(about, paths, _later(now, started))
    return found


def _later(now: datetime, started: float) -> datetime:
    """On a busy machine a check takes seconds, and a file written meanwhile is not from the future."""
    return now + timedelta(seconds=time.monotonic() - started)


def run_check(about: str, paths: Paths | None, now: datetime) -> list[Finding]:
    """The findings of one check; where it cannot run, that is the finding."""
    try:
        return list(getattr(import_module((_HERE | _ANYWHERE)[about]), about)(paths, now))
    except LizaError as error:
        return error_findings(about, error)
    except ImportError as error:
        level = Level.DEGRADED if about in ("blackboard", "rules") else Level.ERROR
        return [Finding(about, level, f"could not be checked: {error}", "see what is missing under versions")]
    except OSError as error:
        where = f"ls -la {shell_quoted(paths.folder)}" if paths is not None else "dmesg | tail"
        return [Finding(about, Level.ERROR, f"could not be checked: {error}", where)]


def apply_fixes(findings: Iterable[Finding]) -> list[Finding]:
    """The findings after applying every safe fix, each with what was done, or why not."""
    return [_apply_fix(each) if each.fix is not None else each for each in findings]


def _apply_fix(finding: Finding) -> Finding:
    assert finding.fix is not None
    try:
        return Finding(finding.about, Level.FIXED, finding.fix())
    except LizaError as error:
        return finding._replace(message=f"{finding.message}; not fixed: {error.message}", hint=error.hint, fix=None)
    except OSError as error:
        return finding._replace(message=f"{finding.message}; not fixed: {error.strerror or error}", fix=None)


def exit_code(findings: Iterable[Finding]) -> int:
    """4 where the blackboard cannot be evaluated, else 1 where something must be fixed, else 0."""
    levels = {each.level for each in findings}
    return 4 if Level.DEGRADED in levels else 1 if Level.ERROR in levels else 0
