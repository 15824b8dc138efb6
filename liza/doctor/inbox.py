"""Records that wait in the inbox until they can be entered in state.yaml."""

from collections.abc import Iterator
from datetime import datetime

from liza.doctor.finding import Finding, Level
from liza.scopes.inbox import read_waiting, waiting_text
from liza.store.board import Board
from liza.store.paths import Paths


def inbox(paths: Paths, now: datetime) -> Iterator[Finding]:
    """How many wait, and which of them cannot be entered."""
    found = read_waiting(Board(paths))
    for each in found.problems:
        yield Finding("inbox", Level.ERROR, each.message, each.hint, each.file)
    if found.records:
        yield Finding("inbox", Level.WARNING, waiting_text(found.records), "liza analyze", paths.inbox)
    if not found.records and not found.problems:
        yield Finding("inbox", Level.OK, "empty")
