"""Files that cannot be parsed: the message, and its line and column."""

from collections.abc import Callable

import pytest

from liza.errors import Unreadable
from liza.store.document import parse, parse_log

PLACES: dict[str, tuple[bytes, tuple[int | None, int | None]]] = {
    "an open bracket": (b"a: 1\nb: [1,\n", (2, 4)),
    "a tab as indentation": (b"a:\n\t- 1\n", (2, 2)),
    "a byte that is not UTF-8": (b"a: 1\nb: caf\xe9\n", (2, 7)),
    "half a character at the end": ("a: é".encode()[:-1], (1, 4)),
    "a NUL byte": (b"a: 1\nb: x\0y\n", (2, 5)),
    "a key twice": (b"a: 1\nb: 2\na: 3\n", (3, 1)),
    "a key twice in a record": (b"x:\n- c: 1\n- c: 2\n  d: 1\n  d: 2\n", (5, 3)),
    "a key twice in braces": (b"a: {c: 1, d: {c: 2}, c: 3}\n", (1, 22)),
    "a quoted key twice": (b'"a b": 1\n"a b": 2\n', (2, 1)),
    "a key twice behind a text that looks like it": (b"x: |\n  d: 1\n  d: 2\ny:\n  d: 1\n  d: 2\n", (6, 3)),
    "two hundred dashes": (b"a: 1\nb:\n  " + b"- " * 250 + b"x\n", (3, 1)),
}


@pytest.mark.parametrize(("raw", "place"), PLACES.values(), ids=PLACES.keys())
def test_position_of_the_first_fault_is_named(raw: bytes, place: tuple[int, int]) -> None:
    with pytest.raises(Unreadable) as caught:
        parse(raw, "state.yaml")
    assert (caught.value.line, caught.value.column) == place
    assert "\n" not in str(caught.value)
    assert caught.value.hint


def _indented(levels: int) -> str:
    return "".join(f"{' ' * level}k:\n" for level in range(levels)) + " " * levels + "x"


DEEP: dict[str, Callable[[int], str]] = {
    "dashes": lambda levels: "a:\n  " + "- " * levels + "x",
    "dashes far apart": lambda levels: "a:\n  " + "-   " * levels + "x",
    "questions and dashes": lambda levels: "a:\n  " + "? - " * (levels // 2) + "x",
    "lines": _indented,
    "lists in the column of their key": lambda levels: (
        "".join(f"{' ' * level}k:\n{' ' * level}-\n" for level in range(levels // 2)) + " " * (levels // 2) + "x"
    ),
}


@pytest.mark.parametrize("written", DEEP.values(), ids=DEEP.keys())
def test_levels_have_a_limit_however_they_are_written(written: Callable[[int], str]) -> None:
    assert parse(written(190).encode(), "state.yaml").data
    with pytest.raises(Unreadable, match="200 levels"):
        parse(written(206).encode(), "state.yaml")


def test_message_about_a_long_line_is_short() -> None:
    with pytest.raises(Unreadable) as caught:
        parse(b"a: '" + b"x" * (1 << 20) + b"\n\x1b[31m", "state.yaml")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("raw", [b"a: 1\n", b"x\n", b"5\n", b"{}\n", b"- a: [\n", b"- \xff\n"])
def test_log_that_is_not_a_list_is_unreadable(raw: bytes) -> None:
    with pytest.raises(Unreadable):
        parse_log(raw, "log.yaml")


@pytest.mark.parametrize("raw", [b"", b"# c\n", b"[]\n", b"---\n", b"null\n"])
def test_log_without_entries_is_empty(raw: bytes) -> None:
    assert parse_log(raw, "log.yaml").data == []
