"""Where sections and records begin and end: as ruamel.yaml sees it, or refused. Never a wrong cut."""

import warnings
from typing import Any

import pytest
from hypothesis import assume, event, example, given
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from liza.errors import Refused, Unreadable
from liza.store.document import Document, parse
from liza.store.parser import BOM
from liza.store.spans import CannotCut, Part
from tests.store.generated import boards
from tests.store.mutated import mutated
from tests.store.oracle import ASKED, section_spans


def spans(document: Document) -> dict[str, tuple[int, int]] | None:
    """The spans as the oracle counts them: a section that is the last one reaches to the end of the file."""
    try:
        found = {name: (part.start, part.end) for name, part in document.sections.items()}
    except Refused as refused:
        event(f"refused: {refused.message[:60]}")
        return None
    if found:
        last = list(found)[-1]
        # An end marker ends the mapping; for the oracle it belongs to no section.
        found[last] = (found[last][0], len(document.raw))
    return found


def check(text: str) -> None:
    raw = text.encode()
    try:
        document = parse(raw, "state.yaml")
    except Unreadable:
        assume(False)
    found = spans(document)
    if found is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an anchor that is used twice
        try:
            expected = section_spans(raw)
        except (YAMLError, AttributeError):
            assume(False)
    event("compared")
    assert {str(name): span for name, span in found.items()} == expected


@example("\ufeff---\na: 1\n")
@ASKED
@given(boards())
def test_sections_are_cut_where_the_oracle_cuts_them(text: str) -> None:
    # Odd, but in block style at the top: none of these may be refused.
    assert spans(parse(text.encode(), "state.yaml")) is not None
    check(text)


@example("a: 1\nb: 2\n---\n")
@example("a: |\n  b: 1\nc: 2\n")
@example("a: 'x\n  b: 1'\nc: 2\n")
@example("&x a: 1\nb: 2\n")
@ASKED
@given(mutated())
def test_damaged_boards_are_cut_correctly_or_refused(text: str) -> None:
    check(text)


def positions(document: Document, part: Part, value: Any, node: Node) -> None:
    """Compare the parts inside a part with the nodes inside a node, all the way down, as far as liza cuts."""
    if not isinstance(value, dict | list) or not isinstance(node, MappingNode | SequenceNode):
        return
    try:
        parts = document.parts(part, value)
    except CannotCut:
        return
    nodes = [key for key, _ in node.value] if isinstance(node, MappingNode) else node.value
    assert len(parts) == len(nodes)
    for index, each in enumerate(parts):
        inner = node.value[index][1] if isinstance(node, MappingNode) else nodes[index]
        if isinstance(node, MappingNode):
            assert byte_offset(document, nodes[index].start_mark.index) == each.start
        else:
            assert document.raw[each.start : each.start + 1] == b"-"
            assert each.start < byte_offset(document, inner.start_mark.index) + 1
        if inner.start_mark.index != inner.end_mark.index:  # else nothing is written there
            assert byte_offset(document, inner.start_mark.index) <= each.end
        positions(document, each, value[each.key] if isinstance(value, dict) else value[index], inner)


def byte_offset(document: Document, index: int) -> int:
    shift = len(BOM) if document.raw.startswith(BOM) else 0
    return shift + len(document.raw[shift:].decode()[:index].encode())


@example("claims:\n- id: a\n- id: b\n")
@example("claims:\n  - id: a\n")
@ASKED
@given(boards())
def test_records_and_fields_are_cut_where_the_oracle_cuts_them(text: str) -> None:
    document = parse(text.encode(), "state.yaml")
    root = YAML(typ="rt", pure=True).compose(text.removeprefix("\ufeff"))
    positions(document, document.root, document.data, root)


LOCATED: dict[str, tuple[str, tuple[str | int, ...], tuple[int, int]]] = {
    "a section": ("a: 1\nb: 2\n", ("b",), (2, 1)),
    "the only section": ("a: 1\n", ("a",), (1, 1)),
    "a record of the only section": ("a:\n- b: 1\n- c: 2\n", ("a", 1), (3, 3)),
    "a field of the only section": ("a:\n  b: 1\n  c: 2\n", ("a", "c"), (3, 3)),
    "a field of a record": ("x: 1\na:\n  - b: 1\n    c: 2\n", ("a", 0, "c"), (4, 5)),
    "a field that is missing": ("x: 1\na:\n  - b: 1\n    c: 2\n", ("a", 0, "d"), (3, 5)),
    "deep": ("x: 1\na:\n  - b:\n      c:\n      - d: 1\n", ("a", 0, "b", "c", 0, "d"), (5, 9)),
    "a record in braces": ("x: 1\na:\n- {b: 1}\n- {b: 2}\n", ("a", 1), (4, 3)),
    "a field in braces is where its record is": ("x: 1\na:\n- {b: 1,\n   c: 2}\n", ("a", 0, "c"), (3, 3)),
    "a record in brackets is where its section is": ("x: 1\na: [{b: 1},\n  {b: 2}]\n", ("a", 1), (2, 1)),
    "behind characters of several bytes": ("x: 1\na: {ä: ö, b: 1}\n", ("a",), (2, 1)),
    "a BOM is no column": ("\ufeffa: 1\n", ("a",), (1, 1)),
    "CRLF": ("x: 1\r\na:\r\n- b: 1\r\n", ("a", 0, "b"), (3, 3)),
}


@pytest.mark.parametrize(("text", "path", "place"), LOCATED.values(), ids=LOCATED.keys())
def test_path_is_located_where_an_editor_shows_it(
    text: str, path: tuple[str | int, ...], place: tuple[int, int]
) -> None:
    assert parse(text.encode(), "state.yaml").locate(path) == place


@pytest.mark.parametrize(
    "text", ["{x: 1,\n a: [{b: 1},\n  {b: 2}]}\n", "? a\n: - b: 1\n  - b: 2\n", "--- {a: [{b: 1}, {b: 2}]}\n"]
)
def test_fault_is_located_even_if_sections_cannot_be_cut(text: str) -> None:
    assert parse(text.encode(), "state.yaml").locate(("a", 1)) is not None
