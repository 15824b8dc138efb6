"""`liza report`."""

import sys

import click

from liza.cli import envelope
from liza.cli.group import Call, plain
from liza.errors import Refused, WrongUsage
from liza.store import files
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
    try:
        text: str | None = files.read(paths.report).decode(errors="backslashreplace")
    except FileNotFoundError:
        text = None
    if call.as_json:
        envelope.write("report", "ok", report=text)
    elif text is None:
        click.echo("there is no report: nothing has tripped")
    else:
        for line in text.splitlines():
            click.echo(printable(line))
    return 0


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
