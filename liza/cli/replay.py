"""`liza replay`."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import click

from liza.cli import envelope, session_replay, show
from liza.cli.group import Call, exact_option, untimed, window_option
from liza.cli.options import adjusted
from liza.cli.waiting import Waiting
from liza.errors import Refused, WrongUsage
from liza.model import format_time, parse_duration, parse_time, span_text
from liza.replay.events import Recording, read_recording
from liza.replay.playback import RECORD, RESOLVE, Played, Trip, play
from liza.replay.session_playback import SessionTrip
from liza.rules.evaluate import RuleSet
from liza.rules.what_if import InvalidSetting, apply_settings
from liza.scopes.rules_file import read_rules
from liza.scopes.snapshot import snapshot_of
from liza.text import of_text, plural, printable


class _Take(NamedTuple):
    """One playback under its heading."""

    heading: str
    played: Played
    rules: RuleSet
    is_current: bool  # whether these are the blackboard's own rules
    sessions: Sequence[SessionTrip] = ()


@click.command("replay")
@click.option(
    "--since",
    metavar="TIME",
    help="Show only what happens after this time: an ISO time, or 2h (before the last record).",
)
@click.option("--set", "settings", metavar="RULE.X=N", multiple=True, help="Compare with: retry_cluster.threshold=4.")
@click.option("--rules", "rules_file", metavar="FILE", help="Compare with the rules of this file.")
@exact_option
@window_option
@click.option("--session", metavar="S", help="Only this session: its id, the beginning of it, or its name.")
@click.option("--svg", metavar="FILE", help="Write the timeline as an SVG picture.")
@untimed
def command(
    call: Call,
    since: str | None,
    settings: tuple[str, ...],
    rules_file: str | None,
    exact: bool,
    window: str | None,
    session: str | None,
    svg: str | None,
) -> int:
    """Replay the records of the blackboard: when would each rule have tripped?

    The rules are evaluated after every record and every step of a session, with the recorded resolutions. --set and
    --rules compare with other rules. Nothing is written but the --svg file.

    \b
    Examples:
      liza replay --set retry_cluster.threshold=4
      liza replay --rules stricter.yaml --svg sprint.svg
    """
    board = call.board
    rules = adjusted(read_rules(board.paths.rules), exact, window)
    others = _others(rules, rules_file, settings, exact, window)
    everything = rules._replace(rules=tuple(each for some in (rules, *(o for _, o in others)) for each in some.rules))
    with Waiting("reading the blackboard"):
        document = board.read()
        snapshot = snapshot_of(board, document, everything)
        known = read_recording(snapshot, everything.streams)
    if session is not None:
        known = known._replace(events=(), trips=())
    start = _moment(since, known)
    takes = []
    for take in _play(known, [("with the active rules", rules), *others]):
        with Waiting("playing the steps of sessions"):
            takes.append(
                take._replace(sessions=session_replay.play_sessions(board, document, take.rules, session, start))
            )
    if svg is not None:
        _draw(svg, takes, known)
    if call.as_json:
        _json(takes, known, start)
        return 0
    _print_head(known, session)
    for take in takes:
        _print(take, known, start, session)
    if len(takes) > 1:
        _print_difference(takes[0], takes[1], start, session)
    if svg is not None:
        click.echo(f"written: {printable(svg)}")
    return 0


def _others(
    rules: RuleSet, file: str | None, settings: Sequence[str], exact: bool, window: str | None
) -> list[tuple[str, RuleSet]]:
    if file is None and not settings:
        return []
    other = adjusted(read_rules(file, must_exist=True), exact, window) if file is not None else rules
    try:
        other = apply_settings(other, settings)
    except InvalidSetting as error:
        raise WrongUsage(f"--set: {error.message}", hint=error.hint) from None
    return [(" and ".join(filter(None, [f"with {', '.join(settings)}" if settings else "", file or ""])), other)]


def _play(known: Recording, wanted: Sequence[tuple[str, RuleSet]]) -> list[_Take]:
    takes = []
    for number, (heading, rules) in enumerate(wanted):
        with Waiting(f"replaying {plural(len(known.events), 'event')}, {printable(heading)}"):
            takes.append(_Take(heading, play(rules, known.board, known.events), rules, number == 0))
    return takes


def _moment(text: str | None, known: Recording) -> datetime | None:
    if text is None:
        return None
    seconds = parse_duration(text)
    if seconds is not None:
        last = known.events[-1].at if known.events else datetime.now(UTC)
        try:
            return last - timedelta(seconds=seconds)
        except OverflowError:
            return None  # longer than the calendar: everything
    found = parse_time(text)
    if found is None:
        raise WrongUsage(
            f"--since: expected an ISO 8601 time or a duration, got {text!r}",
            hint="for example 2h (counted back from the last record)",
        )
    return found


# --- what is printed ------------------------------------------------------------------------------------------------


def _print_head(known: Recording, session: str | None) -> None:
    if session is not None:
        return
    records = sum(event.kind == RECORD for event in known.events)
    decisions = sum(event.kind == RESOLVE for event in known.events)
    if not records:
        click.echo("there are no records to replay")
        return
    first, last = known.events[0].at, known.events[-1].at
    parts = [plural(records, "record"), plural(decisions, "resolution")]
    click.echo(f"{', '.join(parts)}, {format_time(first)} to {format_time(last)} ({span_text(last - first)})")
    if known.timeless:
        text = f"{plural(known.timeless, 'record')} without a usable time: placed with the one before"
        show.warnings([text])


def _print(take: _Take, known: Recording, start: datetime | None, session: str | None) -> None:
    trips = [trip for trip in take.played.trips if _is_shown(trip, start)]
    count = plural(len(trips), "trip") if session is None else _session_counts(take)
    click.echo(f"\n{show.bold(printable(take.heading))}: {count}")
    width = max((len(trip.rule.name) for trip in trips), default=0)
    for trip in trips:
        match = trip.match
        near = of_text(match.value, match.threshold)
        about = show.short(match.key or match.rule.description, 48)
        mark = click.style("●", fg="red")
        click.echo(f"  {mark} {format_time(trip.at)}  {trip.rule.name:<{width}}  {near}  {_record(trip)}  {about}")
        for other in trip.joined:
            near = of_text(other.match.value, other.match.threshold)
            click.echo(f"      {format_time(other.at)}  {other.match.rule.name}  {near}  also matches")
        click.echo(f"      {_end(trip)}{_as_recorded(trip, known)}")
    for each in take.played.observed:
        if start is None or each.at >= start:
            name = each.match.rule.name
            click.echo(f"  {click.style('○', fg='yellow')} {format_time(each.at)}  {name}  would match, mode: observe")
    session_replay.print_sessions(take.sessions, "sessions")
    show.silenced(take.played.silenced)
    if take.is_current:
        _print_missing(take, known)


def _is_shown(trip: Trip, start: datetime | None) -> bool:
    """Whether a trip happens from then on, or is still open then."""
    return start is None or trip.at >= start or trip.resolution is None or trip.resolution.at >= start


def _record(trip: Trip) -> str:
    event = trip.event
    if event.kind != RECORD:
        return ""
    task = event.fields.get("task")
    return f"{event.stream}[{event.key}]" + (f" {show.short(task, 20)}" if task is not None else "")


def _end(trip: Trip) -> str:
    if trip.resolution is None:
        return click.style("still open at the end", fg="red")
    lasted = span_text(trip.resolution.at - trip.at)
    who = f" by {show.short(trip.resolution.by, 30)}" if trip.resolution.by else ""
    text = f": {show.short(trip.resolution.text, 60)}" if trip.resolution.text else ""
    return f"resolved after {lasted}{who}{text}"


def _as_recorded(trip: Trip, known: Recording) -> str:
    return "  (as recorded)" if any(entry.get("trip_id") == trip.trip_id for entry in known.trips) else ""


def _print_missing(take: _Take, known: Recording) -> None:
    """Trips that the blackboard remembers and that do not come again."""
    ids = {trip.trip_id for trip in take.played.trips}
    gone = [entry for entry in known.trips if isinstance(name := entry.get("trip_id"), str) and name not in ids]
    for entry in gone:
        what = f"{show.short(entry.get('pattern'), 40)} of {show.short(entry.get('timestamp'), 30)}"
        show.warnings(
            [f"recorded, but not in this replay: {what} (made by hand or by other rules, or its records are gone)"]
        )


def _stops(take: _Take) -> int:
    return sum(each.match.rule.action == "STOP" for each in take.sessions)


def _session_counts(take: _Take) -> str:
    stops = _stops(take)
    return f"{plural(len(take.sessions) - stops, 'warning')}, {plural(stops, 'stop')}"


def _print_difference(before: _Take, after: _Take, start: datetime | None, session: str | None) -> None:
    trips = [sum(_is_shown(trip, start) for trip in take.played.trips) for take in (before, after)]
    stops = [_stops(before), _stops(after)]
    counts = [("trip", trips)] if session is None else []
    counts += [("session stop", stops)] if session is not None or any(stops) else []
    click.echo(f"\ndifference: {', '.join(_change(noun, *both) for noun, both in counts)}")


def _change(noun: str, before: int, after: int) -> str:
    if before == after:
        return f"as many {noun}s as before"
    return f"{plural(abs(after - before), noun)} {'more' if after > before else 'fewer'}"


def _draw(path: str, takes: Sequence[_Take], known: Recording) -> None:
    from liza.replay.timeline import draw_timeline

    text = draw_timeline([(take.heading, take.played) for take in takes], known.events, "replay")
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise Refused(f"the picture could not be written: {error.strerror}", file=path) from None


def _json(takes: Sequence[_Take], known: Recording, start: datetime | None) -> None:
    envelope.write(
        "replay",
        "ok",
        events={
            "records": sum(event.kind == RECORD for event in known.events),
            "resolutions": sum(event.kind == RESOLVE for event in known.events),
            "without_time": known.timeless,
        },
        replays=[
            {
                "rules": take.heading,
                "trips": [_trip(trip, known) for trip in take.played.trips if _is_shown(trip, start)],
                "observed": [
                    {"at": format_time(each.at), **envelope.pattern(each.match)}
                    for each in take.played.observed
                    if start is None or each.at >= start
                ],
                "silenced": [envelope.silenced(each) for each in take.played.silenced],
                "sessions": session_replay.as_json(take.sessions),
            }
            for take in takes
        ],
    )


def _trip(trip: Trip, known: Recording) -> dict[str, Any]:
    return {
        "at": format_time(trip.at),
        **envelope.pattern(trip.match),
        "trip_id": trip.trip_id,
        "record": {"stream": trip.event.stream, "key": trip.event.key} if trip.event.kind == RECORD else None,
        "evidence": [{"stream": record.stream, "key": record.key} for record in trip.match.evidence],
        "joined": [{"at": format_time(each.at), **envelope.pattern(each.match)} for each in trip.joined],
        "resolved_at": format_time(trip.resolution.at) if trip.resolution else None,
        "as_recorded": bool(_as_recorded(trip, known)),
    }
