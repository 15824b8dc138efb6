"""`liza claim promote`, `kill`, `resolve` and `reexamine`."""

import click

from liza.cli.claim.options import context_of
from liza.cli.claim.outcome import print_result
from liza.cli.group import Call, by_option, plain
from liza.cli.options import optional_words, person, plain_words
from liza.clients.caller import alarm_if_no_terminal, require_person
from liza.errors import WrongUsage
from liza.scopes.claims import resolve
from liza.scopes.claims.change import ways_out
from liza.scopes.claims.disputes import TRIGGERS
from liza.scopes.claims.fields import ACCEPTED


@click.command("promote")
@click.argument("name", metavar="ID")
@click.option("--to", "status", metavar="STATUS", default=ACCEPTED, help="Its new status; default: ACCEPTED.")
@click.option("-m", "--message", metavar="WHY", help="Why.")
@by_option
@plain
def promote_command(call: Call, name: str, status: str, message: str | None, by: str | None) -> int:
    """Promote a claim.

    Refused for a claim that is in dispute, or depends on one that is.

    \b
    Examples:
      liza claim promote C-002 -m "replicated in cohort B"
    """
    why = optional_words(message, "-m")
    return print_result(
        "claim promote", resolve.promote_claim(context_of(call), name, status, why, person(by)), call.as_json
    )


@click.command("kill")
@click.argument("name", metavar="ID")
@click.option("-m", "--message", metavar="WHY", required=True, help="Why.")
@by_option
@plain
def kill_command(call: Call, name: str, message: str, by: str | None) -> int:
    """Give up a claim. To give up one in dispute: liza claim resolve ID --drop -m WHY.

    \b
    Examples:
      liza claim kill C-003 -m "the effect vanishes in cohort B"
    """
    done = resolve.kill_claim(context_of(call), name, plain_words(message, "-m"), person(by))
    return print_result("claim kill", done, call.as_json)


@click.command("resolve")
@click.argument("name", metavar="ID")
@click.option("--new-data", metavar="REF", help="Data or a tool that answers the objection: review continues.")
@click.option("--drop", is_flag=True, help="The researcher withdraws the claim: it is KILLED.")
@click.option("--override", metavar="STATUS", help="A person decides: the new status.")
@click.option("-m", "--message", metavar="WHY", help="Why; it is kept with the claim.")
@click.option("--by", metavar="NAME", help="Who decides; default, except for --override: the user of this machine.")
@plain
def resolve_command(
    call: Call, name: str, new_data: str | None, drop: bool, override: str | None, message: str | None,
    by: str | None
) -> int:  # fmt: skip
    """End a dispute in one of three ways. It stays in the history of the claim.

    \b
    Examples:
      liza claim resolve C-001 --new-data data/gc_annotation.tsv
      liza claim resolve C-001 --drop -m "cannot be tested with this cohort"
      liza claim resolve C-001 --override ACCEPTED -m "GC bias is ruled out by design" --by alice
    """
    if (new_data is not None) + drop + (override is not None) != 1:
        hint = f"one of: {'; '.join(ways_out(name))}"
        raise WrongUsage("give exactly one of --new-data, --drop and --override", hint=hint)
    context = context_of(call)
    if new_data is not None:
        ref = plain_words(new_data, "--new-data")
        why = plain_words(message, "-m") if message is not None else ref
        done = resolve.resolve_dispute(context, name, "new_data", None, why, person(by), new_data=ref)
    else:
        if override is not None:
            require_person(context.board.paths, "liza claim resolve --override")
        why = _needed(message, "-m WHY", "the reason for the decision")
        who = person(by) if override is None else _needed(by, "--by NAME", "the person who decides")
        how = "dropped" if override is None else "human_override"
        done = resolve.resolve_dispute(context, name, how, override, why, who)
        if override is not None:
            decision = f"liza claim resolve {name} --override {override}"
            alarm_if_no_terminal(context.board.paths, decision, who, context.now)
    return print_result("claim resolve", done, call.as_json)


def _needed(text: str | None, option: str, what: str) -> str:
    if text is None or not text.strip():
        raise WrongUsage(f"missing {option}: {what}", hint=f"add it to the command: {option}")
    return plain_words(text, option.split()[0])


@click.command("reexamine")
@click.argument("name", metavar="ID")
@click.option("--trigger", metavar="WORD", required=True, help=f"The reason: {', '.join(TRIGGERS)}.")
@click.option(
    "--resolved/--unresolved", "resolved", default=None, help="The result; default: none yet, so it stays due."
)
@click.option("-m", "--message", metavar="NOTE", help="What was found.")
@click.option("--by", metavar="NAME", help="Who looked at it.")
@plain
def reexamine_command(
    call: Call, name: str, trigger: str, resolved: bool | None, message: str | None, by: str | None
) -> int:  # fmt: skip
    """Look at a dispute again. Resolved, the claim goes back into review; unresolved, it stays frozen.

    The trigger must have happened: a stage was entered (liza stage advance), or data arrived (liza stage data). An
    audit must be made by someone other than the researcher and the reviewer.

    \b
    Examples:
      liza claim reexamine C-001 --trigger cross_model_audit --resolved \\
        -m "R3: the objection does not apply to paired samples" --by R3
    """
    if trigger not in TRIGGERS:
        raise WrongUsage(f"--trigger: expected one of {', '.join(TRIGGERS)}, got {trigger!r}")
    note = _needed(message, "-m NOTE", "what was found, or what needs another look")
    who = _needed(by, "--by NAME", "who looked at it")
    done = resolve.reexamine_claim(context_of(call), name, trigger, resolved, note, who)
    return print_result("claim reexamine", done, call.as_json)


COMMANDS = (promote_command, kill_command, resolve_command, reexamine_command)
