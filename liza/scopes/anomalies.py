"""One anomaly or log entry: checked first, then appended under the lock."""

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from liza.errors import Refused
from liza.model import Fault
from liza.schema import anomalies
from liza.schema import log as log_schema
from liza.store import emit
from liza.store.board import Board
from liza.store.document import Document
from liza.store.edit import append_record

if TYPE_CHECKING:
    from liza.store.inbox import NotEvaluated


class Added(NamedTuple):
    record: Mapping[str, Any]
    file: str
    line: int | None  # on which it begins; of the log only the end is read
    warnings: tuple[Fault, ...]  # each with a `message` and a `hint`
    rescued: tuple[str, ...] = ()  # files with what another program wrote while a write of ours was interrupted
    waits: "NotEvaluated | None" = None  # why it is not on the blackboard yet, but in `file`, in the inbox


class Invalid(Refused):
    """The record lacks something that its pattern needs; all that is wrong is in `faults`."""

    def __init__(self, what: str, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        reasons = "; ".join(fault.message for fault in self.faults)
        hints = [fault.hint for fault in self.faults if fault.hint]
        super().__init__(f"{what} not added: {reasons}", hint="; ".join(dict.fromkeys(hints)) or None)


def add_anomaly(board: Board, record: Mapping[str, Any]) -> Added:
    warnings = check_anomaly(record)

    def append(document: Document) -> tuple[bytes, int]:
        raw = append_record(document, "anomalies", record)
        return raw, _line_of(record, document, raw)

    line = board.change(append)
    return Added(record, board.paths.state, line, (*warnings, *_stuck(board.stuck)), tuple(board.rescued))


def enter_anomaly(board: Board, fields: Mapping[str, Any], now: object) -> None:
    """Append an anomaly that waited in the inbox; it has its own time."""
    add_anomaly(board, fields)


def _stuck(texts: Iterable[str]) -> Iterable[Fault]:
    """What an interrupted write left and cannot be removed, among the warnings."""
    return (Fault((), text, level="warning") for text in texts)


def check_anomaly(record: Mapping[str, Any]) -> tuple[Fault, ...]:
    """What is odd about an anomaly; `Refused` where it cannot be recorded."""
    _writable(record)
    return _checked("anomaly", anomalies.check(record, ()))


def add_entry(board: Board, entry: Mapping[str, Any]) -> Added:
    from liza.store.log import append_entry

    warnings = _checked("log entry", log_schema.check_entry(entry, ()))
    stuck: list[str] = []
    append_entry(board.paths, entry, stuck=stuck)
    return Added(entry, board.paths.log, None, (*warnings, *_stuck(stuck)))


def stamped(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with its time in UTC; the present one where it has none. An invalid time is left for the check."""
    stamp = record.get("timestamp")
    if stamp is None:
        rest = {name: value for name, value in record.items() if name != "timestamp"}
        return {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **rest}
    if not isinstance(stamp, str) or stamp.endswith("Z"):
        return dict(record)
    from liza.model import parse_time  # which most records do without

    moment = parse_time(stamp)
    return {**record, "timestamp": stamp if moment is None else moment.isoformat().replace("+00:00", "Z")}


def _writable(record: Mapping[str, Any]) -> None:
    try:
        emit.item(record, 0)
    except (TypeError, RecursionError) as error:
        raise Refused(f"that value cannot be written as YAML: {error}") from None


def _checked(what: str, faults: Iterable[Fault]) -> tuple[Fault, ...]:
    found = tuple(faults)
    # On the blackboard a record with an invalid time still counts; a new one can be corrected.
    errors = [fault for fault in found if fault.level == "error" or fault.path == ("timestamp",)]
    if errors:
        raise Invalid(what, errors)
    return found


def _line_of(record: Mapping[str, Any], before: Document, after: bytes) -> int:
    """The line on which a record begins that was put at the end of its section."""
    behind = len(before.raw) - before.sections["anomalies"].end if "anomalies" in before.data else 0
    first = emit.item(record, 0).partition("\n")[0].encode()
    at = after.rfind(first, 0, len(after) - behind)
    return after.count(b"\n", 0, at if at >= 0 else len(after) - behind) + 1
