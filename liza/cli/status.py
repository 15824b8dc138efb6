"""`liza status`."""

import os
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import click

from liza.check import check
from liza.cli import daemon_status, envelope, show
from liza.cli.group import common, root_of
from liza.cli.options import moment
from liza.cli.progress import Waiting
from liza.daemon.lease import facts_of
from liza.errors import LizaError, Unreadable
from liza.model import format_time, parse_time
from liza.rules.evaluate import RuleSet
from liza.rules.silences import read_silences
from liza.scopes import engine
from liza.scopes.inbox import add_waiting, read_waiting, waiting_counts, waiting_text
from liza.scopes.rules_file import overrun, rules_in_force
from liza.scopes.sprint import checkpoint
from liza.scopes.sprint import section as sections
from liza.store.board import Board
from liza.store.paths import Paths
from liza.text import printable

RECENT = 5


@click.command("status")
@click.option("--now", metavar="TIME", help="Evaluate as of this time.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common
@click.pass_context
def command(ctx: click.Context, now: str | None, as_json: bool) -> int:
    """Show the breaker, and how near each pattern is.

    Writes nothing. Exit code 0 if all is well, 3 if the breaker is open or the agents are halted, 4 if the blackboard
    cannot be evaluated or cannot be written.

    \b
    Examples:
      liza status --json | jq .trigger
    """
    at = moment(now)
    board = Board.find(root_of(ctx))
    rules, broken = rules_in_force(board.paths.rules)
    try:
        with Waiting("checking the blackboard"):
            found = check(board, rules, at, dry_run=True)
    except Unreadable as error:
        raise add_waiting(error, board) from None
    broken = broken or overrun(rules, board.paths.rules)
    waiting = read_waiting(board)
    halt = checkpoint.read(board.paths.checkpoint)
    section = found.snapshot.sections.get("circuit_breaker")
    recent = [dict(entry) for entry in sections.history_of(section)[-RECENT:] if isinstance(entry, Mapping)]
    silences = [entry for entry in read_silences(found.snapshot.sections.get("silences")) if entry.in_force(at)]
    stopped, concerns = _scopes(board, found.snapshot.sections, rules, at)
    is_degraded = broken is not None or not found.snapshot.spans  # no spans: it can be read, but not written
    is_open, is_halted = found.trigger is not None, halt is not None  # a trigger of a person may be empty
    word = "triggered" if is_open else "halted" if is_halted else "degraded" if is_degraded else "ok"
    code = {"ok": 0, "degraded": Unreadable.exit_code}.get(word, 3)
    if as_json:
        envelope.write(
            "status",
            word,
            [*map(envelope.problem_of, (*found.snapshot.problems, *waiting.problems)), *envelope.problems_of(broken)],
            trigger=envelope.trigger(found.trigger),
            age_seconds=_age(found.trigger.get("timestamp") if found.trigger else None, at),
            checkpoint=_checkpoint(halt),
            patterns=[envelope.pattern(each) for each in found.verdict.progress],
            history=[envelope.plain(entry) for entry in recent],
            silences=[envelope.plain(entry.fields) for entry in silences],
            silenced=[envelope.silenced(each) for each in found.verdict.silenced],
            rule_changes=list(rules.changes),
            warnings=list(found.verdict.warnings),
            claims=[envelope.claim(each) for each in found.verdict.claims],
            stopped=stopped,
            concerns=concerns,
            inbox=waiting_counts(waiting),
            daemon=daemon_status.as_json(board.paths),
        )
        return code
    if found.trigger is not None:
        show.trigger(found.trigger, "TRIGGERED")
        if (age := _age(found.trigger.get("timestamp"), at)) is not None:
            click.echo(f"  open for {_ago(age)}")
        if sections.open_trigger(section) is None:
            show.warnings(["this trip halts the agents but is not in state.yaml yet; to enter it: liza analyze"])
    else:
        health = show.bold("DEGRADED", "yellow") if is_degraded else show.bold("OK", "green")
        click.echo(f"breaker: {health}{_last_check(section, board.paths, at)}")
    if found.verdict.matches and found.trigger is None:
        names = ", ".join(dict.fromkeys(match.rule.name for match in found.verdict.matches))
        show.warnings([f"{names} matches now: the next check trips (liza analyze)"])
    is_known = halt is not None and sections.knows(section, halt.trip_id)
    _show_halt(halt, board.paths.checkpoint, found.trigger, is_known, at)
    for line in daemon_status.lines(board.paths):
        click.echo(line)
    for text in stopped:
        click.echo(f"{show.bold('stopped', 'red')}: {show.short(text, 160)}")
    show.warnings(concerns)
    if waiting.records:
        click.echo(f"inbox:   {waiting_text(waiting.records)}")
    show.warnings(f"{each.file}: {each.message}" for each in waiting.problems)
    click.echo("patterns:")
    show.patterns(found.verdict.progress)
    if recent:
        click.echo("history:")
        width = max(len(_what(entry)) for entry in recent)
        for entry in recent:
            click.echo(show.fitted(f"  {_history_line(entry, width)}"))
    show.silenced(found.verdict.silenced)
    silencing = {each.silence.id for each in found.verdict.silenced}
    for each in silences:
        if each.silence is not None and each.silence.id not in silencing:
            click.echo(f"silence in force: {show.silence(each.silence)}")
    show.warnings(daemon_status.warnings(board.paths))
    show.warnings(f"rules.yaml: {change}" for change in rules.changes)
    show.warnings(found.verdict.warnings)
    if found.snapshot.problems:
        count = len(found.snapshot.problems)
        show.warnings([f"{count} problem{'s' if count > 1 else ''} on the blackboard: see liza validate"])
    show.broken_rules(broken)
    return code


def _scopes(board: Board, sections: Mapping[str, Any], rules: RuleSet, at: datetime) -> tuple[list[str], list[str]]:
    """The claims, slices and loops that are stopped, and what people should know of the others."""
    concerns = [text for _, _, text in engine.alarms(sections, rules, os.environ, at)]
    try:
        stopped = engine.open_trips(sections, rules, os.environ) | engine.missing(board, sections)
        due = [show.due(event) for event in engine.due(sections, rules, os.environ, at)]
        return list(stopped.values()), [*concerns, *due]
    except LizaError:
        return [], concerns  # what cannot be evaluated is among them


def _show_halt(
    halt: checkpoint.Checkpoint | None, path: str, trigger: Mapping[str, Any] | None, is_known: bool, at: datetime
) -> None:
    if halt is None:
        click.echo("agents:  free to work")
        if trigger is not None:
            show.warnings(["CHECKPOINT is missing while the breaker is open; to halt the agents: liza analyze"])
        return
    since = _ago((at - halt.since).total_seconds())
    whose = f"by trip {halt.trip_id}" if halt.trip_id else "by on_degraded" if halt.is_degraded else "by a person"
    click.echo(f"agents:  {click.style('halted', fg='red', bold=True)} {whose} for {since} (CHECKPOINT)")
    if halt.is_degraded:
        click.echo(
            f"  could not be evaluated: {show.short(halt.fields['degraded'], 200)}; the halt ends with: liza analyze"
        )
    elif trigger is None:
        click.echo(f"  to continue: {show.DECIDE if is_known else checkpoint.removal(path)}")


def _last_check(section: Any, paths: Paths, at: datetime) -> str:
    """The last on the blackboard, or of the daemon, which enters only some of its checks there."""
    entered = section.get("last_check") if isinstance(section, Mapping) else None
    times = [parse_time(time) for time in (entered, facts_of(paths)[1].get("last_check"))]
    ages = [(at - time).total_seconds() for time in times if time is not None]
    return f", last check {_ago(max(min(ages), 0.0))} ago" if ages else ", never checked"


def _history_line(entry: Mapping[str, Any], width: int) -> str:
    if not entry.get("pattern"):
        came = f"x{entry['checks']}" if entry.get("checks") else ""
    elif not entry.get("resolved_at"):
        came = "open"
    else:
        came = f"resolved {sections.whose(entry)}: {entry.get('resolution') or 'no decision recorded'}"
    return printable(f"{entry.get('timestamp')}  {_what(entry):<{width}}  {came}".rstrip())[:118]


def _what(entry: Mapping[str, Any]) -> str:
    return show.short(entry.get("pattern") or "OK", 40)


def _checkpoint(halt: checkpoint.Checkpoint | None) -> dict[str, Any] | None:
    if halt is None:
        return None
    return {
        "by": "liza" if halt.trip_id or halt.is_degraded else "human",
        "trip_id": halt.trip_id,
        "degraded": halt.fields.get("degraded"),
        "since": format_time(halt.since),
    }


def _age(text: Any, at: datetime) -> float | None:
    then = parse_time(text)
    return None if then is None else max((at - then).total_seconds(), 0.0)


def _ago(seconds: float | None) -> str:
    if seconds is None:
        return "an unknown time"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
