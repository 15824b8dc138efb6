"""`evaluate(rules, snapshot, now)`: the one evaluation that check, daemon, replay and rule tests all call.

It reads no file, no clock and no environment; everything it knows is in its arguments.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from liza.model import (
    Group,
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
from liza.rules.acknowledged import Acknowledged, read_acknowledged
from liza.rules.conditions import Outcome
from liza.rules.fields import Context
from liza.rules.rule_set import Compiled, RuleSet
from liza.rules.time_limit import TooCostly
from liza.rules.windows import Window, stream_records
from liza.schema.actions import Action

if TYPE_CHECKING:
    from liza.rules.memo import PreviousEvaluation

__all__ = ["Compiled", "Result", "RuleSet", "evaluate"]

_SILENCES = 10_000  # comparisons of a match with a silence; beyond that nothing more is silenced, which is safe


def evaluate(rules: RuleSet, snapshot: Snapshot, now: datetime, memo: dict[Any, Any] | None = None) -> Verdict:
    """The verdict of the rules on a blackboard at one moment.

    `memo` is only a cache, for repeated evaluations of one blackboard; see `new_memo`.
    """
    previous: PreviousEvaluation | None = memo.get("previous") if memo is not None else None
    if previous is not None:
        previous.update(rules, snapshot, now)
    streams: dict[str, Sequence[Record]] = {
        name: previous.records if previous is not None and name == "anomalies" else stream_records(snapshot, name)
        for name in rules.streams or {"anomalies"}
    }
    history = read_acknowledged(snapshot.sections.get("circuit_breaker"), now, memo)
    findings = _Findings(history, _silences(snapshot.sections.get("silences"), now), rules.exact)
    windows: dict[str, Window] = dict(previous.windows) if previous is not None else {}
    unusable: dict[tuple[str, int | str], str] = {}
    acknowledged: set[int | str] = set()
    # Custom rules come last: they may run out of time.
    for compiled in sorted(rules.rules, key=lambda each: each.rule.name in rules.custom):
        text = compiled.rule.window or rules.window
        if text not in windows:
            windows[text] = Window(text, snapshot, now, streams, rules.exact)
        window = windows[text]
        result = previous.result(compiled, window, history) if previous is not None else None
        if result is None:
            result = _within_time_limit(compiled, window, history, snapshot, now, rules)
            if previous is not None and result is not None:
                previous.keep(compiled, window, result)
        if result is None:
            continue  # the time limit has it among its overruns
        findings.add(compiled, result)
        findings.check_before_window(compiled, window, rules.spend_for(compiled.rule.name))
        if rules.time_limit is not None and compiled.rule.name in rules.custom:
            rules.time_limit.end()
        unusable |= {**window.context.unusable, **result.unusable}
        acknowledged |= result.acknowledged
    findings.sort([compiled.rule.name for compiled in rules.rules])
    window = windows.get(rules.window) or Window(rules.window, snapshot, now, streams, rules.exact)
    records = {(r.stream, r.key): r for each in streams.values() for r in each} if unusable else {}
    verdict = findings.verdict(rules, (window, *windows.values()), now)
    return verdict._replace(
        considered=len(window.streams.get("anomalies", ())),
        acknowledged=len(acknowledged),
        outside_window=len(streams.get("anomalies", ())) - len(window.streams.get("anomalies", ())),
        unusable=tuple((records[where], unusable[where]) for where in records if where in unusable),
    )


class Result(NamedTuple):
    """What a rule found in its window."""

    fresh: Mapping[str, Sequence[Record]]  # of each stream, the records that are not acknowledged
    outcomes: Sequence[Outcome]
    acknowledged: set[int | str]  # keys of anomalies
    unusable: Mapping[tuple[str, int | str], str]
    claimed: int = 0  # records acknowledged only by decisions that did not come from `liza resolve`


def _within_time_limit(
    compiled: Compiled, window: Window, history: Acknowledged, snapshot: Snapshot, now: datetime, rules: RuleSet
) -> Result | None:
    """The result of a rule; None, and an entry in the overruns, if it takes too long."""
    name, limit = compiled.rule.name, rules.time_limit
    try:
        result, overruns = _evaluate_rule(compiled, window, history, snapshot, now, rules.exact, rules.spend_for(name))
    except TooCostly as error:
        if limit is None:
            raise
        limit.overruns[name] = str(error)
        return None
    finally:
        if limit is not None and name in rules.custom:
            limit.end()
    if overruns and limit is not None:
        limit.overruns[name] = overruns[0]
    return result


def _evaluate_rule(
    compiled: Compiled,
    window: Window,
    history: Acknowledged,
    snapshot: Snapshot,
    now: datetime,
    exact: bool,
    spend: Callable[[], None],
) -> tuple[Result, list[str]]:
    rule, condition = compiled
    context, fresh, acknowledged, claimed = window.context, window.streams, set[int | str](), 0
    if history.knows(rule.name):
        fresh = {name: history.fresh(rule.name, records) for name, records in window.streams.items()}
        seen, left = ({record.key for record in each.get("anomalies", ())} for each in (window.streams, fresh))
        acknowledged = seen - left
        context = context if _sees_all(compiled) else Context(fresh, snapshot.sections, now, exact, window.context)
    for each in (context.whole, context):
        each.spend, each.overruns = spend, []
    if history.claims_on(rule.name):
        proven = (r for name, records in window.streams.items() for r in history.proven.fresh(rule.name, records))
        kept = {(record.stream, record.key) for records in fresh.values() for record in records}
        claimed = sum((r.stream, r.key) not in kept and condition.counts(r, window.context) for r in proven)
    return Result(
        fresh, condition.decisive_outcomes(context), acknowledged, context.unusable, claimed
    ), context.overruns


def _sees_all(compiled: Compiled) -> bool:
    """Whether a rule counts acknowledged records too, as one with only upper bounds must: else it would count less."""
    return compiled.rule.rearm == "any_new" or compiled.condition.is_antitone


class _Findings:
    """What follows from the outcomes of all rules: matches, those that act, and how close the others are."""

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
        # Acknowledged records do not trip alone, nor does a number that is no worse than when it was acknowledged.
        pairs = [(match, outcome) for match, outcome in found if match.new or self._is_new(match)]
        self._follow_numbers(compiled, result.outcomes, [match for match, _ in found])
        claimed = result.claimed + sum(self._is_claimed(match) for match, _ in found)
        if claimed:
            name = compiled.rule.name
            self.claims += [claim._replace(records=claimed) for claim in self._history.claims_on(name)]
        acting = [match for match, outcome in pairs if not self._is_silenced(match, outcome, compiled)]
        (self.matches if _acts(compiled.rule) else self.observed).extend(acting)
        self.progress.append(_progress(compiled, result.outcomes, bool(pairs), acting, self._history))

    def sort(self, names: Sequence[str]) -> None:
        """Put everything into pack order: the first match is the trigger."""
        places = {name: place for place, name in enumerate(names)}
        for found in (self.matches, self.observed):
            found.sort(key=lambda match: places[match.rule.name])
        self.progress.sort(key=lambda each: places[each.rule.name])

    def _is_new(self, match: Match) -> bool:
        if not match.numbers:
            return not match.evidence
        return self._history.is_new(match.rule.name, match.numbers, match.rule.rearm == "threshold")

    def _is_claimed(self, match: Match) -> bool:
        """Whether a number is acknowledged only by a decision that did not come from `liza resolve`."""
        if match.new or not match.numbers or self._is_new(match):
            return False
        return self._history.proven.is_new(match.rule.name, match.numbers, match.rule.rearm == "threshold")

    def check_before_window(self, compiled: Compiled, window: Window, spend: Callable[[], None]) -> None:
        """Report a rule that would match before its window: backdating a record or starting a new sprint keeps records
        from counting, which must be visible."""
        if not window.before or not _acts(compiled.rule):
            return
        name, known = compiled.rule.name, window.matched_before
        if name not in known:
            records = self._history.fresh(name, window.before)
            context = Context({"anomalies": records}, {}, window.context.now, self._exact)
            context.spend = spend
            try:
                found = compiled.condition.is_monotone and any(
                    e.satisfied for e in compiled.condition.decisive_outcomes(context)
                )
            except TooCostly:
                found = False
            known[name] = bool(found)
        if known[name]:
            since = f"before the window {window.text}"
            self.before.append(f"{name}: unresolved records {since} would match; not counted")

    def _follow_numbers(self, compiled: Compiled, outcomes: Sequence[Outcome], found: Sequence[Match]) -> None:
        """Note that an acknowledged number recovered, or the value of one that was acknowledged without it."""
        name, known = compiled.rule.name, self._history
        if name in known.unvalued and found:
            self.unvalued[name] = tuple(number for match in found for number in match.numbers)
        elif (name in known.unvalued or name in known.numbers) and outcomes and not found:
            self.recovered += [name] if all(map(compiled.condition.is_known, outcomes)) else []

    def _is_silenced(self, match: Match, outcome: Outcome, compiled: Compiled) -> bool:
        if not self._silences or self._compared > _SILENCES:
            return False
        self._compared += sum(silence.rule == match.rule.name for silence in self._silences)
        from liza.rules.silences import find_silence

        silence = find_silence(match, outcome, compiled.condition, self._silences, self._exact)
        self.silenced += [Silenced(match, silence)] if silence is not None else []
        return silence is not None

    def verdict(self, rules: RuleSet, windows: Sequence[Window], now: datetime) -> Verdict:
        """The verdict, but for the counts of records."""
        odd = (*(text for each in windows for text in each.alarms()), *self._history.warnings, *self.before)
        alarms = tuple(dict.fromkeys((*odd, *(claim.text for claim in self.claims))))
        return Verdict(
            checked_at=now,
            window=rules.window,
            matches=tuple(self.matches),
            observed=tuple(self.observed),
            silenced=tuple(self.silenced),
            progress=(*self.progress, *(Progress(rule, Reason.DISABLED, 0, 0, None, ()) for rule in rules.disabled)),
            considered=0,
            acknowledged=0,
            outside_window=0,
            unusable=(),
            warnings=tuple(dict.fromkeys((*alarms, *(t for each in windows for t in each.warnings(now))))),
            claims=tuple(self.claims),
            alarms=alarms,
            recovered=tuple(self.recovered),
            unvalued=self.unvalued,
        )


def _acts(rule: Rule) -> bool:
    return rule.mode == "act" and rule.action == Action.CHECKPOINT


def _match(compiled: Compiled, outcome: Outcome, fresh: Mapping[str, Sequence[Record]]) -> Match:
    fields = tuple(str(field) for field in compiled.condition.fields)
    evidence, new = outcome.evidence, outcome.counted
    if _sees_all(compiled):
        unseen = {(name, record.key) for name, records in fresh.items() for record in records}
        new = tuple(record for record in new if (record.stream, record.key) in unseen)
    given = (outcome.value, outcome.threshold, outcome.key, fields, evidence, new, outcome.numbers)
    return Match(compiled.rule, *given)


def _silences(section: Any, now: datetime) -> list[Silence]:
    if not section:
        return []
    from liza.rules.silences import read_silences  # here, because few blackboards have any

    return [entry.silence for entry in read_silences(section) if entry.silence is not None and entry.in_force(now)]


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
    near = [each for each in outcomes if not each.satisfied and each.value > 0]
    groups = (
        *(Group(each.key, each.value, each.tasks, True) for each in acting),
        *(Group(each.key, each.value, tasks_of(each.evidence), False) for each in near),
    )
    if acting:
        best = acting[0]  # not a larger group that is silenced
        return Progress(rule, reason, best.value, best.threshold, best.key, groups[0].tasks, (), groups)
    largest = outcomes[0]
    evidence = largest.evidence
    return Progress(rule, reason, largest.value, largest.threshold, largest.key, tasks_of(evidence), evidence, groups)
