"""Putting one record on the blackboard: checked first, then appended under the lock."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from liza.blackboard import schema
from liza.blackboard.board import Board
from liza.blackboard.edit import append_record
from liza.errors import Refused


class Added(NamedTuple):
    """What was added, at which line of which file (of the log only the end is read), and what is odd about it."""

    record: Mapping[str, Any]
    file: str
    line: int | None
    warnings: tuple[schema.Fault, ...]


class Invalid(Refused):
    """The record lacks something that its pattern needs; all that is wrong is in `faults`."""

    def __init__(self, what: str, faults: Iterable[schema.Fault]) -> None:
        self.faults = tuple(faults)
        reasons = "; ".join(fault.message for fault in self.faults)
        hints = [fault.hint for fault in self.faults if fault.hint]
        super().__init__(f"this {what} was not added: {reasons}", hint="; ".join(dict.fromkeys(hints)) or None)


def add_anomaly(board: Board, record: Mapping[str, Any]) -> Added:
    """Append one anomaly."""
    warnings = _checked("anomaly", schema.check_anomaly(record, ()))
    before, after = board.change(lambda document: append_record(document, "anomalies", record))
    line = after.count(b"\n", 0, _first_difference(before.raw, after)) + 1
    return Added(record, board.paths.state, line, warnings)


def add_entry(board: Board, entry: Mapping[str, Any]) -> Added:
    """Append one entry to the log."""
    from liza.blackboard.logfile import append_entry

    warnings = _checked("log entry", schema.check_entry(entry, ()))
    append_entry(board.paths, entry)
    return Added(entry, board.paths.log, None, warnings)


def _checked(what: str, faults: Iterable[schema.Fault]) -> tuple[schema.Fault, ...]:
    found = tuple(faults)
    errors = [fault for fault in found if fault.level == "error"]
    if errors:
        raise Invalid(what, errors)
    return found


def _first_difference(one: bytes, other: bytes) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
