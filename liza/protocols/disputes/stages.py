"""The stages of a pipeline of claims: which one it is in, and whether one may close. Only decisions."""

from collections.abc import Iterator
from typing import Any

from liza.errors import LizaError
from liza.model import MAPPINGS
from liza.protocols import scopes

SCOPE = scopes.Scope("stage", "stages")
ACTIVE, PASSED, CLOSED = "ACTIVE", "PASSED", "CLOSED"
_ACTIVE = (ACTIVE, "CURRENT", "IN_PROGRESS", "RUNNING", "OPEN")  # words that people have for it


def current(section: Any) -> str | None:
    """The stage that the pipeline is in; several where a person has made several active, None where nobody can say."""
    try:
        return ", ".join(name for name, status in _statuses(section) if status in _ACTIVE) or None
    except LizaError:
        return None


def _statuses(section: Any) -> Iterator[tuple[str, str]]:
    for _, name, stage in scopes.named(section, SCOPE.name):
        if name and isinstance(stage, MAPPINGS):
            yield name, str(stage.get("status") or "").strip().upper()
