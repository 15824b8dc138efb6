"""Unsafe edits are refused with one sentence, and not a byte of the file changes."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from liza.errors import LizaError, Refused, Unreadable
from liza.store import edit
from liza.store.board import Board
from liza.store.compare import identical
from liza.store.document import Document, parse
from liza.store.paths import Paths
from tests.store.files import old
from tests.store.oracle import ruamel_value

Edit = Callable[[Document], bytes]


def append(document: Document) -> bytes:
    return edit.append_record(document, "anomalies", {"id": "new"})


def replace(document: Document) -> bytes:
    return edit.replace_section(document, "anomalies", [{"id": "new"}])


def freeze(document: Document) -> bytes:
    return edit.set_fields(document, "claims", 0, {"status": "FROZEN"})


def add_round(document: Document) -> bytes:
    return edit.set_fields(document, "claims", 0, {"rounds": [1, 1]})


def refusal(folder: Path, text: bytes, change: Edit) -> LizaError:
    """How a change of a real file is refused; the folder must be as it was, the lock file aside."""
    state = old(folder / "state.yaml", text.decode())
    with pytest.raises(LizaError) as caught:
        Board(Paths(str(folder))).rewrite(change)
    assert state.read_bytes() == text
    assert sorted(os.listdir(folder)) == ["state.yaml", "state.yaml.lock"]
    assert str(state) in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


UNCUTTABLE = {
    "a flow mapping at the top": (b"{a: 1, anomalies: []}\n", append),
    "a flow mapping at the top, over several lines": (b"{\n  a: 1,\n  anomalies: []\n}\n", replace),
    "a flow mapping at the top without the section": (b"{a: 1}\n", append),
    "an empty flow mapping at the top": (b"{}\n", append),
    "an empty flow mapping between comments": (b"# a\n{ }  # b\n# c\n", replace),
    "the first key on the line of the marker": (b"--- {a: 1}\n", append),
    "several documents": (b"a: 1\n---\nb: 2\n", append),
    "several documents, the second one empty": (b"a: 1\n---\n", append),
    "a document behind the end marker": (b"a: 1\n...\nb: 2\n", append),
    "an anchor that another section uses is removed": (b"anomalies:\n- id: &x a\nb: *x\n", replace),
    "an anchored field that another section uses": (b"claims:\n- status: &x OPEN\nb: *x\n", freeze),
    "the section is an alias": (b"a: &x [1]\nanomalies: *x\n", append),
    "the record is an alias": (b"a: &x {id: 1}\nclaims:\n- *x\n", freeze),
    "a key with a question mark": (b"? anomalies\n: - id: a\n", append),
}  # fmt: skip


@pytest.mark.parametrize(("text", "change"), UNCUTTABLE.values(), ids=UNCUTTABLE.keys())
def test_file_that_cannot_be_cut_safely_is_refused_with_a_hint(tmp_path: Path, text: bytes, change: Edit) -> None:
    error = refusal(tmp_path, text, change)
    assert isinstance(error, Refused | Unreadable)
    assert error.hint


NOT_A_LIST = [b"anomalies: x\n", b"anomalies: 0\n", b"anomalies: false\n", b"anomalies: ''\n", b"anomalies: {}\n",
              b"anomalies: {a: b}\n", b"anomalies:\n  a: b\n", b"anomalies: |\n  x\n"]  # fmt: skip


@pytest.mark.parametrize("text", NOT_A_LIST)
def test_append_to_a_non_list_is_refused(tmp_path: Path, text: bytes) -> None:
    error = refusal(tmp_path, text, append)
    assert isinstance(error, Refused)
    assert "anomalies is not a list" in error.message


@pytest.mark.parametrize("text", [b"a: 1\n", b"claims: []\n", b"claims: {}\n", b"claims: null\n", b"claims: x\n"])
def test_missing_record_is_refused(tmp_path: Path, text: bytes) -> None:
    assert isinstance(refusal(tmp_path, text, freeze), Refused)


def test_fields_of_a_non_record_are_refused(tmp_path: Path) -> None:
    assert "has no fields" in refusal(tmp_path, b"claims:\n- x\n", freeze).message


def itself() -> list[Any]:
    knot: list[Any] = []
    knot.append(knot)
    return knot


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


NOT_YAML = {
    "a set": {1, 2},
    "an object": object(),
    "bytes": b"x",
    "a function": len,
    "a class": int,
    "a complex number": 1j,
    "a key of 2,000 characters": {"k" * 2000: 1},
    "an empty key": {"": 1},
    "a key that is a number": {1: 1},
    "a key that is null": {None: 1},
    "a list that holds itself": itself(),
    "ten thousand lists": nested(10_000),
    "half a surrogate pair": "\ud83d",
    "a set deep inside": [{"a": [{"b": {1}}]}],
}


@pytest.mark.parametrize("value", NOT_YAML.values(), ids=NOT_YAML.keys())
@pytest.mark.parametrize("text", [b"a: 1\n", b"a: 1\nanomalies: []\n", b"a: 1\nanomalies: [x]\n"])
def test_value_without_a_yaml_form_is_refused(tmp_path: Path, text: bytes, value: Any) -> None:
    error = refusal(tmp_path, text, lambda document: edit.append_record(document, "anomalies", {"v": value}))
    assert isinstance(error, Refused)
    assert "value cannot be written as YAML" in error.message, "the value is at fault, not the file"


# The changed section is checked by itself, so these check the sections around it.
AROUND: dict[str, tuple[str, Edit]] = {
    "an anchored section grows, and another section is its alias": ("anomalies: &x\n- id: a\nb: *x\n", append),
    "the same in brackets": ("anomalies: &x [1]\nb: *x\n", append),
    "the same with nothing behind the anchor": ("anomalies: &x\nb: *x\n", append),
    "an anchored section gets another value": ("anomalies: &x\n- id: a\nb: *x\n", replace),
    "an anchored record changes, and another section is its alias": ("claims:\n- &x\n  id: a\nb: *x\n", freeze),
    "an anchored record in braces": ("claims:\n- &x {id: a}\nb: [*x]\n", freeze),
    "a list inside an anchored record grows": ("claims:\n- &x\n  rounds: [1]\nb: *x\n", add_round),
    "an anchored list inside a record grows": ("claims:\n- rounds: &x [1]\nb: *x\n", add_round),
    "an alias to an anchor inside the record": ("claims:\n- id: &x a\n  status: *x\nb: *x\n", freeze),
    "a new section behind a first key that has an anchor": ("&x a: 1\n", append),
    "a new section behind a first key that has a tag": ("!!str a: 1\nb: 2\n", append),
    "a new section behind a key with nothing": ("&x a:\n", append),
    "a new section where a lone CR precedes the end marker": ("---\na: 1\n\r...\n", append),
    "a section that another key's text looks like": ("b: |\n  anomalies:\n  - id: a\nc: 1\n", append),
    "a new section behind a folded text": ("a: >+\n  x\n\n", append),
}


@pytest.mark.parametrize(("text", "change"), AROUND.values(), ids=AROUND.keys())
def test_other_sections_keep_their_values_or_the_change_is_refused(text: str, change: Edit) -> None:
    document = parse(text.encode(), "state.yaml")
    try:
        new = change(document)
    except Refused:
        return
    name = "claims" if "claims" in document.data else "anomalies"
    others = {key: value for key, value in document.data.items() if key != name}
    for after in (parse(new, "state.yaml").data, ruamel_value(new)):
        assert identical({key: value for key, value in after.items() if key != name}, others)


def test_anchor_far_from_the_changed_record_is_noticed() -> None:
    # Beyond some size only the changed records and their neighbours are parsed again.
    text = "claims:\n- &x\n  id: a\n- id: b\n" + "- id: c\n  note: some words\n" * 5000 + "- *x\nb: 1\n"
    document = parse(text.encode(), "state.yaml")
    try:
        new = freeze(document)
    except Refused:
        return
    assert identical(parse(new, "state.yaml").data["claims"][1:], document.data["claims"][1:])


@pytest.mark.parametrize("length", [119, 120, 121])
def test_longest_key_is_written_and_a_longer_one_refused(length: int) -> None:
    document = parse(b"a: 1\n", "state.yaml")
    if length <= 120:
        assert edit.append_record(document, "x", {"k" * length: 1}).endswith(b"k: 1\n")
    else:
        with pytest.raises(Refused):
            edit.append_record(document, "x", {"k" * length: 1})
