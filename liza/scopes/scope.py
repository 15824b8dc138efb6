"""What a scope is.

A scope is what one trip stops: a session, a claim, a slice, a loop. `engine.py` does what is the same for all of them;
a `Scope` is the rest for one kind, as one value of typed functions. Nothing here reads a file or a clock.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from liza.errors import LizaError
from liza.model import Fault, Problem, Record
from liza.scopes.records import Section, current_trip
from liza.scopes.transition import Event, Reconciled, Transition
from liza.text import shell_quoted

if TYPE_CHECKING:
    from liza.rules.evaluate import RuleSet
    from liza.scopes.evaluator import Evaluator
    from liza.store.board import Board
    from liza.store.document import Document
    from liza.store.inbox import EntryBoard
    from liza.store.paths import Paths

S = TypeVar("S")
Environment = Mapping[str, str]
Sections = Mapping[str, Any]
Entry = Callable[["EntryBoard", Mapping[str, Any], datetime], object]  # applies a record from the inbox
Entries = Mapping[str, Entry]  # by kind


class Gate(NamedTuple):
    """Whether agents may continue: true if they may, and then `why` and `hint` are empty.

    Unlike other tuples this one can be false: `while liza.gate(): ...` stops.
    """

    why: str = ""  # what stops them
    hint: str = ""  # what to do about it
    notes: tuple[str, ...] = ()  # warnings that stop nothing
    unknown: tuple[str, ...] = ()  # names that are not on the blackboard; they stop nothing either

    def __bool__(self) -> bool:
        return not self.why


Gates = Mapping[str, Callable[["Board", str, datetime], Gate]]  # by option of `liza gate`


def status_hint(command: str, name: str) -> str:
    """What a gate suggests for a stopped record that has a status command of its own."""
    return f"see what it is waiting for: liza {command} {shell_quoted(name)}"


class OpenTrip(NamedTuple):
    """Since when a scope is stopped, under which status, and why."""

    since: str
    status: str
    reason: str


def open_trip_of(record: Mapping[str, Any], status: str, reason: str) -> OpenTrip:
    """That of a record which keeps it as its `current_trip`."""
    trip = current_trip(record) or {}
    return OpenTrip(str(trip.get("trip_id") or trip.get("stopped") or record.get("status")), status, reason)


class Lost(NamedTuple):
    """A stopped record that was removed from the blackboard without a decision."""

    name: str
    since: str
    text: str


class Alarm(NamedTuple):
    """A condition that people should know about while it lasts, and that stops nothing."""

    kind: str
    subject: str  # distinguishes it from others of its kind
    text: str


class Polled(NamedTuple):
    """What one poll of a source found, and what was done about it."""

    events: tuple[Event, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()  # files that cannot be read
    is_new: bool = False  # new records came in
    is_late: bool = False  # a stop could not be written to state.yaml yet, for example because the lock was held
    has_more: bool = False  # records are left for the next poll
    error: LizaError | None = None  # what could not be done; the next poll tries again


RUNNING, ENDED, HALTED, ASKED = "running", "ended", "stopped", "stop requested, no hook"  # states of a session
HOOK, TRANSCRIPT, STREAM = "hook", "transcript", "stream"  # sources of a session


class Spent(NamedTuple):
    """What was used."""

    cost: float | None = None  # in US dollars; None where nothing has one
    tokens: int | None = None
    steps: int = 0
    hours: float = 0.0
    unpriced: Mapping[str, int] = MappingProxyType({})  # tokens without a cost, by model


class SessionRow(NamedTuple):
    """One session as people see it."""

    session: str
    client: str
    name: str
    task: str
    parent: str | None
    status: str  # ACTIVE or STOPPED
    state: str  # running, ended, or what is known of its stop
    steps: int
    started: str | None
    last: str | None
    last_step: str | None
    last_error: str | None
    reason: str | None
    used: "Spent"  # by itself, without its subagents
    source: str = ""  # what reports it
    degraded: str | None = None  # what its client no longer reports
    outcomes: tuple[str, ...] = ()  # of its last steps, the newest last


class Source(Protocol):
    """Records in files of their own, which no command writes; the daemon polls them."""

    def streams(
        self, sections: Sections, rules: "RuleSet", now: datetime | None, /
    ) -> Mapping[str, tuple[Record, ...]]:
        """The streams that the rules read, without records that a decision has acknowledged."""
        ...

    def rows(self, section: Any, rules: "RuleSet", /, *, ended: bool = False) -> Sequence[SessionRow]:
        """Who was at work lately or is stopped, the one with the newest step first; if asked also who was long ago."""
        ...

    def problems(self) -> Sequence[Problem]:
        """What could not be read when it was read last."""
        ...

    def poll(self, board: "Board", document: "Document", rules: "RuleSet", now: datetime, /) -> Polled:
        """Read new records and stop whom they concern. Waits for no lock."""
        ...


class Scope(NamedTuple, Generic[S]):
    """One kind of scope, with settings of type S. What needs files gets a board or paths; the rest is pure."""

    section: Section
    settings_of: Callable[["RuleSet", Environment], S]
    evaluator_for: Callable[["RuleSet", S, datetime], "Evaluator[S]"]
    # The records that rules see of one session, claim, slice or loop; none if it is stopped or done.
    derive: Callable[[str, Mapping[str, Any], S], Sequence[Record]]
    # Applies edits by hand and the rules to one record. Idempotent.
    reconcile: Callable[[str, Mapping[str, Any], "Evaluator[S]", Sections], Transition]
    open_trip: Callable[[Mapping[str, Any], S], OpenTrip | None]
    alarms: Callable[[str, Mapping[str, Any], "Evaluator[S]"], Iterable[Alarm]]
    # For the gate: only the rules that stop, and how a person lets the work continue (no record: it was removed).
    rules_of: Callable[["Paths"], "RuleSet"]
    how_to_continue: Callable[[str, Mapping[str, Any] | None], str]
    section_alarms: Callable[[Sections, S], Iterable[Alarm]] = lambda sections, settings: ()
    faults: Callable[[Sections, "RuleSet"], Iterable[Fault]] = lambda sections, rules: ()
    # Whether a stopped record may make one more attempt.
    may_try: Callable[[Mapping[str, Any], S, datetime], bool] = lambda record, settings, now: False
    notes: Callable[[S], Iterable[str]] = lambda settings: ()  # warnings of the gate, open or closed
    # The records that a person means by a name.
    ids_of: Callable[[Any, str], Sequence[str]] = lambda section, name: (name,)
    gates: Callable[[], Gates] = dict  # for names that are not records of the section, like stages
    ancestors: Callable[["Paths", str], Iterable[str]] = (
        lambda paths, name: ()
    )  # records whose stop also stops this one
    # How records from the inbox are applied. Loaded when one waits.
    entries: Callable[[], Entries] = dict
    missing: Callable[["Board", Sections], Iterable[Lost]] = lambda board, sections: ()
    # Runs after the change is written: reports and the like, which no trip waits for.
    follow_up: Callable[["Paths", Reconciled, datetime], object] = lambda paths, done, now: None
    # Restores missing halt files; returns what was restored.
    restore: Callable[["Paths", Any], Iterable[str]] = lambda paths, section: ()
    source: Callable[["Paths"], Source] | None = None

    def evaluator(self, rules: "RuleSet", environment: Environment, now: datetime) -> "Evaluator[S]":
        """Of its rules, with the settings in force."""
        return self.evaluator_for(rules, self.settings_of(rules, environment), now)
