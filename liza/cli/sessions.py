"""`liza sessions`."""

import os
import shutil
import sys
import time
from datetime import datetime
from typing import Any

import click

from liza.cli import envelope, session_table, show, team_lines
from liza.cli.group import Call, plain
from liza.cli.spent import unpriced_text
from liza.errors import Unreadable
from liza.model import Problem, format_time
from liza.rules.evaluate import RuleSet
from liza.scopes.engine import session_rows, source_problems
from liza.scopes.rules_file import rules_in_force
from liza.scopes.scope import SessionRow
from liza.scopes.sessions.fields import STOPPED
from liza.store.board import Board
from liza.store.spool import list_spool
from liza.store.steps import list_files
from liza.text import plural, printable, waiting_text


@click.command("sessions")
@click.option("--all", "every", is_flag=True, help="Also sessions that have ended, and ingested ones.")
@click.option("--watch", is_flag=True, help="Show them again every second, until Ctrl-C.")
@plain
def command(call: Call, every: bool, watch: bool) -> int:
    """List the agents' sessions of the last day.

    Shows who runs, on what, and who is stopped. Sessions are seen through the hooks that `liza install` adds,
    and those of Claude Code and Codex also in their transcripts.
    Exit code 3 if one is stopped.

    \b
    Examples:
      liza sessions
      liza sessions --json | jq -r '.sessions[] | select(.session_status == "STOPPED") | .session'
    """
    board = call.board
    while True:
        rules = rules_in_force(board.paths.rules)[0]
        rows = session_rows(board.paths, board.read().data, rules, ended=every)
        at = call.at
        waiting = list_spool(board.paths).total
        problems = source_problems(board.paths)
        team = _team(board)
        if call.as_json:
            _write(rows, waiting, problems, at, team)
        else:
            lines = [f"! {printable(each.file)}: {printable(each.message)}" for each in problems]
            none = [] if rows else [_none(board, rules, every)]
            others = team_lines.sessions(team, at, every) if team is not None else []
            _print([*lines, *_lines(rows, every, waiting, at), *none, *others], watch)
        if not watch:
            return 3 if any(row.status == STOPPED for row in rows) else 0
        time.sleep(1)


def _team(board: Board) -> dict[str, Any] | None:
    """How the daemon last saw the team; None without one."""
    if not os.path.isdir(board.paths.team):
        return None
    from liza.store.team_files import read_view  # few blackboards belong to a team

    return read_view(board.paths)


def _print(lines: list[str], watch: bool) -> None:
    """With --watch on a terminal as a picture, which takes the place of the one before in one write."""
    if watch and sys.stdout.isatty():
        room = shutil.get_terminal_size().lines - 2
        shown = lines if len(lines) <= room + 1 else [*lines[:room], "and more: liza sessions"]
        click.echo("\x1b[H" + "".join(f"\x1b[2K{line}\n" for line in shown) + "\x1b[J", nl=False)
    else:
        for line in lines:
            click.echo(line)


def _write(rows: list[SessionRow], waiting: int, problems: list[Problem], at: datetime, team: Any) -> None:
    stopped = any(row.status == STOPPED for row in rows)
    listed = [envelope.session(row) for row in rows]
    more = {"team": envelope.plain(team)} if team is not None else {}
    envelope.write(
        "sessions", "open" if stopped else "ok", problems, sessions=listed, waiting=waiting, at=format_time(at), **more
    )


def _none(board: Board, rules: RuleSet, every: bool) -> str:
    """Instead of the sessions of the last day, where there are none."""
    try:
        if not every and session_rows(board.paths, board.read().data, rules, ended=True):
            return "no sessions in the last day; those that ended: liza sessions --all"
        is_new = not list_files(board.paths)
    except Unreadable:  # which is among the problems
        is_new = False
    if not is_new:
        return "no sessions in the last day"
    return "no sessions in the last day; to record the sessions of agents: liza install"


def _lines(rows: list[SessionRow], every: bool, waiting: int, at: datetime) -> list[str]:
    shown = session_table.most_urgent(rows, every)
    lines = session_table.lines(shown, at, show.columns())
    if waiting:
        lines.insert(0, f"{waiting_text(waiting)} for the daemon: liza watch --background")
    if rows and not shown:
        lines.append(f"{plural(len(rows), 'session')} of the last day ended: liza sessions --all")
    if unpriced := unpriced_text([row.used for row in shown]):
        lines.append(unpriced)
    return lines
