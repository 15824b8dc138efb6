"""Exact texts before and after: appending a record to a section, and replacing a section.

The property tests say that nothing else changes; these show what people will see in their diffs.
"""

from typing import Any

import pytest

from liza.errors import Refused
from liza.store import edit
from liza.store.compare import identical
from liza.store.document import parse
from tests.store.oracle import ruamel_value

NEW = {"id": "new", "note": "two\nlines"}
BREAKER = {"status": "OK", "history": []}


def in_both_parsers(text: str) -> Any:
    """The value of a text; ruamel.yaml has no tabs before comments, so it is asked with spaces there."""
    value = parse(text.encode(), "state.yaml").data
    assert identical(ruamel_value(text.replace("\t#", " #").encode()), value)
    return value


APPENDED = {
    "the section is missing": (
        "version: 1\n",
        "version: 1\nanomalies:\n  - id: new\n    note: |-\n      two\n      lines\n",
    ),
    "the section is missing and the last line has no line break": (
        "version: 1",
        "version: 1\nanomalies:\n  - id: new\n    note: |-\n      two\n      lines\n",
    ),
    "the section is missing and a comment ends the file": (
        "version: 1\n\n# the end",
        "version: 1\n\n# the end\nanomalies:\n  - id: new\n    note: |-\n      two\n      lines\n",
    ),
    "the section is missing between document markers": (
        "---\nversion: 1\n...\n",
        "---\nversion: 1\nanomalies:\n  - id: new\n    note: |-\n      two\n      lines\n...\n",
    ),
    "null": (
        "a: 1\nanomalies: null\nb: 2\n",
        "a: 1\nanomalies:\n  - id: new\n    note: |-\n      two\n      lines\nb: 2\n",
    ),
    "a tilde with a comment": (
        "a: 1\nanomalies: ~  # none yet\nb: 2\n",
        "a: 1\nanomalies:  # none yet\n  - id: new\n    note: |-\n      two\n      lines\nb: 2\n",
    ),
    "nothing behind the key": (
        "a: 1\nanomalies:\nb: 2\n",
        "a: 1\nanomalies:\n  - id: new\n    note: |-\n      two\n      lines\nb: 2\n",
    ),
    "nothing behind the key at the end of the file": (
        "a: 1\nanomalies:",
        "a: 1\nanomalies:\n  - id: new\n    note: |-\n      two\n      lines",
    ),
    "only comments behind the key": (
        "a: 1\nanomalies:  # one\n  # two\nb: 2\n",
        "a: 1\nanomalies:  # one\n  - id: new\n    note: |-\n      two\n      lines\n  # two\nb: 2\n",
    ),
    "empty brackets": (
        "a: 1\nanomalies: []\nb: 2\n",
        "a: 1\nanomalies:\n  - id: new\n    note: |-\n      two\n      lines\nb: 2\n",
    ),
    "empty brackets and a comment": (
        "a: 1\nanomalies: []  # comment\nb: 2\n",
        "a: 1\nanomalies:  # comment\n  - id: new\n    note: |-\n      two\n      lines\nb: 2\n",
    ),
    "a tab before the comment": (
        "a: 1\nanomalies: []\t# comment\nb: 2\n",
        "a: 1\nanomalies:\t# comment\n  - id: new\n    note: |-\n      two\n      lines\nb: 2\n",
    ),
    "brackets on one line": (
        "anomalies: [{id: a}, {id: b}]  # c\nb: 2\n",
        'anomalies: [{id: a}, {id: b}, {id: new, note: "two\\nlines"}]  # c\nb: 2\n',
    ),
    "brackets on several lines": (
        "anomalies: [\n  {id: a},\n  {id: b}\n  ]\nb: 2\n",
        'anomalies: [\n  {id: a},\n  {id: b}, {id: new, note: "two\\nlines"}\n  ]\nb: 2\n',
    ),
    "a comma behind the last record": (
        "anomalies: [\n  {id: a},\n  {id: b},\n  ]\nb: 2\n",
        'anomalies: [\n  {id: a},\n  {id: b}, {id: new, note: "two\\nlines"},\n  ]\nb: 2\n',
    ),
    "comments inside the brackets": (
        "anomalies: [  # one\n  {id: a},  # two\n  {id: b}  # three\n  # four\n  ]  # five\nb: 2\n",
        'anomalies: [  # one\n  {id: a},  # two\n  {id: b}, {id: new, note: "two\\nlines"}  # three\n  # four\n'
        "  ]  # five\nb: 2\n",
    ),
    "dashes below the key's own column": (
        "anomalies:\n- id: a\n- id: b\nb: 2\n",
        "anomalies:\n- id: a\n- id: b\n- id: new\n  note: |-\n    two\n    lines\nb: 2\n",
    ),
    "dashes indented by four": (
        "anomalies:\n    - id: a\nb: 2\n",
        "anomalies:\n    - id: a\n    - id: new\n      note: |-\n        two\n        lines\nb: 2\n",
    ),
    "the only section, its dashes indented": (
        "anomalies:\n  - id: a\n",
        "anomalies:\n  - id: a\n  - id: new\n    note: |-\n      two\n      lines\n",
    ),
    "the only section, with two records": (
        "anomalies:\n- id: a\n- id: b\n",
        "anomalies:\n- id: a\n- id: b\n- id: new\n  note: |-\n    two\n    lines\n",
    ),
    "records in braces": (
        "anomalies:\n- {id: a, rounds: [x]}\n- {id: b}  # c\nb: 2\n",
        "anomalies:\n- {id: a, rounds: [x]}\n- {id: b}  # c\n- id: new\n  note: |-\n    two\n    lines\nb: 2\n",
    ),
    "the last section without a line break at the end": (
        "a: 1\nanomalies:\n- id: a",
        "a: 1\nanomalies:\n- id: a\n- id: new\n  note: |-\n    two\n    lines\n",
    ),
    "comments before, inside and after": (
        "# before\nanomalies:  # at\n  # inside\n  - id: a  # in\n  # still inside\n\n# after\nb: 2\n",
        "# before\nanomalies:  # at\n  # inside\n  - id: a  # in\n  # still inside\n  - id: new\n    note: |-\n"
        "      two\n      lines\n\n# after\nb: 2\n",
    ),
    "CRLF": (
        "a: 1\r\nanomalies:\r\n- id: a\r\nb: 2\r\n",
        "a: 1\r\nanomalies:\r\n- id: a\r\n- id: new\r\n  note: |-\r\n    two\r\n    lines\r\nb: 2\r\n",
    ),
    "a BOM": (
        "\ufeffanomalies:\n- id: a\nb: 2\n",
        "\ufeffanomalies:\n- id: a\n- id: new\n  note: |-\n    two\n    lines\nb: 2\n",
    ),
    "directive and document markers": (
        "%YAML 1.2\n---  # start\nanomalies:\n- id: a\nb: 2\n...  # end\n# after\n",
        "%YAML 1.2\n---  # start\nanomalies:\n- id: a\n- id: new\n  note: |-\n    two\n    lines\nb: 2\n"
        "...  # end\n# after\n",
    ),
    "a literal block with hash lines at its end": (
        "a: 1\nanomalies:\n- id: a\n  text: |\n    x\n    # no comment\nb: 2\n",
        "a: 1\nanomalies:\n- id: a\n  text: |\n    x\n    # no comment\n- id: new\n  note: |-\n    two\n"
        "    lines\nb: 2\n",
    ),
    "a literal block that keeps its line breaks": (
        "a: 1\nanomalies:\n- id: a\n  text: |+\n    x\n\n\nb: 2\n",
        "a: 1\nanomalies:\n- id: a\n  text: |+\n    x\n\n\n- id: new\n  note: |-\n    two\n    lines\nb: 2\n",
    ),
    "quoted keys": (
        "'a': 1\n\"anomalies\":\n- 'id': a\n'b': 2\n",
        "'a': 1\n\"anomalies\":\n- 'id': a\n- id: new\n  note: |-\n    two\n    lines\n'b': 2\n",
    ),
    "the whole document indented": (
        "  a: 1\n  anomalies:\n    - id: a\n  b: 2\n",
        "  a: 1\n  anomalies:\n    - id: a\n    - id: new\n      note: |-\n        two\n        lines\n  b: 2\n",
    ),
    "the section missing in an indented document": (
        "  a: 1\n",
        "  a: 1\n  anomalies:\n    - id: new\n      note: |-\n        two\n        lines\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), APPENDED.values(), ids=APPENDED.keys())
def test_record_is_appended_in_the_style_of_its_section(before: str, after: str) -> None:
    document = parse(before.encode(), "state.yaml")
    assert edit.append_record(document, "anomalies", NEW).decode() == after
    assert identical(in_both_parsers(after)["anomalies"], [*(document.data.get("anomalies") or []), NEW])


REPLACED: dict[str, tuple[str, Any, str]] = {
    "missing": ("a: 1\n", BREAKER, "a: 1\ncircuit_breaker:\n  status: OK\n  history: []\n"),
    "null": ("circuit_breaker: null\nb: 2\n", BREAKER, "circuit_breaker:\n  status: OK\n  history: []\nb: 2\n"),
    "a scalar stays on its line": ("circuit_breaker: 1  # c\nb: 2\n", "x", "circuit_breaker: x  # c\nb: 2\n"),
    "a mapping becomes a scalar": (
        "circuit_breaker:  # c\n  status: OK\n\n# next\nb: 2\n", None, "circuit_breaker: null  # c\n\n# next\nb: 2\n",
    ),
    "first": ("circuit_breaker: {}\nb: 2\n", BREAKER, "circuit_breaker:\n  status: OK\n  history: []\nb: 2\n"),
    "last without a line break": (
        "a: 1\ncircuit_breaker: {}", BREAKER, "a: 1\ncircuit_breaker:\n  status: OK\n  history: []",
    ),
    "only what differs is touched": (
        "a: 1\n# about it\ncircuit_breaker:  # ours\n  last_check: null  # never\n  # the state\n  status: 'OK'\n"
        "  history: []  # none yet\n\n# after\nb: 2\n",
        {"last_check": "2025-01-18T14:32:00Z", "status": "OK", "history": [{"result": "OK", "checks": 1}]},
        "a: 1\n# about it\ncircuit_breaker:  # ours\n  last_check: 2025-01-18T14:32:00Z  # never\n  # the state\n"
        "  status: 'OK'\n  history:  # none yet\n    - result: OK\n      checks: 1\n\n# after\nb: 2\n",
    ),
    "a field that is no longer there goes with its line": (
        "circuit_breaker:\n  last_check: null  # never\n  # the state\n  status: OK\nb: 2\n", {"status": "OK"},
        "circuit_breaker:\n  # the state\n  status: OK\nb: 2\n",
    ),
    "in braces it stays in braces": (
        "circuit_breaker: {status: OK, history: []}  # c\nb: 2\n", {"status": "TRIGGERED", "history": [], "x": 1},
        "circuit_breaker: {status: TRIGGERED, history: [], x: 1}  # c\nb: 2\n",
    ),
    "a hash in quotes inside brackets is no comment": (
        "circuit_breaker: ['a # b']  # c\nb: 2\n", None, "circuit_breaker: null  # c\nb: 2\n",
    ),
    "CRLF": (
        "circuit_breaker:\r\n  status: OK\r\nb: 2\r\n", BREAKER,
        "circuit_breaker:\r\n  status: OK\r\n  history: []\r\nb: 2\r\n",
    ),
    "an alias gives way, its anchor stays": ("a: &x OK\ncircuit_breaker: *x\n", "x", "a: &x OK\ncircuit_breaker: x\n"),
    "an unused anchor": (
        "circuit_breaker:\n  status: &x OK\nb: 2\n", {"status": "x"}, "circuit_breaker:\n  status: x\nb: 2\n",
    ),
    "equal to what is there": (
        "circuit_breaker: {status: 'OK', history: [\n  ]}\n", BREAKER,
        "circuit_breaker: {status: 'OK', history: [\n  ]}\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "value", "after"), REPLACED.values(), ids=REPLACED.keys())
def test_replaced_section_keeps_style_and_comments(before: str, value: Any, after: str) -> None:
    document = parse(before.encode(), "state.yaml")
    assert edit.replace_section(document, "circuit_breaker", value).decode() == after
    assert identical(in_both_parsers(after), {**document.data, "circuit_breaker": value})


def test_one_true_and_one_point_zero_are_different_values() -> None:
    document = parse(b"circuit_breaker: 1\n", "state.yaml")
    assert edit.replace_section(document, "circuit_breaker", True) == b"circuit_breaker: true\n"
    assert edit.replace_section(document, "circuit_breaker", 1.0) == b"circuit_breaker: 1.0\n"


def test_comment_inside_empty_brackets_is_not_lost() -> None:
    document = parse(b"a: 1\nanomalies: [\n  # agents: use liza log anomaly\n  ]\nb: 2\n", "state.yaml")
    try:
        new = edit.append_record(document, "anomalies", {"id": "new"})
    except Refused:
        return
    assert b"# agents: use liza log anomaly" in new


PLAIN = "a: 1\ncircuit_breaker:\n  history:\n  - id: x\n    result: OK\n  - id: y\n    result: OK\nb: 2\n"
OTHERS: dict[str, Any] = {
    "one in front": [{"id": "w"}, {"id": "x", "result": "OK"}, {"id": "y", "result": "OK"}],
    "one in the middle": [{"id": "x", "result": "OK"}, {"id": "w"}, {"id": "y", "result": "OK"}],
    "the first one gone": [{"id": "y", "result": "OK"}],
    "the last one gone": [{"id": "x", "result": "OK"}],
    "all the fields of one are others": [{"who": "z", "when": "now"}, {"id": "y", "result": "OK"}],
    "all the fields of all are others": [{"who": "z", "when": "now"}, {"what": 1}],
    "one is no record any more": ["x", {"id": "y", "result": "OK"}],
    "in another order": [{"id": "y", "result": "OK"}, {"id": "x", "result": "OK"}],
}


@pytest.mark.parametrize("history", OTHERS.values(), ids=OTHERS.keys())
def test_plain_block_section_accepts_any_value(history: list[Any]) -> None:
    document = parse(PLAIN.encode(), "state.yaml")
    new = edit.replace_section(document, "circuit_breaker", {"history": history}).decode()
    assert identical(in_both_parsers(new), {"a": 1, "circuit_breaker": {"history": history}, "b": 2})


# --- fields removed inside brackets ---------------------------------------------------------------------------------

BRACKETS = {
    "the first": ("{a:  1 , b:   [x,  y], c: 3}", {"b": ["x", "y"], "c": 3}, "{b:   [x,  y], c: 3}"),
    "one between": ("{a:  1 , b:   [x,  y], c: 3}", {"a": 1, "c": 3}, "{a:  1, c: 3}"),
    "the last": ("{a:  1 , b:   'q', c: 3}", {"a": 1, "b": "q"}, "{a:  1 , b:   'q'}"),
    "two at the start": ("{a: 1, b: 2,   c: 3 }", {"c": 3}, "{c: 3 }"),
    "two at the end": ("{a:  1, b: 2, c: 3 }", {"a": 1}, "{a:  1 }"),
    "one for another": ("{a:  1, b: 2 }", {"a": 1, "d": 4}, "{a:  1, d: 4 }"),
    "deeper down": ("[{a: {b:  1, c: 2}, d:   x}]", [{"a": {"b": 1}, "d": "x"}], "[{a: {b:  1}, d:   x}]"),
    "a hash in what goes": ("{a:  1, b: 'x # y', c:  3}", {"a": 1, "c": 3}, "{a:  1, c:  3}"),
    "one without a value": ("{a:  1, b: , c: 3}", {"a": 1, "c": 3}, None),
    "all of them": ("{a:  1}", {"b": 2}, None),
}


@pytest.mark.parametrize(("before", "value", "after"), BRACKETS.values(), ids=BRACKETS)
def test_removing_a_field_in_brackets_keeps_the_others(before: str, value: Any, after: str | None) -> None:
    raw = edit.replace_section(parse(f"k: {before}  # kept\n".encode(), "f"), "k", value)
    assert parse(raw, "f").data == {"k": value}
    assert b"  # kept\n" in raw
    if after is not None:
        assert raw == f"k: {after}  # kept\n".encode()


def test_removing_a_field_refuses_to_drop_comments_in_brackets() -> None:
    document = parse(b"k: {a: 1,  # one\n    b: 2,  # two\n    c: 3}\n", "f")
    with pytest.raises(Refused, match="comments inside"):
        edit.replace_section(document, "k", {"a": 1, "c": 3})
