"""The summary of one cycle, disputes first."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from liza.model import MAPPINGS
from liza.scopes.claims import derived, freeze
from liza.scopes.claims.fields import DISPUTED, disputes_of, history_of, is_frozen, marks_of, open_dispute
from liza.scopes.claims.ledger import Listed, escape_line, escape_lines, past_dispute_text
from liza.text import text_of

DECISIONS = ("promoted", "killed", "edited")


class Dispute(NamedTuple):
    """A claim that is in dispute, or was when the cycle ended."""

    name: str
    claim: Mapping[str, Any]
    since: Any  # the cycle
    new: bool  # of this cycle


class Summary(NamedTuple):
    cycle: Any
    disputes: tuple[Dispute, ...]
    resolved: tuple[tuple[str, Mapping[str, Any]], ...]
    reviewed: tuple[tuple[str, int, tuple[str, ...]], ...]  # each claim, its rounds, and what changed in them
    decided: tuple[tuple[str, Mapping[str, Any]], ...]


def summarize_cycle(listed: Listed, cycle: Any) -> Summary:
    """Every claim of the ledger is looked at: one in dispute cannot be left out."""
    disputes: list[Dispute] = []
    for name, claim in listed:
        if is_frozen(claim):
            since = claim.get("dispute_cycle")
            disputes.append(Dispute(name, claim, since, _is(since, cycle)))
    ended = [(name, entry) for name, claim in listed for _, entry in disputes_of(claim)]
    entries = [(name, entry) for name, claim in listed for entry in history_of(claim)]
    return Summary(
        cycle,
        tuple(sorted(disputes, key=lambda each: not each.new)),
        tuple((name, entry) for name, entry in ended if entry.get("resolved_at") and _of(entry, cycle)),
        tuple(_reviewed(listed, cycle)),
        tuple(
            (name, entry)
            for name, entry in entries
            if isinstance(entry, MAPPINGS) and entry.get("event") in DECISIONS and _is(entry.get("cycle"), cycle)
        ),
    )


def _is(one: Any, other: Any) -> bool:
    return one is not None and text_of(one) == text_of(other)


def _of(entry: Mapping[str, Any], cycle: Any) -> bool:
    """Whether a dispute that is over began or ended in a cycle."""
    return _is(entry.get("resolved_cycle"), cycle) or _is(entry.get("dispute_cycle"), cycle)


def _reviewed(listed: Listed, cycle: Any) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    for name, claim in listed:
        rounds = enumerate(derived.all_rounds(claim), 1)
        found = [changes for place, (entry, changes) in rounds if _is(entry.get("cycle", place), cycle)]
        if found:
            yield name, len(found), tuple(sorted({each for changes in found for each in changes}))


def summary_markdown(summary: Summary) -> str:
    lines = [f"# Cycle {escape_line(text_of(summary.cycle))}", "", "## Disputes", ""]
    for each in summary.disputes:
        lines += _dispute(each)
    lines += [
        f"- **{escape_line(name)}**, resolved: {escape_line(past_dispute_text(entry))}"
        for name, entry in summary.resolved
    ]
    lines += [] if summary.disputes or summary.resolved else ["None."]
    lines += ["", "## Reviewed", "", *_rows(summary.reviewed)]
    lines += ["", "## Decided", ""]
    lines += [f"- **{escape_line(name)}**: {escape_line(_decision(entry))}" for name, entry in summary.decided]
    lines += [] if summary.decided else ["None."]
    return "\n".join(lines) + "\n"


def _dispute(dispute: Dispute) -> Iterator[str]:
    claim = dispute.claim
    entry = (open_dispute(claim) or (0, {}))[1]
    began = f"cycle {text_of(dispute.since)}" if dispute.since is not None else text_of(entry.get("timestamp") or "?")
    since = "since this cycle" if dispute.new else f"since {escape_line(began)}"
    yield f"- **{escape_line(dispute.name)} [{DISPUTED}]** {since}"
    for label, field in (("Objection", "dispute_reason"), ("Researcher", "researcher_position")):
        yield f"  - {label}: {escape_lines(text_of(claim.get(field) or 'not given')).replace(chr(10), chr(10) + '  ')}"
    for each in freeze.violations(claim):
        yield f"  - Frozen, and {escape_line(each)} by hand"
    for mark in marks_of(claim):
        yield f"  - Due for re-examination: {escape_line(text_of(mark.get('detail')))}"


def _rows(reviewed: Sequence[tuple[str, int, tuple[str, ...]]]) -> Iterator[str]:
    for name, count, changes in reviewed:
        seen = f"state change ({', '.join(changes)})" if changes else "no state change"
        yield f"- **{escape_line(name)}**: {count} round{'s' if count > 1 else ''}, {seen}"
    if not reviewed:
        yield "None."


def _decision(entry: Mapping[str, Any]) -> str:
    who, why = entry.get("by") or "?", entry.get("rationale")
    event, to = str(entry.get("event")), entry.get("to")
    what = f"{event} to {to}" if to and str(to).lower() != event else event
    return f"{what} by {who}{f': {why}' if why else ''}"
