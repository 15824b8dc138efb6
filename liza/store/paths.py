"""Where the blackboard is, and what its files are called."""

import os
from typing import NamedTuple

from liza.errors import NoBlackboard, Refused
from liza.store.locate import FOLDER, Unusable, find_named, find_nearest


class Paths(NamedTuple):
    """The files of one blackboard; `folder` is the `.liza/` itself."""

    folder: str

    @property
    def project(self) -> str:
        """The folder that has the `.liza/`."""
        return os.path.dirname(os.path.abspath(self.folder))

    @property
    def state(self) -> str:
        return os.path.join(self.folder, "state.yaml")

    @property
    def log(self) -> str:
        return os.path.join(self.folder, "log.yaml")

    @property
    def lock(self) -> str:
        """The file that shell scripts take with flock(1): one lock for every file of the blackboard."""
        return os.path.join(self.folder, "state.yaml.lock")

    @property
    def rules(self) -> str:
        return os.path.join(self.folder, "rules.yaml")

    @property
    def checkpoint(self) -> str:
        return os.path.join(self.folder, "CHECKPOINT")

    @property
    def report(self) -> str:
        return os.path.join(self.folder, "circuit_breaker_report.md")

    @property
    def reports(self) -> str:
        return os.path.join(self.folder, "reports")

    @property
    def backups(self) -> str:
        return os.path.join(self.folder, "backups")

    @property
    def inbox(self) -> str:
        """Records that wait until they can be entered in state.yaml, one file each."""
        return os.path.join(self.folder, "inbox")

    @property
    def spool(self) -> str:
        """Events of clients' hooks that the daemon has not read yet, one file each."""
        return os.path.join(self.folder, "spool")

    @property
    def steps(self) -> str:
        """The steps of each session."""
        return os.path.join(self.folder, "steps")

    @property
    def stopped(self) -> str:
        """A halt file for each session that is stopped or warned; the folder exists only while there is one."""
        return os.path.join(self.folder, "stopped")

    @property
    def team(self) -> str:
        """What a host of a team keeps; the folder exists only on one that has joined a team."""
        return os.path.join(self.folder, "team")

    @property
    def runs(self) -> str:
        return os.path.join(self.folder, "runs")

    @property
    def abort(self) -> str:
        return os.path.join(self.folder, "ABORT")

    @property
    def watch_lock(self) -> str:
        return os.path.join(self.folder, "watch.lock")

    @property
    def watch_json(self) -> str:
        return os.path.join(self.folder, "watch.json")

    @property
    def watch_log(self) -> str:
        return os.path.join(self.folder, "watch.log")

    @property
    def alerts(self) -> str:
        return os.path.join(self.folder, "alerts.log")

    @property
    def pause(self) -> str:
        return os.path.join(self.folder, "PAUSE")

    @property
    def escalation(self) -> str:
        return os.path.join(self.folder, "ESCALATION")

    @property
    def watched(self) -> tuple[str, ...]:
        """The files whose changes may change a verdict, or what follows from one."""
        return (self.state, self.log, self.rules, self.checkpoint, self.report, self.inbox)


def find(root: str | None = None) -> Paths:
    """The blackboard of `root`, else of `LIZA_ROOT`, else the nearest one upward from the working folder."""
    try:
        for folder, origin in ((root, ""), (os.environ.get("LIZA_ROOT"), ", which LIZA_ROOT names")):
            if folder:
                return _named(folder, origin)
        return _nearest()
    except Unusable as error:
        raise Refused(error.why, hint=error.hint) from None


def _nearest() -> Paths:
    try:
        start = os.getcwd()
    except FileNotFoundError:
        raise NoBlackboard("the working folder is gone", hint="change to a folder that exists") from None
    found = find_nearest(start)
    if found is None:
        raise NoBlackboard(
            f"no {FOLDER}/ in {start} or any folder above it",
            hint="create one here: liza init   (or name its folder: --root DIR)",
        )
    return Paths(found)


def _named(root: str, origin: str) -> Paths:
    found = find_named(root)
    if found is None:
        raise NoBlackboard(
            f"there is no {FOLDER}/ in {root!r}{origin}",
            hint=f"create one: mkdir -p {root} && liza init --root {root}",
        )
    return Paths(found)
