"""What belongs into `state.yaml`: one table for each section.

A fault never stops anything: the records beside it are still evaluated. An error is something that a rule cannot
use; a warning is something it can, which is probably not what was meant. `docs/schema.md` describes the fields.
"""

from collections.abc import Mapping
from typing import Any

from liza.model import Fault, Path, list_in
from liza.schema import anomalies, kinds, loops, sessions
from liza.schema.kinds import OneOf
from liza.schema.severities import CAUSES, SEVERITIES
from liza.schema.walker import Each, Faults, Named, Records, Shape, Table, walk
from liza.scope_names import SCOPES
from liza.text import did_you_mean, value_text

TASK_STATUSES = (
    "DRAFT", "UNCLAIMED", "CLAIMED", "READY_FOR_REVIEW", "REJECTED", "APPROVED", "MERGED", "BLOCKED",
    "INTEGRATION_FAILED", "SUPERSEDED", "ABANDONED",
)  # fmt: skip
_RESULT, _SEVERITY = OneOf(("OK", "TRIGGERED")), OneOf(tuple(SEVERITIES), "a severity")


def check(sections: Mapping[str, Any]) -> Faults:
    """Everything that is wrong with a blackboard."""
    for name in sections:
        if name not in SECTIONS and (hint := did_you_mean(name, tuple(SECTIONS))):
            yield Fault((name,), f"liza does not read the section {value_text(name)}", hint, "warning")
    for name, shape in SECTIONS.items():
        if sections.get(name) is not None:
            yield from walk(sections[name], (name,), shape)
    yield from _repeated_ids(sections.get("tasks"))
    yield from _silences(sections.get("silences"))


def _repeated_ids(tasks: Any) -> Faults:
    seen: dict[Any, int] = {}
    for index, task in enumerate(list_in(tasks)):
        name = task.get("id") if isinstance(task, Mapping) else None
        if isinstance(name, str | int) and seen.setdefault(name, index) != index:
            message = f"id {value_text(name)} is already used by task number {seen[name] + 1}"
            yield Fault(("tasks", index, "id"), message)


def _silences(section: Any) -> Faults:
    from liza.rules.silences import read_silences

    for entry in read_silences(section):
        if entry.fault is not None and entry.fields:
            where: Path = ("silences", entry.place)
            yield Fault(where, f"this silence is not active: {entry.fault}", "liza silence add RULE --for 2h -m WHY")


def _breaker(value: Mapping[str, Any], path: Path) -> Faults:
    status, trigger = value.get("status"), value.get("current_trigger")
    if status == "TRIGGERED" and trigger is None:
        yield Fault((*path, "status"), "the status is TRIGGERED but there is no current_trigger")
    if status == "OK" and trigger is not None:
        yield Fault((*path, "current_trigger"), "there is a current_trigger but the status is OK")


def _config(value: Mapping[str, Any], path: Path) -> Faults:
    address = value.get("escalation_webhook")
    if address is not None:
        from liza.notify.webhook import is_webhook_url

        if not is_webhook_url(address):  # without its value: what is in an address is often a secret
            hint = "use an http:// or https:// address with a host name"
            yield Fault((*path, "escalation_webhook"), "escalation_webhook is not a valid address", hint)


_TASK = Table(
    {
        "id": kinds.label,
        "status": OneOf(TASK_STATUSES, "a task status"),
        "created": kinds.time,
        "spec_ref": kinds.text,
        "assigned_to": kinds.label,
        "iteration": kinds.natural,
        "review_cycles_current": kinds.natural,
        "reviewing_by": kinds.label,
        "review_lease_expires": kinds.time,
        "failed_by": kinds.sequence,
        "blocked_reason": kinds.text,
        "max_iterations": kinds.positive,
        "max_review_cycles": kinds.positive,
        "history": kinds.sequence,
    },
    required=("id", "status"),
)
_AGENT = Table(
    {
        "role": kinds.text,
        "status": kinds.text,
        "current_task": kinds.label,
        "lease_expires": kinds.time,
        "heartbeat": kinds.time,
    }
)
_DISCOVERY = Table(
    {"id": kinds.label, "urgency": kinds.text, "description": kinds.text, "converted_to_task": kinds.label},
    required=("id",),
)
_TRIGGER = Table(
    {
        "timestamp": kinds.time,
        "pattern": kinds.text,
        "severity": _SEVERITY,
        "report_file": kinds.text,
        "trip_id": kinds.text,
    },
    required=("timestamp", "pattern", "severity"),
    past=("timestamp", "resolved_at"),
)
_HISTORY = Table(
    {
        # An entry that was moved here by hand, as the protocol describes it, has no `result`.
        "timestamp": kinds.time,
        "pattern": kinds.text,
        "severity": _SEVERITY,
        "result": _RESULT,
        "checks": kinds.positive,
        "last_at": kinds.time,
        "resolution": kinds.text,
        "resolved_at": kinds.time,
        "resolved_by": kinds.label,
        "cause": OneOf(CAUSES, "a severity or false_alarm"),
    },
    required=("timestamp",),
    past=("timestamp", "last_at", "resolved_at"),
)
_BREAKER = Table(
    {"last_check": kinds.time, "status": _RESULT, "current_trigger": _TRIGGER, "history": Each(_HISTORY)},
    required=("status",),
    check=_breaker,
    past=("last_check",),
)
_RECORDS = {"loops": loops.LOOP, "sessions": sessions.SESSION}
_TIMELINE = Table({"started": kinds.time, "ended": kinds.time}, past=("started",))

SECTIONS: dict[str, Shape] = {
    "version": kinds.anything,
    "goal": kinds.anything,
    "tasks": Each(_TASK),
    "agents": Named(_AGENT),
    "discovered": Each(_DISCOVERY),
    "anomalies": Each(Table(check=anomalies.check, past=("timestamp",)), suspects=anomalies.unsound),
    **{each.section: Records(_RECORDS.get(each.section, Table())) for each in SCOPES},
    "stages": Records(),
    "silences": Records(Table(past=("created",))),
    "sprint": Table({"id": kinds.label, "timeline": _TIMELINE, "metrics": kinds.mapping}),
    "circuit_breaker": _BREAKER,
    "config": Table({"max_coder_iterations": kinds.positive, "max_review_cycles": kinds.positive}, check=_config),
}
