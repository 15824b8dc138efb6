"""`liza claim list`, `show`, `ledger`, `summary` and `import`."""

import os
from collections.abc import Mapping
from typing import Any

import click

from liza.cli import envelope, show
from liza.cli.claim.options import context_of
from liza.cli.claim.outcome import facts
from liza.cli.claim.show import dispute, page, table
from liza.cli.group import Call, plain
from liza.cli.streams import read_text, warn
from liza.errors import LizaError, Refused, location
from liza.model import MAPPINGS
from liza.scopes.change import unknown_record
from liza.scopes.claims import change, cycles, evaluate, import_ledger, ledger, missing_disputes, stages, summary
from liza.scopes.claims.change import ClaimResult, Context
from liza.scopes.claims.fields import CLAIMS, is_frozen
from liza.scopes.claims.record import import_claims
from liza.scopes.records import find_record, named_records
from liza.scopes.transition import Transition
from liza.store.document import Document
from liza.text import plural, printable


def _section(context: Context, document: Document) -> Any:
    """The claims as the next check would find them, those too whose dispute was removed by hand."""
    claims = evaluate.reconcile_claims(document.data, context.rules, context.now).section
    return missing_disputes.restore_missing(context.board, claims)


def _all(context: Context, document: Document) -> tuple[list[ClaimResult], list[LizaError]]:
    """Every claim as the next check would find it, and what is wrong with those that cannot be understood."""
    found: list[ClaimResult] = []
    wrong: list[LizaError] = []
    for where, label, claim in named_records(_section(context, document), CLAIMS.scope):
        name = label or f"number {where + 1 if isinstance(where, int) else where}"
        faults = ["not a record"]
        if isinstance(claim, MAPPINGS):
            faults = [f"{field} is not {expected}" for field, expected in CLAIMS.unusable_fields(claim)]
        if faults:
            wrong.append(LizaError(f"claim {name} cannot be evaluated: {faults[0]}", hint="see: liza validate"))
        else:
            found.append(change.claim_result(context, name, Transition(dict(claim))))
    return found, wrong


@click.command("list")
@plain
def list_command(call: Call) -> int:
    """List the claims, those in dispute first.

    Exit code 3 if one is in dispute, 4 if one cannot be evaluated.

    \b
    Examples:
      liza claim list
    """
    context = context_of(call)
    document = context.board.read()
    found, wrong = _all(context, document)
    found.sort(key=lambda each: not each.frozen)
    lost = missing_disputes.find_missing(context.board, document.data.get(CLAIMS.name))
    disputed = bool(lost) or any(each.frozen for each in found)
    if call.as_json:
        rows = [{"claim": each.name, **facts(each)} for each in found]
        gone = [{"claim": each.name, "since": each.since, "what": each.what} for each in lost]
        status = "degraded" if wrong else "disputed" if disputed else "ok"
        envelope.write("claim list", status, wrong, claims=rows, missing=gone)
    else:
        if found or not wrong:
            table(found)
        show.warnings(error.message for error in wrong)
        show.warnings(str(each) for each in lost)
    return 4 if wrong else 3 if disputed else 0


@click.command("show")
@click.argument("name", metavar="ID")
@plain
def show_command(call: Call, name: str) -> int:
    """Show a claim: its text, state and history.

    In a dispute, both positions are shown side by side, as they were written. Exit code 3 if it is in dispute.

    \b
    Examples:
      liza claim show C-001
    """
    context = context_of(call)
    document = context.board.read()
    evaluate.read_claim(document, name)
    found = find_record(_section(context, document), name, CLAIMS.scope)
    if found is None:
        raise unknown_record(document, CLAIMS, name)
    done = change.claim_result(context, name, Transition(dict(found[1])))
    if call.as_json:
        envelope.write("claim show", "disputed" if done.frozen else "ok", claim=name, **facts(done))
    else:
        for line in page(done):
            click.echo(line)
    return 3 if done.frozen else 0


@click.command("ledger")
@plain
def ledger_command(call: Call) -> int:
    """Print all claims as a ledger in Markdown. Claims in dispute are named first, and tagged.

    \b
    Examples:
      liza claim ledger > LEDGER.md
    """
    context = context_of(call)
    document = context.board.read()
    listed = _listed(context, document)
    stage = stages.current_stage(document.data.get("stages"))
    if call.as_json:
        rows = [{"id": name, "tags": list(ledger.tags(claim)), **claim} for name, claim in listed]
        disputed = [name for name, claim in listed if is_frozen(claim)]
        envelope.write("claim ledger", "ok", stage=stage, disputed=disputed, claims=rows)
    else:
        click.echo(ledger.ledger_markdown(listed, stage), nl=False)
    return 0


def _listed(context: Context, document: Document) -> list[tuple[str, Mapping[str, Any]]]:
    """Every claim as the next check would find it; what is not a claim is shown, too."""
    found = list(named_records(_section(context, document), CLAIMS.scope))
    for where, name, claim in found:
        if not isinstance(claim, MAPPINGS):
            warn(f"claim {name or where} is not a record, so it is left out: see liza validate")
    return [(name, claim) for _, name, claim in found if isinstance(claim, MAPPINGS)]


@click.command("summary")
@click.option("--cycle", metavar="N", type=click.IntRange(0), help="Which cycle; default: the last one.")
@plain
def summary_command(call: Call, cycle: int | None) -> int:
    """Show what happened in a review cycle.

    Disputes first, then what was reviewed and decided.

    \b
    Examples:
      liza claim summary --cycle 4
    """
    context = context_of(call)
    document = context.board.read()
    chosen = cycle if cycle is not None else cycles.present_cycle(change.listed_claims(document))
    if chosen is None:
        hint = "record one with: liza claim round ID --objection TEXT --response TEXT"
        raise Refused("no round of review was recorded", hint=hint)
    found = summary.summarize_cycle(_listed(context, document), chosen)
    if call.as_json:
        envelope.write(
            "claim summary",
            "ok",
            cycle=chosen,
            disputes=[dispute(each) for each in found.disputes],
            resolved=[{"claim": name, **entry} for name, entry in found.resolved],
            reviewed=[{"claim": name, "rounds": n, "changes": list(some)} for name, n, some in found.reviewed],
            decided=[{"claim": name, **entry} for name, entry in found.decided],
        )
    else:
        click.echo(summary.summary_markdown(found), nl=False)
    return 0


@click.command("import")
@click.argument("file", metavar="LEDGER.md")
@plain
def import_command(call: Call, file: str) -> int:
    """Read the claims of a Markdown ledger; the file stays as it is.

    A claim is a heading with its id (## C-001) and fields below it (- **Text:** ...). What cannot be read is reported
    line by line. A claim that is on the blackboard already stays as it is there.

    \b
    Examples:
      liza claim import LEDGER.md
    """
    context = context_of(call)
    read = import_ledger.read_ledger(read_text(file, "name a Markdown file with claims"), file)
    if not read.claims:
        first = read.problems[0] if read.problems else None
        hint = "a claim begins with a line like: ## C-001   (and has a line like: - **Text:** ...)"
        raise Refused("no claim found", hint=hint, file=file, line=first.line if first else None)
    done = import_claims(context, read.claims, os.path.basename(file))
    if call.as_json:
        envelope.write("claim import", "ok", read.problems, **done._asdict())
        return 0
    for each in read.problems:
        click.echo(printable(f"{location(each.file, each.line, each.column)}{each.message}"), err=True)
        if each.hint:
            click.echo(f"  hint: {printable(each.hint)}", err=True)
    added = f"{plural(len(done.added), 'claim')} added: {show.short(', '.join(done.added), 400)}"
    click.echo(added if done.added else "no claims added")
    if done.known:
        click.echo(f"already on the blackboard, unchanged: {show.short(', '.join(done.known), 400)}")
    if done.disputed:
        click.echo(f"in dispute, and frozen: {show.short(', '.join(done.disputed), 400)}")
    return 0


COMMANDS = (list_command, show_command, ledger_command, summary_command, import_command)
