"""What the metrics are made of: the answers of `liza status`, `sessions` and `stats`, read once."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from liza.daemon.status import DaemonStatus, read_daemon
from liza.errors import LizaError
from liza.model import MAPPINGS, parse_time
from liza.scope_names import SCOPES
from liza.scopes.records import mappings_of, named_records
from liza.scopes.sessions.monitor import monitor_of
from liza.scopes.sessions.spending import Used, terms_of, used_so_far
from liza.scopes.sprint.stats import RuleStats, stats_of
from liza.status import Status, read_status
from liza.store.board import Board
from liza.store.paths import Paths

SPRINT = "sprint"
BY_HAND = "by hand"
_BEGINS = ("stopped", "opened", "timestamp")  # when a trip began, in the records of all scopes
_ENDS = ("resumed", "reset", "closed", "resolved_at")


class Facts(NamedTuple):
    """One reading."""

    paths: Paths
    at: datetime
    daemon: DaemonStatus
    status: Status | None = None  # None where the blackboard cannot be evaluated
    rules: tuple[RuleStats, ...] = ()
    used: Used | None = None
    steps: Mapping[tuple[str, str], int] = {}  # the newest steps of recent sessions, by client and outcome


class Trip(NamedTuple):
    """One trip of a scope, open or over."""

    scope: str
    rule: str
    began: datetime | None
    is_open: bool


def read_facts(paths: Paths, at: datetime) -> Facts:
    """The blackboard as it is now. One that cannot be read is a fact, too."""
    try:
        return facts_of(read_status(Board(paths), at))
    except LizaError:
        return Facts(paths, at, read_daemon(paths))


def facts_of(status: Status) -> Facts:
    """What follows from a status that was read already."""
    sections, monitor = status.found.snapshot.sections, monitor_of(status.paths)
    terms = terms_of(status.rules, status.at, sections)
    used = used_so_far(list(monitor.usage(terms)), terms)
    rules = stats_of(status.section, status.at)
    steps = Counter(
        (window.about.get("client", ""), str(step.get("outcome")))
        for window in monitor.sessions.values()
        for step in window.steps
    )
    return Facts(status.paths, status.at, status.daemon, status, tuple(rules), used, steps)


def trips_of(facts: Facts) -> Iterator[Trip]:
    """All trips that the blackboard knows."""
    if facts.status is None:
        return
    for each in facts.rules:
        yield from (Trip(SPRINT, each.rule, None, False) for _ in range(each.trips - each.open))
    trigger = facts.status.found.trigger
    if trigger is not None:
        yield Trip(SPRINT, str(trigger.get("pattern") or BY_HAND), parse_time(trigger.get("timestamp")), True)
    for row in SCOPES:
        for _, _, record in named_records(facts.status.found.snapshot.sections.get(row.section), row.scope):
            if isinstance(record, MAPPINGS):
                yield from _trips_of_record(row.scope, record)


def _trips_of_record(scope: str, record: Mapping[str, Any]) -> Iterator[Trip]:
    current = record.get("current_trip")
    for entry in (*mappings_of(record, "history"), *([current] if isinstance(current, MAPPINGS) else [])):
        began = next((entry[name] for name in _BEGINS if entry.get(name)), None)
        if began is None or ("timestamp" in entry and entry.get("event") != "disputed"):
            continue
        rules = _names_in(entry.get("rules")) or [str(entry.get("rule") or BY_HAND)]
        yield Trip(scope, rules[0], parse_time(began), not any(entry.get(name) for name in _ENDS))


def _names_in(rules: Any) -> list[str]:
    return [str(each) for each in rules] if isinstance(rules, list | tuple) else []
