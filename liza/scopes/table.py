"""The scopes that there are: one row each. `engine.py` does the rest for all of them.

It imports nothing heavy: `liza gate --help` and shell completion read it, and a scope is loaded only by its row.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from liza.scopes.scope import Entry, Scope


class Row(NamedTuple):
    """One kind of scope. Its package is loaded only where the blackboard has its section, or a command asks for it."""

    section: str  # of state.yaml, which holds its records
    stream: str  # under which rules see them
    gates: Mapping[str, str]  # the options of `liza gate`, and what each stops at
    kinds: tuple[str, ...]  # of the records that wait in the inbox
    load: Callable[[], "Scope[Any]"]
    logged: str | None = None  # the log's action for a trip that must not vanish with its record
    beside: tuple[str, ...] = ()  # further streams of a scope that has a source
    folder: str | None = None  # in `.liza/`, with the records of a scope that has a source


def _loops() -> "Scope[Any]":
    from liza.scopes.loops.scope import SCOPE

    return SCOPE


def _claims() -> "Scope[Any]":
    from liza.scopes.claims.scope import SCOPE

    return SCOPE


def _slices() -> "Scope[Any]":
    from liza.scopes.slices.scope import SCOPE

    return SCOPE


def _sessions() -> "Scope[Any]":
    from liza.scopes.sessions.scope import SCOPE

    return SCOPE


ROWS = (
    Row("sessions", "steps", {"session": "this session is stopped"}, (), _sessions, beside=("usage",), folder="steps"),
    Row("loops", "iterations", {"loop": "this loop is open"}, ("iteration",), _loops),
    Row(
        "claims", "rounds", {"claim": "this claim is frozen", "stage": "this stage is blocked"}, ("claim", "round"),
        _claims, logged="claim_disputed",
    ),
    Row(
        "slices", "attempts", {"slice": "this slice is stopped"}, ("attempts", "start", "arch_stop", "justification"),
        _slices,
    ),
)  # fmt: skip
SECTIONS = tuple(row.section for row in ROWS)


def _enter_anomaly() -> "Entry":
    from liza.scopes.anomalies import enter_anomaly

    return enter_anomaly


def _entry_of(row: Row, kind: str) -> "Entry":
    return row.load().entries()[kind]


# By kind, what applies a record from the inbox to the blackboard, as of the time at which it was made.
KINDS: Mapping[str, Callable[[], "Entry"]] = {
    "anomaly": _enter_anomaly,
    **{kind: partial(_entry_of, row, kind) for row in ROWS for kind in row.kinds},
}
