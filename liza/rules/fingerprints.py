"""How the evidence of a trip is written down: a fingerprint for each record, and each number with its value.

In a history entry it is one text a rule, `3f9a01c24b7e 90be11d2c3aa sprint.metrics.tasks_blocked=2`. Earlier releases
wrote fingerprints of eight digits that cover every field of a record, and `first 503 anomalies` where there were many;
both are still understood.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from liza.model import FROM_HOST, MAPPINGS, Number, Record
from liza.rules.derived import NOT_FINGERPRINTED

if TYPE_CHECKING:
    from json import JSONEncoder

DIGITS = 12
LEGACY_DIGITS = 8
_NOTES = 8  # details of a record that are each taken for a note; an agent may have written thousands
_IDENTITY = ("timestamp", "task", "reporter", "type")
_MARK = r"first (\d{1,12}) (\w+)(?:; )?"


class Evidence(NamedTuple):
    """What one rule had when it tripped."""

    prints: Sequence[str] = ()
    numbers: Mapping[str, float] = {}
    mark: tuple[str, int] | None = None  # of an earlier release: a stream, and how many of its first records

    def __str__(self) -> str:
        listed = " ".join((*self.prints, *(f"{name}={_written(value)}" for name, value in self.numbers.items())))
        if self.mark is None:
            return listed
        return f"first {self.mark[1]} {self.mark[0]}" + (f"; {listed}" if listed else "")


def parse_evidence(text: str) -> Evidence:
    """The evidence in a text of the history. What is neither a fingerprint nor a number with its value is ignored."""
    mark = re.match(_MARK, text)
    words = text[mark.end() :].split() if mark is not None else text.split()
    numbers = dict(_numbers(words))
    prints = [word for word in words if "=" not in word]
    return Evidence(prints, numbers, (mark[2], int(mark[1])) if mark is not None else None)


def _numbers(words: Iterable[str]) -> Iterator[tuple[str, float]]:
    for word in words:
        name, sign, value = word.rpartition("=")
        if sign and re.fullmatch(r"-?\d{1,320}(\.\d+)?(e[+-]?\d{1,3})?", value):
            yield name, float(value)


def format_evidence(records: Sequence[Record], numbers: Sequence[Number] = ()) -> str:
    """The text for these records and numbers."""
    return str(Evidence(list(map(fingerprint, records)), {each.name: each.value for each in numbers}))


def merge_evidence(known: str, more: str) -> str:
    """The evidence of both texts. A number has the value that it has in the later one."""
    one, other = parse_evidence(known), parse_evidence(more)
    prints = list((Counter(one.prints) | Counter(other.prints)).elements())
    return str(Evidence(prints, {**one.numbers, **other.numbers}, one.mark or other.mark))


def _written(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(value)


# --- fingerprints ---------------------------------------------------------------------------------------------------


def fingerprint(record: Record) -> str:
    """Twelve hex digits that a record keeps until what happened, to whom or when is changed.

    A field beyond those that the schema declares for its type is a note, and changes nothing. Of a type that it does
    not know every detail may matter; of other streams every field but those that `derived` leaves out.
    """
    return digest(_said(record))[:DIGITS]


def legacy_fingerprint(record: Record) -> str:
    """The eight digits by which an earlier release knew a record: of all its fields."""
    return _old(_covered(record))


def legacy_fingerprints(record: Record) -> tuple[str, ...]:
    """The old fingerprint of a record, and those it would have without what may be a note that was added since: fields
    beside the known ones, all details that its type does not declare, or one of them."""
    found = [legacy_fingerprint(record)]
    declared = _declared().get(str(record.fields.get("type")))
    if record.stream != "anomalies":
        return (*found,)
    fields = {name: value for name, value in record.fields.items() if name in (*_IDENTITY, "details")}
    found.append(_old(fields))
    details = fields.get("details")
    if declared is not None and isinstance(details, MAPPINGS):
        others = [name for name in details if name not in declared]
        for notes in (others, *([name] for name in others[:_NOTES])):
            rest = {name: value for name, value in details.items() if name not in notes}
            found.append(_old({**fields, "details": rest}))
    return tuple(dict.fromkeys(found))


@cache
def _declared() -> Mapping[str, Sequence[str]]:
    """The details that each type of anomaly has by the schema, whose table is loaded where evidence is compared."""
    from liza.schema.anomalies import TYPES

    return {name: each.declared for name, each in TYPES.items()}


def _old(fields: Mapping[Any, Any]) -> str:
    return digest(_dumped(_plain(fields)))[:LEGACY_DIGITS]


def _covered(record: Record) -> Mapping[Any, Any]:
    if record.stream != "tasks":
        return record.fields
    return {name: value for name, value in record.fields.items() if name not in NOT_FINGERPRINTED}


def _said(record: Record) -> str:
    if record.stream != "anomalies":
        return _dumped(_plain(_covered(record)))
    kind = record.fields.get("type")
    details = record.fields.get("details")
    identity = [record.fields.get(name) for name in _IDENTITY]
    if isinstance(kind, str) and (declared := _declared().get(kind)) is not None:
        identity += [record.get(name) for name in declared]
    else:
        own = {name: value for name, value in record.fields.items() if name != FROM_HOST}
        identity.append(details if isinstance(details, MAPPINGS) else own)
    return _dumped(_plain(identity))


def _plain(value: Any) -> Any:
    """With keys that can be sorted, whatever they are."""
    if isinstance(value, str):
        return value
    if isinstance(value, MAPPINGS):
        return {
            f"{type(key).__name__}:{key}" if not isinstance(key, str) else key: _plain(v) for key, v in value.items()
        }
    if isinstance(value, list | tuple):
        return [each if type(each) is str else _plain(each) for each in value]
    return hex(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _dumped(value: Any) -> str:
    return _encoder().encode(value)


@cache
def _encoder() -> "JSONEncoder":
    """One for all records: `json.dumps` would make one for each."""
    from json import JSONEncoder  # here, because a board that never tripped has nothing to compare

    return JSONEncoder(sort_keys=True, ensure_ascii=False, default=str)


def digest(text: str) -> str:
    import hashlib  # for the same reason

    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
