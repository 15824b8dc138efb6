"""What can be stopped besides the sprint: one claim, one slice, one loop.

After each judgement of the sprint the daemon asks here. Each protocol judges its section by the same decisions as its
own commands, acts unless only observing, and says what is open in it: trip ids, and each trip in words. What was not
open before is told as tripped, what is no longer as resolved, each once, also across a restart. A `LizaError` from here
is told as DEGRADED, and never keeps the sprint from being judged.
"""

import os
from collections.abc import Iterator, Mapping
from datetime import datetime

from liza.blackboard.board import Board
from liza.blackboard.document import Document
from liza.model import Snapshot
from liza.protocols import judged
from liza.rules.evaluate import RuleSet
from liza.watch.alarms import Cause

Open = Mapping[str, str]


def open_trips(board: Board, rules: RuleSet, document: Document, now: datetime, observe: bool) -> Open:
    """What is open in all narrower scopes. What is opened now is seen by the next look, which our write causes."""
    if not observe:
        judged.settle(board, document, rules, os.environ, now)
    return judged.open_trips(document.data, rules, os.environ, now)


def causes(snapshot: Snapshot, rules: RuleSet, now: datetime) -> Iterator[Cause]:
    """What is worth an alarm about claims, slices and loops that are not stopped."""
    for kind, name, text in judged.causes(snapshot.sections, rules, os.environ, now):
        yield Cause(kind, name, text)
