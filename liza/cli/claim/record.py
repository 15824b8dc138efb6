"""`liza claim add`, `round` and `edit`."""

import click

from liza.cli.claim.options import confidence_of, context_of
from liza.cli.claim.outcome import print_result
from liza.cli.group import Call, plain
from liza.cli.options import optional_words, person, plain_words, words
from liza.errors import WrongUsage
from liza.scopes.claims import resolve
from liza.scopes.claims.objections import Objection
from liza.scopes.claims.record import add_claim, record_round
from liza.scopes.claims.states import Fields, Round
from liza.scopes.inbox import record_or_queue


@click.command("add")
@click.argument("name", metavar="ID")
@click.option("--text", metavar="TEXT", required=True, help="What is claimed; - or @FILE reads it.")
@click.option("--confidence", metavar="C", help="Confidence in it: a number or a word.")
@click.option("--stage", metavar="STAGE", help="The stage it belongs to.")
@click.option("--evidence", metavar="REF", multiple=True, help="Evidence for it.")
@click.option("--depends-on", metavar="ID", multiple=True, help="A claim it depends on.")
@plain
def add_command(
    call: Call, name: str, text: str, confidence: str | None, stage: str | None, evidence: tuple[str, ...],
    depends_on: tuple[str, ...]
) -> int:  # fmt: skip
    """Put a claim on the blackboard.

    \b
    Examples:
      liza claim add C-001 --text "GC content explains the effect" --confidence 0.7 --stage S2
    """
    fields = Fields(
        words(text, "--text"),
        confidence_of(confidence),
        optional_words(stage, "--stage"),
        depends_on or None,
        tuple(plain_words(each, "--evidence") for each in evidence) or None,
    )
    done = record_or_queue(add_claim(context_of(call), name, fields))
    return print_result("claim add", done, call.as_json)


@click.command("round")
@click.argument("name", metavar="ID")
@click.option("--objection", metavar="TEXT", multiple=True, help="What the reviewer objects to; - or @FILE reads it.")
@click.option("--objection-id", metavar="X", multiple=True, help="The id of the objection; one for each --objection.")
@click.option("--response", metavar="TEXT", multiple=True, help="What the researcher answers to it.")
@click.option("--evidence", metavar="REF", multiple=True, help="Evidence that the researcher presents.")
@click.option("--test", "tests", metavar="NAME", multiple=True, help="A test that was run, with its result.")
@click.option("--confidence", metavar="C", help="New confidence.")
@click.option("--text", metavar="TEXT", help="New text of the claim.")
@click.option(
    "--cycle", metavar="N", type=click.IntRange(0), help="Its cycle; default: the last one named, else counted."
)
@click.option("--reviewer", metavar="NAME", help="Who objects.")
@click.option("--researcher", metavar="NAME", help="Who answers.")
@plain
def round_command(
    call: Call, name: str, objection: tuple[str, ...], objection_id: tuple[str, ...],
    response: tuple[str, ...], evidence: tuple[str, ...], tests: tuple[str, ...], confidence: str | None,
    text: str | None, cycle: int | None, reviewer: str | None, researcher: str | None
) -> int:  # fmt: skip
    """Record one round of review, and evaluate the claim at once.

    Objection and response come in pairs; a round may have several. The same objection in the third round in which
    nothing changes (no new evidence, no other test, confidence or text) freezes the claim. Exit code 0 if review may
    continue, 3 if the claim is frozen. A test may be recorded alone: a round without an objection.

    \b
    Examples:
      liza claim round C-001 --cycle 4 --objection "You must run the confounder harness" \\
        --response "The dataset lacks GC annotation" --evidence data/README.md
    """
    given = Round(
        _pairs(objection, response, objection_id) if objection or response or not tests else (),
        tuple(plain_words(each, "--evidence") for each in evidence),
        tuple(plain_words(each, "--test") for each in tests),
        confidence_of(confidence),
        words(text, "--text") if text is not None else None,
        cycle,
        optional_words(reviewer, "--reviewer"),
        optional_words(researcher, "--researcher"),
    )
    done = record_or_queue(record_round(context_of(call), name, given))
    return print_result("claim round", done, call.as_json)


def _pairs(objections: tuple[str, ...], answers: tuple[str, ...], labels: tuple[str, ...]) -> tuple[Objection, ...]:
    example = "for example: liza claim round ID --objection A --response X --objection B --response Y"
    if not objections and not answers:
        raise WrongUsage("missing --objection and --response, or --test", hint=example)
    if len(objections) != len(answers):
        raise WrongUsage(
            f"--objection and --response must come in pairs; got {len(objections)} and {len(answers)}", hint=example
        )
    if labels and len(labels) != len(objections):
        hint = "give one for each --objection, '' where it has none"
        raise WrongUsage(
            f"each --objection needs one --objection-id; got {len(objections)} and {len(labels)}", hint=hint
        )
    return tuple(
        Objection(words(text, "--objection"), words(answer, "--response"), label.strip() or None)
        for text, answer, label in zip(objections, answers, labels or ("",) * len(objections), strict=True)
    )


@click.command("edit")
@click.argument("name", metavar="ID")
@click.option("--text", metavar="TEXT", help="New text of the claim; - or @FILE reads it.")
@click.option("--confidence", metavar="C", help="New confidence.")
@click.option("--stage", metavar="STAGE", help="The stage it belongs to.")
@click.option("--depends-on", metavar="ID", multiple=True, help="All claims it depends on from now on; '' for none.")
@click.option("--by", metavar="NAME", help="Who edits; default: the user of this machine.")
@plain
def edit_command(
    call: Call, name: str, text: str | None, confidence: str | None, stage: str | None,
    depends_on: tuple[str, ...], by: str | None
) -> int:  # fmt: skip
    """Edit a claim between rounds. A new text or confidence is a state change in the next round.

    \b
    Examples:
      liza claim edit C-001 --text "GC content explains the effect in cohort A" --confidence 0.5
    """
    fields = Fields(
        words(text, "--text") if text is not None else None,
        confidence_of(confidence),
        optional_words(stage, "--stage"),
        tuple(each for each in depends_on if each.strip()) if depends_on else None,
    )
    if not fields.given():
        raise WrongUsage("nothing to change", hint="give --text, --confidence, --stage or --depends-on")
    return print_result("claim edit", resolve.edit_claim(context_of(call), name, fields, person(by)), call.as_json)


COMMANDS = (add_command, round_command, edit_command)
