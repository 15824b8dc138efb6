"""Acknowledged evidence: it no longer counts for the rules that it tripped, and only for those.

The history entry of a trip keeps a short fingerprint of each record behind it, so exactly those records are meant,
wherever they are in the file later; a number counts again when it is worse than it was. An entry that another tool
wrote has no evidence; it covers what had happened until it was resolved, and nothing if that is in the future.

Agents can write the history too. `origin` of an entry, which the reader of the files has set, has what is known
of it; without one the entry is taken as it is. What does not come from `liza resolve` is among the claims.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from liza.model import Number, Origin, OutsideDecision, Record, is_future, list_in, parse_time
from liza.rules.fingerprints import LEGACY_DIGITS, digest, fingerprint, legacy_fingerprints, parse_evidence

_Named = TypeVar("_Named")


class Mark(NamedTuple):
    """The first records of a stream, as an earlier release kept evidence where there was much of it."""

    stream: str
    number: int
    until: datetime | None  # what came later is not meant, wherever it is in the list

    def covers(self, record: Record, longest: int) -> bool:
        """Whether a record was there. One without a time is taken to have been as long as the list was not cut."""
        if record.stream != self.stream or not isinstance(record.key, int) or record.key >= self.number:
            return False
        if self.until is None:
            return True
        moment = record.timestamp
        return longest >= self.number if moment is None else moment <= self.until


class Acknowledged:
    """What the history has about each rule."""

    def __init__(self, memo: dict[Any, Any] | None = None) -> None:
        self.memo = {} if memo is None else memo
        self.prints: dict[str, Counter[str]] = {}
        self.numbers: dict[str, Mapping[str, float]] = {}
        self.marks: dict[str, list[Mark]] = {}
        self.until: dict[str, datetime] = {}
        self.unvalued: set[str] = set()  # acknowledged by an earlier release, which did not keep the number
        self.warnings: list[str] = []
        self.claims: list[OutsideDecision] = []
        self._proven: Acknowledged | None = None  # the same without the claims

    @property
    def proven(self) -> "Acknowledged":
        """What is known without what was only claimed."""
        return self if self._proven is None else self._proven

    def claims_on(self, rule: str) -> list[OutsideDecision]:
        """The claims on a rule that are used."""
        return [claim for claim in self.claims if claim.rule == rule and claim.counts]

    def knows(self, rule: str) -> bool:
        return rule in self.prints or rule in self.marks or rule in self.until

    def fresh(self, rule: str, records: Sequence[Record]) -> Sequence[Record]:
        """The records that still count for a rule. Of two equal records, a resolution deals with one at a time."""
        if not self.knows(rule):
            return records
        prints, marks, until = self.prints.get(rule, Counter()), self.marks.get(rule, ()), self.until.get(rule)
        has_old = any(len(each) == LEGACY_DIGITS for each in prints)
        longest = max((record.key + 1 for record in records if isinstance(record.key, int)), default=0) if marks else 0
        left = prints.total()  # once all are found, the rest need not be looked at
        used: Counter[str] = Counter()
        kept: list[Record] = []
        for record in records:
            if any(mark.covers(record, longest) for mark in marks):
                continue
            if until is not None and (moment := record.timestamp) is not None and moment <= until:
                continue
            for own in self._prints_of(record, has_old) if left else ():
                if used[own] < prints[own]:
                    used[own] += 1
                    left -= 1
                    break
            else:
                kept.append(record)
        return kept

    def is_new(self, rule: str, numbers: Sequence[Number], by_threshold: bool = False) -> bool:
        """Whether one of a rule's numbers is worse than when it was acknowledged, or `by_threshold` so much worse."""
        if rule in self.unvalued:
            return False
        known = self.numbers.get(rule, {})
        return any(
            each.name not in known
            or (each.is_used_up_again(known[each.name]) if by_threshold else each.is_worse_than(known[each.name]))
            for each in numbers
        )

    def _prints_of(self, record: Record, has_old: bool) -> Iterable[str]:
        """The names under which a record may be known. They cost more than all else about it, and are asked for again
        and again."""
        yield self._once(record, fingerprint)
        if has_old:
            yield from self._once(record, legacy_fingerprints)

    def _once(self, record: Record, own: Callable[[Record], _Named]) -> _Named:
        place = (id(record.fields), own)
        known: tuple[Any, _Named] | None = self.memo.get(place)
        if known is None or known[0] is not record.fields:  # kept with it, so that no other can take its place
            known = self.memo[place] = (record.fields, own(record))
        return known[1]


def open_trigger(breaker: Any) -> Mapping[str, Any] | None:
    """The trip that waits for a human. A status that is not a known word does not hide one."""
    if not isinstance(breaker, Mapping) or breaker.get("status") == "OK":
        return None
    trigger = breaker.get("current_trigger")
    if isinstance(trigger, Mapping):
        return trigger
    certain = breaker.get("status") == "TRIGGERED"
    for entry in reversed(list_in(breaker.get("history"))):
        # Where the status is gone, only what is certainly ours: other tools leave their entries without an end.
        if is_trip(entry) and entry.get("resolved_at") is None and (certain or entry.get("trip_id")):
            return {name: entry[name] for name in ("timestamp", "pattern", "severity", "trip_id") if name in entry}
    return {"pattern": None, "severity": None} if certain else None  # it was removed, but not the halt


def read_acknowledged(breaker: Any, now: datetime, memo: dict[Any, Any] | None = None) -> Acknowledged:
    """What the resolved trips of a `circuit_breaker` section deal with. The open trip's evidence still counts."""
    found = Acknowledged(memo)
    if not isinstance(breaker, Mapping):
        return found
    trigger = open_trigger(breaker)
    trips = [(i, e) for i, e in enumerate(list_in(breaker.get("history"))) if is_trip(e)]
    exact = [entry for _, entry in trips if isinstance(entry.get("evidence"), Mapping)]
    proven = Acknowledged(memo)
    for place, entry in trips:
        if trigger is not None and same_trip(entry, trigger):
            continue
        origin = origin_of(entry)
        if origin in (Origin.UNKNOWN, Origin.CHANGED):
            found.claims += _claims(place, entry, origin)
            continue
        is_exact = isinstance(entry.get("evidence"), Mapping)
        if not is_exact and any(same_trip(entry, other) for other in exact):
            continue  # a resolution entered by hand beside the entry of its trip, which knows the evidence exactly
        if not is_exact and (moment := _moment(entry)) is not None and is_future(moment, now):
            found.claims += (each._replace(in_future=True) for each in _claims(place, entry, origin))
            continue
        _add(found, entry)
        if origin is Origin.COMMAND:
            _add(proven, entry)
        else:
            found.claims += _claims(place, entry, origin)
    found._proven = proven if found.claims else None
    return found


def origin_of(entry: Mapping[str, Any]) -> Origin:
    """What is known of an entry; where it was not checked, it is what it seems."""
    given = entry.get("origin")
    if isinstance(given, Origin):  # a plain word was written by hand
        return given
    return Origin.COMMAND if entry.get("trip_id") or entry.get("evidence") else Origin.OTHER


def _claims(place: int, entry: Mapping[str, Any], origin: Origin) -> list[OutsideDecision]:
    texts = entry.get("evidence")
    rules = dict.fromkeys([*_rules_of(entry), *(map(str, texts) if isinstance(texts, Mapping) else ())])
    return [OutsideDecision(place, rule, origin, str(entry.get("resolved_by") or "")) for rule in rules]


def _moment(entry: Mapping[str, Any]) -> datetime | None:
    return parse_time(entry.get("resolved_at")) or parse_time(entry.get("timestamp"))


def _add(found: Acknowledged, entry: Mapping[str, Any]) -> None:
    if isinstance(entry.get("evidence"), Mapping):
        recovered = entry.get("recovered")
        for rule, kept in entry["evidence"].items():
            _add_evidence(found, str(rule), kept, entry)
            if isinstance(recovered, list | tuple) and rule in recovered:
                found.numbers.pop(str(rule), None)
                found.unvalued.discard(str(rule))
    elif (moment := _moment(entry)) is not None:
        for rule in _rules_of(entry):
            found.until[rule] = max(moment, found.until.get(rule, moment))


def is_trip(entry: Any) -> bool:
    """An entry of a trip. One that a person moved there, as the protocol describes it, has no `result`."""
    return isinstance(entry, Mapping) and bool(entry.get("pattern")) and entry.get("result", "TRIGGERED") == "TRIGGERED"


def _add_evidence(found: Acknowledged, rule: str, kept: Any, entry: Mapping[str, Any]) -> None:
    moment = parse_time(entry.get("resolved_at"))
    if isinstance(kept, Mapping):  # in a file that could not be read, so all that is known is when
        moment = moment or parse_time(entry.get("timestamp"))
        if moment is not None:
            found.until[rule] = max(moment, found.until.get(rule, moment))
        what = f"the evidence of {rule} in {kept.get('file')} cannot be read"
        found.warnings.append(f"{what}: all records up to its resolution count as acknowledged")
        return
    prints, numbers, mark = parse_evidence(str(kept))
    if mark is not None:
        found.marks.setdefault(rule, []).append(Mark(*mark, moment))
    if prints or mark is None:
        found.prints.setdefault(rule, Counter()).update(prints)
    if numbers:
        found.numbers[rule] = {**found.numbers.get(rule, {}), **numbers}  # each group of a sum has its own
    if numbers or prints or mark is not None:
        found.unvalued.discard(rule)
    else:
        found.unvalued.add(rule)


def has_new_evidence(
    entry: Mapping[str, Any], rule: str, records: Sequence[Record], numbers: Sequence[Number] = ()
) -> bool:
    """Whether some of these are not among the evidence that an open trip is known to have."""
    trip = Acknowledged()
    known = entry.get("evidence")
    if isinstance(known, Mapping) and not isinstance(known.get(rule, {}), Mapping):
        _add_evidence(trip, rule, known[rule], {"resolved_at": entry.get("timestamp")})
    return bool(trip.fresh(rule, records)) or trip.is_new(rule, numbers)


def _rules_of(entry: Mapping[str, Any]) -> Iterable[str]:
    yield str(entry["pattern"])
    yield from map(str, list_in(entry.get("also_matched")))


def same_trip(entry: Mapping[str, Any], trigger: Mapping[str, Any]) -> bool:
    if entry.get("trip_id") and trigger.get("trip_id"):
        return bool(entry["trip_id"] == trigger["trip_id"])
    return all(entry.get(name) == trigger.get(name) for name in ("timestamp", "pattern"))


def trip_id(rule: str, evidence: Sequence[Record], threshold: float, earlier: int = 0) -> str:
    """The name of a trip: the same for the same rule and the same first records, however often it is found.

    `earlier` counts that rule's resolved trips. It matters where the records do not distinguish two trips.
    """
    prints = [fingerprint(record) for record in evidence[: max(int(threshold), 1)]]
    return digest("\n".join([rule, *prints, *([f"after {earlier}"] if earlier or not prints else [])]))[:12]
