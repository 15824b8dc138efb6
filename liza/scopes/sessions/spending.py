"""What sessions used, as rules see it: the stream `usage`, with a cost where a price is known, and what was used today.

What a subagent used counts for the session that a person started.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from math import fsum
from types import MappingProxyType
from typing import Any, NamedTuple

from liza.clients.prices import Prices, cost_of
from liza.model import MAPPINGS, Record, format_time, parse_time
from liza.rules.evaluate import RuleSet
from liza.rules.fields import LARGEST
from liza.scopes.scope import Spent
from liza.scopes.sessions.activity import quarter_of
from liza.scopes.sessions.step_window import USAGE, StepWindow


class Terms(NamedTuple):
    """How usage is counted: the prices, and the day that it is."""

    prices: Prices = MappingProxyType({})
    midnight: str = "9"  # when the day began, as times are written; later than any time where the day does not matter
    today: str = ""  # the day and its time zone, as people see it
    sprint: str = ""  # when the sprint began


SHIPPED = Terms()


def terms_of(rules: RuleSet, now: datetime | None = None, sections: Mapping[str, Any] = {}) -> Terms:
    """The terms that hold now. The zone is that of `budgets:`, else that of this machine."""
    prices = rules.blocks.get("prices") or {}
    if now is None:
        return Terms(prices)
    zone = (rules.blocks.get("budgets") or {}).get("zone")
    midnight, today = day_of(now, _zone_of(zone) if zone else None, zone)
    sprint = sections.get("sprint")
    timeline = sprint.get("timeline") if isinstance(sprint, MAPPINGS) else None
    started = parse_time(timeline.get("started")) if isinstance(timeline, MAPPINGS) else None
    return Terms(prices, midnight, today, format_time(started) if started is not None else "")


def day_of(now: datetime, zone: tzinfo | None, name: str | None = None) -> tuple[str, str]:
    """When the day began at its midnight, and what it is called: `2026-11-19 CET`."""
    local = now.astimezone(zone)
    midnight = datetime(local.year, local.month, local.day, tzinfo=zone)
    first = midnight.astimezone(zone)  # the zone's name may change within a day
    if first.astimezone(UTC) > now:  # the clock was set back over midnight
        first -= timedelta(hours=1)
    return format_time(first), f"{local:%Y-%m-%d} {name or first.tzname()}"


@lru_cache(maxsize=16)
def _zone_of(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


class Entry(NamedTuple):
    """One entry of the stream, with the time by which it is in order."""

    time: str
    fields: Mapping[str, Any]


def usage_of(window: StepWindow, payer: str, terms: Terms, since: str = "") -> Sequence[Entry]:
    """What one session used after `since`, for `payer` to count: itself, or the session that started it.

    A look is about all sessions, of which few have changed since the last one: what the others used is kept.
    """
    wanted = (payer, terms, since)
    known = next((entries for key, entries in window.spent if key == wanted), None)
    if known is None:
        known = tuple(_usage_of(window, payer, terms, since))
        window.spent = [*window.spent[1 - _KEPT :], (wanted, known)]
    return known


def _usage_of(window: StepWindow, payer: str, terms: Terms, since: str) -> Iterator[Entry]:
    own = {"session": payer, **({"subagent": window.session} if payer != window.session else {})}
    starts = tuple(filter(None, (terms.midnight, terms.sprint)))
    for line in _by_quarter(window.usage, since, starts):
        time = str(line.get("time"))
        yield Entry(time, {**line, **own, **_common(line), **_priced(line, terms.prices), **_day(time, terms)})
    about = {key: value for key in ("client", "name", "task") if (value := window.about.get(key)) is not None}
    for worked in window.work.quarters(since, starts):
        line = {"time": worked.time, **about}
        more = {**({"steps": worked.steps} if worked.steps else {}), "hours": worked.hours}
        yield Entry(worked.time, {**line, **own, **_common({**line, **own}), **more, **_day(worked.time, terms)})


_KEPT = 3  # answers about one session: for the rules about it, for those about everyone, for a list
_ADDED = ("tokens", "tokens_in", "tokens_out", "tokens_cached", "tokens_cache_written", "cost")
_ALIKE = ("model", "client", "name", "task", "loop")


def _by_quarter(lines: Iterable[Mapping[str, Any]], since: str, starts: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    """The entries after `since`, those of a quarter of an hour together by model: there may be hundreds of thousands.

    One with a value that is no number stays by itself, so that rules can show it.
    """
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for line in lines:
        time = str(line.get("time"))
        if time <= since:
            continue
        numbers = {name: value for name in _ADDED if (value := line.get(name)) is not None}
        alike = tuple(line.get(name) for name in _ALIKE)
        is_plain = all(each is None or isinstance(each, str) for each in alike)
        if not is_plain or not all(type(each) in (int, float) and abs(each) < LARGEST for each in numbers.values()):
            yield line
            continue
        key = (quarter_of(time), *(time >= start for start in starts), "cost" in numbers, *alike)
        if (before := found.get(key)) is None:
            found[key] = {**line, "time": time}
        else:
            before |= {name: before.get(name, 0) + value for name, value in numbers.items()}
            before["time"] = max(before["time"], time)
    yield from found.values()


def records_of(entries: Iterable[Entry]) -> tuple[Record, ...]:
    """The stream, in the order of time."""
    ordered = sorted(entries, key=lambda entry: entry.time)
    return tuple(Record(USAGE, place, entry.fields) for place, entry in enumerate(ordered))


def payer_of(name: str, windows: Mapping[str, StepWindow]) -> str:
    """The session that a person started, of a subagent however deep, as far as it is known."""
    seen = {name}
    while (parent := windows[name].about.get("parent")) in windows and parent is not None and parent not in seen:
        seen.add(name := parent)
    return name


def _priced(line: Mapping[str, Any], prices: Prices) -> dict[str, Any]:
    """The cost as the client gives it, else by the price of the model; else a sign that there is none."""
    if line.get("cost") is not None or not line.get("tokens"):
        return {}
    cost = cost_of(line, prices)
    return {"cost": cost} if cost is not None else {"unpriced": True, "model": line.get("model") or "unknown model"}


def _common(line: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that the records of every stream have."""
    reporter = line.get("name") or line.get("session")
    return {"timestamp": line.get("time"), "reporter": reporter, "type": USAGE, "details": None}


def _day(time: str, terms: Terms) -> dict[str, str]:
    return {"today": terms.today} if time >= terms.midnight else {}


def spent_in(entries: Iterable[Entry]) -> Spent:
    """The sums. What is not a number does not count."""
    sums: dict[str, list[float]] = {}
    unpriced: dict[str, int] = {}
    for _, fields in entries:
        for name in ("cost", "tokens", "steps", "hours"):
            value = fields.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                sums.setdefault(name, []).append(value)
        if fields.get("unpriced") is True:
            model, tokens = str(fields.get("model")), fields.get("tokens")
            unpriced[model] = unpriced.get(model, 0) + (tokens if type(tokens) is int else 0)
    cost, tokens = sums.get("cost"), sums.get("tokens")
    return Spent(
        cost=None if cost is None else fsum(cost),
        tokens=None if tokens is None else int(fsum(tokens)),
        steps=int(fsum(sums.get("steps", ()))),
        hours=fsum(sums.get("hours", ())),
        unpriced=unpriced,
    )


class Used(NamedTuple):
    """What all sessions used: in each span, and by model."""

    today: str  # the day
    spans: Mapping[str, Spent]
    models: Mapping[str, Spent]


def used_so_far(entries: Sequence[Entry], terms: Terms) -> Used:
    """What was used today, in the sprint, and at all as far as steps are kept."""
    models: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.fields.get("tokens"):
            models.setdefault(str(entry.fields.get("model") or "unknown model"), []).append(entry)
    spans = {
        "day": spent_in(each for each in entries if each.fields.get("today")),
        "sprint": spent_in(each for each in entries if each.time >= terms.sprint),
        "kept": spent_in(entries),
    }
    by_model = {name: spent_in(models[name]) for name in sorted(models)}
    return Used(terms.today, spans, by_model)
