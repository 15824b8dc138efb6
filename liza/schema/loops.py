"""What belongs into the section `loops`."""

from collections.abc import Mapping
from typing import Any

from liza.model import MAPPINGS, Fault, Path
from liza.schema import kinds
from liza.schema.kinds import OneOf
from liza.schema.loop_statuses import OUTCOMES, STATUSES
from liza.schema.walker import Each, Faults, Table
from liza.text import value_text


def _percent(value: Any) -> str | None:
    return None if kinds.number(value) is None and 0 <= value <= 100 else "a number from 0 to 100"


def _moment(value: Any) -> str | None:
    """Other programs write seconds since 1970."""
    return None if type(value) is int and value > 0 else kinds.time(value)


def _evidence(entry: Mapping[str, Any], path: Path) -> Faults:
    value = entry.get("evidence")
    for name, result in value.items() if isinstance(value, MAPPINGS) else ():
        if result not in ("pass", "fail"):
            message = f"{name}: expected pass or fail, got {value_text(result)}"
            yield Fault((*path, "evidence", name), message, "any other result does not count")


_ITERATION = Table(
    {
        "iteration": kinds.positive,
        "timestamp": kinds.time,
        "task": kinds.label,
        "progress": _percent,
        "files_changed": kinds.natural,
        "claims_done": kinds.flag,
        "test_only": kinds.flag,
        "evidence": kinds.mapping,
        "tokens": kinds.natural,
        "outcome": OneOf(OUTCOMES, "an outcome"),
    },
    check=_evidence,
)
_ERROR = Table({"iteration": kinds.positive, "signature": kinds.text, "file": kinds.text})
LOOP = Table(
    {
        "status": OneOf(STATUSES, "a loop status"),
        "trigger_reason": kinds.string,
        "trigger_count": kinds.natural,
        "loop_count": kinds.natural,
        "consecutive_no_progress_loops": kinds.natural,
        "last_trigger_time": _moment,
        "iterations": Each(_ITERATION),
        "error_history": Each(_ERROR),
        "history": kinds.sequence,
        "completed_at": kinds.time,
        "progress_before": _percent,
    }
)
