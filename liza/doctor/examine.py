"""Looking at everything, one thing after another; what cannot be looked at does not keep the rest from it."""

from collections.abc import Iterable
from datetime import datetime
from importlib import import_module

from liza.doctor.finding import Finding, Level, error_findings
from liza.errors import LizaError
from liza.store.paths import Paths, find
from liza.text import shell_quoted

# Each is looked at by the function of that name. Their modules are loaded one by one, so that a library that is missing
# keeps only those from working that need it.
_HERE = {
    "blackboard": "liza.doctor.board",
    "rules": "liza.doctor.board",
    "inbox": "liza.doctor.inbox",
    "leftovers": "liza.doctor.leftovers",
    "git": "liza.doctor.git",
    "lock": "liza.doctor.lock",
    "daemon": "liza.doctor.daemon",
    "filesystem": "liza.doctor.machine",
    "clock": "liza.doctor.clock",
}
_ANYWHERE = {
    "inotify": "liza.doctor.inotify",
    "versions": "liza.doctor.installed",
    "tools": "liza.doctor.installed",
}


def examine(root: str | None, now: datetime) -> list[Finding]:
    """All there is to say. Nothing is written but two empty files for a moment, to see what the file system can do."""
    found: list[Finding] = []
    paths: Paths | None = None
    try:
        paths = find(root)
    except LizaError as error:
        found += error_findings("blackboard", error)
    if paths is not None:
        for about in _HERE:
            found += run_check(about, paths, now)
    for about in _ANYWHERE:
        found += run_check(about, paths, now)
    return found


def run_check(about: str, paths: Paths | None, now: datetime) -> list[Finding]:
    """All there is to say of one thing; where it cannot be looked at, that."""
    try:
        return list(getattr(import_module((_HERE | _ANYWHERE)[about]), about)(paths, now))
    except LizaError as error:
        return error_findings(about, error)
    except ImportError as error:
        level = Level.DEGRADED if about in ("blackboard", "rules") else Level.ERROR
        return [Finding(about, level, f"it could not be looked at: {error}", "see what is missing under versions")]
    except OSError as error:
        where = f"ls -la {shell_quoted(paths.folder)}" if paths is not None else "dmesg | tail"
        return [Finding(about, Level.ERROR, f"it could not be looked at: {error}", where)]


def apply_fixes(findings: Iterable[Finding]) -> list[Finding]:
    """The findings after everything was mended that is safe to mend; each says what was done, or why it was not."""
    return [_mend(each) if each.fix is not None else each for each in findings]


def _mend(finding: Finding) -> Finding:
    assert finding.fix is not None
    try:
        return Finding(finding.about, Level.FIXED, finding.fix())
    except LizaError as error:
        return finding._replace(message=f"{finding.message}; not mended: {error.message}", hint=error.hint, fix=None)
    except OSError as error:
        return finding._replace(message=f"{finding.message}; not mended: {error.strerror or error}", fix=None)


def exit_code(findings: Iterable[Finding]) -> int:
    """4 where the blackboard cannot be judged, else 1 where something is to be mended, else 0."""
    levels = {each.level for each in findings}
    return 4 if Level.DEGRADED in levels else 1 if Level.ERROR in levels else 0
