"""`liza analyze`."""

from typing import Any

import click

from liza import check
from liza.check import Check
from liza.cli import envelope, show
from liza.cli.group import exact_option, root_of, rules_option, untimed, window_option
from liza.cli.options import adjusted, moment
from liza.cli.progress import Waiting
from liza.model import format_time
from liza.scopes.rules_file import read_rules, rules_in_force, with_budget
from liza.store.board import Board


@click.command("analyze")
@click.argument("directory", metavar="[DIR]", required=False)
@click.option("--dry-run", is_flag=True, help="Evaluate only: write nothing, halt no agent.")
@exact_option
@window_option
@rules_option
@click.option("--now", metavar="TIME", help="Evaluate as of this time.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing; only the exit code answers.")
@untimed
def command(
    ctx: click.Context,
    directory: str | None,
    dry_run: bool,
    exact: bool,
    window: str | None,
    rules_file: str | None,
    now: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Check the blackboard for systemic patterns, once.

    A pattern that matches halts the agents (.liza/CHECKPOINT), writes the report and enters the trip on the blackboard.
    Exit code 0 if all is well, 3 if the breaker is open, 4 if it could not be evaluated.

    \b
    Examples:
      liza analyze --dry-run
    """
    board = Board.find(directory or root_of(ctx))
    if rules_file is not None:
        rules, broken = with_budget(read_rules(rules_file, must_exist=True)), None
    else:
        rules, broken = rules_in_force(board.paths.rules)
    rules = adjusted(rules, exact, window)
    at = moment(now)
    with Waiting("checking the blackboard"):
        found = check.analyze(board, rules, at, broken=broken, own=rules_file, dry_run=dry_run)
    if as_json:
        _json(found)
    elif not quiet:
        show.check(found, rules, dry_run)
        show.broken_rules(found.error)
    return 3 if found.is_open else 0


def _json(found: Check) -> None:
    verdict = found.verdict
    envelope.write(
        "analyze",
        "triggered" if found.is_open else "ok",
        [*found.snapshot.problems, *envelope.problems_of(found.error)],
        checked_at=format_time(verdict.checked_at),
        window=verdict.window,
        anomalies={
            "considered": verdict.considered,
            "acknowledged": verdict.acknowledged,
            "outside_window": verdict.outside_window,
            "unusable": len(verdict.unusable),
        },
        patterns=[envelope.pattern(each) for each in verdict.progress],
        matches=[{**envelope.pattern(each), "evidence": _evidence(each)} for each in verdict.matches],
        silenced=[envelope.silenced(each) for each in verdict.silenced],
        trigger=envelope.trigger(found.trigger),
        notes=list(found.notes),
        warnings=list(verdict.warnings),
        claims=[envelope.claim(each) for each in verdict.claims],
        scoped=[dict(zip(("scope", "name", "kind", "text", "task"), event, strict=False)) for event in found.scoped],
    )


def _evidence(match: Any) -> list[dict[str, Any]]:
    return [{"stream": record.stream, "key": record.key, **record.fields} for record in match.evidence]
