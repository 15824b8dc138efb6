"""The claim ledger as Markdown. What agents wrote is untrusted: it stays text, and no part of it becomes markup."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from liza.model import mappings_in
from liza.scopes.claims import dependencies, freeze
from liza.scopes.claims.fields import (
    DISPUTED,
    OPEN,
    disputes_of,
    evidence_of,
    is_frozen,
    marks_of,
    past_rounds,
    reference_text,
    rounds_of,
    status_of,
)
from liza.text import cut_line, escape_markdown, text_of

LONGEST = 20_000  # characters of one field
_MARKER = re.compile(r"(\s*)([-+=#>]|\d+(?=[.)]))")  # what begins a list, a heading, a ruler or a quote
# The names of the fields, in their order; those of a list are written once for each.
NAMES = {
    "status": "Status",
    "text": "Text",
    "confidence": "Confidence",
    "stage": "Stage",
    "depends_on": "Depends on",
    "evidence": "Evidence",
    "dispute_reason": "Dispute reason",
    "researcher_position": "Researcher position",
    "dispute_cycle": "Dispute cycle",
    "disputed_at": "Disputed at",
    "previous_status": "Previous status",
    "human_override_rationale": "Human override rationale",
}
NOT_READ = {"rounds": "Rounds", "violated": "Freeze violated", "reexamine": "Re-examine", "disputes": "Earlier dispute"}

Listed = Sequence[tuple[str, Mapping[str, Any]]]


def ledger_markdown(listed: Listed, stage: str | None) -> str:
    """The whole ledger; claims in dispute are named before all others."""
    disputed = [name for name, claim in listed if is_frozen(claim)]
    counts = Counter(tag_of(claim) for _, claim in listed)
    summary = ", ".join(f"{count} {escape_line(tag)}" for tag, count in counts.items()) or "none"
    lines = ["# Claim Ledger", "", f"Claims: {summary}." + (f" Stage: {escape_line(stage)}." if stage else "")]
    if disputed:
        lines += [
            "",
            f"**In dispute: {', '.join(escape_line(name) for name in disputed)}.** The last stage cannot be closed.",
        ]
    for name, claim in listed:
        lines += ["", f"## {escape_heading(name or 'without an id')}{''.join(f' [{tag}]' for tag in tags(claim))}", ""]
        lines += [f"- **{label}:** {value}" for label, value in _fields(claim)]
    return "\n".join(lines) + "\n"


def tag_of(claim: Mapping[str, Any]) -> str:
    """The status as people read it in the ledger."""
    if is_frozen(claim):
        return DISPUTED
    return status_of(claim) or "?"


def tags(claim: Mapping[str, Any]) -> Iterator[str]:
    """The tags in brackets after the id; an open claim has none."""
    tag = tag_of(claim)
    if tag != OPEN:
        yield escape_line(tag)
    if freeze.violations(claim):
        yield "FREEZE VIOLATED"
    if marks_of(claim):
        yield "RE-EXAMINE"


def _fields(claim: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field, label in NAMES.items():
        if field == "status":
            yield label, escape_line(text_of(claim.get("status") or OPEN))
        elif field == "depends_on":
            yield from ((label, escape_item(each)) for each in dependencies.dependencies_of(claim))
        elif field == "evidence":
            yield from ((label, escape_item(reference_text(each))) for each in evidence_of(claim))
        elif claim.get(field) is not None:
            yield label, escape_lines(text_of(claim[field]))
    for each in _others(claim):
        yield "Also disputed", escape_lines(each)
    entries = [*past_rounds(claim), *rounds_of(claim)]
    yield NOT_READ["rounds"], str(len(entries))
    yield from ((NOT_READ["violated"], escape_line(each)) for each in freeze.violations(claim))
    for mark in marks_of(claim):
        yield NOT_READ["reexamine"], escape_line(f"{mark.get('trigger')}: {mark.get('detail')}")
    for _, entry in disputes_of(claim):
        if entry.get("resolved_at"):
            yield NOT_READ["disputes"], escape_line(past_dispute_text(entry))


def _others(claim: Mapping[str, Any]) -> Iterator[str]:
    for each in mappings_in(claim.get("also_disputed")):
        yield f"{text_of(each.get('objection'))}\n{text_of(each.get('response'))}"


def past_dispute_text(entry: Mapping[str, Any]) -> str:
    how = str(entry.get("resolution") or "?").replace("_", " ")
    since = f"{entry.get('timestamp')} to {entry.get('resolved_at')}"
    return f"{since}, {how} by {entry.get('resolved_by') or '?'}: {cut_line(str(entry.get('rationale')), 400)}"


# --- text in Markdown -----------------------------------------------------------------------------------------------


def escape_line(text: str) -> str:
    """A text on one line, without any markup or control character."""
    return escape_markdown(" ".join(text[:LONGEST].split()))


def escape_heading(text: str) -> str:
    """The same as a heading, which signs at its end would close; nor is a part of it a title behind an id."""
    return escape_line(text).replace("#", "\\#").replace(": ", "\\: ").replace(" - ", " \\- ")


def escape_item(text: str) -> str:
    """The same for one of several on one line: their separators are escaped too."""
    return re.sub("[;,]", r"\\\g<0>", escape_line(text))


def escape_lines(text: str) -> str:
    """A text of several lines as one item of a list: each line ends in a hard break and the next one is indented."""
    more = f" … ({len(text) - LONGEST:,} more characters are on the blackboard)" if len(text) > LONGEST else ""
    first, *rest = [escape_markdown(line.expandtabs(4)) for line in text[:LONGEST].splitlines()] or [""]
    return "\\\n".join([first, *(f"  {_MARKER.sub(_harmless, line, count=1)}" for line in rest)]) + more


def _harmless(found: re.Match[str]) -> str:
    if found.start():
        return found[0]
    space, marker = found.groups()
    return f"{space}{marker}\\" if marker[0].isdigit() else f"{space}\\{marker}"
