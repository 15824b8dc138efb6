"""Emitted YAML: every reader gets the same value back, and nothing in it acts on a terminal."""

import math
import re
import unicodedata
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import example, given
from hypothesis import strategies as st

from liza.store import emit
from liza.store.compare import identical
from liza.store.parser import load
from tests.store.generated import ODD_TEXTS
from tests.store.oracle import ruamel_value

TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
ANY_TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
# What numbers, booleans and indicators are made of: far likelier to be taken for one than any text.
LOOKALIKES = st.text(st.sampled_from(list("_0123456789eExXobBinfINFatyT.+-:/~#,[]{}&*!|>%@` \n\t'\"?=<")), max_size=8)
TEXTS = st.one_of(st.sampled_from(ODD_TEXTS), ANY_TEXT, LOOKALIKES)
KEYS = st.one_of(st.sampled_from(["id", "a b", "größe", "y", "~", "12", "a: b"]), TEXTS).filter(bool)
SCALARS = st.one_of(TEXTS, st.none(), st.booleans(), st.integers(), st.floats())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=8,
)


def block(value: Any) -> str:
    return emit.field("k", value, 0) + "\n"


def flow(value: Any) -> str:
    return f"k: [{emit.flow(value)}]\n"


@example("_1")
@example("_.5")
@given(VALUES)
def test_any_value_round_trips_through_both_parsers(value: Any) -> None:
    item = emit.item(value, 0) + "\n"
    for text, meant in ((block(value), {"k": value}), (flow(value), {"k": [value]}), (item, [value])):
        read = load(text)
        assert identical(read, meant), text
        assert identical(ruamel_value(text.encode()), read), text


@given(TEXTS)
def test_yaml_1_1_readers_read_the_same_texts(value: str) -> None:
    if TIMESTAMP.fullmatch(value):
        return  # plain on purpose, as people write them
    assert yaml.safe_load(block(value)) == {"k": value}
    assert yaml.safe_load(flow(value)) == {"k": [value]}


@given(VALUES)
def test_yaml_1_1_readers_read_the_same_values(value: Any) -> None:
    if "Z" not in block(value):  # no timestamp anywhere
        assert identical(yaml.safe_load(block(value)), {"k": value})


@given(KEYS)
def test_any_key_round_trips(key: str) -> None:
    for text in (emit.field(key, 1, 0), emit.flow({key: 1})):
        assert load(text) == ruamel_value(text.encode()) == yaml.safe_load(text) == {key: 1}


@given(VALUES)
def test_control_and_bidi_characters_are_escaped(value: Any) -> None:
    for text in (block(value), flow(value)):
        odd = [char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp", "Co", "Cn")]
        assert set(odd) <= {"\n"}, ascii(text)
    assert "\n" not in emit.flow(value)


@given(VALUES, st.integers(0, 3))
def test_value_round_trips_at_any_depth(value: Any, depth: int) -> None:
    text, meant = "", value
    for level in range(depth):
        text += "  " * level + f"p{level}:\n"
    text += "  " * depth + emit.field("k", value, 2 * depth) + "\n" + "after: 1\n"
    meant = {"k": value}
    for level in reversed(range(depth)):
        meant = {f"p{level}": meant}
    assert identical(load(text), {**meant, "after": 1})


WRITTEN = {
    "OK": "OK",
    "task-3": "task-3",
    "specs/data-model.md": "specs/data-model.md",
    "serialization failure on nested entity": "serialization failure on nested entity",
    "2025-01-18T14:32:00Z": "2025-01-18T14:32:00Z",
    "2025-01-18T14:32:00.5Z": "2025-01-18T14:32:00.5Z",
    "2025-01-18": '"2025-01-18"',
    "": '""',
    "yes": '"yes"',
    "No": '"No"',
    "null": '"null"',
    "404": '"404"',
    "12:30:45": '"12:30:45"',
    "a: b": '"a: b"',
    "a # b": '"a # b"',
    "\x1b[31m": '"\\u001b[31m"',
    "\u202ertl": '"\\u202ertl"',
    "one\ntwo": "|-\n    one\n    two",
    "one\ntwo\n": "|\n    one\n    two",
    "one\n\ntwo": "|-\n    one\n\n    two",
    "one\n\n": '"one\\n\\n"',
    "one\n# two": '"one\\n# two"',
    " one\ntwo": '" one\\ntwo"',
    "one\r\ntwo": '"one\\r\\ntwo"',
}


@pytest.mark.parametrize(("value", "text"), WRITTEN.items(), ids=[ascii(value) for value in WRITTEN])
def test_texts_are_written_as_people_write_them(value: str, text: str) -> None:
    assert emit.scalar(value, 4) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"), (True, "true"), (False, "false"), (0, "0"), (-7, "-7"), (1.5, "1.5"), (1e300, "1.0e+300"),
        (math.inf, ".inf"), (-math.inf, "-.inf"), (math.nan, ".nan"), ([], "[]"), ({}, "{}"), ((), "[]"),
    ],
)  # fmt: skip
def test_other_scalars_and_empty_collections(value: Any, text: str) -> None:
    assert emit.scalar(value, 0) == text


def test_layout_of_a_nested_record() -> None:
    record = {"id": "a", "list": [1, [2, 3], {"x": None, "deep": {"er": []}}], "text": "two\nlines"}
    assert emit.item(record, 2) == (
        "- id: a\n    list:\n      - 1\n      - - 2\n        - 3\n      - x: null\n        deep:\n          er: []\n"
        "    text: |-\n      two\n      lines"
    )
    assert emit.flow(record) == '{id: a, list: [1, [2, 3], {x: null, deep: {er: []}}], text: "two\\nlines"}'
