"""`liza validate`."""

import os
from datetime import UTC, datetime

import click

from liza.cli import envelope, show
from liza.cli.group import Call, untimed
from liza.cli.waiting import Waiting
from liza.errors import Unreadable
from liza.model import Problem
from liza.scopes import validate
from liza.scopes.inbox import add_waiting
from liza.text import plural, printable

_LABELS = {"rules": "rules for the sprint"}  # of the counts, where the name alone would mislead


@click.command("validate")
@click.argument("file", required=False, type=click.Path())
@untimed
def command(call: Call, file: str | None) -> int:
    """Check the blackboard and list all errors.

    FILE: check this file instead; a file named log.yaml is read as a log, any other as state.yaml. Exit code 0
    without errors (warnings are allowed), 1 if there are errors, 4 if a file cannot be read at all.

    \b
    Examples:
      liza validate --json | jq '.problems[].message'
    """
    board = call.board if file is None else None
    now = datetime.now(UTC)
    try:
        with Waiting("reading and checking"):
            found = validate.validate_file(file or "") if board is None else validate.validate_board(board, now)
    except Unreadable as error:
        if file is not None and not os.path.lexists(file):
            error.hint = "check its path; without one, the blackboard is checked: liza validate"
        raise (error if board is None else add_waiting(error, board)) from None
    checked = {_relative(each): counts for each, counts in found.checked.items()}
    problems = [Problem(p.message, _relative(p.file), p.line, p.column, p.hint, p.level) for p in found.problems]
    errors = sum(problem.level == "error" for problem in problems)
    if call.as_json:
        counts = {"errors": errors, "warnings": len(problems) - errors}
        envelope.write("validate", "invalid" if errors else "ok", problems, **counts, checked=checked)
    else:
        _print(checked, problems, errors)
    return 1 if errors else 0


def _relative(file: str) -> str:
    return os.path.relpath(file)


def _print(checked: dict[str, dict[str, int]], problems: list[Problem], errors: int) -> None:
    show.problems(problems)
    for file, counts in checked.items():
        click.echo(
            f"{printable(file)}: "
            + (", ".join(f"{_LABELS.get(name, name)} {count}" for name, count in counts.items()) or "no records")
        )
    warnings = len(problems) - errors
    if not problems:
        click.echo(click.style("valid", fg="green"))
    else:
        verdict = click.style("not valid", fg="red") if errors else click.style("valid", fg="green")
        click.echo(f"{verdict}: {plural(errors, 'error')}, {plural(warnings, 'warning')}")
