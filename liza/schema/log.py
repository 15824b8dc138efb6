"""What belongs into `log.yaml`: a list of entries."""

from collections.abc import Sequence
from typing import Any

from liza.model import Path
from liza.schema import kinds
from liza.schema.walker import Faults, Table, walk

ENTRY = Table(
    {"timestamp": kinds.time, "agent": kinds.label, "action": kinds.text, "task": kinds.label, "detail": kinds.text},
    required=("timestamp", "agent", "action"),
)


def check(entries: Sequence[Any]) -> Faults:
    """Everything that is wrong with the entries of a log."""
    for index, entry in enumerate(entries):
        yield from check_entry(entry, (index,))


def check_entry(entry: Any, path: Path) -> Faults:
    return walk(entry, path, ENTRY)
