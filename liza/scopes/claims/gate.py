"""Whether work on a claim may continue or a stage may close, for hooks that ask before every action.

Nothing is written: rounds that another program wrote are evaluated, and the next check freezes the claim.
"""

from datetime import datetime
from typing import Any

from liza.scopes.claims import evaluate, freeze, missing, stages
from liza.scopes.claims.change import Context, context_of, ways_out
from liza.scopes.claims.fields import DISPUTED, is_frozen
from liza.scopes.gate import Gate
from liza.scopes.records import find_record
from liza.store.board import Board
from liza.store.document import Document


def check_claim(board: Board, name: str, now: datetime) -> Gate:
    """Closed while the claim is in dispute, also where the claim or its dispute was deleted by hand."""
    context = context_of(board, now)
    document = board.read()
    evaluate.read_claim(document, name)
    found = find_record(_claims(context, document), name, "claim")
    if found is None or not is_frozen(found[1]):
        lost = missing.find_missing(board, document.data.get(evaluate.CLAIMS.name))
        return next((Gate(str(each), _hint(name, True)) for each in lost if each.name == name), Gate())
    broken = "".join(f", and {each} by hand" for each in freeze.violations(found[1]))
    why = " ".join(str(found[1].get("dispute_reason") or "its status was set by hand").split())[:200]
    return Gate(f"claim {name} is {DISPUTED}{broken}: {why}", _hint(name))


def _hint(name: str, is_taken_out: bool = False) -> str:
    return f"leave it, or: {'; '.join(ways_out(name, is_taken_out))}"


def check_stage(board: Board, name: str, now: datetime) -> Gate:
    """Closed for a blocked stage, and for the last one and those beyond it while a claim is in dispute."""
    context = context_of(board, now)
    document, last = board.read(), context.settings.last_stage
    section = document.data.get("stages")
    found = find_record(section, stages.known_name(section, name, last), stages.STAGES.scope)
    if found is not None and str(found[1].get("status") or "").strip().upper() == "BLOCKED":
        return Gate(f"stage {name} is {found[1]['status']}", "see: liza stage list")
    if not stages.is_last(name, last) and not stages.is_beyond(section, name, last):
        return Gate()
    claims = _claims(context, document)
    blockers = stages.blockers(missing.restore_missing(board, claims))
    if not blockers:
        return Gate()
    listed = "; ".join(str(each) for each in blockers)
    what = f"stage {name} cannot be closed" if stages.is_last(name, last) else f"stage {name} comes after {last}"
    ways = ways_out(blockers[0].name, blockers[0].is_taken_out)
    return Gate(f"{what}: {listed}", f"ways out: {'; '.join(ways)}")


def _claims(context: Context, document: Document) -> Any:
    """The claims after the rules were applied; nothing is written."""
    return evaluate.reconcile_claims(document.data, context.rules, context.now).section
