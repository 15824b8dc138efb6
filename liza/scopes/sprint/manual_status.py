"""A status TRIGGERED that a person wrote, with an editor or `yq`: what it needs to be a trip like any other."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import count
from typing import Any

from liza.model import Match, Snapshot, Verdict, format_time, is_trip_id, parse_time
from liza.rules.acknowledged import trip_id
from liza.rules.evaluate import RuleSet
from liza.rules.fingerprints import digest
from liza.scopes.history import section as sections
from liza.scopes.history.new_evidence import evidence_of
from liza.scopes.sprint.lost_trip import known_severity
from liza.scopes.sprint.report_files import Trip
from liza.store import checkpoint
from liza.store.board import Board
from liza.store.checkpoint import REPORT_FILE
from liza.text import one_line


def manual_trip(
    board: Board, trigger: Mapping[str, Any], verdict: Verdict, snapshot: Snapshot, rules: RuleSet, now: datetime
) -> Trip:
    """The trip that a person meant, with the evidence of the pattern that they named, or of the one that matches.

    The same board gives the same trip id, so that a check which is killed on the way is completed by the next one.
    """
    section = snapshot.sections.get("circuit_breaker")
    named = trigger.get("pattern")
    pattern = one_line(named, 100) if isinstance(named, str) and named.strip() else None
    if pattern is None and verdict.matches:
        pattern = verdict.matches[0].rule.name
    matches = matches_of(pattern, verdict, rules)
    own = [match for match in matches if match.rule.name == pattern]
    made: dict[str, Any] = {
        **trigger,
        "timestamp": trigger.get("timestamp") if parse_time(trigger.get("timestamp")) else format_time(now),
        "pattern": pattern or sections.MANUAL,
        "severity": known_severity(trigger.get("severity") or (own[0].rule.severity if own else None)),
        "report_file": REPORT_FILE,
        "trip_id": _trip_id(section, trigger, own),
    }
    halt = checkpoint.read(board.paths.checkpoint)
    if halt is not None and halt.trip_id == made["trip_id"] and halt.time is not None:
        made["timestamp"] = halt.time
    others = dict.fromkeys(match.rule.name for match in matches if match.rule.name != made["pattern"])
    if others:
        made["also_matched"] = list(others)
    evidence = evidence_of(matches)
    return Trip(made, matches, snapshot, evidence, rules.changes, verdict.silenced, verdict.alarms)


def matches_of(
    pattern: str | None, verdict: Verdict, rules: RuleSet, recorded: Sequence[Match] = ()
) -> tuple[Match, ...]:
    """All matches, that of the pattern first; below its threshold, its evidence: the person decided that.

    `recorded` are further matches, of what the trip is known to have.
    """
    silenced = [each.match for each in verdict.silenced]
    own = [match for match in (*verdict.matches, *silenced) if match.rule.name == pattern]
    own = own or [match for match in recorded if match.rule.name == pattern]
    if not own:
        fields = {each.rule.name: each.condition.fields for each in rules.rules}
        own = [
            Match(
                *(each.rule, each.value, each.threshold, each.key, tuple(map(str, fields[each.rule.name]))),
                evidence=each.evidence,
                new=each.evidence,
            )
            for each in verdict.progress
            if each.rule.name == pattern and each.evidence
        ]
    return (*own, *(match for match in (*verdict.matches, *recorded) if match.rule.name != pattern))


def _trip_id(section: Any, trigger: Mapping[str, Any], own: list[Match]) -> str:
    history = sections.history_of(section)
    at = sections.entry_of(section, trigger)
    if at is not None and is_trip_id(history[at].get("trip_id")):
        return str(history[at]["trip_id"])  # an open trip of ours whose trigger was edited
    if is_trip_id(trigger.get("trip_id")) and not sections.knows(section, str(trigger["trip_id"])):
        return str(trigger["trip_id"])  # its entry was deleted: CHECKPOINT and the report have this id
    if own and own[0].new:
        found = trip_id(own[0].rule.name, own[0].new, own[0].threshold)
        if not sections.knows(section, found):
            return found
    earlier = sum(isinstance(entry, Mapping) and entry.get("result") != "OK" for entry in history)
    texts = [one_line(trigger.get(name), 500) for name in ("timestamp", "pattern", "severity", "message")]
    ids = (digest("\n".join([sections.MANUAL, str(n), *texts]))[:12] for n in count(earlier))
    return sections.unused_id(section, ids)
