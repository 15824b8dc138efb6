"""`liza analyze`: from the words of a command line to one check, and what is printed about it.

Without click, whose import takes longer than the check: people and hooks call it often.
"""

from collections.abc import Mapping
from typing import Any

from liza import check
from liza.check import Check
from liza.cli.options import adjusted, moment
from liza.cli.waiting import Waiting
from liza.errors import Unreadable
from liza.model import format_time
from liza.scopes.rules_file import read_rules, rules_in_force, with_time_limit
from liza.store.board import Board

_KEPT: list[Check] = []  # until the process ends: to take a large blackboard apart in memory takes time, for nothing


def run(root: str | None, options: Mapping[str, Any], as_json: bool) -> int:
    """Check the blackboard once; 3 if the breaker is open."""
    dry_run, quiet = bool(options.get("dry_run")), bool(options.get("quiet"))
    board = Board.find(options.get("directory") or root)
    own = options.get("rules")
    if own is not None:
        rules, broken = with_time_limit(read_rules(own, must_exist=True)), None
    else:
        rules, broken = rules_in_force(board.paths.rules)
    rules = adjusted(rules, bool(options.get("exact")), options.get("window"))
    at = moment(options.get("now"))
    with Waiting("checking the blackboard"):
        shown = as_json or not quiet
        try:
            found = check.analyze(board, rules, at, broken=broken, own=own, dry_run=dry_run, find_problems=shown)
        except Unreadable as error:
            if error is not broken:
                raise
            return _report_broken(error, as_json)
    _KEPT.append(found)
    if as_json:
        _json(found)
    elif not quiet:
        from liza.cli import show

        show.check(found, rules, dry_run)
        show.broken_rules(found.error)
    return 3 if found.is_open else 0


def _report_broken(error: Unreadable, as_json: bool) -> int:
    """The shipped rules found nothing, which is not an OK: say what is wrong, and that they apply meanwhile."""
    from liza.cli import envelope, show

    show.broken_rules(error)
    if as_json:
        envelope.write("analyze", error.status, envelope.problems_of(error))
    return error.exit_code


def _json(found: Check) -> None:
    from liza.cli import envelope

    verdict = found.verdict
    envelope.write(
        "analyze",
        "triggered" if found.is_open else "ok",
        [*found.snapshot.problems, *envelope.problems_of(found.error)],
        checked_at=format_time(verdict.checked_at),
        window=verdict.window,
        anomalies={
            "considered": verdict.considered,
            "acknowledged": verdict.acknowledged,
            "outside_window": verdict.outside_window,
            "unusable": len(verdict.unusable),
        },
        patterns=[envelope.pattern(each) for each in verdict.progress],
        matches=[{**envelope.pattern(each), "evidence": _evidence(each)} for each in verdict.matches],
        silenced=[envelope.silenced(each) for each in verdict.silenced],
        trigger=envelope.trigger(found.trigger),
        notes=list(found.notes),
        warnings=list(verdict.warnings),
        claims=[envelope.claim(each) for each in verdict.claims],
        scoped=[dict(zip(("scope", "name", "kind", "text", "task"), event, strict=False)) for event in found.scoped],
    )


def _evidence(match: Any) -> list[dict[str, Any]]:
    return [{"stream": record.stream, "key": record.key, **record.fields} for record in match.evidence]
