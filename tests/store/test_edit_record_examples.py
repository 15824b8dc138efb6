"""Exact texts before and after: setting fields of one record, and appending to a list inside one."""

from typing import Any

import pytest

from liza.store import edit
from liza.store.compare import identical
from liza.store.document import parse
from liza.store.parser import load
from tests.store.oracle import ruamel_value

SET: dict[str, tuple[str, int | str, dict[str, Any], str]] = {
    "a plain value, its comment stays": (
        "claims:\n  - id: a\n    status: OPEN  # now\n  - id: b\n    status: OPEN\nz: 1\n", 0, {"status": "FROZEN"},
        "claims:\n  - id: a\n    status: FROZEN  # now\n  - id: b\n    status: OPEN\nz: 1\n",
    ),
    "the last record of the only section": (
        "claims:\n- id: a\n- id: b\n  status: OPEN\n", 1, {"status": "FROZEN"},
        "claims:\n- id: a\n- id: b\n  status: FROZEN\n",
    ),
    "a quoted key and a quoted value": (
        "claims:\n- id: a\n  \"status\": 'OPEN'\n- id: b\nz: 1\n", 0, {"status": "a: b"},
        "claims:\n- id: a\n  \"status\": \"a: b\"\n- id: b\nz: 1\n",
    ),
    "nothing behind the key but a comment": (
        "claims:\n- id: a\n  status:   # c\n- id: b\nz: 1\n", 0, {"status": "FROZEN"},
        "claims:\n- id: a\n  status: FROZEN   # c\n- id: b\nz: 1\n",
    ),
    "a field that is missing comes last": (
        "claims:\n- id: a\n  # end of a\n- id: b\nz: 1\n", 0, {"status": "FROZEN", "by": "x"},
        "claims:\n- id: a\n  # end of a\n  status: FROZEN\n  by: x\n- id: b\nz: 1\n",
    ),
    "the field on the line of the dash": (
        "claims:\n- status: x\n  id: a\n- id: b\nz: 1\n", 0, {"status": {"by": "x"}},
        "claims:\n- status:\n    by: x\n  id: a\n- id: b\nz: 1\n",
    ),
    "a record that begins below its dash": (
        "claims:\n-\n  id: a\n  status: x\n- id: b\nz: 1\n", 0, {"status": "FROZEN"},
        "claims:\n-\n  id: a\n  status: FROZEN\n- id: b\nz: 1\n",
    ),
    "no line break at the end": (
        "z: 1\nclaims:\n- id: a\n  status: x", 0, {"status": "FROZEN", "by": "x"},
        "z: 1\nclaims:\n- id: a\n  status: FROZEN\n  by: x\n",
    ),
    "a record in braces": (
        "claims:\n- {id: a, status: x}  # c\n- id: b\nz: 1\n", 0, {"status": "FROZEN", "by": ["x", "z"]},
        "claims:\n- {id: a, status: FROZEN, by: [x, z]}  # c\n- id: b\nz: 1\n",
    ),
    "braces over several lines, with comments": (
        "claims:\n- {\n    id: a,  # one\n    status: x,  # two\n  }\n- id: b\nz: 1\n", 0, {"status": "FROZEN"},
        "claims:\n- {\n    id: a,  # one\n    status: FROZEN,  # two\n  }\n- id: b\nz: 1\n",
    ),
    "a record in a mapping": (
        "claims:\n  a: {status: x}\n  b:\n    status: y\nz: 1\n", "a", {"status": "FROZEN"},
        "claims:\n  a: {status: FROZEN}\n  b:\n    status: y\nz: 1\n",
    ),
    "a block record in a mapping": (
        "z: 1\nclaims:\n  a:\n    status: x\n  'b c':\n    status: y  # c\n", "b c", {"status": "FROZEN", "by": "x"},
        "z: 1\nclaims:\n  a:\n    status: x\n  'b c':\n    status: FROZEN  # c\n    by: x\n",
    ),
    "a literal block gives way": (
        "claims:\n- id: a\n  status: |\n    x\n    # y\n  after: 1\n- id: b\nz: 1\n", 0, {"status": "FROZEN"},
        "claims:\n- id: a\n  status: FROZEN\n  after: 1\n- id: b\nz: 1\n",
    ),
    "a literal block that keeps its line breaks gives way": (
        "claims:\n- id: a\n  status: |+\n    x\n\n\n- id: b\nz: 1\n", 0, {"status": "FROZEN"},
        "claims:\n- id: a\n  status: FROZEN\n\n\n- id: b\nz: 1\n",
    ),
    "a quoted value over two lines": (
        "claims:\n- id: a\n  status: \"x\n    y\"  # c\n- id: b\nz: 1\n", 0, {"status": "FROZEN"},
        "claims:\n- id: a\n  status: FROZEN  # c\n- id: b\nz: 1\n",
    ),
    "a hash inside quotes is no comment": (
        "claims:\n- id: a\n  status: 'x # y'  # c\nz: 1\n", 0, {"status": "FROZEN"},
        "claims:\n- id: a\n  status: FROZEN  # c\nz: 1\n",
    ),
    "several lines become a literal block": (
        "claims:\n- id: a\n  status: x\nz: 1\n", 0, {"status": "two\nlines\n"},
        "claims:\n- id: a\n  status: |\n    two\n    lines\nz: 1\n",
    ),
    "CRLF": (
        "claims:\r\n- id: a\r\n  status: x\r\nz: 1\r\n", 0, {"status": {"by": "x"}},
        "claims:\r\n- id: a\r\n  status:\r\n    by: x\r\nz: 1\r\n",
    ),
    "an indented document": (
        "  claims:\n    - id: a\n      status: x\n  z: 1\n", 0, {"status": {"by": "x"}},
        "  claims:\n    - id: a\n      status:\n        by: x\n  z: 1\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "where", "fields", "after"), SET.values(), ids=SET.keys())
def test_fields_are_set_in_place(before: str, where: int | str, fields: dict[str, Any], after: str) -> None:
    document = parse(before.encode(), "state.yaml")
    assert edit.set_fields(document, "claims", where, fields).decode() == after
    meant = document.data["claims"].copy()
    meant[where] = {**meant[where], **fields}
    for value in (parse(after.encode(), "state.yaml").data, ruamel_value(after.encode())):
        assert identical(value["claims"], meant)


@pytest.mark.parametrize("text", ["two\nlines\n", "two\nlines", "a # b\nc"])
def test_multiline_value_keeps_the_comment_on_its_line(text: str) -> None:
    document = parse(b"claims:\n- id: a\n  status: OK  # OK, TRIGGERED\nz: 1\n", "state.yaml")
    new = edit.set_fields(document, "claims", 0, {"status": text})
    assert parse(new, "state.yaml").data["claims"] == [{"id": "a", "status": text}]
    assert b"  # OK, TRIGGERED\n" in new


INSIDE: dict[str, tuple[str, int | str, str]] = {
    "missing": (
        "claims:\n- id: a\n- id: b\nz: 1\n", 0,
        'claims:\n- id: a\n  rounds:\n    - by: x\n      "n": 1\n- id: b\nz: 1\n',
    ),
    "null": (
        "claims:\n- id: a\n  rounds: null\n- id: b\nz: 1\n", 0,
        'claims:\n- id: a\n  rounds:\n    - by: x\n      "n": 1\n- id: b\nz: 1\n',
    ),
    "empty brackets with a comment": (
        "claims:\n- id: a\n  rounds: []  # c\n- id: b\nz: 1\n", 0,
        'claims:\n- id: a\n  rounds:  # c\n    - by: x\n      "n": 1\n- id: b\nz: 1\n',
    ),
    "brackets": (
        "claims:\n- id: a\n  rounds: [x, y]  # c\n- id: b\nz: 1\n", 0,
        'claims:\n- id: a\n  rounds: [x, y, {by: x, "n": 1}]  # c\n- id: b\nz: 1\n',
    ),
    "brackets with a comma at the end": (
        "claims:\n- id: a\n  rounds: [x,]\nz: 1\n", 0,
        'claims:\n- id: a\n  rounds: [x, {by: x, "n": 1},]\nz: 1\n',
    ),
    "dashes in the column of the key": (
        "claims:\n- id: a\n  rounds:\n  - x\n  # c\n- id: b\nz: 1\n", 0,
        'claims:\n- id: a\n  rounds:\n  - x\n  # c\n  - by: x\n    "n": 1\n- id: b\nz: 1\n',
    ),
    "dashes indented, and a field behind them": (
        "claims:\n- id: a\n  rounds:\n    - x\n\n  other: 1\n- id: b\nz: 1\n", 0,
        'claims:\n- id: a\n  rounds:\n    - x\n    - by: x\n      "n": 1\n\n  other: 1\n- id: b\nz: 1\n',
    ),
    "a record in braces": (
        "claims:\n- {id: a, rounds: [x]}\n- id: b\nz: 1\n", 0,
        'claims:\n- {id: a, rounds: [x, {by: x, "n": 1}]}\n- id: b\nz: 1\n',
    ),
    "a record in braces without the list": (
        "claims:\n- {id: a}\n- id: b\nz: 1\n", 0, 'claims:\n- {id: a, rounds: [{by: x, "n": 1}]}\n- id: b\nz: 1\n',
    ),
    "a record in braces whose last value is left out": (
        "claims:\n- {id: a, note: }\nz: 1\n", 0, 'claims:\n- {id: a, note: , rounds: [{by: x, "n": 1}] }\nz: 1\n',
    ),
    "a record in a mapping": (
        "claims:\n  a:\n    rounds: [x]\n  b: {}\nz: 1\n", "a",
        'claims:\n  a:\n    rounds: [x, {by: x, "n": 1}]\n  b: {}\nz: 1\n',
    ),
    "an empty record in a mapping": (
        "claims:\n  a: {}  # c\n  b: {}\nz: 1\n", "a",
        'claims:\n  a:  # c\n    rounds:\n      - by: x\n        "n": 1\n  b: {}\nz: 1\n',
    ),
    "no line break at the end": (
        "z: 1\nclaims:\n- id: a\n  rounds:\n  - x", 0,
        'z: 1\nclaims:\n- id: a\n  rounds:\n  - x\n  - by: x\n    "n": 1\n',
    ),
    "a literal block is the last item": (
        "z: 1\nclaims:\n- id: a\n  rounds:\n  - |\n    x\n    # y\n\n# end\n", 0,
        'z: 1\nclaims:\n- id: a\n  rounds:\n  - |\n    x\n    # y\n  - by: x\n    "n": 1\n\n# end\n',
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "where", "after"), INSIDE.values(), ids=INSIDE.keys())
def test_item_is_appended_in_the_style_of_its_list(before: str, where: int | str, after: str) -> None:
    item = {"by": "x", "n": 1}
    document = parse(before.encode(), "state.yaml")
    meant = document.data["claims"].copy()
    meant[where] = {**meant[where], "rounds": [*(meant[where].get("rounds") or []), item]}
    new = edit.revise(document, {"claims": meant}).decode()
    for value in (parse(new.encode(), "state.yaml").data, ruamel_value(new.encode())):
        assert identical(value["claims"], meant)
    assert new == after


def test_old_value_is_not_parsed_once_per_hash_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # An agent can put a megabyte of hashes into a field; looking for the comment must not take minutes under the lock.
    texts: list[str] = []

    def counted(text: str) -> Any:
        texts.append(text)
        return load(text)

    monkeypatch.setattr(edit, "load", counted)
    document = parse(("claims:\n- status: '" + " #" * 2000 + "'  # c\nz: 1\n").encode(), "state.yaml")
    assert edit.set_fields(document, "claims", 0, {"status": "x"}) == b"claims:\n- status: x  # c\nz: 1\n"
    assert sum(map(len, texts)) < 20 * len(document.raw)


LEAD = "claims:\n- id: a\n  at: 1\n  by: x\n  status: y  # c\n- id: b\nz: 1\n"


@pytest.mark.parametrize(
    ("gone", "after"),
    [
        (("id",), "claims:\n- at: 1\n  by: x\n  status: y  # c\n- id: b\nz: 1\n"),
        (("id", "at"), "claims:\n- by: x\n  status: y  # c\n- id: b\nz: 1\n"),
        (("id", "at", "by"), "claims:\n- status: y  # c\n- id: b\nz: 1\n"),
        (("id", "by"), "claims:\n- at: 1\n  status: y  # c\n- id: b\nz: 1\n"),
        (("at", "by"), "claims:\n- id: a\n  status: y  # c\n- id: b\nz: 1\n"),
    ],
)
def test_fields_are_removed_including_the_one_behind_the_dash(gone: tuple[str, ...], after: str) -> None:
    document = parse(LEAD.encode(), "state.yaml")
    first, second = document.data["claims"]
    left = {key: value for key, value in first.items() if key not in gone}
    assert edit.revise(document, {"claims": [left, second]}).decode() == after


def test_items_behind_two_dashes_are_removed_together() -> None:
    document = parse(b"rows:\n- - a\n  - b\n  - c\n- - d\nz: 1\n", "state.yaml")
    assert edit.revise(document, {"rows": [["c"], ["d"]]}).decode() == "rows:\n- - c\n- - d\nz: 1\n"
