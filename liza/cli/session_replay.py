"""Sessions in `liza replay` and `liza rules explain`: their steps as files have them, played and explained."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import click

from liza.cli import envelope, show
from liza.model import MAPPINGS, Record, Snapshot, format_time, parse_time
from liza.replay.session_playback import SessionTrip, play_session
from liza.rules.evaluate import Compiled, RuleSet
from liza.scopes.records import find_record
from liza.scopes.sessions.fields import SESSIONS
from liza.scopes.sessions.monitor import monitor_of
from liza.scopes.sessions.rows import find_session
from liza.scopes.sessions.spending import records_of, terms_of, usage_of
from liza.scopes.sessions.states import exchange_text
from liza.scopes.sessions.step_window import STEPS, USAGE, StepWindow
from liza.store import steps
from liza.store.board import Board
from liza.store.document import Document
from liza.text import of_text


def play_sessions(
    board: Board, document: Document, rules: RuleSet, wanted: str | None, start: datetime | None
) -> list[SessionTrip]:
    """The warnings and stops of all sessions that are kept, or of one, in order of time."""
    found: list[SessionTrip] = []
    for name in _names(board, document, wanted):
        trips = play_session(rules, name, steps.read_all(board.paths, name).lines, _record(document, name))
        found += [each for each in trips if start is None or each.at >= start]
    return sorted(found, key=lambda each: (each.at, each.session))


def _names(board: Board, document: Document, wanted: str | None) -> Sequence[str]:
    monitor = monitor_of(board.paths)
    monitor.windows.refresh()
    if wanted is not None:
        return [find_session(document, monitor.sessions, wanted, monitor.windows.ingested)]
    return sorted(monitor.sessions)


def _record(document: Document, name: str) -> Mapping[str, Any]:
    found = find_record(document.data.get(SESSIONS.name), name, SESSIONS.scope)
    return found[1] if found is not None and isinstance(found[1], MAPPINGS) else {}


def print_sessions(trips: Sequence[SessionTrip], heading: str) -> None:
    """One line for each warning and stop, and why."""
    if trips:
        click.echo(f"\n{show.bold(heading)}:")
    for each in trips:
        colour, word = ("red", "stopped") if each.match.rule.action == "STOP" else ("yellow", "warned")
        mark, who = click.style("●", fg=colour), show.short(each.name or each.session[:8], 20)
        near = of_text(each.match.value, each.match.threshold)
        what = f"{who} {word} at its step {each.steps}: {each.match.rule.name}  {near}"
        click.echo(f"  {mark} {format_time(each.at)}  {what}")
        click.echo(show.fitted(f"      {show.short(each.reason, 400)}"))


def as_json(trips: Sequence[SessionTrip]) -> list[dict[str, Any]]:
    """The same as JSON."""
    return [
        {
            "at": format_time(each.at),
            "session": each.session,
            "name": each.name,
            "steps": each.steps,
            "reason": each.reason,
            **envelope.pattern(each.match),
        }
        for each in trips
    ]


def only_session(
    board: Board, document: Document, snapshot: Snapshot, rules: RuleSet, wanted: str, now: datetime | None
) -> tuple[str, Snapshot]:
    """The snapshot with the steps of one session alone, as they were at that time."""
    (name,) = _names(board, document, wanted)
    window = StepWindow(name)
    for line in _until(steps.read_all(board.paths, name).lines, now):
        window.add(line)
    since = str(_record(document, name).get("resumed") or "")
    if now is not None and since > format_time(now):
        since = ""
    used = records_of(usage_of(window, name, terms_of(rules), since))
    streams = {**snapshot.derived, STEPS: window.records(since), USAGE: used}
    return name, snapshot._replace(derived=streams)


def moments(
    board: Board, document: Document, rules: RuleSet, compiled: Compiled, name: str, now: datetime | None
) -> list[SessionTrip]:
    """When a rule would have warned or stopped a session."""
    only = rules._replace(scoped={"sessions": (compiled,)})
    lines = _until(steps.read_all(board.paths, name).lines, now)
    return list(play_session(only, name, lines, _record(document, name)))


def _until(lines: Sequence[Mapping[str, Any]], now: datetime | None) -> Iterator[Mapping[str, Any]]:
    for line in lines:
        at = parse_time(line.get("time"))
        if now is None or at is None or at <= now:
            yield line


def step_text(record: Record) -> str | None:
    """A call and its outcome; None for a record of another stream."""
    return exchange_text(record.fields) if record.stream == STEPS else None
