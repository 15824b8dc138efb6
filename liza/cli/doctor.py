"""`liza doctor`. What reads the blackboard is not imported here: it may be what is missing."""

from collections.abc import Iterable
from typing import Any

import click

from liza.cli import envelope
from liza.cli.group import Call, plain
from liza.cli.waiting import Waiting
from liza.doctor.checks import apply_fixes, examine, exit_code
from liza.doctor.finding import Finding, Level
from liza.errors import location
from liza.text import plural, printable

_MARKS = {
    Level.OK: ("○", "green"),
    Level.FIXED: ("○", "green"),
    Level.WARNING: ("!", "yellow"),
    Level.ERROR: ("●", "red"),
    Level.DEGRADED: ("●", "red"),
}
_STATUS = {0: "ok", 1: "unwell", 4: "degraded"}


@click.command("doctor")
@click.option(
    "--fix", is_flag=True, help="Fix what is safe to fix: leftovers of interrupted writes, a missing .liza/.gitignore."
)
@plain
def command(call: Call, fix: bool) -> int:
    """Diagnose the setup and suggest fixes.

    Checks the blackboard, its rules and lock, what git tracks of it, the daemon, the file system, the clock, the hooks
    of coding agents, and what is installed. Writes nothing except two temporary files in .liza/. Exit code 0 without
    errors (warnings are allowed), 1 if something needs fixing, 4 if the blackboard cannot be evaluated.

    \b
    Examples:
      liza doctor
      liza doctor --json | jq -r '.problems[].hint'
    """
    with Waiting("checking the setup"):
        found = examine(call.root, call.at)
        found = apply_fixes(found) if fix else found
    code = exit_code(found)
    if call.as_json:
        wrong = [each for each in found if each.level not in (Level.OK, Level.FIXED)]
        problems = [_problem(each) for each in wrong]
        envelope.write("doctor", _STATUS[code], problems, findings=[_as_json(each) for each in found])
    else:
        _print(found)
    return code


def _problem(finding: Finding) -> dict[str, Any]:
    level = "warning" if finding.level is Level.WARNING else "error"
    names = ("file", "line", "column", "message", "hint")
    return {**{name: getattr(finding, name) for name in names}, "level": level}


def _as_json(finding: Finding) -> dict[str, Any]:
    names = ("about", "file", "line", "column", "message", "hint", "level")
    return {**{name: getattr(finding, name) for name in names}, "fixable": finding.fix is not None}


def _print(found: Iterable[Finding]) -> None:
    found = list(found)
    width = max(len(each.about) for each in found)
    before = ""
    for each in found:
        mark, colour = _MARKS[each.level]
        where = location(each.file, each.line, each.column)
        about = each.about if each.about != before else ""
        word = "fixed: " if each.level is Level.FIXED else ""
        click.echo(f"{click.style(mark, fg=colour)} {about:<{width}}  {word}{printable(where + each.message)}")
        if each.hint and each.level is not Level.OK:
            click.echo(f"  {'':<{width}}  hint: {printable(each.hint)}")
        before = each.about
    wrong = sum(each.level in (Level.ERROR, Level.DEGRADED) for each in found)
    warnings = sum(each.level is Level.WARNING for each in found)
    verdict = click.style("not ok", fg="red", bold=True) if wrong else click.style("ok", fg="green", bold=True)
    click.echo(f"{verdict}: {plural(wrong, 'error')}, {plural(warnings, 'warning')}")
