"""What rules ask about tasks and agents that is not written down, but follows from what is.

It is worked out before any rule is asked, and never read from the file: a task cannot claim to have cycles left.
"""

from collections.abc import Callable, Mapping
from typing import Any

from liza.model import MAPPINGS, Record, Snapshot
from liza.text import text_of

REVIEW_CYCLES = 5
ITERATIONS = 10
_GONE = ("DEAD", "STOPPED", "GONE", "TERMINATED", "CRASHED", "OFFLINE", "EXITED", "FINISHED", "DONE")


def _tasks(snapshot: Snapshot) -> tuple[Record, ...]:
    config = snapshot.sections.get("config")
    settings: Mapping[str, Any] = config if isinstance(config, MAPPINGS) else {}
    agents = snapshot.sections.get("agents")
    known: Mapping[str, Any] = agents if isinstance(agents, MAPPINGS) else {}
    return tuple(
        record._replace(fields={**record.fields, **_about(record.fields, settings, known)})
        for record in snapshot.records("tasks")
    )


def _about(task: Mapping[str, Any], config: Mapping[str, Any], agents: Mapping[str, Any]) -> dict[str, Any]:
    cycles = _limit(task.get("max_review_cycles"), config.get("max_review_cycles"), REVIEW_CYCLES)
    iterations = _limit(task.get("max_iterations"), config.get("max_coder_iterations"), ITERATIONS)
    coder = task.get("assigned_to")
    failed = task.get("failed_by")
    had = _claimants(task.get("history"))
    return {
        **_spent("review_cycles", _count(task.get("review_cycles_current")), cycles),
        **_spent("iterations", _count(task.get("iteration")), iterations),
        "coder_gone": coder is None or _is_gone(agents.get(text_of(coder))),
        "failed_coders": len({text_of(name) for name in failed}) if isinstance(failed, list | tuple) else 0,
        "claimants": len(had),
        "claimed_by": had,
    }


def _spent(what: str, used: int, limit: int) -> dict[str, Any]:
    """How much of a limit is gone. A low one is not near before half of it is, whatever is left."""
    return {f"{what}_left": limit - used, f"{what}_share": used / limit, f"{what}_used": f"{used} of {limit}"}


def _limit(*candidates: Any) -> int:
    """The task's own value beats that of the blackboard, which beats ours."""
    return next(value for value in candidates if type(value) is int and value >= 1)


def _count(value: Any) -> int:
    return value if type(value) is int else 0


def _is_gone(agent: Any) -> bool:
    return not isinstance(agent, MAPPINGS) or text_of(agent.get("status")).upper() in _GONE


def _claimants(history: Any) -> list[str]:
    """Who has had the task so far, in that order."""
    events = [event for event in history if isinstance(event, MAPPINGS)] if isinstance(history, list | tuple) else []
    taken = ("claimed", "assigned", "reassigned")
    claims = [event for event in events if text_of(event.get("event")).lower() in taken]
    return list(dict.fromkeys(text_of(event["agent"]) for event in claims if event.get("agent") is not None))


def _agents(snapshot: Snapshot) -> tuple[Record, ...]:
    """With their names, which are keys in the file, and whether they hold anything that they could lose."""
    return tuple(
        record._replace(fields={"name": record.key, **record.fields, "at_work": _is_at_work(record.fields)})
        for record in snapshot.records("agents")
    )


def _is_at_work(agent: Mapping[str, Any]) -> bool:
    return not _is_gone(agent) and text_of(agent.get("status")).upper() != "IDLE"


DERIVED: dict[str, Callable[[Snapshot], tuple[Record, ...]]] = {"tasks": _tasks, "agents": _agents}
