"""`liza loop record`, `status`, `list`, `reset` and `probe`."""

from datetime import datetime

import click

from liza.cli import envelope, loop_record, show
from liza.cli.group import Call, Family, by_option, common, plain
from liza.cli.options import person
from liza.cli.terminal import aligned
from liza.clients.caller import alarm_if_no_terminal, require_person
from liza.errors import LizaError
from liza.model import MAPPINGS, format_time
from liza.rules.evaluate import RuleSet
from liza.schema.loop_statuses import CLOSED, HALF_OPEN, OPEN
from liza.scopes.change import read_each, unknown_record
from liza.scopes.loops.fields import LOOPS, iteration_count, number_or_none
from liza.scopes.loops.record import LoopResult, evaluate_loop, probe_loop, read_loop, reset_loop
from liza.scopes.loops.settings import Settings
from liza.scopes.records import find_record
from liza.store.board import Board
from liza.text import of_text, plural, printable

_PERCENTAGES = 20  # that are listed


@click.group("loop", cls=Family)
@common
def command() -> None:
    """Record iterations; stop a loop that makes no progress.

    \b
    Examples:
      liza loop record night --progress 40 --files-changed 3
      liza loop status night
    """


@command.command("record")
@click.argument("name", metavar="LOOP")
@click.option("--task", metavar="ID", help="The task that the iteration worked on.")
@click.option("--progress", metavar="PCT", help="How far along the work is, in percent.")
@click.option("--files-changed", metavar="N", help="How many files changed; default: measured, in a git worktree.")
@click.option("--error", metavar="TEXT", help="The error; - reads standard input.")
@click.option("--output", metavar="FILE", help="A file to search for errors.")
@click.option("--claims-done", is_flag=True, help="The agent claims to be done.")
@click.option("--evidence", metavar="NAME=pass|fail", multiple=True, help="What was checked: tests=pass, build=fail.")
@click.option("--test-only", is_flag=True, help="The iteration only ran or changed tests.")
@click.option("--outcome", metavar="WORD", help="ok, error, timeout or crash; default: ok.")
@click.option("--model", metavar="NAME", help="The model that was used.")
@click.option("--tokens", metavar="N", help="How many tokens it took.")
@click.option("--duration", metavar="SECONDS", help="How long it took.")
@click.option("--workdir", metavar="DIR", multiple=True, help="A git worktree to measure; default: that of .liza/.")
@click.option("--project", metavar="TYPE", help="The type of project, whose limits apply; default: $PROJECT_TYPE.")
@plain
def record_command(call: Call, /, name: str, **options: str | None) -> int:
    """Record one iteration of LOOP, and evaluate the loop at once.

    Exit code 0 if the loop may continue, 3 if it is open.

    \b
    Examples:
      liza loop record coder-1 --task task-3 --progress 40 --error "$(tail -50 build.log)"
    """
    return loop_record.run(call.root, name, {**options, "now": call.now}, call.as_json)


@command.command("status")
@click.argument("name", metavar="[LOOP]", required=False)
@plain
def status_command(call: Call, name: str | None) -> int:
    """Show a loop, and how close it is to each limit.

    Without LOOP, all of them. Exit code 3 if a loop that is shown is open.

    \b
    Examples:
      liza loop status coder-1
    """
    if name is None:
        return _list(call, "loop status")
    board = call.board
    rules, settings = loop_record.in_force(board.paths)
    at = call.at
    found = read_loop(board, name, rules, settings, at)
    document = board.read()
    if find_record(document.data.get("loops"), name, "loop") is None:
        raise unknown_record(document, LOOPS, name)
    code = loop_record.print_result("loop status", found, settings, call.as_json)
    if not call.as_json:
        _details(found, settings, at)
    return code


def _details(found: LoopResult, settings: Settings, at: datetime) -> None:
    loop = found.loop
    trips = int(number_or_none(loop.get("trigger_count")) or 0)
    times = "once" if trips == 1 else plural(trips, "time")
    click.echo(f"  progress {_history(loop_record.progress_of(loop))}, tripped {times}")
    errors = [e for e in loop.get("error_history") or () if isinstance(e, MAPPINGS)]
    for error in errors[-3:]:
        where = f" ({show.short(error.get('file'))})" if error.get("file") else ""
        click.echo(
            f"  error in iteration {show.short(error.get('iteration'))}: {show.short(error.get('signature'))}{where}"
        )
    for trip in (loop.get("history") or ())[-3:]:
        if isinstance(trip, MAPPINGS):
            end = f"{trip.get('how')} {trip.get('closed')}" if trip.get("closed") else "open"
            click.echo(f"  {show.short(trip.get('opened'))}  {show.short(trip.get('reason'))}  ({show.short(end)})")
    if settings.project:
        click.echo(f"  limits of the project type {printable(settings.project)}")


def _history(percentages: list[tuple[int, float | None]]) -> str:
    """The last percentages, the newest last: `10% → 12% → ? → 14%`."""
    shown = ["?" if each is None else f"{each:g}%" for _, each in percentages[-_PERCENTAGES:]]
    older = ["…"] if len(percentages) > _PERCENTAGES else []
    return " → ".join([*older, *shown]) if {*shown} - {"?"} else "unknown"


@command.command("list")
@plain
def list_command(call: Call) -> int:
    """List the loops of the blackboard.

    \b
    Examples:
      liza loop list
    """
    return _list(call, "loop list")


def _list(call: Call, called: str) -> int:
    board = call.board
    rules, settings = loop_record.in_force(board.paths)
    at = call.at
    document = board.read()
    rows: list[LoopResult] = []
    wrong: list[LizaError] = []
    for name, loop in read_each(document, LOOPS):
        if isinstance(loop, LizaError):
            wrong.append(loop)
            rows.append(LoopResult(name, OPEN, loop.message, {}))
        else:
            rows.append(evaluate_loop(name, loop, rules, settings, at))
    opened = any(row.status == OPEN for row in rows) and not settings.disabled
    if call.as_json:
        listed = [
            {
                "loop": row.name,
                "loop_status": row.status,
                "reason": row.reason,
                "loop_count": iteration_count(row.loop) if row.loop else None,
            }
            for row in rows
        ]
        status = "degraded" if wrong else "open" if opened else "ok"
        envelope.write(called, status, wrong, loops=listed, at=format_time(at))
    else:
        _table(rows)
    return 4 if wrong else 3 if opened else 0


def _table(rows: list[LoopResult]) -> None:
    if not rows:
        click.echo("no loops yet; to record an iteration: liza loop record LOOP")
    for line in aligned([_cells(row) for row in rows], right=[2]):
        click.echo(show.fitted(line))


def _cells(row: LoopResult) -> tuple[str, ...]:
    status = click.style(row.status, fg={OPEN: "red", HALF_OPEN: "yellow", CLOSED: "green"}[row.status])
    about = row.reason if row.status != CLOSED else "completed" if row.completed else _nearest(row)
    return show.short(row.name, 40), status, plural(iteration_count(row.loop), "iteration"), show.short(about)


def _nearest(row: LoopResult) -> str:
    near = max(row.signals, key=lambda each: each.value / each.threshold if each.threshold else 0.0, default=None)
    return f"{near.rule} {of_text(near.value, near.threshold)}" if near is not None else ""


@command.command("reset")
@click.argument("name", metavar="LOOP")
@click.option("-m", "--message", metavar="WHY", help="What was done about it.")
@by_option
@plain
def reset_command(call: Call, name: str, message: str | None, by: str | None) -> int:
    """Close LOOP and set all its counters to 0.

    How often it tripped is kept.

    \b
    Examples:
      liza loop reset coder-1 -m "the fixture was wrong"
    """
    board, rules, settings, at = _all_of(call)
    require_person(board.paths, "liza loop reset")
    done = reset_loop(board, name, message, person(by), rules, settings, at)
    alarm_if_no_terminal(board.paths, done.command("reset"), person(by), at)
    return loop_record.print_result("loop reset", done, settings, call.as_json)


@command.command("probe")
@click.argument("name", metavar="LOOP")
@by_option
@plain
def probe_command(call: Call, name: str, by: str | None) -> int:
    """Let an open LOOP try one iteration, after its cooldown.

    Progress closes it, anything else opens it again. Only a reset closes a trip of absolute_max.

    \b
    Examples:
      liza loop probe coder-1
    """
    board, rules, settings, at = _all_of(call)
    require_person(board.paths, "liza loop probe")
    done = probe_loop(board, name, person(by), rules, settings, at)
    alarm_if_no_terminal(board.paths, done.command("probe"), person(by), at)
    return loop_record.print_result("loop probe", done, settings, call.as_json)


def _all_of(call: Call) -> tuple[Board, RuleSet, Settings, datetime]:
    board = call.board
    rules, settings = loop_record.in_force(board.paths)
    return board, rules, settings, call.at
