"""`liza rules list`, `check`, `explain` and `test`."""

import os
from collections import Counter
from collections.abc import Sequence

import click

from liza.cli import envelope, show
from liza.cli.group import Family, common, root_of
from liza.cli.options import moment
from liza.cli.progress import Waiting
from liza.errors import LizaError, Refused, Unreadable, location
from liza.model import Problem, Rule, format_time
from liza.rules.evaluate import Compiled, RuleSet
from liza.rules.explain import Comparison, Explanation, Group, compare, details, explain
from liza.rules.fields import lookup, values
from liza.rules.syntax_tree import Grouping
from liza.rules.windows import stream_records
from liza.scopes.rules_file import notify_problems, read_rules
from liza.scopes.sprint.evaluate import snapshot_of
from liza.store.board import Board
from liza.text import closest_match, printable, text_of

_RECORDS = 12  # of a group that are shown
_MISSED = 20
_LONG = 600  # characters of a condition that are shown


@click.group("rules", cls=Family)
@common
def command() -> None:
    """See the rules, check them, ask why, and try them out.

    \b
    Examples:
      liza rules list
      liza rules explain retry_cluster
    """


@command.command("list")
@click.option("--rules", "rules_file", metavar="FILE", help="Another file in place of .liza/rules.yaml.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common
@click.pass_context
def list_command(ctx: click.Context, rules_file: str | None, as_json: bool) -> int:
    """Show the rules in force, and how they differ from the shipped ones.

    \b
    Examples:
      liza rules list
    """
    rules = _rules(ctx, rules_file)
    if as_json:
        rows = [{**each.rule._asdict(), "window": _window(each.rule, rules), "enabled": True} for each in rules.all]
        rows += [{**each._asdict(), "window": _window(each, rules), "enabled": False} for each in rules.disabled]
        envelope.write("rules list", "ok", rules=rows, window=rules.window, changes=list(rules.changes))
        return 0
    for each in rules.rules:
        facts = f"{_does(each.rule)}, {show.short(_window(each.rule, rules))}, {_origin(each.rule)}"
        click.echo(f"{show.bold(each.rule.name)}  {facts}")
        click.echo(f"  {show.short(each.rule.condition, _LONG)}")
    for rule in rules.disabled:
        click.echo(f"{show.bold(rule.name)}  {click.style('disabled', fg='yellow')}, {_origin(rule)}")
    _listed("alarms, reported by the daemon; they never halt:", rules.alarms)
    for name, scoped in rules.scoped.items():
        _listed(f"{name}, which stop only that one:", scoped)
    show.warnings(f"rules.yaml: {change}" for change in rules.changes)
    return 0


def _listed(title: str, rules: Sequence[Compiled]) -> None:
    if rules:
        click.echo(f"\n{title}")
        width = max(len(each.rule.name) for each in rules)
        for each in rules:
            click.echo(f"  {each.rule.name:<{width}}  {show.short(each.rule.description, 90)}")


@command.command("check")
@click.argument("file", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common
@click.pass_context
def check_command(ctx: click.Context, file: str | None, as_json: bool) -> int:
    """Check a file of rules, and list all that is wrong with it.

    FILE is .liza/rules.yaml unless another is named. Exit code 0 if it can be used, 1 if not.

    \b
    Examples:
      liza rules check my-rules.yaml
    """
    path = file or Board.find(root_of(ctx)).paths.rules
    problems: list[Problem] = []
    rules: RuleSet | None = None
    try:
        rules = read_rules(path, must_exist=file is not None)
        problems = list(notify_problems(path))
    except Unreadable as error:
        own = Problem(error.message, error.file or path, error.line, error.column, error.hint)
        problems = list(error.problems or (own,))
    problems = [each._replace(file=os.path.relpath(each.file)) for each in problems]
    errors = sum(each.level == "error" for each in problems)
    if as_json:
        counts = {"rules": len(rules.rules) if rules else None, "disabled": len(rules.disabled) if rules else None}
        listed = [envelope.problem_of(each) for each in problems]
        changes = list(rules.changes) if rules else []
        envelope.write("rules check", "invalid" if errors else "ok", listed, **counts, changes=changes)
        return 1 if errors else 0
    for problem in problems:
        where = show.bold(printable(location(problem.file, problem.line, problem.column)))
        level = click.style(problem.level, fg="red" if problem.level == "error" else "yellow")
        click.echo(f"{where}{level}: {show.short(problem.message, _LONG)}")
        if problem.hint:
            click.echo(f"  hint: {show.short(problem.hint, _LONG)}")
    name = printable(os.path.relpath(path))
    if rules is None:
        count = f"{len(problems)} error{'s' if len(problems) > 1 else ''}"
        click.echo(f"{name}: {click.style('cannot be used', fg='red')}: {count}")
        return 1
    about = name if os.path.lexists(path) else f"there is no {name}, so the shipped rules"
    disabled = f", {len(rules.disabled)} disabled" if rules.disabled else ""
    verdict = click.style("not all of notify can be used", fg="red") if errors else click.style("ok", fg="green")
    click.echo(f"{about}: {verdict}, {len(rules.rules)} rules in force{disabled}")
    show.warnings(rules.changes)
    return 1 if errors else 0


@command.command("explain")
@click.argument("name", metavar="RULE")
@click.option("--missed", is_flag=True, help="Also what does not count, and which texts nearly met.")
@click.option("--compare", "texts", metavar="TEXT TEXT", nargs=2, help="Only whether two texts are together, and why.")
@click.option("--exact", is_flag=True, help="Only equal texts are the same; no similarity.")
@click.option("--rules", "rules_file", metavar="FILE", help="Another file in place of .liza/rules.yaml.")
@click.option("--now", metavar="TIME", help="Evaluate as of this time.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common
@click.pass_context
def explain_command(
    ctx: click.Context,
    name: str,
    missed: bool,
    texts: tuple[str, str] | None,
    exact: bool,
    rules_file: str | None,
    now: str | None,
    as_json: bool,
) -> int:
    """Show what RULE sees on the blackboard, and why it does not match.

    Group by group, with the records of each and the texts that brought them together.

    \b
    Examples:
      liza rules explain retry_cluster --missed
      liza rules explain retry_cluster --compare "timeout after 30 s" "timed out after 5 s"
    """
    rules = _rules(ctx, rules_file)
    compiled = _known(name, rules)
    if texts is not None:
        return _compare(ctx, compiled, texts, rules.exact or exact, as_json)
    board = Board.find(root_of(ctx))
    rules = rules._replace(exact=rules.exact or exact, rules=rules.all)
    with Waiting("looking at every record"):
        found = explain(rules, name, snapshot_of(board, board.read(), rules), moment(now))
    if as_json:
        _explain_json(found, missed)
        return 0
    rule = compiled.rule
    since = f", since {format_time(found.since)}" if found.since else ""
    click.echo(f"{show.bold(rule.name)}  {_does(rule)}")
    click.echo(f"  {show.short(rule.condition, _LONG)}")
    if rule.description:
        click.echo(f"  {show.short(rule.description, _LONG)}")
    click.echo(f"  window: {show.short(found.window)}{since}")
    click.echo("")
    for group in found.groups if missed else found.groups[:_MISSED]:
        _print_group(found, group)
    if not found.groups:
        why = "no group has what the rule asks for" if _in_no_group(found) else "nothing counts for it"
        click.echo(f"{click.style('○', fg='green')} {why}")
    elif len(found.groups) > _MISSED and not missed:
        click.echo(f"… and {len(found.groups) - _MISSED} more groups (--missed shows all)")
    show.silenced(found.verdict.silenced)
    _print_uncounted(found, missed)
    if missed:
        _print_near(found)
    show.warnings([*found.verdict.warnings, *(f"{show.where(r)}: {why}" for r, why in found.verdict.unusable)])
    return 0


def _in_no_group(found: Explanation) -> bool:
    return any(each.why.startswith("there are too few") for each in found.uncounted)


def _print_group(found: Explanation, group: Group) -> None:
    outcome = group.outcome
    is_silenced = any(each.match.key == outcome.key for each in found.verdict.silenced)
    word = (
        "silenced" if is_silenced else "matches" if outcome.satisfied else _short_of(outcome.value, outcome.threshold)
    )
    mark = click.style("●", fg="red") if outcome.satisfied else click.style("◐", fg="yellow")
    about = show.short(outcome.key) if outcome.key else "all records"
    click.echo(f"{mark} {outcome.value:g} of {outcome.threshold:g}  {about}  {click.style(word, bold=True)}")
    fields = found.compiled.condition.fields
    for record in outcome.evidence[:_RECORDS]:
        task = record.get("task") if record.get("task") is not None else record.get("id")
        parts = [show.short(each, 30) for each in (task, record.get("timestamp")) if each is not None]
        said = show.short(details(record, fields))
        click.echo(show.fitted(f"    {'  '.join([show.where(record), *parts])}  {said}".rstrip()))
    if len(outcome.evidence) > _RECORDS:
        click.echo(f"    … and {len(outcome.evidence) - _RECORDS} more")


def _short_of(value: float, threshold: float) -> str:
    missing = threshold - value
    if missing <= 0:
        return "does not match: another part of the condition does not hold"
    return "one more would match" if missing == 1 else f"{missing:g} more would match"


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
        kinds = [each for each in found.uncounted if not each.why.startswith("type is ")]
        for record, why in kinds[:_MISSED]:
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


def _compare(ctx: click.Context, compiled: Compiled, texts: tuple[str, str], exact: bool, as_json: bool) -> int:
    grouping = next((each.grouping for each in compiled.condition.grouped if each.grouping is not None), None)
    if grouping is None:
        hint = "only rules with same(...) or similar(...) compare texts; see: liza rules list"
        raise Refused(f"the rule {compiled.rule.name} compares no texts", hint=hint)
    found = compare(*texts, grouping, _around(ctx, compiled, grouping), exact=exact)
    if as_json:
        envelope.write("rules explain", "ok", comparison=found._asdict())
    else:
        _print_pair(found)
    return 0


def _around(ctx: click.Context, compiled: Compiled, grouping: Grouping) -> list[str]:
    """What the blackboard says where the rule looks: texts around two others may bring them together."""
    try:
        board = Board.find(root_of(ctx))
        rules = RuleSet((compiled,))
        snapshot = snapshot_of(board, board.read(), rules, check=False)
    except LizaError:
        return []  # two texts can be compared anywhere
    records = (record for name in rules.streams for record in stream_records(snapshot, name))
    return list(dict.fromkeys(text_of(value) for each in records for value in values(lookup(each, grouping.field))))


def _explain_json(found: Explanation, missed: bool) -> None:
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
    listed = [{"stream": r.stream, "key": r.key, "task": r.get("task"), "why": why} for r, why in found.uncounted]
    odd = [*found.verdict.warnings, *(f"{show.where(r)}: {why}" for r, why in found.verdict.unusable)]
    envelope.write(
        "rules explain",
        "ok",
        [{"message": message, "level": "warning"} for message in odd],
        rule=found.compiled.rule._asdict(),
        window=found.window,
        since=format_time(found.since) if found.since else None,
        groups=groups,
        not_counted=dict(Counter(each.why for each in found.uncounted)),
        silenced=[envelope.silenced(each) for each in found.verdict.silenced],
        missed=listed if missed else None,
        near=[each._asdict() for each in found.near] if missed else None,
    )


@command.command("test")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--run", "wanted", metavar="NAME", help="Only the cases whose name has this in it.")
@click.option("--junit", metavar="FILE", help="Also write the outcome as JUnit XML.")
@click.option("--rules", "rules_file", metavar="FILE", help="The rules for files that name none; default: the shipped.")
@click.option("-q", "--quiet", is_flag=True, help="Print only what fails.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common
def test_command(
    files: tuple[str, ...], wanted: str | None, junit: str | None, rules_file: str | None, quiet: bool, as_json: bool
) -> int:
    """Try rules on cases that say which trips must come of them.

    FILE may be a folder: then all its .yaml files. Time is virtual, so a case of a week takes a millisecond. Exit code
    0 if every case comes out as it says, 1 if not. docs/rules.md describes how to write a case.

    \b
    Examples:
      liza rules test tests/samples --run "one below"
    """
    from liza.cli import rules_test

    return rules_test.run(files, wanted, junit, rules_file, quiet, as_json)


def _rules(ctx: click.Context, file: str | None) -> RuleSet:
    """The rules of the blackboard, or of a file, for which no blackboard is needed."""
    if file is not None:
        return read_rules(file, must_exist=True)
    return read_rules(Board.find(root_of(ctx)).paths.rules)


def _known(name: str, rules: RuleSet) -> Compiled:
    for each in rules.all:
        if each.rule.name == name:
            return each
    if any(each.name == name for each in rules.disabled):
        raise Refused(f"the rule {name} is disabled", hint="enable it in .liza/rules.yaml; see: liza rules list")
    meant = closest_match(name, [each.rule.name for each in rules.all])
    hint = f"did you mean {meant}?" if meant else "see which there are with: liza rules list"
    raise Refused(f"there is no rule {name!r}", hint=hint)


def _does(rule: Rule) -> str:
    does = rule.action if rule.mode == "act" else "observed only"
    return f"{rule.severity}, {does}" if rule.severity else does


def _window(rule: Rule, rules: RuleSet) -> str:
    return rule.window or rules.window


def _origin(rule: Rule) -> str:
    folder, name = os.path.split(rule.origin)
    return f"pack {name.removesuffix('.yaml')}" if os.path.basename(folder) == "packs" else printable(name)
