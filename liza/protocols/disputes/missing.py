"""Disputes that are in the log and no longer on the blackboard.

Whoever deletes a frozen claim, or saves an older copy of the file over it, would have found the silent way out that
there must not be. The log remembers: a dispute in it ends with a decision that is in it, or in the claim's history.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from liza.blackboard.board import Board
from liza.blackboard.logfile import entries_with
from liza.blackboard.paths import Paths
from liza.errors import LizaError
from liza.model import MAPPINGS
from liza.protocols import scopes
from liza.protocols.disputes import freezing
from liza.protocols.disputes.stages import Blocker
from liza.text import text_of

BEGAN, ENDED = "claim_disputed", "claim_resolved"


class Missing(NamedTuple):
    """A dispute that nobody decided, and that its claim does not know of."""

    name: str
    since: str
    claim: Mapping[str, Any] | None  # as it is now; None if it is gone

    @property
    def what(self) -> str:
        return "the claim was deleted" if self.claim is None else "its dispute was taken out"

    def __str__(self) -> str:
        return f"claim {self.name} is {freezing.DISPUTED} since {self.since}, and {self.what} by hand"


def missing(board: Board, section: Any) -> list[Missing]:
    """Every such dispute; `Unreadable` if the log cannot be read, and then nobody can say that there is none.

    `section` was read before the log, and a claim may have been frozen between the two: what seems to be missing is
    looked for once more on the blackboard, which is written before the log.
    """
    undecided = _undecided(board.paths)
    if not _unknown(undecided, section):
        return []
    now = _unknown(undecided, board.read().data.get("claims"))
    return [now[name] for name in _unknown(undecided, section) if name in now]


def _unknown(undecided: Mapping[str, str], section: Any) -> dict[str, Missing]:
    claims = _claims(section)
    found = {name: Missing(name, since, claims.get(name)) for name, since in undecided.items()}
    return {name: each for name, each in found.items() if each.claim is None or not _knows(each.claim, each.since)}


def named(board: Board, name: str) -> Missing | None:
    """The dispute of one claim, if it is missing."""
    return next((each for each in missing(board, board.read().data.get("claims")) if each.name == name), None)


def blockers(board: Board, section: Any) -> list[Blocker]:
    """The same as what keeps the last stage from closing."""
    return [Blocker(each.name, (each.what,)) for each in missing(board, section)]


def _undecided(paths: Paths) -> dict[str, str]:
    """By the log, the disputes that are open, and since when."""
    found: dict[str, str] = {}
    for entry in entries_with(paths.log, (BEGAN, ENDED)):
        name, since = entry.get("claim"), entry.get("timestamp")
        if entry.get("agent") != "liza" or name is None:
            continue
        if entry.get("action") == BEGAN:
            found[text_of(name)] = str(since)
        elif entry.get("action") == ENDED:
            found.pop(text_of(name), None)
    return found


def _claims(section: Any) -> dict[str, Mapping[str, Any]]:
    try:
        return {name: claim for _, name, claim in scopes.named(section, "claim") if isinstance(claim, MAPPINGS)}
    except LizaError:
        return {}  # that the section holds no claims is said by whoever reads it


def _knows(claim: Mapping[str, Any], since: str) -> bool:
    """Whether a claim is in dispute, or was and says how that ended."""
    return freezing.is_frozen(claim) or any(
        str(entry.get("timestamp")) >= since and entry.get("resolved_at") for _, entry in freezing.disputes_of(claim)
    )
