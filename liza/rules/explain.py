"""Why a rule matches or not: its groups, the records that do not count, and the near misses."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum, auto
from functools import cache
from typing import Any, NamedTuple

from liza.model import Record, Snapshot, Verdict
from liza.rules.acknowledged import read_acknowledged
from liza.rules.conditions import Outcome
from liza.rules.evaluate import Compiled, RuleSet, evaluate
from liza.rules.fields import Context, lookup, passes, values
from liza.rules.normalize import ANYTHING, NAME, SETTING, WHOLE, Template, same_word, template
from liza.rules.same import same_key
from liza.rules.similar import Grouper, ignores_endings, words_at_place
from liza.rules.syntax_tree import Aggregate, Field, Filter, Grouping
from liza.rules.windows import Window, stream_records
from liza.text import plural, text_of, value_text

MANY_GROUPS = 500  # groups whose texts are compared with each other
NEAR = 0.5  # from this similarity on, two texts that are apart are worth a word
_FEW = 3  # words that differ which are named


class Group(NamedTuple):
    outcome: Outcome
    texts: tuple[tuple[str, int], ...]  # what its records say, each with how often, the commonest first


class Comparison(NamedTuple):
    """Two texts, and why they are together or apart."""

    one: str
    other: str
    together: bool
    similarity: float  # of what is left of them once their volatile parts are left out
    why: str


class Cause(Enum):
    """Why a record does not count."""

    OTHER_TYPE = auto()
    FILTERED = auto()
    NO_FIELD = auto()
    BEFORE_WINDOW = auto()
    ACKNOWLEDGED = auto()
    TOO_FEW_VALUES = auto()
    TOO_FAR_APART = auto()
    STREAK_ENDED = auto()


class Uncounted(NamedTuple):
    """A record that the rule does not count, and why."""

    record: Record
    cause: Cause
    why: str


class Explanation(NamedTuple):
    """All there is to know about a rule and a blackboard."""

    compiled: Compiled
    window: str
    since: datetime | None
    groups: tuple[Group, ...]
    uncounted: tuple[Uncounted, ...]
    verdict: Verdict
    find_near: Callable[[], tuple[Comparison, ...]]  # takes a while, so it is only computed on request

    @property
    def near(self) -> tuple[Comparison, ...]:
        """Texts that are in different groups and nearly were not."""
        return self.find_near()


def explain(rules: RuleSet, name: str, snapshot: Snapshot, now: datetime) -> Explanation:
    """What a rule sees of a blackboard, and what it does not."""
    compiled = next(each for each in rules.rules if each.rule.name == name)
    only = rules._replace(rules=(compiled,), disabled=(), alarms=())
    streams = {each: stream_records(snapshot, each) for each in only.streams or {"anomalies"}}
    text = compiled.rule.window or rules.window
    window = Window(text, snapshot, now, streams, rules.exact)
    history = read_acknowledged(snapshot.sections.get("circuit_breaker"), now)
    fresh: Mapping[str, Sequence[Record]] = window.streams
    if compiled.rule.rearm == "fresh":
        fresh = {each: history.fresh(name, records) for each, records in window.streams.items()}
    context = Context(fresh, snapshot.sections, now, rules.exact, window.context)
    verdict = evaluate(only, snapshot, now)
    matching = {
        (match.key, _places(match.evidence))
        for match in (*verdict.matches, *verdict.observed, *(each.match for each in verdict.silenced))
    }
    outcomes = [
        each._replace(satisfied=each.satisfied and (each.key, _places(each.evidence)) in matching)
        for each in compiled.condition.outcomes(context)
    ]
    grouped = bool(compiled.condition.grouped)
    groups = tuple(
        Group(each, tuple(sorted(each.text_counts.items(), key=lambda pair: (-pair[1], pair[0]))))
        for each in outcomes
        if each.evidence or each.satisfied or not grouped
    )
    counted = {(record.stream, record.key) for group in groups for record in group.outcome.evidence}
    return Explanation(
        compiled,
        text,
        window.start,
        groups,
        tuple(_uncounted(compiled, streams, window.streams, context, counted)),
        verdict,
        cache(lambda: () if rules.exact else tuple(_near(compiled, groups))),
    )


def _places(records: Sequence[Record]) -> tuple[tuple[str, int | str], ...]:
    return tuple((record.stream, record.key) for record in records)


# --- records that do not count --------------------------------------------------------------------------------------


def _uncounted(
    compiled: Compiled,
    streams: Mapping[str, Sequence[Record]],
    recent: Mapping[str, Sequence[Record]],
    context: Context,
    counted: set[tuple[str, int | str]],
) -> Iterator[Uncounted]:
    aggregates = [each for each in compiled.condition.aggregates if isinstance(each, Aggregate)]
    for name in dict.fromkeys(each.stream for each in aggregates):
        mine = [each for each in aggregates if each.stream == name]
        in_window = {record.key for record in recent[name]}
        still = {record.key for record in context.streams[name]}
        for record in streams[name]:
            if (record.stream, record.key) in counted:
                continue
            failing = min((_why_not(record, each, context) for each in mine), key=lambda found: found[0])[1]
            if failing is not None:
                yield failing
            elif record.key not in in_window:
                yield Uncounted(record, Cause.BEFORE_WINDOW, "before the window")
            elif record.key not in still:
                yield Uncounted(record, Cause.ACKNOWLEDGED, "acknowledged by a resolution")
            else:
                yield Uncounted(record, *_why_not_its_group(mine))


def _why_not(record: Record, aggregate: Aggregate, context: Context) -> tuple[int, Uncounted | None]:
    """How many of a count's conditions a record does not satisfy, and the first of them."""
    failing = [each for each in (*aggregate.where, *aggregate.filters) if not passes(record, each, context)]
    if failing:
        return len(failing) + 1, _failing(record, failing[0])
    wanted = aggregate.grouping.field if aggregate.grouping else None
    absent = [each for each in aggregate.per if not values(lookup(record, each))]
    if wanted is not None and not any(text.strip() for text in context.texts([record], wanted)[0]):
        absent.insert(0, wanted)
    if aggregate.summed is not None and context.number(record, aggregate.summed) is None:
        value = lookup(record, aggregate.summed)
        if value is not None:
            why = f"{aggregate.summed}: expected a number, got {value_text(value, 30)}"
            return 1, Uncounted(record, Cause.FILTERED, why)
        absent.append(aggregate.summed)
    return (1, _without(record, absent[0])) if absent else (0, None)


def _why_not_its_group(aggregates: Sequence[Aggregate]) -> tuple[Cause, str]:
    for each in aggregates:
        if each.distinct is not None:
            return Cause.TOO_FEW_VALUES, f"its group has too few different values of {each.distinct.field}"
        if each.within is not None:
            return Cause.TOO_FAR_APART, "too far from the others in time"
    return Cause.STREAK_ENDED, "a later record ended the streak"


def _failing(record: Record, wanted: Filter) -> Uncounted:
    value = lookup(record, wanted.field)
    if value is None:
        return _without(record, wanted.field)
    why = f"{wanted.field} is {value_text(value, 30)}"
    if wanted.age:
        is_too_new = wanted.operator in (">", ">=") and isinstance(value, str) and value[:1].isdigit()
        why += ": more recent than the rule asks" if is_too_new else ": older than the rule asks, or not a time"
    return Uncounted(record, Cause.OTHER_TYPE if str(wanted.field) == "type" else Cause.FILTERED, why)


def _without(record: Record, wanted: Field) -> Uncounted:
    return Uncounted(record, Cause.NO_FIELD, f"no field {str(wanted).replace('|', ' or ')}")


# --- texts that nearly met ------------------------------------------------------------------------------------------


def _near(compiled: Compiled, groups: Sequence[Group]) -> Iterator[Comparison]:
    """For each group the one that is most like it, with what keeps them apart; the most alike first."""
    grouping = next((each.grouping for each in compiled.condition.grouped if each.grouping is not None), None)
    if grouping is None or grouping.similarity is None:
        return
    from rapidfuzz import process
    from rapidfuzz.distance import Levenshtein

    everything = list(dict.fromkeys(text for each in groups for text, _ in each.texts))
    samples = list(dict.fromkeys(each.texts[0][0] for each in groups[:MANY_GROUPS] if each.texts))
    plain = [_plain(template(text)) for text in samples]
    together = _Together(everything, grouping.similarity)
    found: dict[frozenset[str], float] = {}
    for index, one in enumerate(samples):
        scores = process.extract(plain[index], plain, scorer=Levenshtein.normalized_similarity, limit=3)
        others = [(samples[at], score) for _, score, at in scores if at != index and not together(one, samples[at])]
        if others and others[0][1] >= NEAR:
            found[frozenset((one, others[0][0]))] = others[0][1]
    for pair, _ in sorted(found.items(), key=lambda item: -item[1]):
        one, other = sorted(pair)
        yield compare(one, other, grouping, everything, known=together)


class _Together:
    """Which of some texts are together; grouped once for all questions."""

    def __init__(self, texts: Sequence[str], similarity: float) -> None:
        self.grouper = Grouper(similarity)
        self.numbers = {text: self.grouper.add(text) for text in texts}

    def __call__(self, one: str, other: str) -> bool:
        return self.grouper.group(self.numbers[one]) == self.grouper.group(self.numbers[other])


def compare(
    one: str,
    other: str,
    grouping: Grouping,
    among: Sequence[str] = (),
    *,
    exact: bool = False,
    known: _Together | None = None,
) -> Comparison:
    """Why two texts are together or apart, by themselves and with other texts around them."""
    if exact or grouping.similarity is None:
        return _plainly(one, other, exact)
    alone = _Together((one, other), grouping.similarity)(one, other)
    together = alone or (known or _Together((one, other, *among), grouping.similarity))(one, other)
    pair = _Pair(one, other, grouping.similarity, among)
    why = pair.why_together(alone) if together else pair.why_apart()
    return Comparison(one, other, together, alike(one, other), why)


def _plainly(one: str, other: str, exact: bool) -> Comparison:
    together = one == other if exact else same_key(one) == same_key(other)
    rule = "compared for equality" if exact else "compared without case, white space and surrounding punctuation"
    return Comparison(one, other, together, alike(one, other), f"{'equal' if together else 'different'}: {rule}")


def alike(one: str, other: str) -> float:
    """How similar two texts are once their volatile parts are left out, from 0 to 1."""
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.normalized_similarity(_plain(template(one)), _plain(template(other)))


def _plain(found: Template) -> str:
    return " ".join(found[0])


class _Pair:
    """Two texts, word by word."""

    def __init__(self, one: str, other: str, similarity: float, among: Sequence[str]) -> None:
        stem = ignores_endings(similarity)
        self.similarity = similarity
        self.first, self.second = template(one, stem), template(other, stem)
        self.among = [template(each, stem) for each in among]
        # As they were written, not as they are compared; the places are the same.
        self.written = list(zip(template(one, stem=False)[0], template(other, stem=False)[0], strict=False))
        self.differing = [
            place for place, (a, b) in enumerate(zip(self.first[0], self.second[0], strict=False)) if a != b
        ]

    @property
    def pairs(self) -> str:
        named = [" / ".join(map(_bare, self.written[place])) for place in self.differing[:_FEW]]
        more = len(self.differing) - _FEW
        return ", ".join(named) + (f" and {more} more" if more > 0 else "")

    def why_together(self, alone: bool) -> str:
        if self.first == self.second:
            common = " ".join("…" if a == ANYTHING else _bare(a) for a, _ in self.written)
            return f"without the variable parts, both are: {common or 'empty'}"
        words = [(self.first[0][place], self.second[0][place]) for place in self.differing]
        if alone and all(same_word(*pair) for pair in words):
            return f"only these words differ, and they are forms of one word: {self.pairs}"
        if alone:
            return f"only names differ: {self.pairs}"
        if len(self.first[0]) == len(self.second[0]) and len(words) == 1 and self._may_be_anything():
            return f"this position is a wildcard, because other texts differ there, too: {self.pairs}"
        return "grouped through other texts that match both"

    def _may_be_anything(self) -> bool:
        seen, needed = words_at_place(self.first, self.second, self.among)
        return bool(needed) and seen >= needed

    def why_apart(self) -> str:
        if self.first[1] != self.second[1]:
            mine, theirs = (", ".join(each) or "none" for each in (self.first[1], self.second[1]))
            return f"codes or numbers that identify the error differ: {mine} / {theirs}"
        if len(self.first[0]) != len(self.second[0]):
            counts = f"{plural(len(self.first[0]), 'word')} against {len(self.second[0])}"
            return f"{counts}, without numbers, units and filler words"
        if len(self.differing) > 1:
            return f"{len(self.differing)} words differ: {self.pairs}"
        place = self.differing[0]
        words = (self.first[0][place], self.second[0][place])
        if ANYTHING in words:
            word = next(each for each in self.written[place] if each != ANYTHING)
            return f"one has {_bare(word)} where the other has a number, a path or the like"
        if same_word(*words):
            return f"{self.pairs}: similarity below {self.similarity:g}"
        seen, needed = words_at_place(self.first, self.second, self.among)
        if not needed:
            return f"one word differs: {self.pairs}; a text this short has too few other words to compare"
        variants = f"{plural(seen, 'variant')} at this position, {needed} would make it a wildcard"
        return f"one word differs: {self.pairs} ({variants})"


def _bare(word: str) -> str:
    return "anything" if word == ANYTHING else word.lstrip(NAME + SETTING + WHOLE)


def details(record: Record, fields: Sequence[Any]) -> str:
    """The values of a record in the fields that a rule groups by."""
    return ", ".join(text_of(value) for each in fields for value in values(lookup(record, each)))
