"""Whether a stage may close, for hooks that ask before every action. Nothing is written."""

from datetime import datetime

from liza.scopes.claims import evaluate, missing_disputes, stages
from liza.scopes.claims.change import context_of, ways_out
from liza.scopes.records import find_record
from liza.scopes.scope import Gate
from liza.store.board import Board


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
    claims = evaluate.reconcile_claims(document.data, context.rules, context.now).section
    blockers = stages.blockers(missing_disputes.restore_missing(board, claims))
    if not blockers:
        return Gate()
    listed = "; ".join(str(each) for each in blockers)
    what = f"stage {name} cannot be closed" if stages.is_last(name, last) else f"stage {name} comes after {last}"
    ways = ways_out(blockers[0].name, blockers[0].is_taken_out)
    return Gate(f"{what}: {listed}", f"ways out: {'; '.join(ways)}")
