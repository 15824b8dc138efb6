"""What a scope is.

A scope is what one trip stops: a session, a claim, a slice, a loop. `engine.py` does what is the same for all of them;
a `Scope` is the rest for one kind, as one value of typed functions. Nothing here reads a file or a clock.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from liza.model import Fault, Problem, Record
from liza.scopes.records import Section
from liza.scopes.transition import Event, Reconciled, Transition

if TYPE_CHECKING:
    from liza.rules.evaluate import RuleSet
    from liza.scopes.evaluator import Evaluator
    from liza.scopes.gate import Gate
    from liza.store.board import Board
    from liza.store.document import Document
    from liza.store.inbox import EntryBoard
    from liza.store.paths import Paths

S = TypeVar("S")
Environment = Mapping[str, str]
Sections = Mapping[str, Any]
Gates = Mapping[str, Callable[["Board", str, datetime], "Gate"]]  # by the word of `liza gate`
Entries = Mapping[str, Callable[["EntryBoard", Mapping[str, Any], datetime], object]]  # by the kind in the inbox


class OpenTrip(NamedTuple):
    """Since when a scope is stopped, under which status, and why."""

    since: str
    status: str
    reason: str


class Lost(NamedTuple):
    """What was stopped, and has left the blackboard without a decision."""

    name: str
    since: str
    text: str


class Alarm(NamedTuple):
    """What people should know for as long as it lasts, and is not a trip."""

    kind: str
    subject: str  # distinguishes it from others of its kind
    text: str


class Polled(NamedTuple):
    """What one poll of a source found, and what was done about it."""

    events: tuple[Event, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()  # what is there and cannot be read
    is_new: bool = False  # there are records that were not there before
    is_late: bool = False  # a stop is not on the blackboard yet: its lock was held, or it could not be written
    has_more: bool = False  # there is more, left for the next poll


class Source(Protocol):
    """Records that come by no command and are in files of their own; the daemon polls them."""

    def streams(self, section: Any, wanted: Container[str], /) -> Mapping[str, tuple[Record, ...]]:
        """Those of its streams that are wanted, without what people have decided on."""
        ...

    def poll(self, board: "Board", document: "Document", rules: "RuleSet", now: datetime, /) -> Polled:
        """Take in what is new, and stop whom it concerns. Waits for no lock."""
        ...


class Scope(NamedTuple, Generic[S]):
    """One kind of scope, with settings of type S. What needs files gets a board or paths; all else is pure."""

    section: Section
    settings_of: Callable[["RuleSet", Environment], S]
    evaluator_for: Callable[["RuleSet", S, datetime], "Evaluator[S]"]
    # What rules see of one session, claim, slice or loop; nothing of one that is stopped or done.
    derive: Callable[[str, Mapping[str, Any], S], Sequence[Record]]
    # It after edits by hand and the rules were applied. Idempotent.
    reconcile: Callable[[str, Mapping[str, Any], "Evaluator[S]", Sections], Transition]
    open_trip: Callable[[Mapping[str, Any], S], OpenTrip | None]
    alarms: Callable[[str, Mapping[str, Any], "Evaluator[S]"], Iterable[Alarm]]
    # For a gate: the rules alone that stop one, and what lets it continue; its record is None where it is gone.
    rules_of: Callable[["Paths"], "RuleSet"]
    how_to_continue: Callable[[str, Mapping[str, Any] | None], str]
    section_alarms: Callable[[Sections, S], Iterable[Alarm]] = lambda sections, settings: ()
    faults: Callable[[Sections, "RuleSet"], Iterable[Fault]] = lambda sections, rules: ()
    # Whether one that is stopped may try once more.
    may_try: Callable[[Mapping[str, Any], S, datetime], bool] = lambda record, settings, now: False
    notes: Callable[[S], Iterable[str]] = lambda settings: ()  # what to warn of whatever the answer is
    gates: Callable[[], Gates] = dict  # of what is not a record of the section
    ancestors: Callable[["Paths", str], Iterable[str]] = lambda paths, name: ()  # those whose stop also stops it
    # The changes that records of the inbox ask for. Loaded when one waits.
    entries: Callable[[], Entries] = dict
    missing: Callable[["Board", Sections], Iterable[Lost]] = lambda board, sections: ()
    # What no trip waits for, such as a report.
    follow_up: Callable[["Paths", Reconciled], object] = lambda paths, done: None
    # Stopped means halted: what of that was missing, and was made again.
    restore: Callable[["Paths", Any], Iterable[str]] = lambda paths, section: ()
    source: Callable[["Paths"], Source] | None = None
