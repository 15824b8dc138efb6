"""A YAML file as it was read: its bytes, its value, and its sections. Where each part is: `positions.py`."""

import re
from functools import cached_property
from typing import Any

from liza.errors import Unreadable, Unwritable
from liza.store import read_limits
from liza.store.parser import BadYaml, decode, load
from liza.store.positions import Positions, locate_duplicate
from liza.store.spans import CannotCut, Part

NOT_A_BOARD = "restore the file from a backup or from git, or create a new blackboard elsewhere: liza init"


class Document(Positions):
    """A file's one YAML document, immutable: an edit makes new bytes, and those a new document."""

    __slots__ = ("file", "has_long_text")

    def __init__(self, raw: bytes, data: Any, file: str) -> None:
        super().__init__(raw, data)
        self.file = file
        self.has_long_text = False  # longer than the default limit

    @cached_property
    def sections(self) -> dict[str, Part]:
        """The span of each section, checked against what was parsed; `Refused` where it cannot be cut safely."""
        try:
            return {part.key: part for part in self.parts(self.root, self.data)}
        except CannotCut as error:
            raise self.not_cuttable(f"its sections cannot be separated safely: {error}", error.offset) from None

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
    text = ""
    try:
        text = decode(raw)
        return load(text)
    except BadYaml as error:
        line, column = error.line, error.column
        if line is None and error.duplicate_key is not None:
            line, column = locate_duplicate(text, error.duplicate_key)
        raise Unreadable(
            f"not valid YAML: {error.message}{_moved_comment(text, line)}",
            hint="correct that line, then run: liza validate",
            file=file,
            line=line,
            column=column,
        ) from None


def _moved_comment(text: str, line: int | None) -> str:
    """Where it is a comment in brackets that made a file invalid: who puts them there."""
    near = text.splitlines()[max((line or 0) - 4, 0) : line] if line is not None else []
    is_inside = any(re.search(r"[\[{][^\[\]{}#\n]{0,10000}\s#", each) for each in near)
    return "; a comment is inside the brackets, where yq -Y puts one from behind them" if is_inside else ""


def _wrong_content(raw: bytes, data: Any) -> str:
    if not data and not isinstance(data, list | bool | int | float | str):
        return "the file is empty"
    if isinstance(data, list) and re.search(rb"(?:^|\n)(?:---|\.\.\.)[ \t\r\n]", raw):
        return "expected one mapping of sections, got several YAML documents"
    kind = "a list" if isinstance(data, list) else "a single value"
    return f"expected a mapping of sections, got {kind}"
