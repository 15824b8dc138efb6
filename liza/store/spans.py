"""Where things are in a YAML file: the bytes of each section, record and field.

A block mapping or sequence has its keys or dashes in one column, and strict YAML 1.2 lets nothing else of it begin
there, so looking for lines that start in that column finds its parts hundreds of times faster than a parser that
keeps positions. It is still a guess (a parser may be laxer than the standard), so every result is
checked against the parsed value: as many items as were parsed, the same keys in the same order, or `CannotCut`. Never
trust a span that was not checked so.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from liza.store.parser import BOM, load


class CannotCut(ValueError):
    """The text is legal YAML, but its parts cannot be separated safely by their columns."""

    def __init__(self, why: str, offset: int) -> None:
        super().__init__(why)
        self.offset = offset


class Part(NamedTuple):
    """One entry of a block collection: a field with its key, or an item (whose key is None)."""

    key: Any
    start: int  # the first byte of the key, or the dash
    value: int  # just after the colon or the dash
    end: int  # where the next part's line begins, or the collection ends; trailing comments are inside
    column: int  # of the key or the dash


class Body(NamedTuple):
    """The bytes of the document's one mapping: without a BOM, directives and document markers."""

    start: int
    end: int


_MARKER = rb"(?:^|(?<=\n))(?:---|\.\.\.)(?=[ \t\r\n]|$)[^\n]*\n?"
_FIRST_TOKEN = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\r?(?:\n|\Z))*[ ]*")
_DASHES = (b"-", b"- ", b"-\t", b"-\r", b"-\n")  # with what may stand behind one
_PROPERTIES = re.compile(rb"(?:[ \t]*[&!][^\s,\[\]{}]*(?=[ \t\r\n]|$))*[ \t]*")
_KEY = re.compile(
    rb"""(?: "(?:[^"\\\n]|\\.)*"                              # double quoted
         |   '(?:[^'\n]|'')*'                                 # single quoted
         |   (?: [^\s"'\#\[\]{},&*!|>%@`?:-] | [?:-](?=\S) ) [^\n]*?   # plain
         ) (?= [ \t]* :(?:[ \t\r\n]|$) )""",
    re.VERBOSE,
)


def body(raw: bytes) -> Body:
    """The span of the one document in the file."""
    base = len(BOM) if raw.startswith(BOM) else 0
    start, end = base, len(raw)
    if b"\r" in raw and (lone := re.search(rb"\r(?!\n)", raw)) is not None:
        raise CannotCut("a carriage return without a line feed ends a line of it", lone.start())
    if not raw.startswith((b"---", b"..."), base) and b"\n---" not in raw and b"\n..." not in raw:
        return Body(start, end)
    for marker in re.finditer(_MARKER, raw[base:]):
        at, until = base + marker.start(), base + marker.end()
        if marker[0].startswith(b"---"):
            if start != base or _has_content(raw, base, at):
                raise CannotCut("it holds several documents", at)
            if not re.fullmatch(rb"---[ \t]*(?:#[^\n]*)?\r?\n?", marker[0]):
                raise CannotCut("the document starts on the line of its '---' marker", at)
            start = until
        else:
            if _has_content(raw, until, len(raw)):
                raise CannotCut("it holds several documents", at)
            end = at
            break
    return Body(start, end)


def _has_content(raw: bytes, start: int, end: int) -> bool:
    """Whether a line there is more than a comment, a directive or white space."""
    return re.search(rb"(?:^|\n)[ \t]*[^\s#%]", raw[start:end]) is not None


def fields(raw: bytes, start: int, end: int, parsed: Mapping[Any, Any]) -> list[Part]:
    """The fields of the block mapping whose first token is found from `start` on."""
    if not parsed:
        return []
    first = first_token(raw, start, end)
    if raw[first : first + 1] in (b"{", b"*", b""):
        raise CannotCut("it is not written in block style", first)
    if raw[start:first].strip(b" \t") and b"\n" not in raw[start:first]:
        raise CannotCut("its first key has an anchor or a tag", first)
    column = column_of(raw, first)
    starts = [first, *(match.end() for match in _field_pattern(column).finditer(raw, first, end))]
    parts: list[Part] = []
    for key, at, until in zip(parsed, starts, _line_starts(raw, starts, end), strict=False):
        found = _KEY.match(raw, at, until)
        if found is None or not _is_key(found[0], key):
            raise CannotCut(f"the line of the key {key!r} could not be found", at)
        parts.append(Part(key, at, raw.index(b":", found.end()) + 1, until, column))
    if len(starts) != len(parsed):
        raise CannotCut(f"{len(starts)} keys found in column {column + 1}, but {len(parsed)} parsed", first)
    return parts


def items(raw: bytes, start: int, end: int, parsed: Sequence[Any]) -> list[Part]:
    """The items of the block sequence whose first dash is found from `start` on."""
    if not parsed:
        return []
    first = first_token(raw, start, end)
    if raw[first : min(first + 2, end)] not in _DASHES:
        raise CannotCut("it is not written in block style", first)
    column = column_of(raw, first)
    starts = [first, *(match.end() - 1 for match in _item_pattern(column).finditer(raw, first, end))]
    if len(starts) != len(parsed):
        raise CannotCut(f"{len(starts)} dashes found in column {column + 1}, but {len(parsed)} parsed", first)
    # A dash is the first thing on its line, unless the first item is on the line of another dash or its key.
    ends = [*(at - column for at in starts[1:]), end]
    return [Part(None, at, at + 1, until, column) for at, until in zip(starts, ends, strict=True)]


def first_token(raw: bytes, start: int, end: int) -> int:
    """The offset of the first byte of a value, past white space, comments, and an anchor or tag."""
    at = _PROPERTIES.match(raw, start, end)
    at = _FIRST_TOKEN.match(raw, at.end() if at else start, end)
    return min(at.end() if at else start, end)


def column_of(raw: bytes, offset: int) -> int:
    """How many bytes stand before `offset` on its line, a BOM not counted."""
    begin = raw.rfind(b"\n", 0, offset) + 1
    return offset - begin - (len(BOM) if begin == 0 and raw.startswith(BOM) else 0)


def content_end(raw: bytes, start: int, end: int, column: int) -> int:
    """Where the lines of a collection in `column` end: just after a line break, or at the end of the file.

    Blank lines at the end belong to no part. A comment there belongs to the collection if it is indented at least as
    far; in column 0 it may as well announce what comes next, so it is left to that.
    """
    while end > start:
        begin = raw.rfind(b"\n", start, end - 1) + 1
        if begin <= start:
            break
        line = raw[begin:end].lstrip(b" \t")
        if line.strip():
            indent = end - begin - len(line)
            if not line.startswith(b"#") or (column > 0 and indent >= column):
                break
        end = begin
    return end


def _line_starts(raw: bytes, starts: Sequence[int], end: int) -> list[int]:
    """For each part, where the next one's line begins."""
    return [*(raw.rfind(b"\n", 0, at) + 1 for at in starts[1:]), end]


@lru_cache(maxsize=64)
def _field_pattern(column: int) -> re.Pattern[bytes]:
    # Led by the line break, not by ^: the search then skips from line to line eight times faster.
    return re.compile(rb"\n" + b" " * column + rb"(?=[^\s#\-\]},]|-\S)")


@lru_cache(maxsize=64)
def _item_pattern(column: int) -> re.Pattern[bytes]:
    return re.compile(rb"\n" + b" " * column + rb"-(?=[ \t\r\n]|$)")


def _is_key(text: bytes, key: Any) -> bool:
    if isinstance(key, str) and text[:1] not in b"\"'":
        return text.rstrip().decode(errors="replace") == key
    value = load(text.decode(errors="replace"))
    return type(value) is type(key) and bool(value == key)
