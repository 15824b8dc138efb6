"""Evidence that a person has dealt with: it no longer counts for the rules that it tripped, and only for those.

The history entry of a trip keeps a short fingerprint of each record behind it, so exactly those records are meant,
wherever they stand in the file later. An entry that another tool wrote has none; it covers what had happened until it
was resolved.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from liza.model import MAPPINGS, Record, parse_time

LISTED = 500  # with more evidence than this, a position mark is kept instead of fingerprints
_MARK = "first "


def fingerprint(record: Record) -> str:
    """Eight hex digits that a record keeps as long as nobody changes what it says."""
    import json  # both here: a board that never tripped has nothing to compare

    text = json.dumps(_plain(record.fields), sort_keys=True, ensure_ascii=False, default=str)
    return _digest(text)[:8]


def _plain(value: Any) -> Any:
    """With keys that can be sorted, whatever they are."""
    if isinstance(value, str):
        return value
    if isinstance(value, MAPPINGS):
        return {
            f"{type(key).__name__}:{key}" if not isinstance(key, str) else key: _plain(v) for key, v in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return hex(value) if isinstance(value, int) and not isinstance(value, bool) else value


def evidence_text(records: Sequence[Record], *, exactly: bool = False) -> str:
    """How evidence is kept in a history entry: fingerprints in one line, or up to where the stream is dealt with."""
    streams = {record.stream for record in records}
    positions = [record.key for record in records if isinstance(record.key, int)]
    if not exactly and len(records) > LISTED and len(streams) == 1 and len(positions) == len(records):
        return f"{_MARK}{max(positions) + 1} {streams.pop()}"
    return " ".join(map(fingerprint, records))


class Acknowledged:
    """What the history says about each rule."""

    def __init__(self, memo: dict[Any, Any] | None = None) -> None:
        self.memo = {} if memo is None else memo
        self.prints: dict[str, Counter[str]] = {}
        self.marks: dict[str, dict[str, int]] = {}  # of a rule, for each stream
        self.until: dict[str, datetime] = {}

    def knows(self, rule: str) -> bool:
        return rule in self.prints or rule in self.marks or rule in self.until

    def fresh(self, rule: str, records: Sequence[Record]) -> Sequence[Record]:
        """The records that still count for a rule. Of two equal records, a resolution deals with one at a time."""
        if not self.knows(rule):
            return records
        left = self.prints.get(rule, Counter()).copy()
        marks, until = self.marks.get(rule, {}), self.until.get(rule)
        kept: list[Record] = []
        for record in records:
            if isinstance(record.key, int) and record.key < marks.get(record.stream, 0):
                continue
            if until is not None and (moment := record.timestamp) is not None and moment <= until:
                continue
            if left:
                own = self._print(record)
                if own in left:
                    left[own] -= 1
                    if not left[own]:
                        del left[own]  # once all are found, the rest need not be looked at
                    continue
            kept.append(record)
        return kept

    def _print(self, record: Record) -> str:
        """A fingerprint costs more than all else about a record, and a record is asked for it again and again."""
        known = self.memo.get(id(record.fields))
        if known is None or known[0] is not record.fields:  # kept with it, so that no other can take its place
            known = self.memo[id(record.fields)] = (record.fields, fingerprint(record))
        return str(known[1])


def open_trigger(breaker: Any) -> Mapping[str, Any] | None:
    """The trip that waits for a human. A status that is not a known word does not hide one."""
    if not isinstance(breaker, Mapping) or breaker.get("status") == "OK":
        return None
    trigger = breaker.get("current_trigger")
    if isinstance(trigger, Mapping):
        return trigger
    certain = breaker.get("status") == "TRIGGERED"
    listed = breaker.get("history")
    for entry in reversed(listed) if isinstance(listed, list | tuple) else ():
        # Where the status is gone, only what is certainly ours: other tools leave their entries without an end.
        if _is_trip(entry) and entry.get("resolved_at") is None and (certain or entry.get("trip_id")):
            return {name: entry[name] for name in ("timestamp", "pattern", "severity", "trip_id") if name in entry}
    return {"pattern": None, "severity": None} if certain else None  # somebody took it away, but not the halt


def acknowledged_by(breaker: Any, memo: dict[Any, Any] | None = None) -> Acknowledged:
    """What the resolved trips of a `circuit_breaker` section deal with. The open trip's evidence still counts."""
    found = Acknowledged(memo)
    if not isinstance(breaker, Mapping):
        return found
    trigger = open_trigger(breaker)
    listed = breaker.get("history")
    trips = [entry for entry in listed if _is_trip(entry)] if isinstance(listed, list | tuple) else []
    exact = [entry for entry in trips if isinstance(entry.get("evidence"), Mapping)]
    for entry in trips:
        if trigger is not None and entry.get("resolved_at") is None and same_trip(entry, trigger):
            continue
        if isinstance(entry.get("evidence"), Mapping):
            for rule, text in entry["evidence"].items():
                _add_evidence(found, str(rule), str(text))
        elif any(same_trip(entry, other) for other in exact):
            continue  # a resolution entered by hand beside the entry of its trip, which knows the evidence exactly
        elif (moment := parse_time(entry.get("resolved_at")) or parse_time(entry.get("timestamp"))) is not None:
            for rule in _rules_of(entry):
                found.until[rule] = max(moment, found.until.get(rule, moment))
    return found


def _is_trip(entry: Any) -> bool:
    """An entry of a trip. One that a person moved there, as the protocol describes it, has no `result`."""
    return isinstance(entry, Mapping) and bool(entry.get("pattern")) and entry.get("result", "TRIGGERED") == "TRIGGERED"


def _add_evidence(found: Acknowledged, rule: str, text: str) -> None:
    position, prints = _taken_apart(text)
    mark = re.fullmatch(rf"{_MARK}(\d{{1,12}}) (\w+)", position)
    if mark is not None:
        streams = found.marks.setdefault(rule, {})
        streams[mark[2]] = max(streams.get(mark[2], 0), int(mark[1]))
    if prints or mark is None:
        found.prints.setdefault(rule, Counter()).update(prints)


def merged(known: str, more: str) -> str:
    """The evidence of both texts. A position that comes later covers all that was listed before."""
    (mark, prints), (newer, others) = _taken_apart(known), _taken_apart(more)
    if newer:
        return more
    listed = " ".join((Counter(prints) | Counter(others)).elements())
    return "; ".join(part for part in (mark, listed) if part)


def _taken_apart(text: str) -> tuple[str, list[str]]:
    """The position mark of an evidence text, if it has one, and its fingerprints."""
    if not text.startswith(_MARK):
        return "", text.split()
    mark, _, prints = text.partition("; ")
    return mark, prints.split()


def unknown_to(known: Any, rule: str, records: Sequence[Record]) -> bool:
    """Whether some of these records are not among the evidence that a trip is known to have."""
    trip = Acknowledged()
    if isinstance(known, Mapping) and rule in known:
        _add_evidence(trip, rule, str(known[rule]))
    return bool(trip.fresh(rule, records))


def _rules_of(entry: Mapping[str, Any]) -> Iterable[str]:
    yield str(entry["pattern"])
    also = entry.get("also_matched")
    yield from map(str, also if isinstance(also, list | tuple) else ())


def same_trip(entry: Mapping[str, Any], trigger: Mapping[str, Any]) -> bool:
    if entry.get("trip_id") and trigger.get("trip_id"):
        return bool(entry["trip_id"] == trigger["trip_id"])
    return all(entry.get(name) == trigger.get(name) for name in ("timestamp", "pattern"))


def trip_id(rule: str, evidence: Sequence[Record], threshold: float, earlier: int = 0) -> str:
    """The name of a trip: the same for the same rule and the same first records, whoever finds it and however often.

    A rule about a number has no records; then it is the how-manieth trip of that rule.
    """
    prints = [fingerprint(record) for record in evidence[: max(int(threshold), 1)]] or [f"after {earlier}"]
    return _digest("\n".join([rule, *prints]))[:12]


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
