"""What rules ask about tasks and agents that is not written down, but follows from what is.

It is worked out before any rule is asked, and never read from the file: a task cannot claim to have cycles left.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from liza.model import MAPPINGS, Record, Snapshot, list_in, mappings_in, one_or_several, parse_time
from liza.text import text_of

REVIEW_CYCLES = 5
ITERATIONS = 10
# Derived fields that came after the first release. No fingerprint covers them, or resolved tasks would count again: on
# every board of an earlier release, and whenever another task changes them. A new derived field of tasks belongs here.
NOT_FINGERPRINTED = frozenset({"rejections", "replacements"})
_GONE = ("DEAD", "STOPPED", "GONE", "TERMINATED", "CRASHED", "OFFLINE", "EXITED", "FINISHED", "DONE")


def _tasks(snapshot: Snapshot) -> tuple[Record, ...]:
    config = snapshot.sections.get("config")
    settings: Mapping[str, Any] = config if isinstance(config, MAPPINGS) else {}
    agents = snapshot.sections.get("agents")
    known: Mapping[str, Any] = agents if isinstance(agents, MAPPINGS) else {}
    records = snapshot.records("tasks")
    replaced = _Replaced(records)
    return tuple(
        record._replace(
            fields={
                **record.fields,
                **_about(record.fields, settings, known),
                "replacements": replaced.before(record.fields),
            }
        )
        for record in records
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
        "failed_coders": len({text_of(name) for name in list_in(failed)}),
        "rejections": _rejections(task),
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


def _rejections(task: Mapping[str, Any]) -> int:
    """How often reviewers have rejected a task; unlike its history, its review cycles may start over."""
    events = _events(task.get("history"), "rejected", "review_rejected", "changes_requested")
    return max(len(events), _count(task.get("review_cycles_current")))


class _Replaced:
    """The tasks that others replace: by a field that names them, else by the specification that they share."""

    def __init__(self, tasks: Sequence[Record]) -> None:
        self._tasks = {text_of(each.fields["id"]): each.fields for each in tasks if each.fields.get("id") is not None}
        self._by_spec: dict[str, list[Mapping[str, Any]]] = {}
        self._named: dict[str, list[str]] = {}  # by the task that replaces them
        for name, task in self._tasks.items():
            if _status(task) == "SUPERSEDED" and task.get("spec_ref") is not None:
                self._by_spec.setdefault(text_of(task["spec_ref"]), []).append(task)
            for field in ("supersedes", "replaces"):
                self._named.setdefault(name, []).extend(_names(task.get(field)))
            for field in ("superseded_by", "replaced_by"):
                for other in _names(task.get(field)):
                    self._named.setdefault(other, []).append(name)

    def before(self, task: Mapping[str, Any]) -> int:
        """How many tasks a task replaces, one after the other."""
        waiting = list(self._named.get(text_of(task.get("id")), ()))
        if not waiting:
            own = parse_time(task.get("created"))
            others = self._by_spec.get(text_of(task["spec_ref"]), ()) if task.get("spec_ref") is not None else ()
            created = [parse_time(other.get("created")) for other in others if other is not task]
            return sum(own is None or moment is None or moment <= own for moment in created)
        found: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name in self._tasks and name not in found and self._tasks[name] is not task:
                found.add(name)
                waiting += self._named.get(name, ())
        return sum(_status(self._tasks[name]) == "SUPERSEDED" for name in found)


def _names(value: Any) -> list[str]:
    return [text_of(each) for each in one_or_several(value) if each is not None]


def _status(task: Mapping[str, Any]) -> str:
    return text_of(task.get("status")).upper()


def _events(history: Any, *names: str) -> list[Mapping[str, Any]]:
    """The entries of a task's history that are one of these events."""
    return [event for event in mappings_in(history) if text_of(event.get("event")).lower() in names]


def _claimants(history: Any) -> list[str]:
    """Who has had the task so far, in that order."""
    claims = _events(history, "claimed", "assigned", "reassigned")
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
