"""Reading again after a change gives the same as a full reading, and parses no more than it must."""

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.errors import Unreadable
from liza.store import follow as following
from liza.store.compare import identical
from liza.store.document import Document, parse
from liza.store.follow import common_ends, follow
from liza.store.parser import load
from tests.store.generated import boards
from tests.store.mutated import mutated

FILE = "state.yaml"
BLOCK = """\
# a team's board
version: 1
tasks:
  - id: task-1
    status: CLAIMED
    notes: |
      two lines,
      - and not a record
  - id: task-2
    status: "BLOCKED"

anomalies:
  - timestamp: 2025-01-18T14:00:00Z
    type: retry_loop
    details: {count: 3, error_pattern: "no route"}
  - timestamp: 2025-01-18T14:05:00Z
    type: workaround
    details:
      root_cause: >-
        no shared
        clock
# liza's own
circuit_breaker:
  status: OK
  history: []
config:
  max_review_cycles: 5
"""
FLOW = """\
version: 1
anomalies:
- {type: retry_loop, task: task-1}
- {type: retry_loop, task: task-2}
- {type: "odd: \\"text\\"", task: 'task-3'}
silences: []
sprint: {id: s1}
"""
RECORDS = [
    "- {type: retry_loop, task: task-9}\n",
    "  - type: workaround\n    task: task-9\n",
    "  - type: workaround\n    details:\n      what: |\n        text\n\n",
    "  -\n    type: odd\n",
    "- &here {type: a}\n",
    "- *here\n",
    "- 'a quote\n",
    "    - deeper: 1\n",
]
LINES = [
    "\n",
    "# a comment\n",
    "   \n",
    "own: 1\n",
    "version: 2\n",
    "k: 1\n",
    "---\n",
    "...\n",
    "  key: value\n",
    "    key: [1,\n",
    "  - one\n",
    "- one\n",
    "'\n",
    '"\n',
    "|\n",
    "\tx: 1\n",
    "2025: a year\n",
    "anomalies: &all\n",
    "again: *all\n",
    "\ufeff\n",
]
BITS = ["x", " ", "\n", "'", '"', "#", " #", ":", ": ", "- ", *"[]{}|>", "&a ", "*a", "!t ", "\t", "é", "\r"]
KINDS = ["append", "insert", "change", "delete", "indent", "reformat", "cut", "double", "type"]
FORMS = [("  - ", "- "), ("\n", "\r\n"), ("- ", "-   "), ("  ", " "), ('"', "'"), ("'", "")]
TEXTS = st.one_of(st.sampled_from([BLOCK, FLOW]), boards(), mutated())


@st.composite
def edited(draw: st.DrawFn, text: str) -> str:
    """The text after one change, as a person or a program makes it."""
    lines = text.splitlines(keepends=True) or [""]
    at = draw(st.integers(0, len(lines) - 1))
    kind = draw(st.sampled_from(KINDS))
    if kind == "append":
        starts = [n for n, line in enumerate(lines) if line[:1].isalpha()] + [len(lines)]
        lines.insert(draw(st.sampled_from(starts)), draw(st.sampled_from(RECORDS)))
    elif kind == "insert":
        lines.insert(at, draw(st.sampled_from(LINES)))
    elif kind == "change":
        lines[at] = draw(st.sampled_from([*LINES, *RECORDS]))
    elif kind == "delete":
        del lines[at : at + draw(st.integers(1, 3))]
    elif kind == "indent":
        for number in range(at, min(at + draw(st.integers(1, 3)), len(lines))):
            lines[number] = draw(st.sampled_from([" ", "  "])) + lines[number]
    elif kind == "reformat":
        old, new = draw(st.sampled_from(FORMS))
        return text.replace(old, new)
    elif kind == "cut":
        return text[: draw(st.integers(0, len(text)))]
    elif kind == "double":
        lines[at:at] = lines[at : at + draw(st.integers(1, 4))]
    else:
        place = draw(st.integers(0, len(text)))
        typed: str = draw(st.sampled_from(BITS))
        return text[:place] + typed + text[place + draw(st.integers(0, 3)) :]
    return "".join(lines)


@st.composite
def chains(draw: st.DrawFn) -> list[str]:
    """A board, and the same board after each of some changes."""
    texts: list[str] = [draw(TEXTS)]
    for _ in range(draw(st.integers(1, 5))):
        texts.append(draw(edited(texts[-1])))
    return texts


def outcome(before: Document | None, raw: bytes, *, follows: bool) -> tuple[Document | None, str]:
    """The document in these bytes, or why there is none."""
    try:
        return (follow(before, raw, FILE) if follows else parse(raw, FILE)), ""
    except Unreadable as error:
        return None, f"{error.line}:{error.column}: {error.message}"


def both_ways(texts: list[str]) -> None:
    """Follow a file through its versions, and compare each with a full reading."""
    last: Document | None = None
    for text in texts:
        raw = text.encode()
        whole, why = outcome(None, raw, follows=False)
        followed, why_followed = outcome(last, raw, follows=True)
        assert why_followed == why
        if whole is not None:
            assert followed is not None
            assert identical(followed.data, whole.data), f"{followed.data} is followed, {whole.data} is there"
            assert list(followed.data) == list(whole.data)
            assert followed.raw == raw
            last = followed  # as the daemon keeps the last one that it could read


@given(chains())
def test_followed_file_equals_a_full_reading(texts: list[str]) -> None:
    both_ways(texts)


@given(st.lists(st.sampled_from([b"a", b"b", b"ab", b"x" * 70_000]), max_size=6), st.data())
def test_common_ends_finds_shared_prefix_and_suffix(pieces: list[bytes], data: st.DataObject) -> None:
    one = b"".join(pieces)
    at = data.draw(st.integers(0, len(one)))
    other = one[:at] + data.draw(st.binary(max_size=3)) + one[data.draw(st.integers(at, len(one))) :]
    head, tail = common_ends(one, other)
    least = min(len(one), len(other))
    assert 0 <= head <= least
    assert head + tail <= least
    assert one[:head] == other[:head]
    assert one[len(one) - tail :] == other[len(other) - tail :]
    assert head == least or one[head] != other[head]
    assert head + tail == least or one[-1 - tail] != other[-1 - tail]


CHANGES = {
    "appended": (BLOCK, "# liza's own\n", "  - type: note\n    task: task-9\n# liza's own\n"),
    "changed": (BLOCK, "status: CLAIMED", "status: MERGED"),
    "emptied": (FLOW, "- {type: retry_loop, task: task-1}\n- {type: retry_loop, task: task-2}\n", ""),
    "a list in a literal text": (BLOCK, "      - and not a record\n", "      - and not a record\n  - id: task-3\n"),
    "a section renamed": (BLOCK, "config:\n", "settings:\n"),
    "a section doubled": (BLOCK, "config:\n", "tasks: []\nconfig:\n"),
    "a new section between": (BLOCK, "# liza's own\n", "own: 1\n# liza's own\n"),
    "a quote that swallows the next record": (FLOW, "task: task-1}", "task: 'task-1}"),
    "another indentation": (BLOCK, "  - id: task-2\n", "   - id: task-2\n"),
    "a second document": (FLOW, "silences: []\n", "---\nsilences: []\n"),
    "not UTF-8 any more": (FLOW, "sprint: {id: s1}\n", "sprint: {id: s1}\n# \0\n"),
    "in two sections": (BLOCK, BLOCK[BLOCK.index("tasks") : BLOCK.index("config")], "tasks: []\ncircuit_breaker: {}\n"),
}


@pytest.mark.parametrize(("text", "old", "new"), CHANGES.values(), ids=CHANGES)
def test_each_kind_of_change_is_followed(text: str, old: str, new: str) -> None:
    assert text.count(old) == 1
    both_ways([text, text.replace(old, new), text])


BADLY_FOLLOWED = {
    "a name that is a number": ("2025:\n  a: 1\nb: 2\n", "a: 1", "a: 3"),
    "a name that is null": ("null:\n  a: 1\nb: 2\n", "a: 1", "a: 3"),
    "an alias of a section": ("a: &all\n  - x: 1\nb: *all\n", "x: 1", "x: 2"),
    "an alias of a part of a record": ("a:\n  - x: &all\n      y: 1\n    z: 5\n  - *all\nb: 3\n", "y: 1", "y: 2"),
    "an empty literal text": ("a:\n  - id: 1\n    notes: |\n  - id: 2\nb: 2\n", "id: 1", "id: 3"),
}


@pytest.mark.parametrize(("text", "old", "new"), BADLY_FOLLOWED.values(), ids=BADLY_FOLLOWED)
def test_change_reaching_beyond_its_record_is_read_in_full(text: str, old: str, new: str) -> None:
    assert text.count(old) == 1
    both_ways([text, text.replace(old, new)])


# --- no more than it must -------------------------------------------------------------------------------------------


def many(number: int) -> str:
    """A board of some size, the records neither all alike nor all in one form."""
    chance = random.Random(7)
    kinds = ["retry_loop", "note", "workaround"]
    tasks = "".join(f"  - id: task-{n}\n    status: CLAIMED\n" for n in range(number))
    flow = "".join(f"  - {{type: {chance.choice(kinds)}, task: task-{n}}}\n" for n in range(number))
    return f"version: 1\ntasks:\n{tasks}anomalies:\n{flow}circuit_breaker:\n  status: OK\nconfig: {{}}\n"


def same_objects(one: list[Any], other: list[Any]) -> int:
    return sum(mine is theirs for mine, theirs in zip(one, other, strict=False))


@pytest.mark.parametrize("place", ["at the end", "in the middle"])
def test_only_the_appended_record_is_parsed(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    text = many(500)
    new = "  - {type: note, task: task-new}\n"
    if place == "at the end":
        text = text.replace("circuit_breaker:\n  status: OK\nconfig: {}\n", "")
        changed = text + new
    else:
        changed = text.replace("circuit_breaker:", f"{new}circuit_breaker:")
    before = parse(text.encode(), FILE)
    parsed: list[str] = []

    def noted(part: str) -> Any:
        parsed.append(part)
        return load(part)

    monkeypatch.setattr(following, "load", noted)
    after = follow(before, changed.encode(), FILE)
    assert sum(map(len, parsed)) < 300
    assert after.data["tasks"] is before.data["tasks"]
    assert same_objects(before.data["anomalies"], after.data["anomalies"]) >= 499
    assert after.data["anomalies"][-1] == {"type": "note", "task": "task-new"}


def test_changed_record_keeps_the_objects_of_all_others() -> None:
    text = many(300)
    before = parse(text.encode(), FILE)
    changed = text.replace("id: task-150\n    status: CLAIMED", "id: task-150\n    status: BLOCKED")
    after = follow(before, changed.encode(), FILE)
    assert after.data["tasks"][150] == {"id": "task-150", "status": "BLOCKED"}
    assert same_objects(before.data["tasks"], after.data["tasks"]) == 299
    assert after.data["anomalies"] is before.data["anomalies"]


def test_deleted_record_keeps_the_objects_of_all_others() -> None:
    text = many(300)
    before = parse(text.encode(), FILE)
    after = follow(before, text.replace("  - id: task-150\n    status: CLAIMED\n", "").encode(), FILE)
    kept = {id(each) for each in before.data["tasks"]}
    assert len(after.data["tasks"]) == 299
    assert sum(id(each) in kept for each in after.data["tasks"]) >= 297


def test_changed_section_keeps_the_objects_of_the_lists() -> None:
    text = many(300)
    before = parse(text.encode(), FILE)
    after = follow(before, text.replace("  status: OK\n", "  status: TRIGGERED\n  history: []\n").encode(), FILE)
    assert after.data["circuit_breaker"] == {"status": "TRIGGERED", "history": []}
    assert after.data["tasks"] is before.data["tasks"]
    assert after.data["anomalies"] is before.data["anomalies"]


def test_unchanged_file_gives_the_same_document() -> None:
    before = parse(BLOCK.encode(), FILE)
    assert follow(before, BLOCK.encode(), FILE) is before


def test_many_appends_in_a_row_are_followed() -> None:
    text = many(5)
    document: Document | None = None
    for number in range(200):
        text = text.replace("circuit_breaker:", f"  - {{type: note, task: 'n-{number}'}}\ncircuit_breaker:", 1)
        before, document = document, follow(document, text.encode(), FILE)
        if before is not None:
            old, new = (each.data["anomalies"] for each in (before, document))
            assert same_objects(old, new) >= len(old) - 1
    assert document is not None
    assert identical(document.data, parse(text.encode(), FILE).data)


def test_a_long_text_that_is_added_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIZA_LIMIT_TEXT", "500")
    before = parse(BLOCK.encode(), FILE)
    short, long = (BLOCK.replace("no route", "x" * length).encode() for length in (500, 501))
    assert follow(before, short, FILE).data["anomalies"][0]["details"]["error_pattern"] == "x" * 500
    with pytest.raises(Unreadable):
        follow(before, long, FILE)


def test_a_long_text_that_a_raised_limit_allowed_is_refused_without_it(tmp_path: Path) -> None:
    """Also where another record has changed, and the text was not parsed again."""
    file, rules = str(tmp_path / "state.yaml"), tmp_path / "rules.yaml"
    rules.write_text("limits: {text: 3000000}\n")
    text = BLOCK.replace("no route", "x" * 2_000_001)
    before = parse(text.encode(), file)
    changed = text.replace("shared", "common").encode()
    assert follow(before, changed, file).data["anomalies"][1]["details"]["root_cause"] == "no common clock"
    rules.unlink()
    with pytest.raises(Unreadable):
        follow(before, changed, file)
