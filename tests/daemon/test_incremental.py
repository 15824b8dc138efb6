"""Following a file with a memo gives the snapshot and the verdict of a full reading."""

from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from liza.errors import Unreadable
from liza.model import Snapshot, Verdict
from liza.rules.evaluate import RuleSet, evaluate
from liza.rules.memo import new_memo
from liza.scopes.rules_file import read_rules
from liza.scopes.snapshot import snapshot_of
from liza.store.board import Board
from liza.store.document import Document
from liza.store.paths import Paths
from tests.rules.boards import NOW
from tests.rules.test_memo import OWN
from tests.store.test_follow import edited, outcome

HEAD = """\
version: 1
tasks:
  - id: task-1
    status: CLAIMED
sprint: {id: s1, timeline: {started: 2025-01-18T09:00:00Z}}
circuit_breaker:
  status: OK
  history:
    - timestamp: 2025-01-18T13:00:00Z
      pattern: spec_gap_cluster
      result: TRIGGERED
      resolved_at: 2025-01-18T14:00:00Z
silences: []
anomalies:
"""
DETAILS = {
    "retry_loop": "error_pattern",
    "external_blocker": "blocker_service",
    "spec_gap": "spec_ref",
    "assumption_violated": "assumption",
    "workaround": "what",
    "odd": "what",
}
DETAIL_TEXTS = st.sampled_from(["timeout after 3 s", "timeout after 7 s", "disk a full", "disk b full", "x"])
TIMES = st.integers(10, 17).map(lambda hour: f"2025-01-18T{hour}:00:00Z")


@st.composite
def records(draw: st.DrawFn) -> str:
    """A record as text, in one of the two forms that people use."""
    kind = draw(st.sampled_from(sorted(DETAILS)))
    detail = f"{DETAILS[kind]}: {draw(DETAIL_TEXTS)}"
    at, task = draw(TIMES), draw(st.integers(1, 3))
    if draw(st.booleans()):
        return f"  - {{timestamp: {at}, task: task-{task}, type: {kind}, details: {{{detail}}}}}\n"
    return f"  - timestamp: {at}\n    task: task-{task}\n    type: {kind}\n    details:\n      {detail}\n"


@st.composite
def boards(draw: st.DrawFn) -> list[str]:
    """A board and its next versions: mostly added records, now and then any other edit."""
    texts = [HEAD + "".join(draw(st.lists(records(), min_size=1, max_size=5)))]
    for _ in range(draw(st.integers(1, 6))):
        adds = draw(st.integers(0, 2)) > 0
        texts.append(texts[-1] + draw(records()) if adds else draw(edited(texts[-1])))
    return texts


def verdict_on(
    document: Document, rules: RuleSet, step: int, memo: dict[Any, Any] | None
) -> tuple[Snapshot, Verdict] | str:
    """The daemon's verdict on a document, or why there is none."""
    try:
        snapshot = snapshot_of(Board(Paths("nowhere")), document, rules, check=False)
    except Unreadable as error:
        return error.message
    return snapshot, evaluate(rules, snapshot, NOW + timedelta(seconds=step), memo)


@given(boards(), st.sampled_from([read_rules(None), OWN]))
def test_every_edit_gives_the_verdict_of_a_full_reading(texts: list[str], rules: RuleSet) -> None:
    memo: dict[Any, Any] = new_memo()
    last: Document | None = None
    for step, text in enumerate(texts):
        whole, _ = outcome(None, text.encode(), follows=False)
        followed, _ = outcome(last, text.encode(), follows=True)
        assert (followed is None) == (whole is None)
        if whole is None or followed is None:
            continue
        assert verdict_on(followed, rules, step, memo) == verdict_on(whole, rules, step, None)
        last = followed
