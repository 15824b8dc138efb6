"""The scopes by name, one row each: what files, rules and command lines call them.

Every layer reads this table, so it imports nothing. What a scope does is its package, which `scopes/table.py` loads.
"""

from collections.abc import Mapping
from typing import NamedTuple


class ScopeNames(NamedTuple):
    """One kind of thing that a trip stops, besides the sprint."""

    scope: str  # one of them
    section: str  # of state.yaml, which holds its records
    stream: str  # what is recorded of it, as rules see it; also the list in its record
    pack: str  # of its rules
    actions: tuple[str, ...]  # with which a rule is about it; the first stops it
    gates: Mapping[str, str]  # the options of `liza gate`, and what each stops at
    kinds: tuple[str, ...] = ()  # of its records that wait in the inbox
    logged: str | None = None  # the log's action for a trip that must not vanish with its record
    beside: tuple[str, ...] = ()  # further streams
    folder: str | None = None  # in `.liza/`, where its streams are kept in files of their own

    @property
    def streams(self) -> tuple[str, ...]:
        return (self.stream, *self.beside)


SCOPES = (
    ScopeNames(
        "session", "sessions", "steps", "sessions", ("STOP", "WARN"), {"session": "this session is stopped"},
        beside=("usage",), folder="steps",
    ),
    ScopeNames("loop", "loops", "iterations", "loops", ("OPEN",), {"loop": "this loop is open"}, ("iteration",)),
    ScopeNames(
        "claim", "claims", "rounds", "disputes", ("FREEZE",),
        {"claim": "this claim is frozen", "stage": "this stage is blocked"}, ("claim", "round"),
        logged="claim_disputed",
    ),
    ScopeNames(
        "slice", "slices", "attempts", "attempts", ("STOP",), {"slice": "this slice is stopped"},
        ("attempts", "start", "arch_stop", "justification"),
    ),
)  # fmt: skip
ON_BOARD = tuple(each for each in SCOPES if each.folder is None)  # their streams are inside their records
IN_FILES = tuple(each for each in SCOPES if each.folder is not None)
