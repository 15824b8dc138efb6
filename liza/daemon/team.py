"""The daemon as one host of a team: before each check it takes in what the others sent, and afterwards offers its own.

The order keeps every promise: a trip's halt file first, then decisions, then the records they are about, then the
trip's report and entry; each step is idempotent, so what a crash or a held lock left undone is done by the next tick.
Without a team this module loads nothing.
"""

import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from liza.daemon.alarm_reminders import Cause
from liza.daemon.notifier import EventKind, Notifier
from liza.errors import LizaError, Refused
from liza.rules.evaluate import RuleSet
from liza.schema.teams import MAX_SILENCE
from liza.store import checkpoint
from liza.store.board import Board
from liza.store.document import Document
from liza.store.team_files import is_team_named

if TYPE_CHECKING:
    from liza.team.host import TeamHost

LIFTED = "the team can be reached again; the halt (on_partition) was removed, agents may continue"
LEFT = "this blackboard is in no team any more: only its own records count from now on"
TEAM, _RECORDS, _FILES = "team", "team's records", "team's files"  # in the list of what does not work


class Team:
    """Holds the connection of this host, if it is in a team."""

    def __init__(self, board: Board, notifier: Notifier, wake: Callable[[], None]) -> None:
        self._board = board
        self._notifier = notifier
        self._wake = wake
        self._host: TeamHost | None = None
        self._ticked: datetime | None = None
        self._is_named: bool | None = None  # whether the blackboard is in a team; None: not looked yet
        self._since = time.monotonic()  # when it began to look for the team
        self._grace = float("-inf")  # monotonic time since which silence counts: it slept until then

    @property
    def is_joined(self) -> bool:
        return self._host is not None

    def update(self, rules: RuleSet, document: Document | None, now: datetime) -> bool:
        """Take in what the team sent; whether the blackboard has to be checked because of it."""
        if not is_team_named(self._board.paths, rules.blocks):
            self._leave()
            return False
        self._is_named = True
        block = rules.blocks.get("team") or {}
        host = self._find(rules, now)
        longest = (
            host.settings.max_silence if host is not None else float(block.get("max_silence") or MAX_SILENCE.default)
        )
        self._note_sleep(now, longest)
        if host is None:  # what is wrong is reported already, and the team is as far away as behind a broken net
            silent = time.monotonic() - max(self._since, self._grace)
            if silent >= longest and block.get("on_partition") != "continue":
                self._halt(f"the team was not reached for {longest:g} s: see liza status", now)
            return False
        is_new = False
        try:
            is_new = host.apply(rules, document, now)
        except LizaError as error:
            self._notifier.failed(_RECORDS, error, now)
        else:
            self._notifier.works(_RECORDS)
        for text in host.take_notes():
            self._notifier.report(EventKind.ALARM, text)
        self._notifier.set_active(TEAM, [Cause(TEAM, key, text) for key, text in host.problems()])
        self._judge_silence(host, now)
        return is_new

    def _leave(self) -> None:
        """Once: there is no team, or no longer one."""
        if self._is_named is not False:
            if self._is_named:
                self._notifier.report(EventKind.ALARM, LEFT)
            self._is_named = False
            self.stop()
            for what in (TEAM, _RECORDS, _FILES):
                self._notifier.works(what)
            self._notifier.set_active(TEAM, ())
            self._lift()

    def offer(self, document: Document | None, now: datetime) -> None:
        """Offer what this host has, after a check."""
        if self._host is not None and document is not None:
            try:
                self._host.offer(document, now, self._notifier.health.last_error)
            except (LizaError, OSError) as error:
                failed = error if isinstance(error, LizaError) else Refused(f"the team's files: {error}")
                self._notifier.failed(_FILES, failed, now)
            else:
                self._notifier.works(_FILES)

    def stop(self) -> None:
        if self._host is not None:
            self._host.stop()
            self._host = None
            self._since = time.monotonic()

    def _find(self, rules: RuleSet, now: datetime) -> "TeamHost | None":
        try:
            import psycopg  # noqa: F401
        except ImportError as error:
            hint = "to fix: pip install 'liza[team]', then liza watch --restart"
            self._notifier.failed(TEAM, Refused(f"this host cannot take part in its team: {error}; {hint}"), now)
            return None
        from liza.team.host import TeamHost
        from liza.team.settings import settings_of

        try:
            settings = settings_of(self._board.paths, rules.blocks)
        except LizaError as error:
            self._notifier.failed(TEAM, error, now)
            return self._host
        if settings is None:
            self.stop()  # or it would go on writing its files, which are deleted to leave the team by hand
            hint = "name its address under team: url in rules.yaml, or: liza team join URL"
            self._notifier.failed(
                TEAM, Refused(f"this blackboard is in a team whose address is not known; {hint}"), now
            )
            return None
        if self._host is None or self._host.settings != settings:
            self.stop()
            self._host = TeamHost(self._board, settings, self._wake)
        return self._host

    # --- silence ------------------------------------------------------------------------------------------------------

    def _note_sleep(self, now: datetime, longest: float) -> None:
        """A machine that slept gets one grace period: nothing was heard because it could not listen."""
        if self._ticked is not None and (now - self._ticked).total_seconds() > longest:
            self._grace = time.monotonic()
        self._ticked = now

    def _judge_silence(self, host: "TeamHost", now: datetime) -> None:
        """DEGRADED, and by `on_partition: halt` a halt, once nothing was heard for `max_silence`."""
        silent = time.monotonic() - max(host.contact.last, self._grace)
        error = host.contact.error
        if silent < host.settings.max_silence:
            self._notifier.works(TEAM)
            host.degraded = None
            if error is None and host.contact.looks and host.is_up_to_date:
                self._lift()
            return
        why = error.message if error is not None else "no answer"
        hint = error.hint if error is not None else None
        text = f"the team's database was not reached for {host.settings.max_silence:g} s: {why}"
        self._notifier.failed(TEAM, Refused(f"{text}; {hint}" if hint else text), now)
        host.degraded = text
        if host.settings.on_partition == "halt":
            self._halt(text, now)

    def _halt(self, text: str, now: datetime) -> None:
        path = self._board.paths.checkpoint
        if checkpoint.read(path) is None:
            try:
                checkpoint.make_partition(path, text, now)
            except LizaError as error:
                self._notifier.failed("CHECKPOINT", error, now)
                return
            self._notifier.works("CHECKPOINT")
            self._notifier.report(EventKind.ALARM, f"the agents are halted until the team is reached again: {text}")

    def _lift(self) -> None:
        if checkpoint.lift_partition(self._board.paths.checkpoint):
            self._notifier.report(EventKind.ALARM, LIFTED)
