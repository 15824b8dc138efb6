"""The table of sessions in `liza sessions`, `liza status` and on the daemon's screen."""

import textwrap
from collections.abc import Iterable, Sequence
from datetime import datetime

import click

from liza.cli import show
from liza.cli.spent import spent_text
from liza.cli.terminal import aligned
from liza.clients.event import call_text
from liza.model import parse_time, span_text
from liza.scopes.scope import ASKED, ENDED, HALTED, RUNNING, SessionRow

_COLOURS = {HALTED: "red", ASKED: "red", RUNNING: "green"}
_LABEL, _TASK = 24, 16  # columns at most


def most_urgent(rows: Iterable[SessionRow], every: bool = False) -> list[SessionRow]:
    """The stopped sessions before the running ones; those that have ended only if `every`."""
    return sorted((row for row in rows if every or row.state != ENDED), key=lambda row: row.reason is None)


def summary(rows: Sequence[SessionRow]) -> str:
    """How many there are in each state: `3 running, 1 stopped`."""
    states = dict.fromkeys(row.state for row in rows)
    counts = [f"{sum(row.state == state for row in rows)} {state}" for state in states]
    degraded = sum(row.degraded is not None for row in rows)
    return ", ".join([*counts, *([f"{degraded} DEGRADED"] if degraded else [])])


def lines(rows: Sequence[SessionRow], at: datetime, width: int) -> list[str]:
    """Each session, and below it why it is stopped, or its last error; at most `width` columns."""
    has_names = any(row.name for row in rows)
    found: list[str] = []
    for row, line in zip(rows, aligned([_cells(row, at, has_names) for row in rows], right=[4, 5]), strict=True):
        found.append(show.cut(line, width))
        if row.reason is not None:
            why = textwrap.wrap(show.short(row.reason, 400), max(width - 4, 20), max_lines=2, placeholder="…")
        else:
            why = [show.short(f"last error: {row.last_error}", max(width - 4, 20))] if row.last_error else []
        if row.degraded is not None:
            why = [show.short(f"DEGRADED: {row.degraded}", max(width - 4, 20)), *why]
        found += [f"    {line}" for line in why]
    return found


def _cells(row: SessionRow, at: datetime, has_names: bool) -> tuple[str, ...]:
    """Name, state, client, task, cost, age and last call."""
    indent = "  " if row.parent else ""
    label = f"{indent}{show.short(row.name or row.client or 'unknown', _LABEL - 11)} {show.short(row.session[:8])}"
    last = parse_time(row.last) if row.last is not None else None
    age = span_text(at - last) if last is not None else ""
    client = show.short(row.client, 10) if has_names else ""
    tool, _, given = (row.last_step or "").partition(" ")
    call = show.short(call_text(tool, given, 300), 300) if tool else ""
    state = click.style(row.state, fg=_COLOURS.get(row.state))
    return label, state, client, show.short(row.task, _TASK), spent_text(row.used), age, call
