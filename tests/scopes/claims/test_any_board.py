"""With anything in the fields of claims and stages, every command ends with an answer, none with a bug."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scopes.claims.run import Claims

SCALARS = st.sampled_from(
    [None, True, 0, 7, -1.5, "", " ", "x", "DISPUTED", "2025-01-18T12:00:00Z", "a\nb", "\x1b[2J", 10**30]
)
JUNK = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "id", "event"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def record(names: list[str], **known: Any) -> st.SearchStrategy[dict[str, Any]]:
    """A record in which every field may hold anything, or a proper value."""
    return st.fixed_dictionaries({}, optional={name: JUNK | known[name] if name in known else JUNK for name in names})


ROUND = record(
    ["round", "cycle", "reviewer", "objection", "objections", "objection_id", "response", "evidence", "tests", "text"],
    objection=st.sampled_from(["A", "a."]),
)
ENTRY = record(
    ["event", "timestamp", "rule", "stage", "frozen", "resolved_at", "rationale", "rounds", "reexaminations", "after"],
    event=st.sampled_from(["disputed", "edited", "killed"]), rounds=st.lists(ROUND, max_size=2),
)  # fmt: skip
CLAIM = record(
    ["status", "text", "confidence", "evidence", "depends_on", "stage", "rounds", "history", "baseline",
     "dispute_reason", "researcher_position", "also_disputed", "dispute_cycle", "disputed_at", "previous_status",
     "reexamine", "human_override_rationale"],
    status=st.sampled_from(["OPEN", "DISPUTED", "KILLED"]), rounds=st.lists(ROUND, max_size=4),
    history=st.lists(ENTRY, max_size=2),
)  # fmt: skip
STAGES = JUNK | st.dictionaries(st.sampled_from(["S1", "S5"]), record(["status", "data"]), max_size=2)
COMMANDS = (
    ("validate",), ("status",), ("analyze",), ("claim", "list"), ("claim", "show", "C-001"), ("claim", "ledger"),
    ("claim", "summary", "--cycle", "7"), ("claim", "round", "C-001", "--objection", "A", "--response", "b"),
    ("claim", "edit", "C-001", "--text", "y"), ("claim", "promote", "C-001"), ("stage", "data", "r"),
    ("stage", "advance", "S2"), ("claim", "reexamine", "C-001", "--trigger", "new_data", "-m", "n", "--by", "b"),
    ("claim", "resolve", "C-001", "--new-data", "d"), ("stage", "close", "S5"), ("stage", "list"),
    ("claim", "kill", "C-001", "-m", "w"), ("validate",), ("status", "--json"), ("claim", "list", "--json"),
)  # fmt: skip
BUDGET = settings.get_profile(settings.get_current_profile_name()).max_examples


@settings(max_examples=max(BUDGET // 10, 1))
@given(st.dictionaries(st.sampled_from(["C-001", "C-002"]), CLAIM, min_size=1), STAGES, st.booleans())
def test_any_board_is_handled_by_every_command(claims: dict[str, Any], stages: Any, listed: bool) -> None:
    section: Any = [{"id": name, **claim} for name, claim in claims.items()] if listed else claims
    with TemporaryDirectory() as folder:
        lab = Claims(Path(folder) / "lab")
        lab.write(f"version: 1\nanomalies: []\nclaims: {json.dumps(section)}\nstages: {json.dumps(stages)}\n")
        for words in COMMANDS:
            ran = lab.run(*words)
            assert ran.code in (0, 1, 3, 4), (words, ran.err)
