"""What can be stopped besides the sprint: one claim, one slice, one loop.

A scope is a function here in `SCOPES`. After each judgement of the sprint the daemon calls it with the same document;
it judges, acts unless only observing, and returns what is open in it: trip ids, and each trip in words. What was not
open before is told as tripped, what is no longer as resolved, each once, also across a restart. A `LizaError` from it
is told as DEGRADED, and never keeps the sprint from being judged.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

from liza.blackboard.board import Board
from liza.blackboard.document import Document
from liza.rules.evaluate import RuleSet

Open = Mapping[str, str]
Scope = Callable[[Board, RuleSet, Document, datetime, bool], Open]  # the last: only observing

SCOPES: tuple[Scope, ...] = ()


def open_trips(board: Board, rules: RuleSet, document: Document, now: datetime, observe: bool) -> Open:
    """What is open in all narrower scopes, once each has judged and acted."""
    return {trip_id: text for scope in SCOPES for trip_id, text in scope(board, rules, document, now, observe).items()}
