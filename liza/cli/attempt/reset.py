"""`liza attempt diagnose` and `reset`: the report on a stopped slice, and its new start."""

from collections.abc import Iterator
from typing import Any

import click

from liza.cli import envelope, show
from liza.cli.attempt import show as words
from liza.cli.attempt.options import in_force, of_slice
from liza.cli.group import Call, by_option, plain
from liza.cli.options import person
from liza.cli.streams import read_bytes
from liza.errors import LizaError
from liza.git import rollback
from liza.scopes.slices import diagnosis, diagnostic_reports
from liza.scopes.slices.reset import Undone, begin_reset, finish_reset
from liza.text import escape_surrogates, plural, printable

ROWS = 40  # files of a plan that are listed


@click.command("diagnose")
@of_slice
@click.option("--test", metavar="NAME", help="The test; needed if there are reports on several.")
@click.option("--from", "source", metavar="FILE", help="The fields to fill in, as YAML or JSON; - is standard input.")
@click.option("--by", metavar="NAME", help="Who fills it in; default: the user of this machine.")
@plain
def diagnose_command(call: Call, name: str, test: str | None, source: str | None, by: str | None) -> int:
    """Fill in the diagnostic report on a test, or print it as it is.

    All eight fields are required. What liza knows is already filled in: the error, the attempts, the files and what
    was outside the scope. Exit code 0 if the report is complete, 1 if something is missing, and then nothing changes.

    \b
    Examples:
      liza attempt diagnose --slice S-3 > report.yaml
      liza attempt diagnose --slice S-3 --from report.yaml
    """
    board = call.board
    name, test = escape_surrogates(name), None if test is None else escape_surrogates(test)
    if source is None:
        report, file = diagnostic_reports.find_report(board, name, test)
        missing = [f"{field} {what}" for field, what in diagnosis.missing_fields(report)]
        if call.as_json:
            status = "incomplete" if missing else "complete"
            envelope.write("attempt diagnose", status, file=file, report=report, missing=missing)
        else:
            click.echo(_printed(diagnostic_reports.render_report(report)), nl=False)
        return 1 if missing else 0
    origin = "standard input" if source == "-" else source
    hint = "name a file with the fields of the report, or - for standard input"
    answer = diagnostic_reports.parse_answer(read_bytes(source, hint, diagnostic_reports.MAX_BYTES), origin)
    report, file = diagnostic_reports.complete_report(board, name, test, answer, origin, person(by), call.at)
    ignored = list(diagnosis.unknown_keys(answer))
    if call.as_json:
        envelope.write("attempt diagnose", "complete", ignored, file=file, report=report, missing=[])
        return 0
    click.echo(f"complete: {printable(file)}")
    show.warnings(ignored)
    click.echo(f"  a person decides: liza attempt reset --slice {words.quoted(name)} -m 'guidance' [--rollback]")
    return 0


@click.command("reset")
@of_slice
@click.option("-m", "--message", metavar="GUIDANCE", help="Guidance for the next agent.")
@click.option(
    "--rollback", "go_back", is_flag=True, help="Also roll the working tree back to the base of the tests being reset."
)
@click.option("--force", is_flag=True, help="Roll back even if the branch loses commits that are not the slice's own.")
@click.option("--prompt", "only_prompt", is_flag=True, help="Print nothing but the <prior_attempts> block.")
@by_option
@plain
def reset_command(
    call: Call, name: str, message: str | None, go_back: bool, force: bool, only_prompt: bool, by: str | None
) -> int:
    """Set the counters of a slice to 0. Then another agent can try.

    Its finished attempts are kept in its history, and its base stays. Without --rollback the working tree is left
    alone, and the rollback plan is printed. --rollback refuses if the branch would lose commits that are not the
    slice's own: those with a file that the slice did not touch, or that another slice touched, too. What the next agent
    needs to know is printed as a <prior_attempts> block; a slice that was reset already prints it again.

    \b
    Examples:
      liza attempt reset --slice S-3 -m "the contract means 'email_already_exists'" --rollback
    """
    board = call.board
    rules, at, name = in_force(board.paths), call.at, escape_surrogates(name)
    reset = begin_reset(board, name, message, at, go_back=go_back, force=force)
    undone = reset.undone
    try:
        done, block = finish_reset(board, reset, message, person(by), rules, at)
    except BaseException as error:  # whatever it is, what was in the working tree must not be lost
        _print_rolled_back(undone)
        if isinstance(error, LizaError) and undone.rolled_back is not None:
            error.fields["rollback"] = _plan_facts(undone)
        raise
    if only_prompt:
        _print_rolled_back(undone)
        show.warnings(done.warnings, err=True)
        click.echo(block, nl=False)
        return 0
    if call.as_json:
        facts = _plan_facts(undone)
        return words.print_result("attempt reset", done, True, prior_attempts=block, rollback=facts)
    is_nothing = reset.is_untouched and undone.rolled_back is None
    notes = ["nothing to reset: this guidance is not recorded"] if is_nothing else []
    code = words.print_result("attempt reset", done, False, notes)
    for line in _plan_lines(undone):
        click.echo(line)
    click.echo(f"\n{block}" if block else "", nl=False)
    return code


def _print_rolled_back(undone: Undone) -> None:
    """Where the failed work is kept, beside what is printed for a program."""
    if undone.rolled_back is not None:
        for line in _plan_lines(undone):
            click.echo(line, err=True)


def _plan_lines(undone: Undone) -> Iterator[str]:
    plan, why_not, rolled_back = undone
    if plan is None:
        yield f"no rollback: {show.short(why_not, 300)}"
        return
    if rolled_back is not None:
        yield f"rolled back to {str(rolled_back['to'])[:12]}; what was there is kept as {plan.saved}"
        yield f"  look at it: git -C {words.quoted(plan.tree.top)} show --stat {plan.saved}"
        yield f"  bring it back: {printable(rollback.restore_command(plan))}"
        yield from (f"  {printable(note)}" for note in plan.notes)
        return
    if not plan.is_needed:
        yield "nothing to roll back: the working tree is as it was when the slice began"
        return
    yield "to roll back, run the same command with --rollback, or by hand:"
    yield from (f"  {printable(line)}" for line in rollback.shell_commands(plan))
    yield "changes that a rollback would undo (a copy is kept in refs/liza/):"
    kinds = {"A": "added, would be removed", "D": "deleted, would come back"}
    yield from (
        f"  {kinds.get(each.status, 'changed, would be changed back')}: {show.short(each.path, 120)}"
        for each in plan.changes[:ROWS]
    )
    if len(plan.changes) > ROWS:
        yield f"  and {plural(len(plan.changes) - ROWS, 'more file')}"
    for each in plan.commits:
        whose = ", not the slice's own" if each in plan.others else ""
        yield f"  committed{whose}, would leave the branch: {show.short(each, 100)}"
    yield from (f"  {printable(note)}" for note in plan.notes)


def _plan_facts(undone: Undone) -> dict[str, Any]:
    plan, why_not, rolled_back = undone
    if plan is None:
        nothing = dict.fromkeys(("done", "work_tree", "to", "way_back"))
        return {
            "possible": False,
            "reason": why_not,
            **nothing,
            "commands": [],
            "changes": [],
            "commits": [],
            "others": [],
            "notes": [],
        }
    return {
        "possible": True,
        "reason": None,
        "done": rolled_back,
        "work_tree": plan.tree.top,
        "to": plan.target.commit or plan.target.content,
        "commands": rollback.shell_commands(plan),
        "changes": [{"status": each.status, "file": each.path} for each in plan.changes],
        "commits": list(plan.commits),
        "others": list(plan.others),
        "notes": list(plan.notes),
        "way_back": rollback.restore_command(plan),
    }


def _printed(text: str) -> str:
    """A file as it is, made printable: other characters are in it as escapes already."""
    return "".join(printable(line) + "\n" for line in text.splitlines())
