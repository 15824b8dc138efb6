"""How claims look on a terminal: the table of all of them, and the page of one."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from liza.cli import show
from liza.cli.claim.side_by_side import WIDE, side_by_side, wrapped
from liza.cli.show import columns
from liza.cli.terminal import aligned
from liza.model import MAPPINGS, mappings_in
from liza.scopes.claims import dependencies, derived, freeze, ledger
from liza.scopes.claims.change import ClaimResult, reexamine_command, ways_out
from liza.scopes.claims.disputes import status_before
from liza.scopes.claims.fields import (
    ACCEPTED,
    DISPUTED,
    KILLED,
    OPEN,
    evidence_of,
    history_of,
    is_taken_out,
    marks_of,
    open_dispute,
    reference_text,
    round_count,
    rounds_of,
)
from liza.scopes.claims.objections import criterion_text, objections_of
from liza.scopes.claims.summary import Dispute
from liza.text import of_text, plural, printable, text_of

_COLOURS = {DISPUTED: "red", ACCEPTED: "green", KILLED: "bright_black"}
_ROUNDS = 12  # of a claim that are shown


def table(found: Sequence[ClaimResult]) -> None:
    if not found:
        click.echo("no claims yet; to add one: liza claim add ID --text TEXT")
    for line in aligned([(*_cells(each), _about(each)) for each in found]):
        click.echo(show.fitted(line))


def _cells(done: ClaimResult) -> tuple[str, str, str]:
    tag = ledger.tag_of(done.claim)
    status = click.style(show.short(tag, 20), fg=_COLOURS.get(tag))
    return show.short(done.name, 40), status, plural(round_count(done.claim), "round")


def _about(done: ClaimResult) -> str:
    claim = done.claim
    if broken := freeze.violations(claim):
        return f"! {printable(', '.join(broken))} by hand"
    if marks := marks_of(claim):
        return f"re-examine: {show.short(', '.join(text_of(each.get('detail')) for each in marks))}"
    if done.frozen:
        return show.short(claim.get("dispute_reason") or "", 100)
    near = max(done.near, key=lambda each: each.value / each.threshold if each.threshold else 0, default=None)
    progress = (
        f"{near.rule.name} {of_text(near.value, near.threshold)}  " if near is not None and near.value > 1 else ""
    )
    return progress + show.short(claim.get("text") or "", 100)


def page(done: ClaimResult) -> Iterator[str]:
    claim = done.claim
    colour = _COLOURS.get(ledger.tag_of(claim))
    tags = "".join(f" [{tag}]" for tag in ledger.tags(claim)) or f" [{OPEN}]"
    yield show.bold(printable(done.name)) + click.style(tags, fg=colour, bold=True)
    yield from (f"  {line}" for line in wrapped(text_of(claim.get("text") or "(no text)"), min(columns(), WIDE) - 4))
    yield from _facts(claim)
    if done.frozen:
        yield from _dispute(done.name, claim)
    yield from _rounds(done)
    yield from _history(claim)
    for each in done.near:
        about = (each.key or "").removeprefix(f"{done.name} / ")
        yield f"  {each.rule.name} {of_text(each.value, each.threshold)}: {show.short(about)}"
    if done.frozen:
        yield "ways out:"
        yield from (f"  {printable(each)}" for each in done.ways_out)


def _facts(claim: Mapping[str, Any]) -> Iterator[str]:
    for label, field in (("confidence", "confidence"), ("stage", "stage"), ("created", "created")):
        if claim.get(field) is not None:
            yield f"  {label}: {show.short(claim[field])}"
    for label, some in (("depends on", dependencies.dependencies_of(claim)), ("evidence", evidence_of(claim))):
        if some:
            yield f"  {label}: {show.short(', '.join(reference_text(each) for each in some), 200)}"
    if claim.get("human_override_rationale"):
        yield f"  human override: {show.short(claim['human_override_rationale'], 200)}"


def _dispute(name: str, claim: Mapping[str, Any]) -> Iterator[str]:
    entry = (open_dispute(claim) or (0, {}))[1]
    cycle = claim.get("dispute_cycle")
    since = [
        f"since {show.short(entry.get('timestamp') or '?')}",
        *([f"cycle {show.short(cycle)}"] if cycle is not None else []),
        *([show.short(entry["rule"])] if entry.get("rule") else []),
        f"previously {show.short(status_before(claim))}",
    ]
    yield ""
    yield f"{show.bold('in dispute', 'red')} {', '.join(since)}"
    if entry.get("same_by"):
        yield show.short(criterion_text(entry["same_by"]))
    yield ""
    reviewers = [each.get("reviewer") for each in rounds_of(claim) if each.get("reviewer")]
    who = show.short(reviewers[-1], 30) if reviewers else "the reviewer"
    positions = [(claim.get("dispute_reason"), claim.get("researcher_position"))]
    positions += [(each.get("objection"), each.get("response")) for each in mappings_in(claim.get("also_disputed"))]
    pairs = [(text_of(one or "(not given)"), text_of(other or "(not given)")) for one, other in positions]
    yield from side_by_side((f"{who} objects", "the researcher answers"), pairs)
    yield ""
    yield from (
        f"{show.bold('!', 'yellow')} it is frozen, and {printable(each)} by hand" for each in freeze.violations(claim)
    )
    for mark in marks_of(claim):
        yield f"due for re-examination ({show.short(mark.get('trigger'))}): {show.short(mark.get('detail'), 200)}"
        yield f"  {show.short(reexamine_command(name, mark.get('trigger')), 300)}"
    for look in mappings_in(entry.get("reexaminations")):
        found = f"{look.get('timestamp')}  {look.get('outcome')} by {look.get('by')}: {look.get('note')}"
        yield f"re-examined {show.short(found, 200)}"


def _rounds(done: ClaimResult) -> Iterator[str]:
    found = derived.all_rounds(done.claim)
    if found:
        yield "rounds:"
    if len(found) > _ROUNDS:
        yield f"  … {len(found) - _ROUNDS} earlier ones"
    for entry, changes in found[-_ROUNDS:]:
        cycle = f"  cycle {show.short(entry['cycle'], 12)}" if entry.get("cycle") is not None else ""
        objections = (
            "; ".join(show.short(each.text or each.id or "", 60) for each in objections_of(entry)) or "no objection"
        )
        seen = ", ".join(changes) or "no state change"
        yield show.fitted(f"  {show.short(entry.get('round') or '-', 8):>3}{cycle}  ({seen})  {objections}")


def _history(claim: Mapping[str, Any]) -> Iterator[str]:
    if lines := [line for entry in history_of(claim) for line in _past(entry)]:
        yield "history:"
    yield from (f"  {line}" for line in lines)


def _past(entry: Any) -> Iterator[str]:
    """One entry of the history; a dispute that is over with both positions, as they were written."""
    if isinstance(entry, MAPPINGS) and entry.get("event") == "disputed":
        if entry.get("resolved_at"):
            yield show.short(f"in dispute {ledger.past_dispute_text(entry)}", 200)
            for title, name in (("the reviewer", "dispute_reason"), ("the researcher", "researcher_position")):
                text = f"{title}: {text_of(entry[name])}" if entry.get(name) else ""
                yield from (f"    {line}" for line in wrapped(text, min(columns(), WIDE) - 8) if text)
    elif isinstance(entry, MAPPINGS):
        what = " ".join(text_of(entry[key]) for key in ("event", "to") if entry.get(key))
        why = f": {entry['rationale']}" if entry.get("rationale") else ""
        yield show.short(f"{entry.get('timestamp')}  {what} by {entry.get('by') or '?'}{why}", 200)


def dispute(found: Dispute) -> dict[str, Any]:
    """A dispute of a cycle's summary, for programs."""
    claim = found.claim
    return {
        "claim": found.name,
        "new": found.new,
        "since_cycle": found.since,
        "dispute_reason": claim.get("dispute_reason"),
        "researcher_position": claim.get("researcher_position"),
        "violated": list(freeze.violations(claim)),
        "reexamine": [dict(each) for each in marks_of(claim)],
        "ways_out": list(ways_out(found.name, is_taken_out(claim))),
    }
