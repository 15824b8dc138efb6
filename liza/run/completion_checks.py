"""The checks of a claim to be done: commands that must succeed, files that must exist, a plan without open items.

They are made when the work is claimed to be done; the tests also after every change.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from liza.run import plan as plans
from liza.run.plan import Plan
from liza.run.process import Ran
from liza.store.files import open_regular
from liza.text import plural

_LINES = 20  # of the output of a command that failed
LARGEST = 10_000_000  # bytes of a plan


class Evidence(NamedTuple):
    """The result of each check, and its faults as text for the next iteration."""

    results: Mapping[str, bool] = {}
    faults: tuple[str, ...] = ()
    is_cut: bool = False  # liza was stopped before all checks were made

    def joined(self, other: "Evidence") -> "Evidence":
        return Evidence({**self.results, **other.results}, self.faults + other.faults, self.is_cut or other.is_cut)


def of_command(name: str, command: str, run: Callable[[str, str], Ran]) -> Evidence:
    """A shell command that must succeed. One that was stopped together with liza proves nothing."""
    ran = run(name, command)
    if ran.stopped:
        return Evidence(is_cut=True)
    if ran.outcome == "ok":
        return Evidence({name: True})
    how = ran.note or f"exit code {ran.code}"
    tail = "\n".join(ran.output.rstrip().splitlines()[-_LINES:])
    return Evidence({name: False}, (f"{name} failed: {command}\n{how}" + (f"\n{tail}" if tail else ""),))


def of_files(paths: Sequence[str], cwd: str) -> Evidence:
    """Files that must exist."""
    if not paths:
        return Evidence()
    missing = [path for path in paths if not os.path.exists(os.path.join(cwd, path))]
    return Evidence({"require": not missing}, tuple(f"a required file is missing: {path}" for path in missing))


def of_plan(found: Plan | None, path: str) -> Evidence:
    """A plan that must have no open item."""
    if found is None:
        return Evidence({"plan": False}, (f"the plan cannot be read: {path}",))
    if found.is_complete:
        return Evidence({"plan": True})
    faults = [f"open in the plan: {item}" for item in found.open]
    if found.lost:
        faults.append(f"gone from the plan: {plural(found.lost, 'item')}; put them back, and tick what is done: {path}")
    return Evidence({"plan": False}, tuple(faults) or (f"the plan has no check boxes: {path}",))


def read_plan(path: str | None, optional_sections: Sequence[str]) -> Plan | None:
    """The plan as it is now; None if it cannot be read."""
    if path is not None:
        with suppress(OSError), open(path, "rb", opener=open_regular) as file:
            return plans.read(file.read(LARGEST).decode(errors="replace"), optional_sections)
    return None
