"""`liza sessions`."""

from datetime import datetime

import click

from liza.cli import envelope, show
from liza.cli.group import plain, root_of
from liza.cli.options import moment
from liza.model import format_time, parse_time
from liza.scopes.sessions.fields import STOPPED
from liza.scopes.sessions.monitor import Monitor
from liza.scopes.sessions.record import ENDED, SessionRow, list_sessions
from liza.store.board import Board
from liza.store.spool import list_spool

_COLOURS = {"stopped": "red", "running": "green"}


@click.command("sessions")
@click.option("--all", "every", is_flag=True, help="Also sessions that have ended.")
@click.option("--watch", is_flag=True, help="Show them again every second, until Ctrl-C.")
@plain
def command(ctx: click.Context, every: bool, watch: bool, now: str | None, as_json: bool) -> int:
    """List the agents' sessions of the last day.

    Shows who runs, on what, and who is stopped. Sessions are seen through the hooks that `liza install` puts in place.
    Exit code 3 if one is stopped.

    \b
    Examples:
      liza sessions
      liza sessions --json | jq -r '.sessions[] | select(.session_status == "STOPPED") | .session'
    """
    board = Board.find(root_of(ctx))
    monitor = Monitor(board.paths)
    while True:
        monitor.windows.refresh()
        rows = [row for row in list_sessions(board, board.read(), monitor) if every or as_json or row.state != ENDED]
        at = moment(now)
        if watch:
            click.clear()
        waiting = list_spool(board.paths).total
        if as_json:
            _write(rows, waiting, at)
        else:
            _table(rows, waiting, at)
        if not watch:
            return 3 if any(row.status == STOPPED for row in rows) else 0
        _pause()


def _pause() -> None:
    import time

    time.sleep(1)


def _write(rows: list[SessionRow], waiting: int, at: datetime) -> None:
    listed = []
    for row in rows:
        fields = row._asdict()
        fields["session_status"] = fields.pop("status")
        listed.append(fields)
    stopped = any(row.status == STOPPED for row in rows)
    envelope.write("sessions", "open" if stopped else "ok", sessions=listed, waiting=waiting, at=format_time(at))


def _table(rows: list[SessionRow], waiting: int, at: datetime) -> None:
    if not rows:
        click.echo("no session was active in the last day; to see them: liza install")
    if waiting:
        click.echo(f"{waiting} events wait for the daemon: liza watch --background")
    labels = [show.short(_label(row), 28) for row in rows]
    tasks = [show.short(row.task, 20) for row in rows]
    width, task_width = max(map(len, labels), default=0), max(map(len, tasks), default=0)
    for row, label, task in zip(rows, labels, tasks, strict=True):
        state = click.style(f"{row.state:<8}", fg=_COLOURS.get(row.state))
        age = _age(row.last, at)
        what = row.reason or row.last_step or ""
        line = f"{label:<{width}}  {state}  {task:<{task_width}}  {row.steps:>4} steps  {age:>7}  {show.short(what)}"
        click.echo(show.fitted(line.rstrip()))
        if row.last_error and row.reason is None:
            click.echo(show.fitted(f"{'':<{width}}  last error: {show.short(row.last_error)}"))


def _label(row: SessionRow) -> str:
    """LIZA_AGENT, else the client; with the beginning of the id, by which the session can be named."""
    return f"{'  ' if row.parent else ''}{row.name or row.client or 'unknown'} {row.session[:8]}"


def _age(last: str | None, at: datetime) -> str:
    moment = parse_time(last) if last is not None else None
    return show.span(at - moment) if moment is not None else ""
