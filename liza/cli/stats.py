"""`liza stats`."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import click

from liza.cli import envelope, show
from liza.cli.group import Call, plain
from liza.cli.spent import spent_text, tokens_text, unpriced_text
from liza.cli.terminal import aligned
from liza.model import span_text
from liza.rules.evaluate import RuleSet
from liza.schema.budgets import budgets_in
from liza.scopes.rules_file import rules_in_force
from liza.scopes.scope import Spent
from liza.scopes.sessions.monitor import Monitor, monitor_of
from liza.scopes.sessions.spending import Used, terms_of, used_so_far
from liza.scopes.sprint.stats import RuleStats, stats_of
from liza.store.paths import Paths
from liza.text import plural, printable

_AGAIN = 20  # that are shown


@click.command("stats")
@plain
def command(call: Call) -> int:
    """Show the trips and decisions of each rule, and what agents used.

    Covers the trips of the sprint's breaker in `circuit_breaker.history`, and what tripped again. A trip is a false
    alarm if it was resolved with --cause false_alarm. What was used is shown for today, the sprint, and each model, as
    far as the steps of sessions are kept.

    \b
    Examples:
      liza stats --json | jq '.rules[] | {rule, trips, false_alarms}'
    """
    board = call.board
    sections = board.read().data
    found = stats_of(sections.get("circuit_breaker"), call.at)
    rules, _ = rules_in_force(board.paths.rules)
    used = _read_used(monitor_of(board.paths), rules, sections, call.at)
    if call.as_json:
        envelope.write("stats", "ok", **_facts(found, used))
        return 0
    if found:
        _rules(found)
    else:
        click.echo("no trips in the history")
    for line in _used(used, rules.blocks):
        click.echo(show.fitted(line))
    return 0


def stats_facts(paths: Paths, rules: RuleSet, sections: Mapping[str, Any], at: datetime) -> dict[str, Any]:
    """The fields of `liza stats --json`, which the page of `liza serve` shows, too."""
    found = stats_of(sections.get("circuit_breaker"), at)
    return _facts(found, _read_used(monitor_of(paths), rules, sections, at))


def _read_used(monitor: Monitor, rules: RuleSet, sections: Mapping[str, Any], at: datetime) -> Used:
    terms = terms_of(rules, at, sections)
    return used_so_far(list(monitor.usage(terms)), terms)


def _facts(found: Sequence[RuleStats], used: Used) -> dict[str, Any]:
    spans = [{"span": name, **_spent(each)} for name, each in used.spans.items()]
    models = [{"model": name, **envelope.spent(each)} for name, each in used.models.items()]
    return {"rules": [_as_json(each) for each in found], "today": used.today, "used": spans, "models": models}


def _used(used: Used, blocks: Mapping[str, Any]) -> Iterator[str]:
    """A line for each span and model, and the models that have no price."""
    if used.spans["kept"] == Spent():
        return
    budgets = {(span, measure): number for span, measure, number in budgets_in(blocks)}
    names = {"day": f"used today ({used.today})", "sprint": "used in this sprint", "kept": "used since steps are kept"}
    for span, spent in used.spans.items():
        budget = budgets.get((span, "cost"))
        cost = [f"{spent_text(spent)}{f' of ${budget:,.2f}' if budget else ''}"] if spent.cost is not None else []
        parts = [*cost, tokens_text(spent.tokens or 0), plural(spent.steps, "call"), f"{spent.hours:.1f} h"]
        yield f"{names[span]}: {', '.join(parts)}"
    for model, spent in used.models.items():
        cost = [spent_text(spent)] if spent.cost is not None else ["no price"]
        yield f"  {show.short(model, 60)}: {', '.join([*cost, tokens_text(spent.tokens or 0)])}"
    if unpriced := unpriced_text(used.spans.values()):
        yield unpriced


def _rules(found: Sequence[RuleStats]) -> None:
    _table(found)
    again = [each for rule in found for each in rule.again]
    for each in again[:_AGAIN]:
        decision = f"{show.short(each.resolution or 'no decision recorded', 100)} ({show.short(each.resolved_by, 40)})"
        when = f"{show.short(each.timestamp, 30)}, {span_text(each.after)} after"
        click.echo(f"{show.bold('tripped again', 'yellow')}: {printable(each.rule)} at {when}: {decision}")
    if len(again) > _AGAIN:
        click.echo(f"and {len(again) - _AGAIN} more: liza stats --json")


def _table(found: Sequence[RuleStats]) -> None:
    titles = ("rule", "trips", "also matched", "open", "false alarms", "median decision", "longest", "tripped again")
    title, *lines = aligned([titles, *map(_row, found)], right=range(1, len(titles)))
    click.echo(show.bold(show.fitted(title)))
    for line in lines:
        click.echo(show.fitted(line))


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


def _spent(used: Spent) -> dict[str, Any]:
    return {**envelope.spent(used), "calls": used.steps}


def _seconds(span: timedelta | None) -> float | None:
    return None if span is None else span.total_seconds()
