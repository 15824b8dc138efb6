"""`liza silence add`, `list` and `expire`."""

from datetime import datetime, timedelta

import click

from liza.check import Check, check
from liza.cli import envelope, show
from liza.cli.group import Call, Family, by_option, common, plain
from liza.cli.options import person
from liza.clients.caller import require_person
from liza.errors import LizaError, Refused, WrongUsage
from liza.model import parse_duration
from liza.rules.evaluate import RuleSet
from liza.rules.silences import read_silences
from liza.scopes.rules_file import find_rule, read_rules
from liza.scopes.silence_record import add, expire, unknown_fields
from liza.store.board import Board
from liza.text import printable


@click.group("silence", cls=Family)
@common
def command() -> None:
    """Silence a known match for a few hours.

    A silenced match halts no one, and is shown as silenced by analyze, status and every report. When the silence ends,
    what it hid counts again. It has a reason and an end, and is never edited: expire it and add another.

    \b
    Examples:
      liza silence add external_service_outage blocker_service=payments --for 2h -m "they are working on it"
      liza silence list
    """


@command.command("add")
@click.argument("rule", metavar="RULE")
@click.argument("words", metavar="[FIELD=VALUE]...", nargs=-1)
@click.option("--for", "length", metavar="TIME", required=True, help="How long: 30m, 2h; at most 24h.")
@click.option("-m", "--message", metavar="WHY", required=True, help="Why agents may continue despite it.")
@click.option("--all", "everything", is_flag=True, help="All matches of the rule.")
@by_option
@plain
def add_command(
    call: Call, rule: str, words: tuple[str, ...], length: str, message: str, everything: bool, by: str | None
) -> int:
    """Silence the matches of RULE whose evidence has FIELD=VALUE.

    All records behind a match must have it. The field that the rule groups by is compared as the rule compares it.

    \b
    Examples:
      liza silence add external_service_outage blocker_service=stripe --for 2h -m "known outage, back at six"
    """
    board = call.board
    require_person(board.paths, "liza silence add")
    rules = read_rules(board.paths.rules)
    compiled = find_rule(rules, rule, rules.all)
    if compiled not in rules.rules:
        kind = "an alarm" if compiled in rules.alarms else "a rule that stops one session, claim, slice or loop"
        hint = f"to switch it off for a while: {rule} with mode: observe in {board.paths.rules}; see: liza rules list"
        raise Refused(f"{rule} is {kind}: only rules that halt everyone can be silenced", hint=hint)
    match = _fields(words)
    seconds = parse_duration(length)
    if not seconds or seconds < 1:
        raise WrongUsage(f"--for: expected a duration, got {length!r}", hint="like 30m or 2h")
    at = call.at
    absent = unknown_fields(board, rules, compiled, match)
    entry, not_logged = add(
        board, rule, match, everything, timedelta(seconds=min(seconds, 10**9)), message, person(by), at
    )
    found, warnings = _evaluated(board, rules, at)
    warnings += absent
    warnings += [f"could not be logged: {not_logged.message}"] if not_logged else []
    hidden = [each for each in found.verdict.silenced if each.match.rule.name == rule] if found else []
    if call.as_json:
        listed = [envelope.silenced(each) for each in hidden]
        envelope.write("silence add", "added", warnings, silence=entry.fields, silenced=listed)
        return 0
    if entry.silence is not None:
        click.echo(f"added: {show.silence(entry.silence)}")
    if found and hidden:
        show.silenced(hidden)
    elif found:
        click.echo(f"  no match of {rule} is silenced right now")
    show.warnings(warnings)
    return 0


def _evaluated(board: Board, rules: RuleSet, at: datetime) -> tuple[Check | None, list[str]]:
    """The evaluation with the silence; it is added, even if that fails."""
    try:
        found = check(board, rules, at, dry_run=True)
    except LizaError as error:
        return None, [f"added, but the blackboard cannot be evaluated: {error.message}"]
    is_open = found.trigger is not None
    return found, ["the breaker is open, and a silence does not close it: liza resolve -m '...'"] if is_open else []


@command.command("list")
@click.option("-a", "--all", "everything", is_flag=True, help="Also those that have ended.")
@plain
def list_command(call: Call, everything: bool) -> int:
    """Show the active silences.

    \b
    Examples:
      liza silence list --all
    """
    at = call.at
    board = call.board
    listed = list(read_silences(board.read().data.get("silences")))
    listed = [entry for entry in listed if everything or entry.fault or entry.in_force(at)]
    if call.as_json:
        rows = [{**each.fields, "state": each.state(at), "fault": each.fault} for each in listed]
        envelope.write("silence list", "ok", silences=rows)
        return 0
    if not listed:
        click.echo("no active silences" if not everything else "no silences yet")
    for entry in listed:
        state = entry.state(at)
        if entry.silence is None:
            show.warnings([f"{entry.name[:40]} is not active: {entry.fault}"])
        else:
            mark = click.style(f"{state:<8}", fg="yellow" if entry.in_force(at) else None)
            click.echo(f"{mark}  {show.silence(entry.silence)}")
    return 0


@command.command("expire")
@click.argument("name", metavar="ID")
@by_option
@plain
def expire_command(call: Call, name: str, by: str | None) -> int:
    """End a silence now. What it hid counts again.

    \b
    Examples:
      liza silence expire silence-1
    """
    at = call.at
    board = call.board
    require_person(board.paths, "liza silence expire")
    entry, not_logged = expire(board, name, person(by), at)
    warnings = [f"could not be logged: {not_logged.message}"] if not_logged else []
    if call.as_json:
        envelope.write("silence expire", "expired", warnings, silence=entry.fields)
    else:
        click.echo(f"expired: {printable(name)}; its matches count again at the next check (liza analyze)")
        show.warnings(warnings)
    return 0


def _fields(words: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise WrongUsage(f"{word!r} is not FIELD=VALUE", hint="for example: blocker_service=stripe")
        if name.strip() in found:
            raise WrongUsage(f"{name.strip()} is given twice", hint="for either of two values, add two silences")
        found[name.strip()] = value.strip()
    return found
