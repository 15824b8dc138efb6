"""Why a rule sees what it sees: its groups one by one, the records that do not count, and the texts that nearly met."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from liza.model import Record, Snapshot, Verdict
from liza.rules.acknowledged import acknowledged_by
from liza.rules.conditions import Outcome
from liza.rules.evaluate import Compiled, RuleSet, Window, evaluate, stream
from liza.rules.fields import World, lookup, passes
from liza.rules.language import Aggregate, Filter, Grouping
from liza.rules.matching import Grouper, holders
from liza.rules.wording import ANYTHING, NAME, SETTING, Template, same_word, template
from liza.text import shown

MANY_GROUPS = 500  # groups whose texts are compared with each other
NEAR = 0.5  # from this similarity on, two texts that are apart are worth a word


class Group(NamedTuple):
    """What a rule makes of one group."""

    outcome: Outcome
    texts: tuple[tuple[str, int], ...]  # what its records say, each with how often, the commonest first


class Comparison(NamedTuple):
    """Two texts, and why they are together or apart."""

    one: str
    other: str
    together: bool
    similarity: float  # of what is left of them once their volatile parts are left out
    why: str


class Uncounted(NamedTuple):
    """A record that the rule does not count, and why."""

    record: Record
    why: str


class Explanation(NamedTuple):
    """All there is to know about a rule and a blackboard."""

    compiled: Compiled
    window: str
    since: datetime | None
    groups: tuple[Group, ...]
    uncounted: tuple[Uncounted, ...]
    near: tuple[Comparison, ...]
    verdict: Verdict


def explain(rules: RuleSet, name: str, snapshot: Snapshot, now: datetime) -> Explanation:
    """What a rule sees of a blackboard, and what it does not."""
    compiled = next(each for each in rules.rules if each.rule.name == name)
    only = rules._replace(rules=(compiled,), disabled=())
    streams = {each: stream(snapshot, each) for each in only.streams | {"anomalies"}}
    text = compiled.rule.window or rules.window
    window = Window(text, snapshot, now, streams, rules.exact)
    history = acknowledged_by(snapshot.sections.get("circuit_breaker"))
    fresh: Mapping[str, Sequence[Record]] = window.streams
    if compiled.rule.rearm == "fresh":
        fresh = {each: history.fresh(name, records) for each, records in window.streams.items()}
    world = World(fresh, snapshot.sections, now, rules.exact)
    outcomes = compiled.condition.outcomes(world)
    groups = tuple(Group(each, tuple(_texts(compiled, each))) for each in outcomes if each.evidence or each.satisfied)
    return Explanation(
        compiled,
        text,
        window.start,
        groups,
        tuple(_uncounted(compiled, streams, window.streams, world)),
        tuple(_near(compiled, groups)) if not rules.exact else (),
        evaluate(only, snapshot, now),
    )


def _texts(compiled: Compiled, outcome: Outcome) -> Iterator[tuple[str, int]]:
    """What the records of a group say in the field that groups them."""
    counted: dict[str, int] = {}
    for record in outcome.evidence:
        for wanted in compiled.condition.fields:
            value = lookup(record, wanted)
            for each in value if isinstance(value, list | tuple) else (value,):
                if each is not None:
                    text = each if isinstance(each, str) else shown(each)
                    counted[text] = counted.get(text, 0) + 1
    yield from sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))


# --- records that do not count --------------------------------------------------------------------------------------


def _uncounted(
    compiled: Compiled, streams: Mapping[str, Sequence[Record]], recent: Mapping[str, Sequence[Record]], world: World
) -> Iterator[Uncounted]:
    aggregates = [each for each in compiled.condition.aggregates if isinstance(each, Aggregate)]
    for name in dict.fromkeys(each.stream for each in aggregates):
        mine = [each for each in aggregates if each.stream == name]
        in_window = {record.key for record in recent[name]}
        still = {record.key for record in world.streams[name]}
        for record in streams[name]:
            why = min((_why_not(record, each, world) for each in mine), key=lambda pair: pair[0], default=(0, None))[1]
            if why is None and record.key not in in_window:
                why = "before the window"
            elif why is None and record.key not in still:
                why = "a resolution has dealt with it"
            if why is not None:
                yield Uncounted(record, why)


def _why_not(record: Record, aggregate: Aggregate, world: World) -> tuple[int, str | None]:
    """How many of a count's conditions a record does not satisfy, and the first of them in words."""
    failing = [each for each in (*aggregate.where, *aggregate.filters) if not passes(record, each, world)]
    if failing:
        return len(failing) + 1, _said(record, failing[0])
    wanted = [aggregate.grouping.field] if aggregate.grouping else []
    absent = next((each for each in (*wanted, *aggregate.per) if lookup(record, each) is None), None)
    return (1, f"it has no {str(absent).replace('|', ' or ')}") if absent is not None else (0, None)


def _said(record: Record, wanted: Filter) -> str:
    value = lookup(record, wanted.field)
    if value is None:
        return f"it has no {wanted.field}"
    if wanted.age:
        return f"{wanted.field} is {shown(value)}: not as long ago as the rule asks"
    return f"{wanted.field} is {shown(value, 30)}"


# --- texts that nearly met ------------------------------------------------------------------------------------------


def _near(compiled: Compiled, groups: Sequence[Group]) -> Iterator[Comparison]:
    """For each group the one that is most like it, with what keeps them apart; the most alike first."""
    grouping = next((each.grouping for each in compiled.condition.grouped if each.grouping is not None), None)
    if grouping is None or grouping.similarity is None:
        return
    said = [each.texts[0][0] for each in groups[:MANY_GROUPS] if each.texts]
    everything = [text for each in groups for text, _ in each.texts]
    found: dict[frozenset[str], Comparison] = {}
    for index, one in enumerate(said):
        others = said[:index] + said[index + 1 :]
        nearest = max(others, key=lambda other: alike(one, other), default=None)
        if nearest is not None and alike(one, nearest) >= NEAR:
            found.setdefault(frozenset((one, nearest)), compare(one, nearest, grouping, everything))
    yield from sorted((each for each in found.values() if not each.together), key=lambda each: -each.similarity)


def compare(one: str, other: str, grouping: Grouping, among: Sequence[str] = ()) -> Comparison:
    """Why two texts are together or apart, by themselves and with other texts around them."""
    threshold = grouping.similarity if grouping.similarity is not None else 1.0
    alone = _together(one, other, (), threshold)
    together = alone or _together(one, other, among, threshold)
    first, second = template(one), template(other)
    if together and not alone:
        why = "other texts between them show that what differs may be anything"
    elif alone:
        why = _why_together(first, second)
    else:
        why = _why_apart(first, second, among, threshold)
    return Comparison(one, other, together, alike(one, other), why)


def alike(one: str, other: str) -> float:
    """How similar two texts are once their volatile parts are left out, from 0 to 1."""
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.normalized_similarity(_plain(template(one)), _plain(template(other)))


def _plain(found: Template) -> str:
    return " ".join(found[0])


def _together(one: str, other: str, among: Sequence[str], threshold: float) -> bool:
    grouper = Grouper(threshold)
    first, second, *_ = [grouper.add(text) for text in (one, other, *among)]
    return grouper.group(first) == grouper.group(second)


def _why_together(first: Template, second: Template) -> str:
    if first == second:
        return f"without what varies, both say: {' '.join(first[0])}"
    pairs = ", ".join(f"{_bare(a)} / {_bare(b)}" for a, b in _differences(first[0], second[0]))
    return f"only this differs, and is the same word: {pairs}"


def _why_apart(first: Template, second: Template, among: Sequence[str], threshold: float) -> str:
    if first[1] != second[1]:
        mine, theirs = (", ".join(each) or "none" for each in (first[1], second[1]))
        return f"the numbers and codes that say which error it is differ: {mine} / {theirs}"
    if len(first[0]) != len(second[0]):
        return f"they have {len(first[0])} and {len(second[0])} words that count"
    differences = list(_differences(first[0], second[0]))
    pairs = ", ".join(f"{_bare(a)} / {_bare(b)}" for a, b in differences)
    if len(differences) > 1:
        return f"{len(differences)} words differ: {pairs}"
    a, b = differences[0]
    if same_word(a, b):
        return f"{pairs} are alike, but not by {threshold:g}"
    seen, needed = holders(first, second, [template(each) for each in among])
    if not needed:
        return f"one word differs: {pairs}; a text this short says nothing else"
    return f"one word differs: {pairs}; {seen} different words are seen there, {needed} would show that it may be any"


def _differences(first: Sequence[str], second: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield from ((a, b) for a, b in zip(first, second, strict=False) if a != b)


def _bare(word: str) -> str:
    return "anything" if word == ANYTHING else word.lstrip(NAME + SETTING)


def details(record: Record, fields: Sequence[Any]) -> str:
    """What a record says in the fields that a rule groups by."""
    found = [lookup(record, each) for each in fields]
    return ", ".join(each if isinstance(each, str) else shown(each) for each in found if each is not None)
