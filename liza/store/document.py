"""A YAML file as it was read: its bytes, its value, and the position of each part."""

import re
from bisect import bisect_left
from functools import cached_property
from typing import Any

from liza.errors import Unreadable, Unwritable
from liza.model import Path
from liza.store import read_limits, spans
from liza.store.parser import BOM, BadYaml, decode, load
from liza.store.spans import CannotCut, Part

_COMPOSED = 1 << 16  # bytes; composing more takes over half a second
_MAX_REPARSED = 10_000_000  # characters parsed again to locate an error

NOT_A_BOARD = "restore the file from a backup or from git, or create a new blackboard elsewhere: liza init"


class Document:
    """A file's one YAML document, immutable: an edit makes new bytes, and those a new document."""

    __slots__ = ("__dict__", "data", "file", "has_long_text", "raw")

    def __init__(self, raw: bytes, data: Any, file: str) -> None:
        self.raw = raw
        self.data = data  # the sections of state.yaml, or the entries of log.yaml
        self.file = file
        self.has_long_text = False  # longer than the default limit

    @cached_property
    def sections(self) -> dict[str, Part]:
        """The span of each section, checked against what was parsed; `Refused` where it cannot be cut safely."""
        try:
            return {part.key: part for part in self.parts(self.root, self.data)}
        except CannotCut as error:
            raise self.not_cuttable(f"its sections cannot be separated safely: {error}", error.offset) from None

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

    def not_cuttable(self, why: str, offset: int) -> "NotCuttable":
        """The error for a document that can be read but not written."""
        return NotCuttable(why, self.file, *self.line_column(offset))


class NotCuttable(Unwritable):
    """The file is legal YAML in a style that liza cannot edit safely; `why` has the obstacle."""

    def __init__(self, why: str, file: str, line: int, column: int) -> None:
        super().__init__(
            f"{why}; nothing was written",
            hint="write each section as 'name:' at the start of a line with its content below, in one document",
            file=file,
            line=line,
            column=column,
        )
        self.why = why


def parse(raw: bytes, file: str) -> Document:
    """The sections in these bytes; `Unreadable` with the position of the first error."""
    data = _load(raw, file)
    if not isinstance(data, dict) or not data:
        raise Unreadable(_wrong_content(raw, data), hint=NOT_A_BOARD, file=file)
    return within_limits(Document(raw, data, file), data)


def parse_log(raw: bytes, file: str) -> Document:
    """The entries in the bytes of a log; none if it has only comments."""
    data = _load(raw, file)
    if data is not None and not isinstance(data, list):
        raise Unreadable("not a list of entries", hint="each entry begins with '- timestamp: ...'", file=file)
    return within_limits(Document(raw, data or [], file), data)


def within_limits(document: Document, changed: Any) -> Document:
    """The document; `Unreadable` if it is over a limit. All that is not in `changed` is known to have no long text."""
    raw, data, file = document.raw, document.data, document.file
    document.has_long_text = read_limits.check_data(raw, data, file, document.locate, changed)
    return document


def _load(raw: bytes, file: str) -> Any:
    read_limits.check_raw(raw, file)
    try:
        text = decode(raw)
        return load(text)
    except BadYaml as error:
        line, column = error.line, error.column
        if line is None and error.duplicate_key is not None:
            line, column = _locate_duplicate(text, error.duplicate_key)
        raise Unreadable(
            f"not valid YAML: {error.message}",
            hint="correct that line, then run: liza validate",
            file=file,
            line=line,
            column=column,
        ) from None


def _wrong_content(raw: bytes, data: Any) -> str:
    if not data and not isinstance(data, list | bool | int | float | str):
        return "the file is empty"
    if isinstance(data, list) and re.search(rb"(?:^|\n)(?:---|\.\.\.)[ \t\r\n]", raw):
        return "expected one mapping of sections, got several YAML documents"
    kind = "a list" if isinstance(data, list) else "a single value"
    return f"expected a mapping of sections, got {kind}"


def _has_duplicate(text: str) -> bool:
    try:
        load(text)
    except BadYaml as error:
        return error.duplicate_key is not None
    return False


def _locate_duplicate(text: str, key: str) -> tuple[int, int] | tuple[None, None]:
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
