"""`liza stats`."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import click

from liza.cli import envelope, show
from liza.cli.group import Call, plain
from liza.model import span_text
from liza.scopes.sprint.stats import RuleStats, stats_of
from liza.text import printable

_AGAIN = 20  # that are shown


@click.command("stats")
@plain
def command(call: Call) -> int:
    """Show the trips, false alarms and decision times of each rule.

    Covers the trips of the sprint's breaker in `circuit_breaker.history`, and what tripped again. A trip is a false
    alarm if it was resolved with --cause false_alarm.

    \b
    Examples:
      liza stats --json | jq '.rules[] | {rule, trips, false_alarms}'
    """
    found = stats_of(call.board.read().data.get("circuit_breaker"), call.at)
    if call.as_json:
        envelope.write("stats", "ok", rules=[_as_json(each) for each in found])
        return 0
    if not found:
        click.echo("no trip in the history")
        return 0
    _table(found)
    again = [each for rule in found for each in rule.again]
    for each in again[:_AGAIN]:
        decision = f"{show.short(each.resolution or 'no decision recorded', 100)} ({show.short(each.resolved_by, 40)})"
        when = f"{show.short(each.timestamp, 30)}, {span_text(each.after)} after"
        click.echo(f"{show.bold('tripped again', 'yellow')}: {printable(each.rule)} at {when}: {decision}")
    if len(again) > _AGAIN:
        click.echo(f"and {len(again) - _AGAIN} more: liza stats --json")
    return 0


def _table(found: Sequence[RuleStats]) -> None:
    titles = ("rule", "trips", "also matched", "open", "false alarms", "decided in", "at most", "again")
    rows = [titles, *(_row(each) for each in found)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(titles))]
    for row in rows:
        first, *rest = [
            text.rjust(width) if at else text.ljust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = show.fitted("  ".join([first, *rest]).rstrip())
        click.echo(show.bold(line) if row is titles else line)


def _row(each: RuleStats) -> tuple[str, ...]:
    decided, longest = (span_text(span) if span is not None else "-" for span in (each.median, each.longest))
    numbers = (each.trips, each.also_matched, each.open, each.false_alarms)
    return (show.short(each.rule, 40), *map(str, numbers), decided, longest, str(len(each.again)))


def _as_json(each: RuleStats) -> dict[str, Any]:
    again = [{**one._asdict(), "after": one.after.total_seconds()} for one in each.again]
    return {
        "rule": each.rule,
        "trips": each.trips,
        "also_matched": each.also_matched,
        "open": each.open,
        "false_alarms": each.false_alarms,
        "causes": dict(each.causes),
        "seconds_to_decision": {"median": _seconds(each.median), "longest": _seconds(each.longest)},
        "tripped_again": again,
    }


def _seconds(span: timedelta | None) -> float | None:
    return None if span is None else span.total_seconds()
