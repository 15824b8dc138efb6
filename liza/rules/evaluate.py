"""`evaluate(rules, snapshot, now)`: the one judgement. One-shot check, daemon, replay and rule tests all call it.

It reads no file, no clock and no environment; everything it knows is in its arguments.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from liza.model import (
    MAPPINGS,
    Match,
    Progress,
    Reason,
    Record,
    Rule,
    Silence,
    Silenced,
    Snapshot,
    Verdict,
    format_time,
    parse_duration,
    parse_time,
    tasks_of,
)
from liza.rules.acknowledged import Acknowledged, acknowledged_by
from liza.rules.conditions import Condition, Outcome
from liza.rules.derived import DERIVED
from liza.rules.fields import World

# Streams that are lists inside the records of a section: the section, the list, and what its owner is called there.
_NESTED = {
    "rounds": ("claims", "rounds", "claim"),
    "attempts": ("slices", "attempts", "slice"),
    "iterations": ("loops", "iterations", "loop"),
}
_WINDOWED = ("anomalies", "log")


class Compiled(NamedTuple):
    """A rule ready to be asked."""

    rule: Rule
    condition: Condition


class RuleSet(NamedTuple):
    """The rules in force, in pack order, and how they differ from the shipped ones."""

    rules: tuple[Compiled, ...]
    disabled: tuple[Rule, ...] = ()
    window: str = "current_sprint"
    exact: bool = False
    alarms: tuple[Compiled, ...] = ()  # what the daemon tells of; no pattern, and never a reason to halt
    changes: tuple[str, ...] = ()  # what rules.yaml loosened, changed or disabled, in words
    notify: Mapping[str, Any] = {}  # whom to tell
    scoped: Mapping[str, tuple[Compiled, ...]] = {}  # by protocol: what stops one claim, slice or loop, not the sprint
    blocks: Mapping[str, Mapping[str, Any]] = {}  # the settings of protocols that rules.yaml holds, by their key

    @property
    def all(self) -> tuple[Compiled, ...]:
        """Every rule that is in force, also those that do not halt the sprint."""
        return (*self.rules, *self.alarms, *(each for rules in self.scoped.values() for each in rules))

    def only_alarms(self) -> "RuleSet":
        """The same with nothing but what is worth an alarm."""
        return self._replace(rules=self.alarms, disabled=(), alarms=())

    @property
    def streams(self) -> frozenset[str]:
        """The streams that some rule looks at."""
        return frozenset(stream for compiled in self.rules for stream in compiled.condition.streams)


def evaluate(rules: RuleSet, snapshot: Snapshot, now: datetime, memo: dict[Any, Any] | None = None) -> Verdict:
    """What the rules say of a blackboard at a moment.

    `memo` is a cache, for those who ask again and again; with a `Recall` in it, also of what was found.
    """
    recall: Recall | None = memo.get(Recall) if memo is not None else None
    if recall is not None:
        recall.renew(rules, snapshot, now)
    names = rules.streams or {"anomalies"}
    streams: dict[str, Sequence[Record]] = {
        name: recall.records if recall is not None and name == "anomalies" else stream(snapshot, name) for name in names
    }
    history = acknowledged_by(snapshot.sections.get("circuit_breaker"), memo)
    silences = _silences(snapshot.sections.get("silences"), now)
    windows: dict[str, Window] = dict(recall.windows) if recall is not None else {}
    matches: list[Match] = []
    observed: list[Match] = []
    hushed: list[Silenced] = []
    progress: list[Progress] = []
    unusable: dict[tuple[str, int | str], str] = {}
    dealt_with: set[int | str] = set()
    for compiled in rules.rules:
        text = compiled.rule.window or rules.window
        if text not in windows:
            windows[text] = Window(text, snapshot, now, streams, rules.exact)
        window = windows[text]
        if recall is not None and (known := recall.result(compiled, window, history)) is not None:
            fresh, outcomes, dealt, odd = known
            dealt_with |= dealt
            unusable |= {**window.world.unusable, **odd}
            _conclude(compiled, outcomes, fresh, history, silences, rules.exact, matches, observed, hushed, progress)
            continue
        fresh, world = window.streams, window.world
        dealt = set()
        if history.knows(compiled.rule.name):
            fresh = {name: history.fresh(compiled.rule.name, records) for name, records in window.streams.items()}
            seen, left = (each.get("anomalies", ()) for each in (window.streams, fresh))
            dealt = {record.key for record in seen} - {record.key for record in left}
            dealt_with |= dealt
            if compiled.rule.rearm == "fresh":
                world = World(fresh, snapshot.sections, now, rules.exact)
        outcomes = compiled.condition.outcomes(world)
        unusable |= world.unusable
        if recall is not None:
            recall.keep(compiled, window, (fresh, outcomes, dealt, world.unusable))
        _conclude(compiled, outcomes, fresh, history, silences, rules.exact, matches, observed, hushed, progress)
    window = windows.get(rules.window) or Window(rules.window, snapshot, now, streams, rules.exact)
    records = {(r.stream, r.key): r for each in streams.values() for r in each} if unusable else {}
    return Verdict(
        checked_at=now,
        window=rules.window,
        matches=tuple(matches),
        observed=tuple(observed),
        silenced=tuple(hushed),
        progress=(*progress, *(Progress(rule, Reason.DISABLED, 0, 0, None, ()) for rule in rules.disabled)),
        considered=len(window.streams.get("anomalies", ())),
        acknowledged=len(dealt_with),
        outside_window=len(streams.get("anomalies", ())) - len(window.streams.get("anomalies", ())),
        unusable=tuple((records[where], unusable[where]) for where in records if where in unusable),
        warnings=tuple(dict.fromkeys(text for each in (window, *windows.values()) for text in each.warnings(now))),
    )


def _conclude(
    compiled: Compiled,
    outcomes: Sequence[Outcome],
    fresh: Mapping[str, Sequence[Record]],
    history: Acknowledged,
    silences: Sequence[Silence],
    exact: bool,
    matches: list[Match],
    observed: list[Match],
    hushed: list[Silenced],
    progress: list[Progress],
) -> None:
    """What the outcomes of a rule mean: which are matches, and which of these act."""
    pairs = [(_match(compiled, each, fresh), each) for each in outcomes if each.satisfied]
    # Acknowledged records do not trip alone.
    pairs = [(match, outcome) for match, outcome in pairs if match.new or not match.evidence]
    found = [match for match, _ in pairs]
    acting = [match for match, outcome in pairs if not _is_silenced(match, outcome, compiled, silences, exact, hushed)]
    acts = compiled.rule.mode == "act" and compiled.rule.action == "CHECKPOINT"
    (matches if acts else observed).extend(acting)
    progress.append(_progress(compiled, outcomes, found, acting, history))


# The records that were fresh, what came of them, those dealt with, and those that could not be used.
_Result = tuple[Mapping[str, Sequence[Record]], Sequence[Outcome], set[int | str], Mapping[tuple[str, int | str], str]]


class Recall:
    """What one judgement leaves for the next, while anomalies are only added to a blackboard.

    A rule that only counts sees the same as before, unless it counts one of those that were added. Everything else is
    judged anew; whenever anything but the anomalies is different, so is everything.
    """

    def __init__(self) -> None:
        self._rules: RuleSet | None = None
        self._now: datetime | None = None
        self._entries: list[Any] = []
        self._rest: tuple[Any, ...] = ()
        self._begin([])

    def _begin(self, records: Sequence[Record]) -> None:
        self.records = list(records)
        self.windows: dict[str, Window] = {}
        self._results: dict[str, _Result] = {}

    def renew(self, rules: RuleSet, snapshot: Snapshot, now: datetime) -> None:
        """Find out what is different from the last time."""
        section = snapshot.sections.get("anomalies")
        entries = section if isinstance(section, list) else []
        # A window holds all that its rules look at, so all of it must be the same. What was not parsed anew is the
        # same object, which makes this quick.
        rest = ({name: value for name, value in snapshot.sections.items() if name != "anomalies"}, snapshot.log)
        known = len(self._entries)
        same = rules is self._rules and self._now is not None and self._now <= now and rest == self._rest
        if same and entries[:known] == self._entries:
            added = [Record("anomalies", i, e) for i, e in enumerate(entries[known:], known) if isinstance(e, MAPPINGS)]
            self.records += added
            for window in self.windows.values():
                window.extend(added, now)
        else:
            self._begin(stream(snapshot, "anomalies"))
        self._rules, self._now, self._entries, self._rest = rules, now, entries, rest

    def result(self, compiled: Compiled, window: "Window", history: Acknowledged) -> _Result | None:
        """What a rule found the last time, if it would find the same now."""
        known, added = self._results.get(compiled.rule.name), window.added
        if known is None or len(history.fresh(compiled.rule.name, added)) < len(added):
            return None
        return None if any(compiled.condition.counts(record, window.world) for record in added) else known

    def keep(self, compiled: Compiled, window: "Window", result: _Result) -> None:
        """Remember what a rule found, if it can be of use."""
        if window.is_fixed:
            self.windows[window.text] = window
            if compiled.condition.only_counts and compiled.condition.streams == {"anomalies"}:
                self._results[compiled.rule.name] = result


def stream(snapshot: Snapshot, name: str) -> tuple[Record, ...]:
    """The records of one kind, in the order of the file."""
    if name in snapshot.derived:
        return tuple(snapshot.derived[name])
    if name in DERIVED:
        return DERIVED[name](snapshot)
    if name not in _NESTED:
        return snapshot.records(name)
    section, inner, owner = _NESTED[name]
    found: list[Record] = []
    for record in snapshot.records(section):
        label = record.fields.get("id") or record.fields.get(f"{owner}_id") or record.fields.get("name") or record.key
        entries = record.fields.get(inner)
        for entry in entries if isinstance(entries, list | tuple) else ():
            if isinstance(entry, Mapping):
                found.append(Record(name, len(found), {owner: label, **entry}))
    return tuple(found)


class Window:
    """The records that are recent enough to count."""

    def __init__(
        self, text: str, snapshot: Snapshot, now: datetime, streams: Mapping[str, Sequence[Record]], exact: bool
    ) -> None:
        self.text = text
        self.start = _start(text, snapshot, now)
        self.timeless = 0
        self.added: list[Record] = []  # since the last time
        self.early: list[datetime] = []  # from the future, as it looked when they came
        last = int(text.split()[1]) if text.startswith("last ") else None
        self.streams: dict[str, Sequence[Record]] = {}
        for name, records in streams.items():
            if name not in _WINDOWED:
                self.streams[name] = records
            elif last is not None:
                self.streams[name] = records[-last:]
            else:
                self.streams[name] = self.recent(records, now)
        self.world = World(self.streams, snapshot.sections, now, exact)

    @property
    def is_fixed(self) -> bool:
        """Whether time alone takes nothing out of it."""
        return self.text in ("current_sprint", "all")

    def recent(self, records: Sequence[Record], now: datetime) -> list[Record]:
        kept: list[Record] = []
        tomorrow = _tomorrow(now)
        for record in records:
            moment = record.timestamp
            if moment is None:
                self.timeless += 1
            elif self.start is not None and moment < self.start:
                continue
            elif moment > tomorrow:
                self.early.append(moment)
            kept.append(record)
        return kept

    def extend(self, records: Sequence[Record], now: datetime) -> None:
        """Anomalies were added."""
        self.added = self.recent(records, now)
        if "anomalies" in self.streams:
            self.streams["anomalies"] = [*self.streams["anomalies"], *self.added]
        self.world.extend("anomalies", self.added, now)

    def warnings(self, now: datetime) -> Iterator[str]:
        """What is odd about the times of the records."""
        if self.start is not None and self.start > now:
            yield f"the window {self.text} begins in the future, at {format_time(self.start)}: nothing counts"
        if self.timeless:
            yield f"{_number(self.timeless, 'record')} without a usable timestamp: counted all the same"
        tomorrow = _tomorrow(now)
        early = sum(moment > tomorrow for moment in self.early)
        if early:
            yield f"{_number(early, 'record')} from the future: counted all the same"


def _tomorrow(now: datetime) -> datetime:
    return min(now, datetime.max.replace(tzinfo=UTC) - timedelta(days=2)) + timedelta(days=1)


def _start(text: str, snapshot: Snapshot, now: datetime) -> datetime | None:
    if text == "current_sprint":
        sprint = snapshot.sections.get("sprint")
        timeline = sprint.get("timeline") if isinstance(sprint, Mapping) else None
        return parse_time(timeline.get("started")) if isinstance(timeline, Mapping) else None
    seconds = parse_duration(text)
    try:
        return None if seconds is None else now - timedelta(seconds=seconds)
    except OverflowError:
        return None  # longer than the calendar: everything


def _match(compiled: Compiled, outcome: Outcome, fresh: Mapping[str, Sequence[Record]]) -> Match:
    fields = tuple(str(field) for field in compiled.condition.fields)
    new = outcome.evidence
    if compiled.rule.rearm == "any_new":
        unseen = {(name, record.key) for name, records in fresh.items() for record in records}
        new = tuple(record for record in new if (record.stream, record.key) in unseen)
    return Match(compiled.rule, outcome.value, outcome.threshold, outcome.key, fields, outcome.evidence, new)


def _silences(section: Any, now: datetime) -> list[Silence]:
    if not section:
        return []
    from liza.rules.silences import entries  # few blackboards have any

    return [entry.silence for entry in entries(section) if entry.silence is not None and entry.in_force(now)]


def _is_silenced(
    match: Match,
    outcome: Outcome,
    compiled: Compiled,
    silences: Sequence[Silence],
    exact: bool,
    hushed: list[Silenced],
) -> bool:
    if not silences:
        return False
    from liza.rules.silences import silence_of

    silence = silence_of(match, outcome, compiled.condition, silences, exact)
    hushed += [Silenced(match, silence)] if silence is not None else []
    return silence is not None


def _progress(
    compiled: Compiled,
    outcomes: Sequence[Outcome],
    found: Sequence[Match],
    acting: Sequence[Match],
    history: Acknowledged,
) -> Progress:
    rule = compiled.rule
    if found and not acting:
        reason = Reason.SILENCED
    elif found:
        reason = Reason.MATCHED if rule.mode == "act" and rule.action == "CHECKPOINT" else Reason.OBSERVED
    elif history.knows(rule.name) and (any(e.satisfied for e in outcomes) or not any(e.value for e in outcomes)):
        reason = Reason.ACKNOWLEDGED
    else:
        reason = Reason.BELOW
    if not outcomes:
        return Progress(rule, reason, 0, compiled.condition.threshold, None, ())
    if acting:
        best = acting[0]  # not a fuller group that is silenced
        return Progress(rule, reason, best.value, best.threshold, best.key, best.tasks)
    fullest = outcomes[0]
    return Progress(rule, reason, fullest.value, fullest.threshold, fullest.key, tasks_of(fullest.evidence))


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
