"""What is printed about a claim after something was done to it."""

from typing import Any

import click

from liza.cli import envelope, show
from liza.cli.streams import warn
from liza.scopes.claims import freeze
from liza.scopes.claims.change import ClaimResult
from liza.scopes.claims.fields import DISPUTED, open_dispute, rounds_of
from liza.text import of_text, plural, printable

_NAMES = {"evidence": "new evidence", "test": "a test", "confidence": "another confidence", "text": "another text"}


def print_result(command: str, done: ClaimResult, as_json: bool) -> int:
    """Print the claim; the exit code is 3 while it is frozen."""
    for note in done.notes:
        warn(note)
    if as_json:
        envelope.write(command, "disputed" if done.frozen else "ok", claim=done.name, **facts(done))
    else:
        for line in lines_of(command, done):
            click.echo(line)
    return 3 if done.frozen else 0


def facts(done: ClaimResult) -> dict[str, Any]:
    """The claim for programs: everything on the blackboard, and what follows from it."""
    return {
        "claim_status": done.status,
        "tripped": done.tripped,
        "changes": list(done.changes),
        "violated": list(freeze.violations(done.claim)),
        "near": [envelope.pattern(each) for each in done.near],
        "events": [event.text for event in done.events],
        "ways_out": list(done.ways_out),
        "record": envelope.plain(done.claim),
    }


def lines_of(command: str, done: ClaimResult) -> list[str]:
    name = printable(done.name)
    if done.frozen:
        return frozen_lines(done)
    if command != "claim round" and done.events:  # they say the new state, too
        return [show.short(event.text, 200) for event in done.events]
    entries = rounds_of(done.claim)
    last = entries[-1] if command == "claim round" and entries else None
    where = f", round {show.short(last.get('round'))}" if last else ""
    where += f" of cycle {show.short(last.get('cycle'))}" if last and last.get("cycle") is not None else ""
    changed = ", ".join(_NAMES[each] for each in done.changes)
    seen = f": {f'a state change ({changed})' if changed else 'no state change'}" if last else ""
    lines = [f"claim {name}: {show.bold(printable(done.status))}{where}{seen}"]
    lines += [f"  {show.short(event.text, 200)}" for event in done.events]
    lines += [f"  no change: {name} is already {printable(done.status)}"] if last is None else []
    for each in done.near:
        about = (each.key or "").removeprefix(f"{done.name} / ")
        lines.append(f"  {each.rule.name} {of_text(each.value, each.threshold)}: {show.short(about)}")
    return lines


def frozen_lines(done: ClaimResult) -> list[str]:
    """Both positions, and how the dispute can end."""
    claim = done.claim
    entry = (open_dispute(claim) or (0, {}))[1]
    count = plural(len(rounds_of(claim)), "round")
    by = f" ({show.short(entry['rule'])}, {count})" if entry.get("rule") else ""
    lines = [f"claim {printable(done.name)}: {show.bold(DISPUTED, 'red')}{by}"]
    lines += [
        f"  reviewer:   {show.short(claim.get('dispute_reason') or '?', 300)}",
        f"  researcher: {show.short(claim.get('researcher_position') or '?', 300)}",
    ]
    lines += [f"  {show.short(event.text, 200)}" for event in done.events if event.kind != "disputed"]
    lines += [f"  {show.bold('!', 'yellow')} {printable(each)} by hand" for each in freeze.violations(claim)]
    lines += ["  It is frozen; all other claims continue. Ways out:"]
    return lines + [f"    {printable(each)}" for each in done.ways_out]
