"""What a decision about one record of a scope returns: its new record, what happened, and what leaves it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from liza.errors import LizaError
from liza.scopes.records import Archived

_STOPS = ("stopped", "opened", "disputed", "arch_stopped")


class Event(NamedTuple):
    """Something that happened to one scope, for the log and for notifications."""

    scope: str  # session, claim, slice, loop, stage
    name: str
    kind: str  # a word of the protocol: opened, closed, probing, completed, ...
    text: str
    task: str | None = None
    logged: Mapping[str, str] = {}  # more fields of its log entry
    alert: str | None = None  # the daemon's word for it, where people are alerted without a daemon too

    @property
    def stops(self) -> bool:
        """Whether it stops the session, claim, slice or loop that it is about."""
        return self.kind in _STOPS


class Transition(NamedTuple):
    """The new value of a record, its events, and the entries that leave the blackboard with the change."""

    record: dict[str, Any]
    events: tuple[Event, ...] = ()
    archived: Archived = ()
    refused: LizaError | None = None  # raised after the change: the command is refused, and this much is done first
    before: Mapping[str, Any] | None = None  # the record that was changed; None if there was none

    def then(self, after: "Transition") -> "Transition":
        """Both changes as one: `after` was made from this record."""
        return after._replace(events=self.events + after.events, archived=self.archived + after.archived)


class Reconciled(NamedTuple):
    """A reconciled section (the same object where nothing changes), its events, and what leaves it, by name."""

    section: Any
    events: tuple[Event, ...] = ()
    archived: tuple[tuple[str, Archived], ...] = ()
