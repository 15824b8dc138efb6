"""Where things are in a YAML file, as line and column: each part of a parsed file, and a key that is there twice.

The parts of block collections come from `spans.py`; what those cannot find, a parser that keeps positions can, slowly.
"""

import re
from bisect import bisect_left
from functools import cached_property
from typing import Any

from liza.model import Path
from liza.store import spans
from liza.store.parser import BOM, BadYaml, decode, load
from liza.store.spans import CannotCut, Part

_COMPOSED = 1 << 16  # bytes; composing more takes over half a second
_MAX_REPARSED = 10_000_000  # characters parsed again to locate an error


class Positions:
    """The bytes and the value of a YAML file, and where each part of it is."""

    __slots__ = ("__dict__", "data", "raw")

    def __init__(self, raw: bytes, data: Any) -> None:
        self.raw = raw
        self.data = data  # the sections of state.yaml, or the entries of log.yaml

    @property
    def root(self) -> Part:
        """The whole document as one part."""
        if isinstance(self._root, CannotCut):
            raise self._root
        return self._root

    @cached_property
    def _root(self) -> Part | CannotCut:
        try:
            body = spans.body(self.raw)
        except CannotCut as error:
            return error
        return Part(None, body.start, body.start, body.end, 0)

    def locate(self, path: Path) -> tuple[int, int] | None:
        """Line and column of the deepest part on `path` that can be found; a missing field is where its record is."""
        offset: int | None = None
        try:
            part, value = self.root, self.data
            for step in path:
                parts = self.parts(part, value)
                index = step if isinstance(step, int) else list(value).index(step)
                part, value = parts[index], value[step]
                offset = part.start if part.key is not None else spans.first_token(self.raw, part.value, part.end)
        except (CannotCut, LookupError, ValueError, TypeError):
            pass  # a flow collection or a missing field: the position reached so far is the answer
        return self._composed(path) if offset is None else self.line_column(offset)

    def _composed(self, path: Path) -> tuple[int, int] | None:
        """`locate` for a document that cannot be cut, by a parser that keeps positions; a long one gives its start."""
        node = self._nodes
        found = (1, 1)
        for step in path:
            children = getattr(node, "value", None)
            if isinstance(step, str) and isinstance(children, list):
                match = next((pair for pair in children if isinstance(pair, tuple) and pair[0].value == step), None)
                node, at = (match[1], match[0]) if match else (None, None)
            else:
                items = children if isinstance(children, list) and isinstance(step, int) else []
                node = at = items[int(step)] if items and int(step) < len(items) else None
            if at is None:
                break
            found = (at.start_mark.line + 1, at.start_mark.column + 1)
        return found

    @cached_property
    def _nodes(self) -> Any:
        if len(self.raw) > _COMPOSED:
            return None
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError

        try:
            return YAML(typ="rt", pure=True).compose(decode(self.raw))
        except (YAMLError, ValueError):
            return None

    def locate_inside(self, path: Path, characters: int) -> tuple[int | None, int | None]:
        """Line and column of the character at an offset in the string at `path`.

        Exact for a string on one line and for a literal block; near for one that is folded or has escapes.
        """
        node = self._nodes
        for step in path:
            children = node.value if node is not None else []
            if isinstance(step, str):
                node = next((pair[1] for pair in children if isinstance(pair, tuple) and pair[0].value == step), None)
            else:
                node = children[step] if isinstance(children, list) and step < len(children) else None
        if node is None or not hasattr(node, "style"):
            return self.locate(path) or (None, None)
        lines = decode(self.raw).split("\n")
        line, column = node.start_mark.line, node.start_mark.column
        indent = None
        if node.style in ("|", ">"):
            line += 1
            indent = column = len(lines[line]) - len(lines[line].lstrip(" "))
        elif node.style in ("'", '"'):
            column += 1
        while True:
            left = lines[line].rstrip("\r")[column:]
            if characters <= len(left) or line + 1 >= len(lines):
                return line + 1, column + min(characters, len(left)) + 1
            characters -= len(left) + 1
            line += 1
            column = indent if indent is not None else len(lines[line]) - len(lines[line].lstrip(" "))

    def line_column(self, offset: int) -> tuple[int, int]:
        """The position of a byte as an editor shows it; line breaks are found once and kept."""
        line = bisect_left(self._line_breaks, offset)
        begin = self._line_breaks[line - 1] + 1 if line else 0
        return line + 1, len(self.raw[begin:offset].removeprefix(BOM).decode(errors="replace")) + 1

    def parts(self, part: Part, value: Any) -> list[Part]:
        """The fields or items inside one part."""
        if part.value not in self._parts:
            cut = spans.fields if isinstance(value, dict) else spans.items
            try:
                self._parts[part.value] = cut(self.raw, part.value, part.end, value)
            except CannotCut as error:
                self._parts[part.value] = error  # cached, or every fault to locate would search again
        found = self._parts[part.value]
        if isinstance(found, CannotCut):
            raise found
        return found

    @cached_property
    def _parts(self) -> dict[int, list[Part] | CannotCut]:
        return {}

    @cached_property
    def _line_breaks(self) -> list[int]:
        return [match.start() for match in re.finditer(rb"\n", self.raw)]


def locate_duplicate(text: str, key: str) -> tuple[int, int] | tuple[None, None]:
    """Where a key occurs for the second time in one mapping: the parser names the key, not the position."""
    word = rf"(?:{re.escape(key)}|\"{re.escape(key)}\"|'{re.escape(key)}')"
    at = _second_in_block(text, word)
    if at is None:
        at = _second_in_flow(text, word)
    return (None, None) if at is None else (text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))


def _second_in_block(text: str, word: str) -> int | None:
    likely: dict[int, list[re.Match[str]]] = {}  # by column
    last: dict[int, re.Match[str]] = {}  # by column
    for found in re.finditer(rf"(?:^|\n)(?P<indent> *(?:- +)*)(?P<key>{word})[ \t]*:(?=\s|$)", text):
        column = len(found["indent"])
        if (previous := last.get(column)) is not None:
            between = text[previous.end() : found.start("key")]
            inside = not re.search(rf"\n {{0,{column - 1}}}[^ #\n]" if column else r"\n(?:---|\.\.\.)\s", between)
            if inside:
                likely.setdefault(column, []).append(found)
        last[column] = found
    # Some are only text in a literal block. Parsing fails from the true duplicate on, so it is found by bisection, as
    # long as the repeated parsing stays affordable.
    left = _MAX_REPARSED
    for _, some in sorted(likely.items()):
        low, high = 0, len(some)
        while low < high and left > 0:
            middle = (low + high) // 2
            left -= some[middle].end()
            low, high = (low, middle) if _has_duplicate(text[: some[middle].end()]) else (middle + 1, high)
        if low == high < len(some):
            return some[low].start("key")
    return None


def _second_in_flow(text: str, word: str) -> int | None:
    previous: re.Match[str] | None = None
    for found in re.finditer(rf"[{{,]\s*(?P<key>{word})[ \t]*:", text):
        if previous is not None and found[0][0] == "," and "\n" not in text[previous.end() : found.start()]:
            return found.start("key")
        previous = found
    return None


def _has_duplicate(text: str) -> bool:
    try:
        load(text)
    except BadYaml as error:
        return error.duplicate_key is not None
    return False
