"""What keeps an agent from going on with a claim or a stage, for the hooks that ask before every action.

Nothing is written: what a round that somebody wrote by hand has come to is worked out, and frozen by whoever may.
"""

from liza.scopes import records
from liza.scopes.claims import evaluate, freeze, missing, stages
from liza.scopes.claims.change import Context, ways_out

Held = tuple[str, str]  # why, and what to do


def claim_held(context: Context, name: str) -> Held | None:
    """Whether a claim is in dispute; None if work on it may go on."""
    document = context.board.read()
    evaluate.understood(document, name)
    found = records.find(evaluate.settled_section(document, context.rules, context.now), name, evaluate.SCOPE.name)
    if found is None or not freeze.is_frozen(found[1]):
        lost = missing.missing(context.board, document.data.get(evaluate.SCOPE.section))
        return next(((str(each), _hint(name, True)) for each in lost if each.name == name), None)
    broken = "".join(f", and {each} by hand" for each in freeze.violations(found[1]))
    why = " ".join(str(found[1].get("dispute_reason") or "its status says so").split())[:200]
    return f"claim {name} is {freeze.DISPUTED}{broken}: {why}", _hint(name)


def _hint(name: str, is_taken_out: bool = False) -> str:
    return f"leave it, or: {'; '.join(ways_out(name, is_taken_out))}"


def stage_held(context: Context, name: str) -> Held | None:
    """Whether a stage may not close; None if it may."""
    document = context.board.read()
    section = document.data.get("stages")
    found = records.find(section, stages.called(section, name, context.settings.last_stage), stages.SCOPE.name)
    if found is not None and str(found[1].get("status") or "").strip().upper() == "BLOCKED":
        return f"stage {name} is {found[1]['status']}", "see: liza stage list"
    last = context.settings.last_stage
    if not stages.is_last(name, last) and not stages.is_beyond(section, name, last):
        return None
    claims = evaluate.settled_section(document, context.rules, context.now)
    blockers = stages.blockers(missing.restored(context.board, claims))
    if not blockers:
        return None
    listed = "; ".join(str(each) for each in blockers)
    what = f"stage {name} does not close" if stages.is_last(name, last) else f"stage {name} comes after {last}"
    ways = ways_out(blockers[0].name, blockers[0].is_taken_out)
    return f"{what}: {listed}", f"ways out: {'; '.join(ways)}"
