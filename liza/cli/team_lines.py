"""The other hosts of a team in `liza status` and `liza sessions`: as the daemon of this host last saw them."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from liza.cli import show
from liza.cli.terminal import aligned, style
from liza.model import mappings_in, parse_time, span_text
from liza.text import plural, printable

_FEW = 20  # hosts that are shown


def hosts(view: Mapping[str, Any], at: datetime) -> list[str]:
    """The team in a line, and one for each other host that needs a person."""
    if not view:
        return ["team:    not seen yet: liza watch --background"]
    others = _others(view)
    state = style("not reached", fg="red", bold=True) if view.get("degraded") else "reached"
    if view.get("error") and not view.get("degraded"):
        state = "not reached at present"
    lines = [
        f"team:    {_short(view.get('team'))}, {plural(len(others) + 1, 'host')}, database {state}{_age(view, at)}"
    ]
    why = view.get("degraded") or view.get("error")
    lines += [f"  {show.short(str(why), 300)}"] if why else []
    for each in others[:_FEW]:
        facts = _facts(each)
        found = mappings_in(facts.get("sessions"))
        running = sum(row.get("state") == "running" for row in found)
        silent = each.get("silent")
        limit = view.get("max_silence")
        is_silent = isinstance(silent, int | float) and isinstance(limit, int | float) and silent > limit
        said = f"not heard for {silent:.0f} s" if is_silent else plural(running, "running session")
        lines.append(f"  {_short(each.get('host'))}: {said}{_health(facts)}")
        lines += [f"    stopped there: {show.short(str(text), 160)}" for text in _texts(facts.get("stopped"))]
    return lines


def sessions(view: Mapping[str, Any], at: datetime, every: bool) -> list[str]:
    """The sessions of the other hosts."""
    lines: list[str] = []
    for each in _others(view):
        rows = [row for row in mappings_in(_facts(each).get("sessions")) if every or row.get("state") != "ended"]
        if rows:
            lines.append(f"on {_short(each.get('host'))}:")
            lines += [f"  {line}" for line in aligned([_cells(row, at) for row in rows], right=[3, 4])]
            lines += [
                f"    {_short(row.get('name') or row.get('session'))}: {show.short(str(row['reason']), 160)}"
                for row in rows
                if row.get("reason")
            ]
    return lines


def _cells(row: Mapping[str, Any], at: datetime) -> tuple[str, ...]:
    last = parse_time(row.get("last"))
    cost = row.get("cost")
    return (
        f"{show.short(str(row.get('name') or row.get('client') or 'unknown'), 16)} {_short(row.get('session'), 8)}",
        _short(row.get("state")),
        _short(row.get("task"), 16),
        f"${cost:.2f}" if isinstance(cost, int | float) else "",
        span_text(at - last) if last is not None else "",
    )


def _others(view: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each for each in mappings_in(view.get("hosts")) if each.get("host") != view.get("host")]


def _facts(host: Mapping[str, Any]) -> Mapping[str, Any]:
    facts = host.get("facts")
    return facts if isinstance(facts, Mapping) else {}


def _health(facts: Mapping[str, Any]) -> str:
    health = facts.get("health")
    return "" if health in (None, "ok") else f", DEGRADED: {show.short(str(health), 120)}"


def _texts(value: Any) -> Iterator[str]:
    return (str(each) for each in (value if isinstance(value, list) else ()))


def _short(value: Any, length: int = 60) -> str:
    return show.short(printable(str(value or "")), length)


def _age(view: Mapping[str, Any], at: datetime) -> str:
    seen = parse_time(view.get("at"))
    return f", seen {span_text(at - seen)} ago" if seen is not None else ""
