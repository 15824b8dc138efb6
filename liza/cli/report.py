"""`liza report`."""

import sys

import click

from liza.cli import envelope
from liza.cli.group import Call, plain
from liza.errors import Refused, WrongUsage
from liza.halt import trip_id_of
from liza.scopes.history import section as sections
from liza.store import files
from liza.store.board import Board
from liza.text import printable


@click.command("report")
@click.option(
    "--html",
    "page",
    metavar="[FILE]",
    is_flag=False,
    flag_value="-",
    help="Write the page of liza serve as one HTML file; without FILE to standard output.",
)
@plain
def command(call: Call, page: str | None) -> int:
    """Print the report on the open trip, or on the last one.

    With --html the whole page is saved: the breaker, the sessions, the patterns, the timeline and the history. The file
    needs no other file and runs no script, so it can be sent or kept.

    \b
    Examples:
      liza report
      liza report --html night.html
    """
    if page is not None and call.as_json:
        raise WrongUsage("--html and --json cannot be combined")
    paths = call.board.paths
    if page is not None:
        from liza.web.model import read_page
        from liza.web.page import render_file

        _write(page, render_file(read_page(paths, call.at)))
        return 0
    text = _report(call.board)
    if call.as_json:
        envelope.write("report", "ok", report=text)
    elif text is None:
        click.echo("there is no report: no trip is open")
    else:
        for line in text.splitlines():
            click.echo(printable(line))
    return 0


def _report(board: Board) -> str | None:
    """The report; None where there is none, and none is wanted."""
    try:
        return files.read(board.paths.report).decode(errors="backslashreplace")
    except FileNotFoundError:
        section = board.read().data.get("circuit_breaker")
    trip = trip_id_of(board.paths.checkpoint)  # that halts the agents, if it is not recorded yet
    if sections.open_trigger(section) is not None or (trip is not None and not sections.knows(section, trip)):
        hint = "write it again: liza analyze"
        raise Refused("the report on the open trip is missing", hint=hint, file=board.paths.report)
    return None


def _write(file: str, text: str) -> None:
    if file == "-":
        sys.stdout.write(text)
        return
    try:
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(text)
    except OSError as error:
        raise Refused(f"the page could not be written: {error.strerror}", file=file) from None
    click.echo(f"written to {printable(file)}")
