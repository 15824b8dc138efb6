"""`evaluate(rules, snapshot, now)`: the one judgement. One-shot check, daemon, replay and rule tests all call it.

It reads no file, no clock and no environment; everything it knows is in its arguments.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from liza.model import Match, Progress, Reason, Record, Rule, Silence, Silenced, Snapshot, Verdict, tasks_of
from liza.rules.acknowledged import Acknowledged, acknowledged_by
from liza.rules.conditions import Condition, Outcome
from liza.rules.fields import World
from liza.rules.windows import Window, stream

if TYPE_CHECKING:
    from liza.rules.recall import Recall


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

    `memo` is a cache, for those who ask again and again; with a `Recall` as "recall" in it, also of what was found.
    """
    recall: Recall | None = memo.get("recall") if memo is not None else None
    if recall is not None:
        recall.renew(rules, snapshot, now)
    names = rules.streams or {"anomalies"}
    streams: dict[str, Sequence[Record]] = {
        name: recall.records if recall is not None and name == "anomalies" else stream(snapshot, name) for name in names
    }
    history = acknowledged_by(snapshot.sections.get("circuit_breaker"), memo)
    findings = _Findings(history, _silences(snapshot.sections.get("silences"), now), rules.exact)
    windows: dict[str, Window] = dict(recall.windows) if recall is not None else {}
    unusable: dict[tuple[str, int | str], str] = {}
    dealt_with: set[int | str] = set()
    for compiled in rules.rules:
        text = compiled.rule.window or rules.window
        if text not in windows:
            windows[text] = Window(text, snapshot, now, streams, rules.exact)
        window = windows[text]
        result = recall.result(compiled, window, history) if recall is not None else None
        if result is None:
            result = _ask(compiled, window, history, snapshot, now, rules.exact)
            if recall is not None:
                recall.keep(compiled, window, result)
        findings.add(compiled, result)
        unusable |= {**window.world.unusable, **result.unusable}
        dealt_with |= result.dealt_with
    window = windows.get(rules.window) or Window(rules.window, snapshot, now, streams, rules.exact)
    records = {(r.stream, r.key): r for each in streams.values() for r in each} if unusable else {}
    return Verdict(
        checked_at=now,
        window=rules.window,
        matches=tuple(findings.matches),
        observed=tuple(findings.observed),
        silenced=tuple(findings.silenced),
        progress=(*findings.progress, *(Progress(rule, Reason.DISABLED, 0, 0, None, ()) for rule in rules.disabled)),
        considered=len(window.streams.get("anomalies", ())),
        acknowledged=len(dealt_with),
        outside_window=len(streams.get("anomalies", ())) - len(window.streams.get("anomalies", ())),
        unusable=tuple((records[where], unusable[where]) for where in records if where in unusable),
        warnings=tuple(dict.fromkeys(text for each in (window, *windows.values()) for text in each.warnings(now))),
    )


class Result(NamedTuple):
    """What a rule found in its window."""

    fresh: Mapping[str, Sequence[Record]]  # of each stream, what no resolution has dealt with
    outcomes: Sequence[Outcome]
    dealt_with: set[int | str]  # anomalies that a resolution has
    unusable: Mapping[tuple[str, int | str], str]


def _ask(
    compiled: Compiled, window: Window, history: Acknowledged, snapshot: Snapshot, now: datetime, exact: bool
) -> Result:
    rule, condition = compiled
    if not history.knows(rule.name):
        return Result(window.streams, condition.outcomes(window.world), set(), window.world.unusable)
    fresh = {name: history.fresh(rule.name, records) for name, records in window.streams.items()}
    seen, left = ({record.key for record in each.get("anomalies", ())} for each in (window.streams, fresh))
    world = World(fresh, snapshot.sections, now, exact) if rule.rearm == "fresh" else window.world
    return Result(fresh, condition.outcomes(world), seen - left, world.unusable)


class _Findings:
    """What the outcomes of all rules mean: which are matches, which of these act, and how near the others are."""

    def __init__(self, history: Acknowledged, silences: Sequence[Silence], exact: bool) -> None:
        self._history = history
        self._silences = silences
        self._exact = exact
        self.matches: list[Match] = []
        self.observed: list[Match] = []
        self.silenced: list[Silenced] = []
        self.progress: list[Progress] = []

    def add(self, compiled: Compiled, result: Result) -> None:
        pairs = [(_match(compiled, each, result.fresh), each) for each in result.outcomes if each.satisfied]
        # Acknowledged records do not trip alone.
        pairs = [(match, outcome) for match, outcome in pairs if match.new or not match.evidence]
        acting = [match for match, outcome in pairs if not self._is_silenced(match, outcome, compiled)]
        (self.matches if _acts(compiled.rule) else self.observed).extend(acting)
        self.progress.append(_progress(compiled, result.outcomes, bool(pairs), acting, self._history))

    def _is_silenced(self, match: Match, outcome: Outcome, compiled: Compiled) -> bool:
        if not self._silences:
            return False
        from liza.rules.silences import silence_of

        silence = silence_of(match, outcome, compiled.condition, self._silences, self._exact)
        self.silenced += [Silenced(match, silence)] if silence is not None else []
        return silence is not None


def _acts(rule: Rule) -> bool:
    return rule.mode == "act" and rule.action == "CHECKPOINT"


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


def _progress(
    compiled: Compiled,
    outcomes: Sequence[Outcome],
    found: bool,
    acting: Sequence[Match],
    history: Acknowledged,
) -> Progress:
    rule = compiled.rule
    if found and not acting:
        reason = Reason.SILENCED
    elif found:
        reason = Reason.MATCHED if _acts(rule) else Reason.OBSERVED
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
