"""`evaluate(rules, snapshot, now)`: the one judgement. One-shot check, daemon, replay and rule tests all call it.

It reads no file, no clock and no environment; everything it knows is in its arguments.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from liza.model import (
    Match,
    Number,
    OutsideDecision,
    Progress,
    Reason,
    Record,
    Rule,
    Silence,
    Silenced,
    Snapshot,
    Verdict,
    tasks_of,
)
from liza.rules.acknowledged import Acknowledged, acknowledged_by
from liza.rules.budget import Budget, TooCostly, unlimited
from liza.rules.conditions import Condition, Outcome
from liza.rules.fields import World
from liza.rules.windows import Window, stream

if TYPE_CHECKING:
    from liza.rules.memo import Recall

_SILENCES = 10_000  # comparisons of a match with a silence; beyond it nothing is silenced any more, which is safe


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
    own: frozenset[str] = frozenset()  # names of rules whose condition is not shipped
    budget: Budget | None = None  # what own rules may cost; None: as long as they take

    @property
    def all(self) -> tuple[Compiled, ...]:
        """Every rule that is in force, also those that do not halt the sprint."""
        return (*self.rules, *self.alarms, *(each for rules in self.scoped.values() for each in rules))

    def only_alarms(self) -> "RuleSet":
        """The same with nothing but what is worth an alarm."""
        return self._replace(rules=self.alarms, disabled=(), alarms=())

    def of_scope(self, chosen: Sequence[Compiled]) -> "RuleSet":
        """Those rules of a protocol that are asked about one claim, slice or loop."""
        return RuleSet(tuple(chosen), window="all", exact=self.exact, own=self.own, budget=self.budget)

    def spending(self, name: str) -> Callable[[], None]:
        """What a rule calls while it works, which raises once it has taken too long."""
        return self.budget.spend if self.budget is not None and name in self.own else unlimited

    def shipped(self) -> "RuleSet":
        """The same without own rules that could halt the sprint: what is put into effect before those are asked."""
        return self._replace(rules=tuple(each for each in self.rules if each.rule.name not in self.own))

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
    history = acknowledged_by(snapshot.sections.get("circuit_breaker"), now, memo)
    findings = _Findings(history, _silences(snapshot.sections.get("silences"), now), rules.exact)
    windows: dict[str, Window] = dict(recall.windows) if recall is not None else {}
    unusable: dict[tuple[str, int | str], str] = {}
    dealt_with: set[int | str] = set()
    for compiled in sorted(rules.rules, key=lambda each: each.rule.name in rules.own):  # these may take too long
        text = compiled.rule.window or rules.window
        if text not in windows:
            windows[text] = Window(text, snapshot, now, streams, rules.exact)
        window = windows[text]
        result = recall.result(compiled, window, history) if recall is not None else None
        if result is None:
            result = _asked(compiled, window, history, snapshot, now, rules)
            if recall is not None and result is not None:
                recall.keep(compiled, window, result)
        if result is None:
            continue  # it is among the overruns
        findings.add(compiled, result)
        findings.look_before(compiled, window, rules.spending(compiled.rule.name))
        unusable |= {**window.world.unusable, **result.unusable}
        dealt_with |= result.dealt_with
    findings.put_in_order([compiled.rule.name for compiled in rules.rules])
    window = windows.get(rules.window) or Window(rules.window, snapshot, now, streams, rules.exact)
    records = {(r.stream, r.key): r for each in streams.values() for r in each} if unusable else {}
    looked_in = (window, *windows.values())
    odd = (*(text for each in looked_in for text in each.alarms()), *history.warnings, *findings.before)
    alarms = tuple(dict.fromkeys((*odd, *(claim.text for claim in findings.claims))))
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
        warnings=tuple(dict.fromkeys((*alarms, *(t for each in looked_in for t in each.warnings(now))))),
        claims=tuple(findings.claims),
        alarms=alarms,
        recovered=tuple(findings.recovered),
        unvalued=findings.unvalued,
    )


class Result(NamedTuple):
    """What a rule found in its window."""

    fresh: Mapping[str, Sequence[Record]]  # of each stream, what no resolution has dealt with
    outcomes: Sequence[Outcome]
    dealt_with: set[int | str]  # anomalies that a resolution has
    unusable: Mapping[tuple[str, int | str], str]
    claimed: int = 0  # records that only decisions which did not come by `liza resolve` have dealt with


def _asked(
    compiled: Compiled, window: Window, history: Acknowledged, snapshot: Snapshot, now: datetime, rules: RuleSet
) -> Result | None:
    """What a rule finds; None if that cannot be said, because it takes too long."""
    name, budget = compiled.rule.name, rules.budget
    try:
        result, overruns = _ask(compiled, window, history, snapshot, now, rules.exact, rules.spending(name))
    except TooCostly as error:
        if budget is None:
            raise
        budget.overruns[name] = str(error)
        return None
    if overruns and budget is not None:
        budget.overruns[name] = overruns[0]
    return result


def _ask(
    compiled: Compiled,
    window: Window,
    history: Acknowledged,
    snapshot: Snapshot,
    now: datetime,
    exact: bool,
    spend: Callable[[], None],
) -> tuple[Result, list[str]]:
    rule, condition = compiled
    world, fresh, dealt_with, claimed = window.world, window.streams, set[int | str](), 0
    if history.knows(rule.name):
        fresh = {name: history.fresh(rule.name, records) for name, records in window.streams.items()}
        seen, left = ({record.key for record in each.get("anomalies", ())} for each in (window.streams, fresh))
        dealt_with = seen - left
        world = world if _sees_all(compiled) else World(fresh, snapshot.sections, now, exact)
    world.spend, world.overruns = spend, []
    if history.claims_on(rule.name):
        proven = (r for name, records in window.streams.items() for r in history.proven.fresh(rule.name, records))
        kept = {(record.stream, record.key) for records in fresh.values() for record in records}
        claimed = sum((r.stream, r.key) not in kept and condition.counts(r, window.world) for r in proven)
    return Result(fresh, condition.outcomes(world), dealt_with, world.unusable, claimed), world.overruns


def _sees_all(compiled: Compiled) -> bool:
    """Whether a rule counts acknowledged records too. One that asks for few must: without them it would find fewer."""
    return compiled.rule.rearm == "any_new" or compiled.condition.only_falls


class _Findings:
    """What the outcomes of all rules mean: which are matches, which of these act, and how near the others are."""

    def __init__(self, history: Acknowledged, silences: Sequence[Silence], exact: bool) -> None:
        self._history = history
        self._silences = silences
        self._exact = exact
        self._compared = 0
        self.matches: list[Match] = []
        self.observed: list[Match] = []
        self.silenced: list[Silenced] = []
        self.progress: list[Progress] = []
        self.recovered: list[str] = []
        self.unvalued: dict[str, tuple[Number, ...]] = {}
        self.claims: list[OutsideDecision] = [claim for claim in history.claims if not claim.counts]
        self.before: list[str] = []

    def add(self, compiled: Compiled, result: Result) -> None:
        found = [(_match(compiled, each, result.fresh), each) for each in result.outcomes if each.satisfied]
        # Neither acknowledged records trip alone, nor a number that is no worse than when it was dealt with.
        pairs = [(match, outcome) for match, outcome in found if match.new or self._is_new(match)]
        self._follow_numbers(compiled, result.outcomes, [match for match, _ in found])
        claimed = result.claimed + sum(self._is_claimed(match) for match, _ in found)
        if claimed:
            name = compiled.rule.name
            self.claims += [claim._replace(records=claimed) for claim in self._history.claims_on(name)]
        acting = [match for match, outcome in pairs if not self._is_silenced(match, outcome, compiled)]
        (self.matches if _acts(compiled.rule) else self.observed).extend(acting)
        self.progress.append(_progress(compiled, result.outcomes, bool(pairs), acting, self._history))

    def put_in_order(self, names: Sequence[str]) -> None:
        """As the packs have them: the first match is the trigger."""
        places = {name: place for place, name in enumerate(names)}
        for found in (self.matches, self.observed):
            found.sort(key=lambda match: places[match.rule.name])
        self.progress.sort(key=lambda each: places[each.rule.name])

    def _is_new(self, match: Match) -> bool:
        if not match.numbers:
            return not match.evidence
        return self._history.is_new(match.rule.name, match.numbers)

    def _is_claimed(self, match: Match) -> bool:
        """Whether only a decision that did not come by `liza resolve` keeps a number from counting."""
        if match.new or not match.numbers or self._is_new(match):
            return False
        return self._history.proven.is_new(match.rule.name, match.numbers)

    def look_before(self, compiled: Compiled, window: Window, spend: Callable[[], None]) -> None:
        """Whether the rule would match before its window: whoever dates a record back, or begins a new sprint, keeps
        it from counting, and that must not go unseen."""
        if not window.before or not _acts(compiled.rule):
            return
        name, known = compiled.rule.name, window.matched_before
        if name not in known:
            records = self._history.fresh(name, window.before)
            world = World({"anomalies": records}, {}, window.world.now, self._exact)
            world.spend = spend
            try:
                found = compiled.condition.only_counts and any(e.satisfied for e in compiled.condition.outcomes(world))
            except TooCostly:
                found = False
            known[name] = bool(found)
        if known[name]:
            since = f"before the window {window.text}"
            self.before.append(f"{name}: records {since} would match, and nobody has decided on them: not counted")

    def _follow_numbers(self, compiled: Compiled, outcomes: Sequence[Outcome], found: Sequence[Match]) -> None:
        """What is to be remembered of an acknowledged number: that it recovered, or the value nobody wrote down."""
        name, known = compiled.rule.name, self._history
        if name in known.unvalued and found:
            self.unvalued[name] = tuple(number for match in found for number in match.numbers)
        elif (name in known.unvalued or name in known.numbers) and outcomes and not found:
            self.recovered += [name] if all(map(compiled.condition.is_known, outcomes)) else []

    def _is_silenced(self, match: Match, outcome: Outcome, compiled: Compiled) -> bool:
        if not self._silences or self._compared > _SILENCES:
            return False
        self._compared += sum(silence.rule == match.rule.name for silence in self._silences)
        from liza.rules.silences import silence_of

        silence = silence_of(match, outcome, compiled.condition, self._silences, self._exact)
        self.silenced += [Silenced(match, silence)] if silence is not None else []
        return silence is not None


def _acts(rule: Rule) -> bool:
    return rule.mode == "act" and rule.action == "CHECKPOINT"


def _match(compiled: Compiled, outcome: Outcome, fresh: Mapping[str, Sequence[Record]]) -> Match:
    fields = tuple(str(field) for field in compiled.condition.fields)
    new = outcome.evidence
    if _sees_all(compiled):
        unseen = {(name, record.key) for name, records in fresh.items() for record in records}
        new = tuple(record for record in new if (record.stream, record.key) in unseen)
    given = (outcome.value, outcome.threshold, outcome.key, fields, outcome.evidence, new, outcome.numbers)
    return Match(compiled.rule, *given)


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
    evidence = fullest.evidence
    return Progress(rule, reason, fullest.value, fullest.threshold, fullest.key, tasks_of(evidence), evidence)
