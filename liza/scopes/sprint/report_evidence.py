"""The evidence of a trip as people need it: how much, since when and how fast, what it shares, who said what."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from liza.model import FROM_HOST, MAPPINGS, VALUE, Match, Number, Record, parse_time, span_text
from liza.scopes.sprint.shared_words import GAP, Shared, shared_words
from liza.text import cut_line, number_text, plural, text_of
from liza.toolerrors.errors import headline

MOST = 20  # records that are shown
FEW = 5  # names, or variants, that are listed
_TEXT = 240  # characters of a text that are compared with others
_SHOWN = 48  # of one in the table
_DETAIL = 200  # of one in the list
_HEADLINES = 200  # texts of several lines that are searched for an error

# What agents write about a problem, the most specific field first.
SAID = ("reality", "question", "ambiguity", "gap", "what", "assumption", "error_pattern", "root_cause", "description")
_STEP = ("tool", "input", "error")  # what there is to say about a step
_NAMES = ((FROM_HOST, "Hosts"), ("session", "Sessions"), ("task", "Tasks"), ("reporter", "Reported by"))
_KNOWN = (FROM_HOST, "timestamp", "task", "reporter", "type", "details", "session", "spec_ref", "id", "time")


def evidence_facts(match: Match, trigger: Mapping[str, Any]) -> dict[str, Any]:
    """What the template shows of a match."""
    records = sorted(match.evidence, key=_time_of, reverse=True)
    texts = _texts(match, records)
    shared = shared_words(texts) if match.fields else Shared("", {})
    rows = [_row(record, text, shared) for record, text in zip(records[:MOST], texts, strict=False)]
    return {
        "summary": list(_summary(match, records, trigger, shared)),
        "rows": rows,
        "said": _said(records[:MOST], rows, match.fields),
        "more": max(len(records) - MOST, 0),
    }


# --- the summary ----------------------------------------------------------------------------------------------------


def _summary(
    match: Match, records: Sequence[Record], trigger: Mapping[str, Any], shared: Shared
) -> Iterable[tuple[str, str]]:
    if records:
        kinds = Counter(text_of(record.get("type") or record.stream) for record in records).most_common(FEW)
        named = ", ".join(f"{count:,} {kind}" if len(kinds) > 1 else kind for kind, count in kinds)
        yield "What happened", f"{plural(len(records), 'record')} ({named}); trips at {number_text(match.threshold)}"
        yield from _pace(records, trigger)
    for field, title in _NAMES:
        names = Counter(text_of(value) for record in records if (value := record.get(field)) is not None)
        if names:
            yield title, listed([f"{name} ({count})" if count > 1 else name for name, count in names.most_common()])
    yield "Common factor", _common_factor(match, shared)
    varying = [text for text in shared.varying.values() if text]
    if shared.text and varying:
        yield "What varies", listed(list(dict.fromkeys(varying)))


def _common_factor(match: Match, shared: Shared) -> str:
    if shared.text:
        return shared.text
    if len(shared.varying) > 1:
        return "similar, in other words: " + listed([f'"{cut_line(text, _SHOWN)}"' for text in shared.varying])
    return cut_line(match.key or "", _TEXT) or match.rule.description or match.rule.name


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - FEW
    return ", ".join(names[:FEW]) + (f" and {more:,} more" if more > 0 else "")


def _pace(records: Sequence[Record], trigger: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Since when, and how fast."""
    times = [time for record in records if (time := _moment(record)) is not None]
    if not times:
        return
    first, last, tripped = min(times), max(times), parse_time(trigger.get("timestamp"))
    text = f"{first:%Y-%m-%d %H:%M:%S} UTC"
    if len(times) > 1:
        text += f"; {len(times):,} in {span_text(last - first)}"
        text += _rate(len(times) - 1, last - first)
    if tripped is not None and tripped >= last:
        text += f"; the last one {span_text(tripped - last)} before the trip"
    yield "Since", text


def _rate(steps: int, length: timedelta) -> str:
    seconds = length.total_seconds()
    if seconds <= 0 or steps < 2:
        return ""
    if seconds < steps:
        return f", {steps / seconds:.0f} a second"
    return f", one every {span_text(length / steps)}"


# --- the records ----------------------------------------------------------------------------------------------------


def _moment(record: Record) -> Any:
    return record.timestamp or parse_time(record.get("time"))


def _time_of(record: Record) -> tuple[float, str]:
    """By time; those without one are the oldest, in their order."""
    moment = _moment(record)
    return (moment.timestamp() if moment is not None else float("-inf"), str(record.key).zfill(12))


def _texts(match: Match, records: Sequence[Record]) -> list[str]:
    """For each record the text by which it was grouped; of a tool's output its error."""
    names = [name for field in match.fields for name in field.split("|")] or list(SAID)
    known: dict[str, str] = {}
    texts = []
    for record in records:
        text = _value_text(next((value for name in names if (value := record.get(name)) is not None), ""), match.key)
        if text not in known:
            line = headline(text) if len(known) < _HEADLINES else text
            known[text] = cut_line(line, _TEXT)
        texts.append(known[text])
    return texts


def _value_text(value: Any, key: str | None = None) -> str:
    if isinstance(value, list | tuple):
        texts = [text_of(each) for each in value]
        return key if key is not None and key in texts else ", ".join(texts)
    return "" if value is None else text_of(value)


def _row(record: Record, text: str, shared: Shared) -> dict[str, Any]:
    if shared.text and GAP in shared.text:
        own = shared.varying.get(text) or "-"
        text = f"{GAP} {own}"
    elif shared.text:
        text = "as above"
    return {
        "task": record.get("task"),
        "type": record.get("type") or record.stream,
        "text": cut_line(text, _SHOWN),
        "reporter": _reporter(record),
        "time": record.get("timestamp") or record.get("time"),
    }


def _reporter(record: Record) -> Any:
    """Who reported it, and on which host of a team."""
    name, host = record.get("reporter") or record.get("session"), record.fields.get(FROM_HOST)
    return f"{_value_text(name)} on {host}" if host else name


def _said(records: Sequence[Record], rows: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> list[dict[str, Any]]:
    """What else agents said: what all said first, then each in the order of the records, the same together."""
    details = [list(_details(record, fields, row["text"])) for record, row in zip(records, rows, strict=True)]
    by_all = [pair for pair in details[0] if all(pair in some for some in details)] if len(details) > 1 else []
    found: dict[str, list[str]] = {"; ".join(_titled(by_all)): ["all of them"]} if by_all else {}
    for row, some in zip(rows, details, strict=True):
        text = "; ".join(_titled(pair for pair in some if pair not in by_all))
        task, reporter = (_value_text(row[name]) for name in ("task", "reporter"))
        if text:
            found.setdefault(text, []).append(f"{task} ({reporter})" if task and reporter else task or reporter or "-")
    return [{"who": listed(list(dict.fromkeys(who))), "text": text} for text, who in found.items()]


def _titled(details: Iterable[tuple[str, str]]) -> Iterable[str]:
    return (f"{_title(name)}: {value}" for name, value in details)


def _details(record: Record, fields: Sequence[str], shown: str) -> Iterable[tuple[str, str]]:
    if record.stream == "steps":
        named: dict[Any, Any] = {name: record.get(name) for name in _STEP}
    else:
        own = record.fields.get("details")
        named = {name: value for name, value in record.fields.items() if name not in _KNOWN}
        named |= own if isinstance(own, MAPPINGS) else {}
    # The first field that a record has is the one by which it was grouped.
    grouped = {next((name for name in field.split("|") if record.get(name) is not None), field) for field in fields}
    for name, value in named.items():
        text = cut_line(_value_text(value), _DETAIL) if value is not None else ""
        if text and name not in grouped and name != "spec_ref" and text != shown:
            yield str(name), text


def _title(name: str) -> str:
    return cut_line(name.replace("_", " "), _SHOWN)


def number_row(number: Number) -> dict[str, str]:
    """A number of the blackboard and its limit."""
    name = "what the rule counts" if number.name == VALUE else number.name
    return {"name": name, "value": f"{number.value:.12g}", "limit": f"{number.operator} {number.threshold:.12g}"}
