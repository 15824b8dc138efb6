"""`liza validate`."""

import os

import click

from liza.blackboard import schema
from liza.blackboard.board import Board
from liza.blackboard.document import Document, parse, parse_log
from liza.blackboard.rulesfile import notify_problems, read_rules
from liza.blackboard.snapshot import located, take
from liza.blackboard.storage import read
from liza.cli import envelope
from liza.cli.group import common, root_of
from liza.errors import Unreadable, place
from liza.model import Problem, Snapshot
from liza.protocols.judged import PROTOCOLS, faults, missing
from liza.rules.evaluate import RuleSet
from liza.text import printable


@click.command("validate")
@click.argument("file", required=False, type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common
@click.pass_context
def command(ctx: click.Context, file: str | None, as_json: bool) -> int:
    """Check the blackboard and list all that is wrong with it.

    FILE is one file to check instead: a state.yaml, or a log.yaml by its name. Exit code 0 if nothing is wrong but
    perhaps warnings, 1 if there are errors, 4 if a file cannot be read at all.

    \b
    Example:
      liza validate --json | jq '.problems[].message'
    """
    checked, problems = _check_file(file) if file is not None else _check_board(Board.find(root_of(ctx)))
    problems = [Problem(p.message, _relative(p.file), p.line, p.column, p.hint, p.level) for p in problems]
    errors = sum(problem.level == "error" for problem in problems)
    if as_json:
        counts = {"errors": errors, "warnings": len(problems) - errors}
        listed = [envelope.problem_of(problem) for problem in problems]
        envelope.write("validate", "invalid" if errors else "ok", listed, **counts, checked=checked)
    else:
        _print(checked, problems, errors)
    return 1 if errors else 0


Checked = dict[str, dict[str, int]]


def _check_board(board: Board) -> tuple[Checked, list[Problem]]:
    document = board.read()
    snapshot = take(document)
    checked = {_relative(board.paths.state): _counts(snapshot)}
    problems = list(snapshot.problems)
    for text in missing(board, document.data).values():
        hint = "put it back from .liza/backups/, or decide: liza claim resolve ID --drop -m WHY"
        problems.append(Problem(text, board.paths.state, hint=hint))
    if os.path.exists(board.paths.log):
        log, more = _check_file(board.paths.log)
        checked |= log
        problems += more
    rules = None
    if not os.path.lexists(board.paths.rules):
        return checked, [*problems, *_of_protocols(document)]
    try:
        rules = read_rules(board.paths.rules)
        problems += notify_problems(board.paths.rules)
        checked[_relative(board.paths.rules)] = {"rules": len(rules.rules), "disabled": len(rules.disabled)}
    except Unreadable as error:
        own = Problem(error.message, error.file or board.paths.rules, error.line, error.column, error.hint)
        problems += error.problems or (own,)
    return checked, [*problems, *_of_protocols(document, rules)]


def _of_protocols(document: Document, rules: RuleSet | None = None) -> tuple[Problem, ...]:
    """What the owners of claims, slices and loops find wrong with them."""
    if not any(document.data.get(name) for name in PROTOCOLS):
        return ()
    return located(document, faults(document.data, rules or read_rules(None)))


def _check_file(file: str) -> tuple[Checked, list[Problem]]:
    raw = read(file).raw
    if os.path.basename(file) == "log.yaml":
        log = parse_log(raw, file)
        return {_relative(file): {"entries": len(log.data)}}, list(located(log, schema.check_log(log.data)))
    document = parse(raw, file)
    snapshot = take(document)
    return {_relative(file): _counts(snapshot)}, [*snapshot.problems, *_of_protocols(document)]


def _counts(snapshot: Snapshot) -> dict[str, int]:
    return {
        name: len(value)
        for name, value in snapshot.sections.items()
        if isinstance(value, list | tuple) and name in schema.SECTIONS
    }


def _relative(file: str) -> str:
    return os.path.relpath(file)


def _print(checked: Checked, problems: list[Problem], errors: int) -> None:
    for problem in problems:
        colour = "red" if problem.level == "error" else "yellow"
        where = click.style(printable(place(problem.file, problem.line, problem.column)), bold=True)
        click.echo(f"{where}{click.style(problem.level, fg=colour)}: {printable(problem.message)}")
        if problem.hint:
            click.echo(f"  hint: {printable(problem.hint)}")
    for file, counts in checked.items():
        click.echo(
            f"{printable(file)}: " + (", ".join(f"{name} {count}" for name, count in counts.items()) or "no records")
        )
    warnings = len(problems) - errors
    if not problems:
        click.echo(click.style("valid", fg="green"))
    else:
        verdict = click.style("not valid", fg="red") if errors else click.style("valid", fg="green")
        click.echo(f"{verdict}: {_number(errors, 'error')}, {_number(warnings, 'warning')}")


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
