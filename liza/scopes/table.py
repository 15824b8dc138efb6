"""What the scopes do: each loaded for its row of `scope_names.py`. `engine.py` does the rest for all of them."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from liza.scope_names import SCOPES, ScopeNames

if TYPE_CHECKING:
    from liza.scopes.scope import Entry, Scope


def load(names: ScopeNames) -> "Scope[Any]":
    """A scope: only where the blackboard has its section, or a command asks for it."""
    match names.section:
        case "sessions":
            from liza.scopes.sessions import scope as sessions

            return sessions.SCOPE
        case "loops":
            from liza.scopes.loops import scope as loops

            return loops.SCOPE
        case "claims":
            from liza.scopes.claims import scope as claims

            return claims.SCOPE
        case "slices":
            from liza.scopes.slices import scope as slices

            return slices.SCOPE
        case section:
            raise KeyError(section)


def _enter_anomaly() -> "Entry":
    from liza.scopes.anomalies import enter_anomaly

    return enter_anomaly


def _entry_of(names: ScopeNames, kind: str) -> "Entry":
    return load(names).entries()[kind]


# By kind, what applies a record from the inbox to the blackboard, as of the time at which it was made.
KINDS: Mapping[str, Callable[[], "Entry"]] = {
    "anomaly": _enter_anomaly,
    **{kind: partial(_entry_of, names, kind) for names in SCOPES for kind in names.kinds},
}
