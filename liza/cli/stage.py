"""`liza stage advance`, `data`, `close` and `list`."""

from collections.abc import Callable

import click

from liza.cli import envelope, show
from liza.cli.claim.options import context_of
from liza.cli.group import Call, Family, by_option, common, plain
from liza.cli.options import person, plain_words
from liza.scopes.claims import evaluate, missing_disputes, stage_changes, stages
from liza.scopes.claims.change import reexamine_command, ways_out
from liza.scopes.claims.disputes import NEW_DATA, STAGE_TRANSITION
from liza.scopes.claims.stage_changes import Blocked, StageResult
from liza.text import plural, printable


@click.group("stage", cls=Family)
@common
def command() -> None:
    """Move a pipeline of claims through its stages.

    \b
    Examples:
      liza stage advance S3
      liza stage list
    """


@command.command("advance")
@click.argument("name", metavar="STAGE")
@plain
def advance_command(call: Call, name: str) -> int:
    """Advance to STAGE. Every claim in dispute is then due for re-examination.

    No stage beyond the last one can be entered while any claim is in dispute: exit code 3.

    \b
    Examples:
      liza stage advance S3
    """
    return _done("stage advance", lambda: stage_changes.advance_stage(context_of(call), name), call.as_json)


@command.command("data")
@click.argument("reference", metavar="REF")
@click.option("--for", "only", metavar="ID", multiple=True, help="A claim it is for; default: all in dispute.")
@plain
def data_command(call: Call, reference: str, only: tuple[str, ...]) -> int:
    """Record that data or a tool is available now.

    Claims in dispute must then be re-examined: all, or those that --for names.

    \b
    Examples:
      liza stage data data/gc_annotation.tsv --for C-001
    """
    return _print_result(
        "stage data", stage_changes.add_data(context_of(call), plain_words(reference, "REF"), only), call.as_json
    )


@command.command("close")
@click.argument("name", metavar="STAGE")
@by_option
@plain
def close_command(call: Call, name: str, by: str | None) -> int:
    """Close STAGE. The last one cannot be closed while any claim is in dispute: exit code 3.

    \b
    Examples:
      liza stage close S5
    """
    return _done("stage close", lambda: stage_changes.close_stage(context_of(call), name, person(by)), call.as_json)


def _done(called: str, change: Callable[[], StageResult], as_json: bool) -> int:
    try:
        return _print_result(called, change(), as_json)
    except Blocked as error:
        if as_json:
            raise
        _blocked(error)
        return error.exit_code


def _blocked(error: Blocked) -> None:
    count = plural(len(error.found), "claim")
    click.echo(f"{show.bold('BLOCKED', 'red')}: {printable(error.refused)}, {count} in dispute", err=True)
    for each in error.found:
        click.echo(f"  {show.bold(printable(str(each)))}", err=True)
        for way in ways_out(each.name, each.is_taken_out):
            click.echo(f"    {printable(way)}", err=True)


def _print_result(called: str, staged: StageResult, as_json: bool) -> int:
    waiting = [event.name for event in staged.events if event.kind == "marked"]
    trigger = NEW_DATA if called == "stage data" else STAGE_TRANSITION
    if as_json:
        events = [event.text for event in staged.events]
        envelope.write(called, "ok", stage=stages.current_stage(staged.stages), events=events, reexamine=waiting)
        return 0
    for event in staged.events:
        click.echo(show.short(event.text, 300))
    if not staged.events:
        click.echo("nothing to do: already recorded")
    for name in waiting:
        click.echo(f"  {printable(reexamine_command(name, trigger))}")
    return 0


@command.command("list")
@plain
def list_command(call: Call) -> int:
    """Show the stages, and which claims keep the last one from closing.

    \b
    Examples:
      liza stage list
    """
    context = context_of(call)
    document = context.board.read()
    listed = list(stages.statuses(document.data.get("stages")))
    claims = evaluate.reconcile_claims(document.data, context.rules, context.now).section
    found = stages.blockers(missing_disputes.restore_missing(context.board, claims))
    last = context.settings.last_stage
    if call.as_json:
        rows = [{"stage": name, "status": status} for name, status in listed]
        envelope.write("stage list", "ok", stages=rows, last_stage=last, blocked_by=[each.name for each in found])
        return 0
    for name, status in listed:
        click.echo(
            f"{show.short(name, 40):<12}  {printable(status)}{'  (last stage)' if stages.is_last(name, last) else ''}"
        )
    if not listed:
        click.echo("no stage has been entered yet: liza stage advance S1")
    show.warnings(f"stage {last} cannot be closed: claim {each}" for each in found)
    return 0
