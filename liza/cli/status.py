"""`liza status`."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import click

from liza.cli import daemon_status, envelope, session_table, show, team_lines
from liza.cli.group import Call, plain
from liza.cli.waiting import Waiting
from liza.errors import LizaError, Unreadable
from liza.model import Problem, format_time, span_text
from liza.scopes.history import section as sections
from liza.scopes.inbox import waiting_counts, waiting_text
from liza.status import State, Status, read_status
from liza.store import checkpoint
from liza.text import plural, printable, shell_quoted

_SESSIONS = 5  # that are shown
_RECENT = 5  # entries of the history
_EXIT_CODES = {State.OK: 0, State.DEGRADED: Unreadable.exit_code, State.HALTED: 3, State.TRIGGERED: 3}


@click.command("status")
@plain
def command(call: Call) -> int:
    """Show the breaker, and how close each pattern is to tripping.

    Writes nothing. Exit code 0 if all is well, 3 if the breaker is open or the agents are halted, 4 if the blackboard
    cannot be evaluated or cannot be written.

    \b
    Examples:
      liza status --json | jq .trigger
    """
    at = call.at
    board = call.board
    with Waiting("checking the blackboard"):
        status = read_status(board, at)
    if call.as_json:
        envelope.write("status", status.state, problems_of(status), **status_facts(status))
    else:
        _breaker(status)
        _agents(status)
        _pause(status)
        _sessions(status)
        if status.team is not None:
            for line in team_lines.hosts(status.team, at):
                click.echo(line)
        _scopes_and_inbox(status)
        _patterns(status)
        _warnings(status)
    return _EXIT_CODES[status.state]


def status_facts(status: Status) -> dict[str, Any]:
    """The fields of `liza status --json`, which the page of `liza serve` shows, too."""
    verdict = status.found.verdict
    return {
        "trigger": envelope.trigger(status.found.trigger),
        "age_seconds": status.open_for,
        "checkpoint": checkpoint_facts(status.halt),
        "paused": format_time(status.paused) if status.paused is not None else None,
        "patterns": [envelope.pattern(each) for each in verdict.progress],
        "history": [envelope.plain(entry) for entry in status.history[-_RECENT:]],
        "silences": [envelope.plain(fields) for fields, _ in status.silences],
        "silenced": [envelope.silenced(each) for each in verdict.silenced],
        "rule_changes": list(status.rules.changes),
        "warnings": list(verdict.warnings),
        "claims": [envelope.claim(each) for each in verdict.claims],
        "stopped": list(status.stopped),
        "concerns": _concerns(status),
        "inbox": waiting_counts(status.waiting),
        "daemon": daemon_status.as_json(status.daemon),
        "sessions": [envelope.session(each) for each in status.sessions],
        "events_waiting": status.events_waiting,
        "hooks": [envelope.hooks(each) for each in status.hooks],
    } | ({"team": envelope.plain(status.team)} if status.team is not None else {})


def problems_of(status: Status) -> list[Problem | LizaError]:
    """What is wrong with the files of the blackboard."""
    found = status.found
    return [*found.snapshot.problems, *status.waiting.problems, *envelope.problems_of(found.error)]


def checkpoint_facts(halt: checkpoint.Checkpoint | None) -> dict[str, Any] | None:
    if halt is None:
        return None
    return {
        "by": "liza" if halt.trip_id or halt.lifts_itself else "human",
        "trip_id": halt.trip_id,
        "degraded": halt.fields.get("degraded"),
        "since": format_time(halt.since),
    } | ({"partition": halt.fields["partition"]} if halt.is_partition else {})


def _concerns(status: Status) -> list[str]:
    return [*status.alarms, *map(show.due, status.due)]


# --- for people -----------------------------------------------------------------------------------------------------


def _breaker(status: Status) -> None:
    found = status.found
    if found.trigger is not None:
        show.trigger(found.trigger, "TRIGGERED")
        if status.open_for is not None:
            click.echo(f"  open for {span_text(timedelta(seconds=status.open_for))}")
        if not status.is_recorded:
            show.warnings(["this trip halts the agents but is not in state.yaml yet; to record it: liza analyze"])
        return
    health = show.bold("DEGRADED", "yellow") if status.is_degraded else show.bold("OK", "green")
    click.echo(f"breaker: {health}, {_last_check(status)}")
    if found.verdict.matches:
        names = ", ".join(dict.fromkeys(match.rule.name for match in found.verdict.matches))
        show.warnings([f"{names} matches now: the next check trips (liza analyze)"])


def _agents(status: Status) -> None:
    halt, trigger = status.halt, status.found.trigger
    if halt is None:
        click.echo("agents:  not halted")
        if trigger is not None:
            show.warnings(["CHECKPOINT is missing although the breaker is open; to halt the agents: liza analyze"])
        return
    since = span_text(status.at - halt.since)
    own = "by on_degraded" if halt.is_degraded else "by on_partition" if halt.is_partition else "by a person"
    whose = f"by trip {halt.trip_id}" if halt.trip_id else own
    click.echo(f"agents:  {click.style('halted', fg='red', bold=True)} {whose}, {since} ago (CHECKPOINT)")
    if halt.is_degraded:
        why = show.short(halt.fields["degraded"], 200)
        click.echo(f"  could not be evaluated: {why}; the halt ends with: liza analyze")
    elif halt.is_partition:
        click.echo(f"  {show.short(halt.fields['partition'], 300)}; the halt ends once it is reached: liza team status")
    elif trigger is None:
        release = show.DECIDE if status.is_halt_known else checkpoint.removal(status.paths.checkpoint)
        click.echo(f"  to continue: {release}")


def _pause(status: Status) -> None:
    if status.paused is not None:
        since = span_text(max(status.at - status.paused, timedelta()))
        release = checkpoint.removal(status.paths.pause)
        click.echo(f"paused:  {since} ago (PAUSE): liza run waits; to continue: {release}")


def _sessions(status: Status) -> None:
    rows = session_table.most_urgent(status.sessions)
    if rows:
        click.echo(f"sessions: {session_table.summary(rows)}")
    for line in session_table.lines(rows[:_SESSIONS], status.at, show.columns() - 2):
        click.echo(f"  {line}")
    if len(rows) > _SESSIONS:
        click.echo(f"  and {len(rows) - _SESSIONS} more: liza sessions")
    if rows and rows[0].reason is not None:
        name = rows[0].name or rows[0].session
        click.echo(f"  to decide: liza session resume {show.short(shell_quoted(name))} -m 'what was decided'")
    show.warnings([status.unwatched] if status.unwatched is not None else [])
    problems = dict.fromkeys(each for hooks in status.hooks for each in hooks.problems if each.is_off)
    show.warnings(f"hook of {each.client or 'all'}: {each.message}; to fix: {each.hint}" for each in problems)


def _scopes_and_inbox(status: Status) -> None:
    for line in daemon_status.lines(status.daemon, status.paths):
        click.echo(line)
    for text in status.stopped_others:
        click.echo(f"{show.bold('stopped', 'red')}: {show.short(text, 160)}")
    show.warnings(_concerns(status))
    if status.waiting.records:
        click.echo(f"inbox:   {waiting_text(status.waiting.records)}")
    show.warnings(f"{each.file}: {each.message}" for each in status.waiting.problems)


def _patterns(status: Status) -> None:
    verdict = status.found.verdict
    click.echo("patterns:")
    show.patterns(verdict.progress)
    if history := status.history[-_RECENT:]:
        click.echo("history:")
        width = max(len(_what(entry)) for entry in history)
        for entry in history:
            click.echo(show.fitted(f"  {_history_line(entry, width)}"))
    show.silenced(verdict.silenced)
    silencing = {each.silence.id for each in verdict.silenced}
    for _, silence in status.silences:
        if silence.id not in silencing:
            click.echo(f"active silence: {show.silence(silence)}")


def _warnings(status: Status) -> None:
    show.warnings(daemon_status.warnings(status.daemon))
    show.warnings(f"rules.yaml: {change}" for change in status.rules.changes)
    show.warnings(status.found.verdict.warnings)
    if count := len(status.found.snapshot.problems):
        show.warnings([f"{plural(count, 'problem')} on the blackboard: see liza validate"])
    show.broken_rules(status.found.error)


def _last_check(status: Status) -> str:
    if status.last_check is None:
        return "never checked"
    return f"last check {span_text(status.at - status.last_check)} ago"


def _history_line(entry: Mapping[str, Any], width: int) -> str:
    if not entry.get("pattern"):
        came = f"x{entry['checks']}" if entry.get("checks") else ""
    elif not entry.get("resolved_at"):
        came = "open"
    else:
        came = f"resolved {sections.how_resolved(entry)}: {entry.get('resolution') or 'no decision recorded'}"
    return printable(f"{entry.get('timestamp')}  {_what(entry):<{width}}  {came}".rstrip())[:118]


def _what(entry: Mapping[str, Any]) -> str:
    return show.short(entry.get("pattern") or "OK", 40)
