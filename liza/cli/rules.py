"""`liza rules list`, `check`, `explain` and `test`."""

import os
from collections.abc import Sequence
from contextlib import suppress

import click

from liza.cli import envelope, show
from liza.cli.group import Call, Family, common, exact_option, plain, rules_option, untimed
from liza.cli.waiting import Waiting
from liza.errors import Unreadable
from liza.model import Problem, Rule
from liza.rules.evaluate import Compiled, RuleSet
from liza.rules.explain import explain
from liza.scope_names import SCOPES
from liza.scopes.rules_file import find_rule, notify_problems, read_rules
from liza.scopes.snapshot import snapshot_of
from liza.text import plural, printable

_SCOPES = {each.pack: each.scope for each in SCOPES}
_FOR_EVERYONE = "warnings for every session, of what all have used together:"


@click.group("rules", cls=Family)
@common
def command() -> None:
    """List, check, explain and test rules.

    \b
    Examples:
      liza rules list
      liza rules explain retry_cluster
    """


@command.command("list")
@rules_option
@untimed
def list_command(call: Call, rules_file: str | None) -> int:
    """Show the active rules, and how they differ from the shipped ones.

    \b
    Examples:
      liza rules list
    """
    rules = _rules(call, rules_file)
    if call.as_json:
        rows = [{**each.rule._asdict(), "window": _window(each.rule, rules), "enabled": True} for each in rules.all]
        rows += [{**each._asdict(), "window": _window(each, rules), "enabled": False} for each in rules.disabled]
        envelope.write("rules list", "ok", rules=rows, window=rules.window, changes=list(rules.changes))
        return 0
    for each in rules.rules:
        facts = f"{_does(each.rule)}, {show.short(_window(each.rule, rules))}, {_origin(each.rule)}"
        click.echo(f"{show.bold(each.rule.name)}  {facts}")
        click.echo(f"  {show.short(each.rule.condition, show.LONG)}")
    for rule in rules.disabled:
        click.echo(f"{show.bold(rule.name)}  {click.style('disabled', fg='yellow')}, {_origin(rule)}")
    _listed("alarms, reported by the daemon; they never halt:", rules.alarms)
    for name, scoped in rules.scoped.items():
        what = _SCOPES.get(name)
        stops = "warns or stops" if what == "session" else "stops"
        title = f"rules for {what}s; each {stops} only the {what} that it matches:" if what else _FOR_EVERYONE
        _listed(title, scoped)
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
@untimed
def check_command(call: Call, file: str | None) -> int:
    """Check a rules file and list all errors.

    FILE is .liza/rules.yaml unless another is named. Exit code 0 if it can be used, 1 if not.

    \b
    Examples:
      liza rules check my-rules.yaml
    """
    path = file or call.board.paths.rules
    problems: list[Problem] = []
    rules: RuleSet | None = None
    try:
        rules = read_rules(path, must_exist=file is not None)
        problems = list(notify_problems(path))
    except Unreadable as error:
        problems = list(error.listed(path))
        with suppress(Unreadable):  # then it is among the problems
            problems += notify_problems(path)
    problems = [each._replace(file=os.path.relpath(each.file)) for each in problems]
    errors = sum(each.level == "error" for each in problems)
    if call.as_json:
        counts = {"rules": len(rules.rules) if rules else None, "disabled": len(rules.disabled) if rules else None}
        changes = list(rules.changes) if rules else []
        envelope.write("rules check", "invalid" if errors else "ok", problems, **counts, changes=changes)
        return 1 if errors else 0
    show.problems(problems)
    name = printable(os.path.relpath(path))
    if rules is None:
        click.echo(f"{name}: {click.style('invalid', fg='red')}: {plural(errors, 'error')}")
        return 1
    about = name if os.path.lexists(path) else f"there is no {name}, so the shipped rules"
    disabled = f", {len(rules.disabled)} disabled" if rules.disabled else ""
    invalid = plural(errors, "invalid notification setting")
    verdict = click.style(invalid, fg="red") if errors else click.style("ok", fg="green")
    click.echo(f"{about}: {verdict}, {rules.counts}{disabled}")
    show.warnings(rules.changes)
    return 1 if errors else 0


@command.command("explain")
@click.argument("name", metavar="RULE")
@click.option("--all", "everything", is_flag=True, help="Show every record of each group.")
@click.option("--missed", is_flag=True, help="Also show records that do not count, and near misses.")
@click.option("--session", metavar="S", help="Only the steps of this session, and when it would have been stopped.")
@click.option(
    "--compare", "texts", metavar="TEXT TEXT", nargs=2, help="Compare two texts: would they be grouped, and why."
)
@exact_option
@rules_option
@plain
def explain_command(
    call: Call,
    name: str,
    everything: bool,
    missed: bool,
    session: str | None,
    texts: tuple[str, str] | None,
    exact: bool,
    rules_file: str | None,
) -> int:
    """Show what RULE sees on the blackboard, and why it does not match.

    Group by group, with the records of each and the texts that brought them together.

    \b
    Examples:
      liza rules explain retry_cluster --missed
      liza rules explain retry_cluster --compare "timeout after 30 s" "timed out after 5 s"
    """
    from liza.cli import rules_explain

    rules = _rules(call, rules_file)
    compiled = find_rule(rules, name, rules.all)
    if texts is not None:
        return rules_explain.compare_texts(call.root, compiled, texts, rules.exact or exact, call.as_json)
    board = call.board
    rules = rules._replace(exact=rules.exact or exact, rules=rules.all)
    with Waiting("looking at every record"):
        document = board.read()
        snapshot, trips = snapshot_of(board, document, rules, now=call.at), None
        if session is not None:
            from liza.cli.session_replay import moments, only_session

            then = call.at if call.now is not None else None
            who, snapshot = only_session(board, document, snapshot, rules, session, then)
            trips = moments(board, document, rules, compiled, who, then)
        found = explain(rules, name, snapshot, call.at)
    if call.as_json:
        rules_explain.write_json(found, missed, trips)
    else:
        click.echo(f"{show.bold(compiled.rule.name)}  {_does(compiled.rule)}")
        rules_explain.show_explanation(found, missed, everything)
        if session is not None:
            rules_explain.show_moments(trips)
    return 0


@command.command("test")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--run", "wanted", metavar="NAME", help="Run only cases whose name contains this.")
@click.option("--junit", metavar="FILE", help="Also write the outcome as JUnit XML.")
@click.option(
    "--rules", "rules_file", metavar="FILE", help="The rules for files that name none; default: the shipped ones."
)
@click.option("-q", "--quiet", is_flag=True, help="Print only what fails.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common
def test_command(
    files: tuple[str, ...], wanted: str | None, junit: str | None, rules_file: str | None, quiet: bool, as_json: bool
) -> int:
    """Test rules with cases that list the expected trips.

    FILE may be a folder: then all its .yaml files. Time is virtual, so a week-long case takes a millisecond. Exit code
    0 if every case trips as expected, 1 if not. docs/rules.md describes how to write a case.

    \b
    Examples:
      liza rules test tests/samples --run "one below"
    """
    from liza.cli import rules_test

    return rules_test.run(files, wanted, junit, rules_file, quiet, as_json)


def _rules(call: Call, file: str | None) -> RuleSet:
    """The rules of the blackboard, or of a file, for which no blackboard is needed."""
    if file is not None:
        return read_rules(file, must_exist=True)
    return read_rules(call.board.paths.rules)


def _does(rule: Rule) -> str:
    does = rule.action if rule.mode == "act" else "observed only"
    return f"{rule.severity}, {does}" if rule.severity else does


def _window(rule: Rule, rules: RuleSet) -> str:
    return rule.window or rules.window


def _origin(rule: Rule) -> str:
    folder, name = os.path.split(rule.origin)
    return f"pack {name.removesuffix('.yaml')}" if os.path.basename(folder) == "packs" else printable(name)
