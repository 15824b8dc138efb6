"""`liza attempt diagnose` and `reset`: what a stopped slice is told about, and how it begins anew."""

import sys

import click

from liza.blackboard.board import Board
from liza.cli import attempted, envelope, show
from liza.cli.group import common, root_of
from liza.cli.options import moment, person
from liza.errors import Refused
from liza.protocols.attempts import diagnosis, reports, texts
from liza.text import printable


@click.command("diagnose")
@click.option("--slice", "name", metavar="S", required=True, help="The slice that is stopped.")
@click.option("--test", metavar="NAME", help="The test; needed if there are reports on several.")
@click.option("--from", "source", metavar="FILE", help="The fields to fill in, as YAML or JSON; - is standard input.")
@click.option("--by", metavar="NAME", help="Who fills it in; default: the user of this machine.")
@click.option("--now", metavar="TIME", help="As if it were this time.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common
@click.pass_context
def diagnose(
    ctx: click.Context,
    name: str,
    test: str | None,
    source: str | None,
    by: str | None,
    now: str | None,
    as_json: bool,
) -> int:
    """Fill in the diagnostic report on a test, or print it as it is.

    All eight fields must be there. What liza knows is filled in already: the error, the attempts, the files and what
    was outside the scope. Exit code 0 if the report is complete, 1 if something is missing, and then nothing changes.

    \b
    Example:
      liza attempt diagnose --slice S-3 > report.yaml
      liza attempt diagnose --slice S-3 --from report.yaml
    """
    board = Board.find(root_of(ctx))
    name, test = texts.written(name), None if test is None else texts.written(test)
    if source is None:
        report, file = reports.find(board, name, test)
        missing = [f"{field} {what}" for field, what in diagnosis.faults(report)]
        if as_json:
            status = "incomplete" if missing else "complete"
            envelope.write("attempt diagnose", status, file=file, report=report, missing=missing)
        else:
            click.echo(_printed(reports.rendered(report)), nl=False)
        return 1 if missing else 0
    answer = reports.answer_of(_read(source), source)
    report, file = reports.fill_in(board, name, test, answer, source, person(by), moment(now))
    ignored = list(diagnosis.misspelt(answer))
    if as_json:
        problems = [{"message": each, "level": "warning"} for each in ignored]
        envelope.write("attempt diagnose", "complete", problems, file=file, report=report, missing=[])
        return 0
    click.echo(f"complete: {printable(file)}")
    show.warnings(ignored)
    click.echo(f"  a person decides: liza attempt reset --slice {attempted.quoted(name)} -m 'guidance' [--rollback]")
    return 0


def _read(source: str) -> bytes:
    try:
        if source == "-":
            return sys.stdin.buffer.read(reports.MOST)
        with open(source, "rb") as file:
            return file.read(reports.MOST)
    except OSError as error:
        hint = "name a file with the fields of the report, or - for standard input"
        raise Refused(f"it could not be read: {error.strerror}", hint=hint, file=source) from None


def _printed(text: str) -> str:
    """A file as it stands, made printable: what is not stands in escapes in it already."""
    return "".join(printable(line) + "\n" for line in text.splitlines())
