"""What `liza rules explain` prints."""

from collections import Counter
from collections.abc import Sequence

import click

from liza.cli import envelope, session_replay, show
from liza.errors import LizaError, Refused
from liza.model import format_time
from liza.replay.session_playback import SessionTrip
from liza.rules.compare import Comparison, compare
from liza.rules.evaluate import Compiled, RuleSet
from liza.rules.explain import Cause, Explanation, Group, details
from liza.rules.fields import lookup, values
from liza.rules.syntax_tree import Grouping
from liza.rules.windows import stream_records
from liza.scopes.snapshot import snapshot_of
from liza.store.board import Board
from liza.text import number_text, of_text, printable, text_of

_RECORDS = 12  # of a group that are shown
_MISSED = 20


def show_explanation(found: Explanation, missed: bool, everything: bool = False) -> None:
    """What the rule is, what it sees group by group, and what does not count."""
    rule = found.compiled.rule
    since = f", since {format_time(found.since)}" if found.since else ""
    click.echo(f"  {show.short(rule.condition, show.LONG)}")
    if rule.description:
        click.echo(f"  {show.short(rule.description, show.LONG)}")
    click.echo(f"  window: {show.short(found.window)}{since}\n")
    for group in found.groups if missed or everything else found.groups[:_MISSED]:
        _print_group(found, group, len(group.outcome.evidence) if everything else _RECORDS)
    if not found.groups:
        why = (
            "no group has enough different values (distinct)"
            if _in_no_group(found)
            else "no record counts for this rule"
        )
        click.echo(f"{click.style('○', fg='green')} {why}")
    elif len(found.groups) > _MISSED and not (missed or everything):
        click.echo(f"… and {len(found.groups) - _MISSED} more groups (--all shows all)")
    show.silenced(found.verdict.silenced)
    _print_uncounted(found, missed)
    if missed:
        _print_near(found)
    show.warnings([*found.verdict.warnings, *(f"{show.where(r)}: {why}" for r, why in found.verdict.unusable)])


def _in_no_group(found: Explanation) -> bool:
    return any(each.cause is Cause.TOO_FEW_VALUES for each in found.uncounted)


def _print_group(found: Explanation, group: Group, most: int) -> None:
    outcome = group.outcome
    is_silenced = any(each.match.key == outcome.key for each in found.verdict.silenced)
    word = (
        "silenced" if is_silenced else "matches" if outcome.satisfied else _short_of(outcome.value, outcome.threshold)
    )
    mark = click.style("●", fg="red") if outcome.satisfied else click.style("◐", fg="yellow")
    about = show.short(outcome.key) if outcome.key else "all records"
    click.echo(f"{mark} {of_text(outcome.value, outcome.threshold)}  {about}  {click.style(word, bold=True)}")
    fields = found.compiled.condition.fields
    for record in outcome.evidence[:most]:
        task = record.get("task") if record.get("task") is not None else record.get("id")
        parts = [show.short(each, 30) for each in (task, record.get("timestamp")) if each is not None]
        about = show.short(session_replay.step_text(record) or details(record, fields))
        click.echo(show.fitted(f"    {'  '.join([show.where(record), *parts])}  {about}".rstrip()))
    if len(outcome.evidence) > most:
        click.echo(f"    … and {len(outcome.evidence) - most} more (--all shows all)")


def _short_of(value: float, threshold: float) -> str:
    missing = threshold - value
    if missing <= 0:
        return "does not match: another part of the condition does not hold"
    return "one more would match" if missing == 1 else f"{number_text(missing)} more would match"


def _print_uncounted(found: Explanation, missed: bool) -> None:
    if not found.uncounted:
        return
    reasons = Counter(each.why for each in found.uncounted)
    click.echo(f"\nnot counted: {len(found.uncounted)}")
    for why, count in reasons.most_common(8):
        click.echo(f"  {count:>5}  {printable(why)}")
    if len(reasons) > 8:
        click.echo(f"         … and {len(reasons) - 8} other reasons")
    if missed:
        kinds = [each for each in found.uncounted if each.cause is not Cause.OTHER_TYPE]
        for record, _, why in kinds[:_MISSED]:
            click.echo(f"  {show.where(record)}  {show.short(record.get('task') or '-')}: {printable(why)}")
        if len(kinds) > _MISSED:
            click.echo(f"  … and {len(kinds) - _MISSED} more")


def _print_near(found: Explanation) -> None:
    if not found.near:
        return
    click.echo("\nnearly together:")
    for each in found.near[:_MISSED]:
        _print_pair(each)


def _print_pair(each: Comparison) -> None:
    click.echo(f"  {each.similarity:.2f}  {show.short(each.one)}")
    click.echo(f"        {show.short(each.other)}")
    verdict = click.style("together", fg="green") if each.together else click.style("apart", fg="yellow")
    click.echo(f"        {verdict}: {show.short(each.why, 200)}")


def compare_texts(root: str | None, compiled: Compiled, texts: tuple[str, str], exact: bool, as_json: bool) -> int:
    """Print whether a rule takes two texts for the same, and why."""
    grouping = next((each.grouping for each in compiled.condition.grouped if each.grouping is not None), None)
    if grouping is None:
        hint = "only rules with same(...) or similar(...) compare texts; see: liza rules list"
        raise Refused(f"the rule {compiled.rule.name} compares no texts", hint=hint)
    found = compare(*texts, grouping, _around(root, compiled, grouping), exact=exact)
    if as_json:
        envelope.write("rules explain", "ok", comparison=found._asdict())
    else:
        _print_pair(found)
    return 0


def _around(root: str | None, compiled: Compiled, grouping: Grouping) -> list[str]:
    """The texts on the blackboard where the rule looks: texts around two others may bring them together."""
    try:
        board = Board.find(root)
        rules = RuleSet((compiled,))
        snapshot = snapshot_of(board, board.read(), rules, check=False)
    except LizaError:
        return []  # two texts can be compared anywhere
    records = (record for name in rules.streams for record in stream_records(snapshot, name))
    return list(dict.fromkeys(text_of(value) for each in records for value in values(lookup(each, grouping.field))))


def show_moments(trips: Sequence[SessionTrip] | None) -> None:
    """When the rule would have warned or stopped a session, evaluated after each of its steps."""
    if trips:
        session_replay.print_sessions(trips, "after each step")
    else:
        click.echo("\nafter each step: it never matched")


def write_json(found: Explanation, missed: bool, trips: Sequence[SessionTrip] | None) -> None:
    groups = [
        {
            "key": each.outcome.key,
            "count": envelope.number(each.outcome.value),
            "threshold": envelope.number(each.outcome.threshold),
            "matches": each.outcome.satisfied,
            "texts": [{"text": text, "count": count} for text, count in each.texts],
            "evidence": [{"stream": r.stream, "key": r.key, "task": r.get("task")} for r in each.outcome.evidence],
        }
        for each in found.groups
    ]
    listed = [{"stream": r.stream, "key": r.key, "task": r.get("task"), "why": why} for r, _, why in found.uncounted]
    odd = [*found.verdict.warnings, *(f"{show.where(r)}: {why}" for r, why in found.verdict.unusable)]
    envelope.write(
        "rules explain",
        "ok",
        odd,
        rule=found.compiled.rule._asdict(),
        window=found.window,
        since=format_time(found.since) if found.since else None,
        groups=groups,
        not_counted=dict(Counter(each.why for each in found.uncounted)),
        silenced=[envelope.silenced(each) for each in found.verdict.silenced],
        missed=listed if missed else None,
        near=[each._asdict() for each in found.near] if missed else None,
        moments=session_replay.as_json(trips) if trips is not None else None,
    )
