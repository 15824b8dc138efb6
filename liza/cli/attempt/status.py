"""`liza attempt status`."""

import click

from liza.cli import envelope, show
from liza.cli.attempt import show as words
from liza.cli.attempt.options import in_force
from liza.cli.group import Call, plain
from liza.errors import LizaError
from liza.scopes.change import read_each
from liza.scopes.records import list_of, mappings_of
from liza.scopes.slices import attempt_texts
from liza.scopes.slices.fields import REFUSED, SLICES, named_tests
from liza.scopes.slices.record import SliceResult, evaluate_slice, read_slice
from liza.text import escape_surrogates, plural


@click.command("status")
@click.option("--slice", "name", metavar="S", help="One slice; default: all of them.")
@plain
def status_command(call: Call, name: str | None) -> int:
    """Show the slices, and what they are waiting for.

    Exit code 3 if a slice that is shown is stopped, 4 if one cannot be evaluated.

    \b
    Examples:
      liza attempt status --slice S-3
    """
    board = call.board
    rules = in_force(board.paths)
    at = call.at
    if name is not None:
        done = read_slice(board, escape_surrogates(name), rules, at)
        code = words.print_result("attempt status", done, call.as_json)
        if not call.as_json:
            _details(done)
        return code
    document = board.read()
    rows: list[SliceResult] = []
    wrong: list[LizaError] = []
    for label, record in read_each(document, SLICES):
        if isinstance(record, LizaError):
            wrong.append(record)
        else:
            rows.append(evaluate_slice(board, label, record, rules, at))
    stopped = any(row.is_stopped for row in rows)
    if call.as_json:
        status = "degraded" if wrong else "stopped" if stopped else "ok"
        envelope.write("attempt status", status, wrong, slices=[words.facts(row) for row in rows])
    else:
        for row in rows:
            words.print_result("attempt status", row, as_json=False)
        for each in wrong:
            click.echo(
                f"{click.style('unreadable', fg='red')}: {show.short(each.message, 200)} ({show.short(each.hint, 200)})"
            )
        if not rows and not wrong:
            click.echo("no attempts yet; to record one: liza attempt start --slice S --test NAME")
    return 4 if wrong else 3 if stopped else 0


def _details(done: SliceResult) -> None:
    for name, test in named_tests(done.record):
        count = words.streak(done, name)
        state = "failing" if count else "open" if test.get("open") is True else "passing or not attempted"
        click.echo(f"  {show.short(name, 100)}: {words.in_a_row(done, name)}, {state}")
        if count and test.get("last_error"):
            click.echo(f"    {show.short(attempt_texts.summary_line(str(test['last_error'])), 160)}")
    refused = sum(each.get("result") == REFUSED for each in mappings_of(done.record, "attempts"))
    if refused:
        click.echo(f"  {plural(refused, 'attempt')} refused since it was stopped")
    tag = done.record.get("checkpoint_tag")
    resets = plural(len(list_of(done.record, "history")), "reset")
    click.echo(f"  rolls back to: {show.short(tag, 60) if tag else 'no commit recorded'}, {resets}")
