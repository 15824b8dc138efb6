"""Disputes that are in the log and no longer on the blackboard.

Deleting a frozen claim, removing the dispute from its history, or saving an older copy of the file over it would be
the silent way out that must not exist. The log remembers: a dispute in it ends with a decision that is in
it, or in the claim's history. Until then the claim is frozen for every command, whatever is on the blackboard.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from liza.errors import LizaError
from liza.model import MAPPINGS, parse_time
from liza.scopes.claims import freeze, frozen_copies
from liza.scopes.claims.disputes import restore_dispute
from liza.scopes.claims.fields import DELETED, DISPUTED, REMOVED, Claim, disputes_of, is_over, open_dispute
from liza.scopes.records import named_records, replace_records, usable_records
from liza.store.board import Board
from liza.store.log import entries_with
from liza.store.paths import Paths
from liza.text import text_of

BEGAN, ENDED = "claim_disputed", "claim_resolved"


class Missing(NamedTuple):
    """A dispute that is not decided, and that its claim does not have."""

    name: str
    since: str
    claim: Mapping[str, Any] | None  # as it is now; None if it is gone
    logged: str  # the text of its log entry
    copy: Mapping[str, Any] | None = None  # the claim as it was frozen

    @property
    def what(self) -> str:
        return DELETED if self.claim is None else REMOVED

    def __str__(self) -> str:
        return f"claim {self.name} has been {DISPUTED} since {self.since}, and {self.what} by hand"

    def put_back(self, claim: Mapping[str, Any] | None) -> Claim:
        """That claim with the dispute and both positions, as they were frozen or else as the log has them."""
        frozen = self.copy or {"status": DISPUTED, "dispute_reason": self.logged}
        positions = {name: frozen[name] for name in freeze.POSITIONS if name in frozen}
        return restore_dispute(frozen if claim is None else {**claim, **positions}, self.since, self.what)


def find_missing(board: Board, section: Any) -> list[Missing]:
    """Every such dispute; `Unreadable` if the log cannot be read, because then there may be one.

    `section` was read before the log, and a claim may have been frozen between the two: what seems to be missing is
    looked for once more on the blackboard, which is written before the log.
    """
    undecided = _undecided(board.paths)
    if not _unknown(undecided, section):
        return []
    now = _unknown(undecided, board.read().data.get("claims"))
    found = [now[name] for name in _unknown(undecided, section) if name in now]
    return [each._replace(copy=frozen_copies.find_copy(board.paths, each.name, each.since)) for each in found]


def _unknown(undecided: Mapping[str, Mapping[str, str]], section: Any) -> dict[str, Missing]:
    claims = _claims(section)
    found: dict[str, Missing] = {}
    for name, begun in undecided.items():
        claim = claims.get(name)
        left = [since for since in begun if claim is None or not _is_over(claim, since)]
        if left and (claim is None or not _is_in(claim, left[0])):
            found[name] = Missing(name, left[0], claim, begun[left[0]])
    return found


def find_missing_of(board: Board, name: str) -> Missing | None:
    """The dispute of one claim, if it is missing."""
    return next((each for each in find_missing(board, board.read().data.get("claims")) if each.name == name), None)


def restore_missing(board: Board, section: Any) -> Any:
    """The section with every such dispute put back, for those who only look; it is never written so."""
    lost = {each.name: each for each in find_missing(board, section)}
    named = usable_records(section, "claim")
    there = replace_records(section, {at: lost.pop(name).put_back(claim) for at, name, claim in named if name in lost})
    gone = {name: each.put_back(None) for name, each in lost.items()}
    if isinstance(there, list | tuple):
        return [*there, *({"id": name, **claim} for name, claim in gone.items())]
    return {**(there or {}), **gone} if gone else there


def _undecided(paths: Paths) -> dict[str, dict[str, str]]:
    """By the log, the disputes that are open: since when, and the text of the log entry."""
    found: dict[str, dict[str, str]] = {}
    for entry in entries_with(paths.log, (BEGAN, ENDED)):
        name, since = entry.get("claim"), entry.get("timestamp")
        if entry.get("agent") != "liza" or name is None:
            continue
        if entry.get("action") == BEGAN:
            found.setdefault(text_of(name), {})[str(since)] = text_of(entry.get("detail"))
        elif entry.get("action") == ENDED:
            found.pop(text_of(name), None)
    return found


def _claims(section: Any) -> dict[str, Mapping[str, Any]]:
    try:
        return {name: claim for _, name, claim in named_records(section, "claim") if isinstance(claim, MAPPINGS)}
    except LizaError:
        return {}  # the reader of the section reports that it holds no claims


def _is_over(claim: Mapping[str, Any], since: str) -> bool:
    """Whether a claim has how and why that dispute ended, or one that came after it."""
    return any(is_over(entry) and _time(entry.get("timestamp")) >= _time(since) for _, entry in disputes_of(claim))


def _is_in(claim: Mapping[str, Any], since: str) -> bool:
    """Whether a claim is in that dispute. Any other is not enough: deleting the first one and changing the claim would
    have it frozen again, as changed."""
    found = open_dispute(claim)
    return found is not None and _time(found[1].get("timestamp")) == _time(since)


def _time(value: Any) -> str:
    """A time as it is compared; another program that writes the file may write it in another way."""
    found = parse_time(str(value))
    return found.isoformat() if found is not None else str(value)
