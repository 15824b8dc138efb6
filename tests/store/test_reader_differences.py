"""The fast reader against ruamel.yaml: where the two differ is listed here, and they differ nowhere else."""

import warnings
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml.error import YAMLError

from liza.store.compare import identical
from liza.store.parser import BadYaml, decode, load
from tests.store.generated import boards
from tests.store.mutated import mutated
from tests.store.oracle import ASKED, ruamel_value

REFUSED = object()  # the text is not YAML to that parser


def fast(text: str) -> Any:
    try:
        return load(decode(text.encode()))
    except BadYaml:
        return REFUSED


def slow(text: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an anchor that is used twice
        try:
            return ruamel_value(text.encode())
        except (YAMLError, ValueError):  # a ValueError for a number or a tag that it cannot construct
            return REFUSED


# Each with what liza reads first and what ruamel.yaml reads second.
LISTED: dict[str, tuple[str, Any, Any]] = {
    "<< merges nothing": ("a: {<<: {b: 1}}\n", {"a": {"<<": {"b": 1}}}, {"a": {"b": 1}}),
    "<< as a value": ("a: <<\n", {"a": "<<"}, REFUSED),
    "= as a value": ("a: =\n", {"a": "="}, REFUSED),
    "an unknown tag on a scalar makes it a text": ("a: !x 1\n", {"a": "1"}, REFUSED),
    "an unknown tag on a mapping is ignored": ("a: !x {b: 1}\n", {"a": {"b": 1}}, REFUSED),
    "a tag that does not fit": ("a: !!seq {}\n", {"a": {}}, REFUSED),
    "the tag that says no tag": ("a: ! 1\n", {"a": "1"}, {"a": 1}),
    "!!binary stays text": ("a: !!binary aGk=\n", {"a": "aGk="}, {"a": b"hi"}),
    "!!timestamp": ("a: !!timestamp 2025-01-01\n", REFUSED, {"a": "2025-01-01"}),
    "!!bool of YAML 1.1": ("a: !!bool 'yes'\n", REFUSED, {"a": True}),
    "several documents are a list": ("a: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}], REFUSED),
    "an empty second document": ("a: 1\n---\n", [{"a": 1}, None], REFUSED),
    "a document behind an end marker": ("a: 1\n...\nb: 2\n", [{"a": 1}, {"b": 2}], REFUSED),
    "an end marker at the start": ("...\na: 1\n", {"a": 1}, REFUSED),
    "a raw ESC": ("a: '\x1b[31m'\n", {"a": "\x1b[31m"}, REFUSED),
    "a raw ESC in a comment": ("# \x1b\na: 1\n", {"a": 1}, REFUSED),
    "a raw DEL": ("a: \x7f\n", {"a": "\x7f"}, REFUSED),
    "a raw C1 control": ("a: \x9b\n", {"a": "\x9b"}, REFUSED),
    "a noncharacter": ("a: \uffff\n", {"a": "\uffff"}, REFUSED),
    "NEL is no line break": ("a: x\x85y\n", {"a": "x\x85y"}, {"a": "x y"}),
    "LINE SEPARATOR is no line break": ("# \u2028b: 2\na: 1\n", {"a": 1}, REFUSED),
    "a tab before a comment": ("a: 1\t# c\n", {"a": 1}, REFUSED),
    "a tab at the end of a line": ("a: 1\t\n", {"a": 1}, REFUSED),
    "a tab inside a plain text": ("a: x\ty\n", {"a": "x\ty"}, REFUSED),
    "a tab after a dash": ("- \t1\n", [1], REFUSED),
    "a tab on an empty line": ("a: 1\n\t\nb: 2\n", {"a": 1, "b": 2}, REFUSED),
    "a tab before the items of brackets": ("a: [\n\tb]\n", REFUSED, {"a": ["b"]}),
    "a tab before a quoted text's next line": ("a: 'x\n\ty'\n", REFUSED, {"a": "x y"}),
    "a quoted text continued at column 0": ("a: 'x\ny'\n", REFUSED, {"a": "x y"}),
    "brackets continued at column 0": ("a: [x,\ny]\n", REFUSED, {"a": ["x", "y"]}),
    "braces continued at column 0": ("a: {x: 1,\ny: 2}\n", REFUSED, {"a": {"x": 1, "y": 2}}),
    "a comment that touches a quote": ("a: 'x'#y\n", REFUSED, {"a": "x"}),
    "a comment that touches a bracket": ("a: [x]#y\n", REFUSED, {"a": ["x"]}),
    "a colon before a brace": ("a: {b:}\n", {"a": {"b": None}}, {"a": {"b:": None}}),
    "a colon before a comma": ("a: {b:, c: 1}\n", {"a": {"b": None, "c": 1}}, {"a": {"b:": None, "c": 1}}),
    "a colon that touches its value in brackets": ('a: ["b":1]\n', {"a": [{"b": 1}]}, REFUSED),
    "a mapping as a key": ("{x: 1}: 2\n", {frozenset({("x", 1)}): 2}, REFUSED),
    "a literal block without a line break at the end of the file": ("a: |\n  x", {"a": "x\n"}, {"a": "x"}),
    "an empty literal block at the end of the file": ("a: |\n", {"a": "\n"}, {"a": ""}),
    "spaces at the end of the file behind a literal block": ("a: |\n  x\n  ", {"a": "x\n\n"}, {"a": "x\n"}),
    "a surrogate pair in escapes": ('a: "\\uD83D\\uDE00"\n', {"a": "😀"}, {"a": "\ud83d\ude00"}),
    "half a surrogate pair": ('a: "\\uD83D"\n', REFUSED, {"a": "\ud83d"}),
    "the directive for YAML 1.1 changes nothing": ("%YAML 1.1\n---\na: yes\n", {"a": "yes"}, {"a": True}),
    "a YAML of the future": ("%YAML 2.0\n---\na: 1\n", {"a": 1}, REFUSED),
    "underscores before a number": ("a: _1\n", {"a": 1}, {"a": "_1"}),
    "0X in capitals": ("a: 0X1F\n", {"a": 31}, {"a": "0X1F"}),
    "0O in capitals": ("a: 0O17\n", {"a": 15}, {"a": "0O17"}),
    "0B in capitals": ("a: 0B11\n", {"a": 3}, {"a": "0B11"}),
    "infinity in odd capitals": ("a: .iNf\n", {"a": float("inf")}, {"a": ".iNf"}),
    "not a number in odd capitals": ("a: .nAn\n", {"a": float("nan")}, {"a": ".nAn"}),
    "NUL": ("a: x\0y\n", REFUSED, REFUSED),
}  # fmt: skip


@pytest.mark.parametrize(("text", "liza", "ruamel"), LISTED.values(), ids=LISTED.keys())
def test_listed_difference_holds_on_both_sides(text: str, liza: Any, ruamel: Any) -> None:
    assert identical(fast(text), liza)
    assert identical(slow(text), ruamel)


def test_self_containing_alias_is_cut_off_but_circular_in_ruamel() -> None:
    assert fast("a: &x [*x]\n") == {"a": [None]}
    knot = slow("a: &x [*x]\n")["a"]
    assert knot[0] is knot


AGREED: dict[str, Any] = {
    "a: yes": "yes", "a: On": "On", "a: y": "y", "a: 12:30:45": "12:30:45", "a: 190:20:30.15": "190:20:30.15",
    "a: 2025-01-18": "2025-01-18", "a: 2025-01-18T14:32:00Z": "2025-01-18T14:32:00Z",
    "a: {time: 2025-01-17T14:05:00Z, event: created}": {"time": "2025-01-17T14:05:00Z", "event": "created"},
    "a: 012": 12, "a: 0o14": 12, "a: 0x1F": 31, "a: 0b11": 3, "a: 1_000": 1000, "a: +12": 12, "a: -0": 0,
    "a: 08": 8, "a: 1e3": 1000.0, "a: 1.": 1.0, "a: .5": 0.5, "a: 1_000.5": 1000.5, "a: -.Inf": float("-inf"),
    "a: .nan": float("nan"), "a: nan": "nan", "a: inf": "inf", "a: ~": None, "a: Null": None, "a: nUll": "nUll",
    "a: TRUE": True, "a: tRUE": "tRUE", "a: 123456789012345678901234567890": 123456789012345678901234567890,
    "a: - ": REFUSED, "a: @x": REFUSED, "a: %x": REFUSED, "a: x: y": REFUSED, "a: 'x' y": REFUSED,
    "a: [1,2": REFUSED, "a: [a,,b]": REFUSED, "a: *x": REFUSED, "a: 1\n b: 2": REFUSED, "a:\n\t- 1": REFUSED,
    "a: 1\na: 2": REFUSED, "a: {b: 1, b: 2}": REFUSED, "a: !!str 1": "1", "a: |\n    x\n  y": REFUSED,
}  # fmt: skip


@pytest.mark.parametrize(("text", "value"), AGREED.items(), ids=AGREED.keys())
def test_yaml_pitfalls_are_read_alike(text: str, value: Any) -> None:
    meant = value if value is REFUSED else {"a": value}
    assert identical(fast(text + "\n"), meant)
    assert identical(slow(text + "\n"), meant)


def test_bom_is_not_part_of_the_text() -> None:
    assert fast("\ufeffa: 1\n") == slow("\ufeffa: 1\n") == {"a": 1}


@pytest.mark.parametrize(
    "text", ["? {a: []}\n: 1\n", "{a: 1, b: []}: x\n", "? x: []\n", "a:\n  ? {b: {c: [1]}}\n  : 1\n"]
)
def test_unhashable_key_is_bad_yaml_not_a_crash(text: str) -> None:
    assert fast(text) is REFUSED


def differ_as_listed(text: str) -> bool:
    """Whether a disagreement over this text is one of those above."""
    here, there = fast(text), slow(text)
    if here is REFUSED:
        return _why(text, fast_side=True).startswith(
            (
                "invalid indentation",
                "expected whitespace",
                "comments must be separated",
                "tab cannot",
                "tabs disallowed",
            )
        )
    if there is REFUSED:
        return any(part in _why(text, fast_side=False) for part in ("another document", "'\\t'", "<document end>"))
    # What is left must be the end of a block scalar at the end of the file: with an end marker behind it they agree.
    return identical(fast(text + "\n...\n"), slow(text + "\n...\n"))


def _why(text: str, fast_side: bool) -> str:
    try:
        load(decode(text.encode())) if fast_side else ruamel_value(text.encode())
    except BadYaml as error:
        return error.message
    except YAMLError as error:
        return f"{getattr(error, 'problem', '')}"
    return ""


@ASKED
@given(boards())
def test_generated_boards_are_read_alike(text: str) -> None:
    assert fast(text) is not REFUSED
    assert identical(fast(text), slow(text)) or differ_as_listed(text)


@example("a: 1\n---")
@example("?")
@ASKED
@given(st.one_of(mutated(), mutated().map(lambda text: text.replace("\n", "\r\n"))))
def test_damaged_boards_are_read_or_refused_alike(text: str) -> None:
    assert identical(fast(text), slow(text)) or differ_as_listed(text)
