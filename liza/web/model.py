"""Everything the page shows, as one JSON document: the page, its live updates and the saved report are made from it.

It is what `liza status`, `sessions` and `stats` print with --json, and what a page needs beside that: the whole
history, the evidence of each pattern, what waits for a decision, and the report. Writes nothing.
"""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from liza.cli import daemon_status, envelope, stats, status
from liza.daemon.status import read_daemon
from liza.errors import LizaError
from liza.model import MAPPINGS, Problem, Progress, Record, format_time
from liza.scopes.engine import session_rows
from liza.scopes.rules_file import rules_in_force
from liza.scopes.scope import OpenTrip
from liza.status import State, Status, read_status
from liza.store import checkpoint, files
from liza.store.board import Board
from liza.store.paths import Paths
from liza.text import cut, one_line, text_of
from liza.web.decisions import ways_out
from liza.web.timeline import timeline_facts, trips_by_day

SCHEMA = 1
EVIDENCE = 20  # records of one pattern that are listed
HISTORY = 100  # entries that are listed
_REPORT = 50_000  # characters
_PROBLEMS = 50
_NAMES = ("task", "reporter", "type")
_TEXTS = ("error_pattern", "what", "assumption", "spec_ref", "blocker_service", "question", "description", "detail")


def read_page(paths: Paths, at: datetime) -> dict[str, Any]:
    """The blackboard as it is now. One that cannot be read is DEGRADED, with the reason in `problems`."""
    try:
        found = read_status(Board(paths), at)
    except LizaError as error:
        return unreadable_page(paths, error, at)
    verdict, sections = found.found.verdict, found.found.snapshot.sections
    labels = {row.session: row.name or row.client for row in found.sessions}
    evidence = {match.rule.name: match.evidence for match in (*verdict.observed, *verdict.matches)}
    facts = status.status_facts(found)
    facts["patterns"] = [
        {**fields, "description": each.rule.description, "evidence": _evidence(evidence.get(each.rule.name), each)}
        for fields, each in zip(facts["patterns"], verdict.progress, strict=True)
    ]
    facts["history"] = [envelope.plain(entry) for entry in reversed(found.history[-HISTORY:])]
    return {
        **_head(paths, found.state, at),
        "problems": _problems(status.problems_of(found)),
        **facts,
        "message": (found.found.trigger or {}).get("message"),  # of a person who tripped it
        "degraded": _problems(envelope.problems_of(found.found.error)),  # why not all of it could be evaluated
        "pending": [] if found.found.trigger is not None else list({each.rule.name: 0 for each in verdict.matches}),
        "is_degraded": found.is_degraded,
        "is_readable": True,  # not: what is on the blackboard is not known
        "unwatched": found.unwatched,
        "release": _release(found),
        "open": [_open(*each, labels) for each in found.open_records],
        "anomalies": {"considered": verdict.considered, "acknowledged": verdict.acknowledged},
        "stats": stats.stats_facts(paths, found.rules, sections, at),
        "timeline": timeline_facts(sections, at),
        "days": trips_by_day(sections, at),
        "report": _report(paths),
        "alarms": _alarms(found),
    }


def _head(paths: Paths, state: State, at: datetime) -> dict[str, Any]:
    folder = os.path.abspath(paths.project)
    return {
        "schema": SCHEMA,
        "at": format_time(at),
        "status": str(state),
        "project": os.path.basename(folder),
        "folder": folder,
    }


def unreadable_page(paths: Paths, error: LizaError, at: datetime) -> dict[str, Any]:
    """What is known beside the blackboard: the halt, the daemon and the report."""
    waiting = getattr(error, "fields", {}).get("inbox") or {"waiting": 0, "broken": 0}
    lists: dict[str, list[Any]] = {
        name: []
        for name in (
            "patterns", "history", "silences", "silenced", "rule_changes", "warnings", "claims", "stopped", "concerns",
            "hooks", "open", "alarms", "pending",
        )
    }  # fmt: skip
    return {
        **_head(paths, State.DEGRADED, at),
        "problems": _problems(error.problems or (error,)),
        "trigger": None,
        "message": None,
        "age_seconds": None,
        "checkpoint": status.checkpoint_facts(checkpoint.read(paths.checkpoint)),
        **lists,
        "sessions": _sessions_beside(paths),
        "inbox": waiting,
        "daemon": daemon_status.as_json(read_daemon(paths)),
        "events_waiting": 0,
        "degraded": _problems(error.problems or (error,)),
        "is_degraded": True,
        "is_readable": False,
        "unwatched": None,
        "release": None,
        "anomalies": {"considered": 0, "acknowledged": 0},
        "stats": {"rules": [], "today": "", "used": [], "models": []},
        "timeline": None,
        "days": {},
        "report": _report(paths),
    }


def _sessions_beside(paths: Paths) -> list[dict[str, Any]]:
    """The sessions as their own files have them."""
    try:
        return [envelope.session(row) for row in session_rows(paths, {}, rules_in_force(paths.rules)[0])]
    except (LizaError, OSError):
        return []


def _problems(found: Sequence[Problem | LizaError]) -> list[dict[str, Any]]:
    return [envelope.problem(each) for each in found[:_PROBLEMS]]


def _evidence(matched: Sequence[Record] | None, progress: Progress) -> list[dict[str, Any]]:
    """The newest records that count for a pattern."""
    records = matched if matched is not None else progress.evidence
    return [_record(each) for each in reversed(records[-EVIDENCE:])]


def _record(record: Record) -> dict[str, Any]:
    details = record.get("details")
    texts = {name: record.get(name) for name in _TEXTS if record.get(name) is not None}
    if not texts and isinstance(details, MAPPINGS):
        texts = dict(details)
    stamp = record.fields.get("timestamp")
    return {
        "place": f"{record.stream}[{record.key}]",
        "timestamp": None if stamp is None else text_of(stamp),
        **{name: one_line(value, 80) for name in _NAMES if (value := record.get(name)) is not None},
        "text": ", ".join(one_line(value, 300) for value in texts.values()),
    }


def _open(kind: str, name: str, trip: OpenTrip, labels: Mapping[str, str]) -> dict[str, Any]:
    """A session, claim, slice or loop that is stopped, and what ends that; the label is the agent's name."""
    label = labels.get(name, "") if kind == "session" else ""
    return {"kind": kind, "name": name, "label": label, **trip._asdict(), "ways_out": list(ways_out(kind, name))}


def _release(found: Status) -> str | None:
    """The command that removes a halt which no decision of liza ends."""
    if found.halt is None or found.found.trigger is not None or found.halt.is_degraded or found.is_halt_known:
        return None
    return checkpoint.removal(found.paths.checkpoint)


def _alarms(found: Status) -> list[dict[str, Any]]:
    """The daemon's active alarms."""
    alarms = found.daemon.facts.get("alarms") if found.daemon.is_alive else None
    if not isinstance(alarms, Mapping):
        return []
    return [
        {"text": text_of(each.get("text")), "since": each.get("since")}
        for each in alarms.values()
        if isinstance(each, Mapping)
    ]


def _report(paths: Paths) -> str | None:
    try:
        return cut(files.read(paths.report).decode(errors="replace"), _REPORT)
    except OSError:
        return None
