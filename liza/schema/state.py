"""What belongs on a blackboard, and what of it is wrong.

A fault never stops anything: the records beside it are judged all the same. An error is something that a rule cannot
use; a warning is something it can, which is probably not what was meant. `docs/schema.md` is the same in prose.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from liza.model import ANOMALY_DETAILS, Fault
from liza.schema.severities import SEVERITIES
from liza.store.document import Path
from liza.text import closest_match, value_text

SECTIONS = (
    "version", "goal", "tasks", "agents", "discovered", "anomalies", "claims", "slices", "loops", "stages", "silences",
    "sprint", "circuit_breaker", "config",
)  # fmt: skip
TASK_STATUSES = (
    "DRAFT", "UNCLAIMED", "CLAIMED", "READY_FOR_REVIEW", "REJECTED", "APPROVED", "MERGED", "BLOCKED",
    "INTEGRATION_FAILED", "SUPERSEDED", "ABANDONED",
)  # fmt: skip


Faults = Iterator[Fault]


# --- kinds of values: each says what it expects, or None if the value will do ---------------------------------------


def text(value: Any) -> str | None:
    return None if isinstance(value, str) and value.strip() else "a text that is not empty"


def label(value: Any) -> str | None:
    """An id or name; a bare number is one, too, as people write them."""
    is_name = type(value) is int or (isinstance(value, str) and value.strip())
    return None if is_name else "a name"


def natural(value: Any) -> str | None:
    return None if type(value) is int and value >= 0 else "a whole number, 0 or more"


def positive(value: Any) -> str | None:
    return None if type(value) is int and value >= 1 else "a whole number, 1 or more"


def flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else "true or false, without quotes"


def time(value: Any) -> str | None:
    try:
        datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return "an ISO 8601 time like 2025-01-18T14:32:00Z"
    return None


def mapping(value: Any) -> str | None:
    return None if isinstance(value, Mapping) else "a mapping"


def sequence(value: Any) -> str | None:
    return None if isinstance(value, list) else "a list"


Kind = Callable[[Any], str | None]

_DETAIL_KINDS: dict[str, Kind] = {"count": natural, "debt_created": flag}

# Fields of records: those that must be there, then those that may be, null included.
_TASK: tuple[dict[str, Kind], dict[str, Kind]] = (
    {"id": label},
    {
        "created": time, "spec_ref": text, "assigned_to": label, "iteration": natural, "review_cycles_current": natural,
        "reviewing_by": label, "review_lease_expires": time, "failed_by": sequence, "blocked_reason": text,
        "max_iterations": positive, "max_review_cycles": positive, "history": sequence,
    },
)  # fmt: skip
_AGENT: tuple[dict[str, Kind], dict[str, Kind]] = (
    {},
    {"role": text, "status": text, "current_task": label, "lease_expires": time, "heartbeat": time},
)
_DISCOVERY: tuple[dict[str, Kind], dict[str, Kind]] = (
    {"id": label},
    {"urgency": text, "description": text, "converted_to_task": label},
)
_ENTRY: tuple[dict[str, Kind], dict[str, Kind]] = (
    {"timestamp": time, "agent": label, "action": text},
    {"task": label, "detail": text},
)
_TRIGGER: tuple[dict[str, Kind], dict[str, Kind]] = (
    {"timestamp": time, "pattern": text},
    {"report_file": text, "trip_id": text},
)
_HISTORY: tuple[dict[str, Kind], dict[str, Kind]] = (
    {"timestamp": time},
    {"pattern": text, "resolution": text, "resolved_at": time, "resolved_by": label, "checks": positive},
)
_CONFIG: tuple[dict[str, Kind], dict[str, Kind]] = (
    {},
    {"max_coder_iterations": positive, "max_review_cycles": positive},
)


# --- checks ---------------------------------------------------------------------------------------------------------


def check(sections: Mapping[str, Any]) -> Faults:
    """Everything that is wrong with a blackboard."""
    for name in sections:
        if name not in SECTIONS and (meant := closest_match(name, SECTIONS)):
            yield Fault(
                (name,), f"the section {value_text(name)} is not read by liza", f"did you mean {meant}?", "warning"
            )
    checks: dict[str, Callable[[Any], Faults]] = {
        "tasks": check_tasks,
        "agents": check_agents,
        "discovered": lambda value: _records(value, "discovered", lambda each, path: fields(each, path, *_DISCOVERY)),
        "anomalies": lambda value: _records(value, "anomalies", check_anomaly, skip=_is_sound),
        "claims": lambda value: container(value, "claims"),
        "slices": lambda value: container(value, "slices"),
        "loops": check_loops,
        "stages": lambda value: container(value, "stages"),
        "silences": check_silences,
        "sprint": check_sprint,
        "circuit_breaker": check_breaker,
        "config": check_config,
    }
    for name, checker in checks.items():
        if sections.get(name) is not None:
            yield from checker(sections[name])


def check_anomaly(record: Mapping[str, Any], path: Path) -> Faults:
    """One anomaly: who, when, on what, and the details that its pattern needs."""
    for name in ("task", "reporter"):
        yield from _field(record, path, name, label)
    yield from _when(record, path)
    kind = record.get("type")
    if (fault := text(kind)) is not None:
        yield Fault((*path, "type"), _expected(record, "type", fault), f"one of: {', '.join(ANOMALY_DETAILS)}")
        return
    if kind not in ANOMALY_DETAILS:
        meant = closest_match(kind, tuple(ANOMALY_DETAILS))
        hint = f"did you mean {meant}?" if meant else f"the types with a pattern: {', '.join(ANOMALY_DETAILS)}"
        yield Fault((*path, "type"), f"{value_text(kind)} is not a type that a shipped rule looks at", hint, "warning")
        return
    details = record.get("details")
    if details is not None and not isinstance(details, Mapping):
        yield Fault((*path, "details"), _expected(record, "details", "a mapping"))
        return
    for needed in ANOMALY_DETAILS[kind]:
        yield from _detail(record, details or {}, path, kind, needed)


def _detail(record: Mapping[str, Any], details: Mapping[str, Any], path: Path, kind: str, needed: str) -> Faults:
    for name in needed.split("|"):
        for holder, where in ((record, path), (details, (*path, "details"))):
            if holder.get(name) is not None:
                wanted = _DETAIL_KINDS.get(name, text)(holder[name])
                if wanted is not None:
                    yield Fault((*where, name), _expected(holder, name, wanted))
                return
    where = (*path, "details") if details else path
    words = needed.replace("|", " or ")
    yield Fault(where, f"{kind} needs {words} in its details", f"add the detail: {needed.partition('|')[0]}=...")


def check_tasks(value: Any) -> Faults:
    seen: dict[Any, int] = {}

    def task(record: Mapping[str, Any], path: Path) -> Faults:
        yield from fields(record, path, *_TASK)
        yield from one_of(record, path, "status", TASK_STATUSES)
        name = record.get("id")
        if isinstance(name, str | int) and seen.setdefault(name, int(path[-1])) != path[-1]:
            yield Fault((*path, "id"), f"the id {value_text(name)} is also that of task number {seen[name] + 1}")

    yield from _records(value, "tasks", task)


def check_agents(value: Any) -> Faults:
    if not isinstance(value, Mapping):
        yield Fault(("agents",), _expected({"agents": value}, "agents", "a mapping of names"))
        return
    for name, agent in value.items():
        yield from _one(agent, ("agents", name), *_AGENT)


def check_sprint(value: Any) -> Faults:
    yield from _one(value, ("sprint",), {}, {"id": label, "timeline": mapping, "metrics": mapping})
    if isinstance(value, Mapping) and isinstance(value.get("timeline"), Mapping):
        yield from fields(value["timeline"], ("sprint", "timeline"), {}, {"started": time, "ended": time})


def check_breaker(value: Any) -> Faults:
    path: Path = ("circuit_breaker",)
    if not isinstance(value, Mapping):
        yield Fault(path, _expected({"circuit_breaker": value}, "circuit_breaker", "a mapping"))
        return
    yield from fields(value, path, {}, {"last_check": time, "history": sequence, "current_trigger": mapping})
    yield from one_of(value, path, "status", ("OK", "TRIGGERED"))
    trigger = value.get("current_trigger")
    if isinstance(trigger, Mapping):
        yield from fields(trigger, (*path, "current_trigger"), *_TRIGGER)
        yield from one_of(trigger, (*path, "current_trigger"), "severity", tuple(SEVERITIES))
    if value.get("status") == "TRIGGERED" and trigger is None:
        yield Fault((*path, "status"), "the status is TRIGGERED but there is no current_trigger")
    if value.get("status") == "OK" and trigger is not None:
        yield Fault((*path, "current_trigger"), "there is a current_trigger but the status is OK")
    for index, entry in enumerate(value.get("history") or ()) if isinstance(value.get("history"), list) else ():
        where = (*path, "history", index)
        yield from _one(entry, where, *_HISTORY)
        if isinstance(entry, Mapping):
            # An entry moved here by hand, as the protocol describes it, has no `result`.
            yield from one_of(entry, where, "result", ("OK", "TRIGGERED"), required=False)
            yield from one_of(entry, where, "severity", tuple(SEVERITIES), required=False)


def check_loops(value: Any) -> Faults:
    from liza.schema import loops

    yield from loops.check(value)


def check_config(value: Any) -> Faults:
    yield from _one(value, ("config",), *_CONFIG)
    address = value.get("escalation_webhook") if isinstance(value, Mapping) else None
    if address is not None:
        from liza.notify.webhook import is_webhook_url

        if not is_webhook_url(address):  # without its value: what is in an address is often a secret
            message = "escalation_webhook is no address"
            hint = "it begins with http:// or https:// and names a host"
            yield Fault(("config", "escalation_webhook"), message, hint)


def check_silences(value: Any) -> Faults:
    from liza.rules.silences import read_silences

    yield from container(value, "silences")
    for entry in read_silences(value):
        if entry.fault is not None and entry.fields:
            where: Path = ("silences", entry.place)
            yield Fault(where, f"this silence is not in force: {entry.fault}", "liza silence add RULE --for 2h -m WHY")


def check_log(entries: list[Any]) -> Faults:
    """Everything that is wrong with the entries of a log."""
    for index, entry in enumerate(entries):
        yield from check_entry(entry, (index,))


def check_entry(entry: Any, path: Path) -> Faults:
    """One entry of the log."""
    yield from _one(entry, path, *_ENTRY)


def _is_sound(record: Any) -> bool:
    """Whether an anomaly has nothing wrong with it, in one look: there are the most of these, and few are faulty."""
    try:
        details = {} if record.get("details") is None else record["details"]
        datetime.fromisoformat(record["timestamp"])
        return (
            record["timestamp"][-1] == "Z"
            and label(record["task"]) is label(record["reporter"]) is None
            and type(details) is dict
            and all(name not in record and kind(details[name]) is None for name, kind in _SOUND[record["type"]])
            and "<<" not in record
        )
    except (LookupError, TypeError, ValueError, AttributeError):
        return False


# Without those that either of two fields can satisfy: these take the long way.
_SOUND = {
    kind: tuple((name, _DETAIL_KINDS.get(name, text)) for name in needed)
    for kind, needed in ANOMALY_DETAILS.items()
    if not any("|" in name for name in needed)
}


def _records(
    value: Any,
    name: str,
    checker: Callable[[Mapping[str, Any], Path], Faults],
    skip: Callable[[Any], bool] = lambda record: False,
) -> Faults:
    if not isinstance(value, list):
        yield Fault((name,), _expected({name: value}, name, "a list"), f"begin each record of {name} with '- '")
        return
    for index, record in enumerate(value):
        if skip(record):
            continue
        if isinstance(record, Mapping):
            if "<<" in record:
                yield Fault((name, index, "<<"), "'<<' merges nothing here", "write the fields out", "warning")
            yield from checker(record, (name, index))
        else:
            yield Fault((name, index), f"a record with fields is expected, this is {value_text(record)}")


def container(value: Any, name: str) -> Faults:
    """Records as a list or by name; what is in them is for the protocol that owns the section."""
    if isinstance(value, Mapping):
        for key, record in value.items():
            if not isinstance(record, Mapping):
                yield Fault((name, key), f"a record with fields is expected, this is {value_text(record)}")
    else:
        yield from _records(value, name, lambda record, path: iter(()))


def _one(value: Any, path: Path, required: Mapping[str, Kind], optional: Mapping[str, Kind]) -> Faults:
    if isinstance(value, Mapping):
        yield from fields(value, path, required, optional)
    else:
        yield Fault(path, f"a mapping is expected, this is {value_text(value)}")


def fields(record: Mapping[str, Any], path: Path, required: Mapping[str, Kind], optional: Mapping[str, Kind]) -> Faults:
    for name, kind in required.items():
        yield from _field(record, path, name, kind)
    for name, kind in optional.items():
        if record.get(name) is not None:
            yield from _field(record, path, name, kind)


def _field(record: Mapping[str, Any], path: Path, name: str, kind: Kind) -> Faults:
    if (wanted := kind(record.get(name))) is not None:
        yield Fault((*path, name), _expected(record, name, wanted))


def _when(record: Mapping[str, Any], path: Path) -> Faults:
    """A record without a usable time still counts, so that is a warning."""
    value: Any = record.get("timestamp")
    if (wanted := time(value)) is not None:
        yield Fault((*path, "timestamp"), _expected(record, "timestamp", wanted), None, "warning")
    elif not value.rstrip().endswith("Z") and "+" not in value and "-" not in value[10:]:
        yield Fault(
            (*path, "timestamp"), f"the time {value_text(value)} has no zone", "it is read as UTC: add Z", "warning"
        )


def one_of(record: Mapping[str, Any], path: Path, name: str, known: tuple[str, ...], required: bool = True) -> Faults:
    value = record.get(name)
    if value in known or (value is None and not required):
        return
    meant = closest_match(value, known)
    hint = f"did you mean {meant}?" if meant else f"one of: {', '.join(known)}"
    yield Fault((*path, name), _expected(record, name, "one of the known words"), hint)


def _expected(record: Mapping[str, Any], name: str, wanted: str) -> str:
    if name not in record:
        return f"{name} is missing: {wanted} is expected"
    return f"{name} is {value_text(record[name])}, expected is {wanted}"
