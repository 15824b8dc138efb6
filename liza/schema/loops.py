"""What belongs into the section `loops`."""

from collections.abc import Mapping
from typing import Any

from liza.model import Fault
from liza.schema import state
from liza.schema.state import Faults, Kind
from liza.store.document import Path
from liza.text import value_text

STATES = ("CLOSED", "OPEN", "HALF_OPEN")
OUTCOMES = ("ok", "error", "timeout", "crash")


def _percent(value: Any) -> str | None:
    fine = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 100
    return None if fine else "a number from 0 to 100"


def _moment(value: Any) -> str | None:
    """Other programs write seconds since 1970."""
    return None if type(value) is int and value > 0 else state.time(value)


def _reason(value: Any) -> str | None:
    return None if isinstance(value, str) else "a text"


_LOOP: dict[str, Kind] = {
    "trigger_reason": _reason, "trigger_count": state.natural, "loop_count": state.natural,
    "consecutive_no_progress_loops": state.natural, "last_trigger_time": _moment, "error_history": state.sequence,
    "iterations": state.sequence, "history": state.sequence, "completed_at": state.time, "progress_before": _percent,
}  # fmt: skip
_ITERATION: dict[str, Kind] = {
    "iteration": state.positive, "timestamp": state.time, "task": state.label, "progress": _percent,
    "files_changed": state.natural, "claims_done": state.flag, "test_only": state.flag, "evidence": state.mapping,
    "tokens": state.natural,
}  # fmt: skip
_ERROR: dict[str, Kind] = {"iteration": state.positive, "signature": state.text, "file": state.text}


def check(value: Any) -> Faults:
    """Everything that is wrong with the loops of a blackboard."""
    yield from state.container(value, "loops")
    records = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, loop in records:
        if isinstance(loop, Mapping):
            yield from _loop(loop, ("loops", key))


def _loop(loop: Mapping[str, Any], path: Path) -> Faults:
    yield from state.one_of(loop, path, "status", STATES, required=False)
    yield from state.fields(loop, path, {}, _LOOP)
    for name, kinds in (("iterations", _ITERATION), ("error_history", _ERROR)):
        entries = loop.get(name)
        for index, entry in enumerate(entries) if isinstance(entries, list) else ():
            where = (*path, name, index)
            if not isinstance(entry, Mapping):
                yield Fault(where, f"a record with fields is expected, this is {value_text(entry)}")
                continue
            yield from state.fields(entry, where, {}, kinds)
            if name == "iterations":
                yield from state.one_of(entry, where, "outcome", OUTCOMES, required=False)
                yield from _evidence(entry.get("evidence"), (*where, "evidence"))


def _evidence(value: Any, path: Path) -> Faults:
    for name, result in value.items() if isinstance(value, Mapping) else ():
        if result not in ("pass", "fail"):
            message = f"{name} is {value_text(result)}, expected is pass or fail"
            yield Fault((*path, name), message, "what is neither does not count")
