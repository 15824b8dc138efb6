"""Reading a file again after a change, by parsing only what is different.

What is the same at both ends stays as it was. The rest is widened to whole records, or to one whole section, and only
that is parsed, in its place. Whenever there is any doubt the whole file is parsed: after a change that
touches two sections, at an anchor or an alias, at a document marker, or where the records cannot be separated.
"""

import re
from typing import Any, NamedTuple

from liza.errors import Refused, Unreadable
from liza.store import read_limits
from liza.store.document import Document, parse, within_limits
from liza.store.parser import BadYaml, decode, load

_CHUNK = 1 << 16
# Anchors, aliases, tags and markers reach beyond the record they stand in. A false alarm costs a full parse, no more.
_FAR_REACHING = re.compile(rb"(?:^|[\s\[{,:?-])[&*!]|(?:^|\n)(?:---|\.\.\.|%)|\t")
# Put behind what is parsed alone, if there is more behind it in the file: the end of a file changes some values.
_MORE_KEY = "liza: more"
_MORE = b"'liza: more': 0\n"
# An alias where a value may stand. The plain look for a star before it is a hundred times faster.
_STARS = (b" *", b"[*", b"{*", b",*")
_ALIAS = re.compile(rb"(?:[:?-][ \t]+|[\[{,][ \t]*)\*[^\s,\[\]{}*]+(?=[\s,\]}]|\Z)")


class _Section(NamedTuple):
    """Where a section is: from the first byte of its key to that of the next one."""

    name: Any  # as the parser has it: it need not be a text
    start: int
    end: int


def follow(before: Document | None, raw: bytes, file: str) -> Document:
    """The document in these bytes; `Unreadable` where `parse` raises it."""
    if before is not None:
        read_limits.check_raw(raw, file)
        try:
            found = _changed_only(before, raw, file)
        except (BadYaml, Unreadable, Refused):
            found = None
        if found is not None:
            document, changed = found
            return within_limits(document, document.data if before.has_long_text else changed)
    return parse(raw, file)


def _changed_only(before: Document, raw: bytes, file: str) -> tuple[Document, Any] | None:
    """The document, and what of its values was parsed again; None where that is not enough."""
    old = before.raw
    if _has_aliases(before):
        return None
    head, tail = common_ends(old, raw)
    if head == len(old) == len(raw):
        return before, None
    sections = _sections(before)
    section = next((each for each in sections if each.start <= head and len(old) - tail <= each.end), None)
    if section is None:
        return None
    shift = len(raw) - len(old)
    grown = section._replace(end=section.end + shift)
    key = old.find(b"\n", section.start)
    if key < 0 or head <= key or grown.end <= key:
        return None  # the line of the key itself
    if section.end < len(old) and raw[grown.end - 1 : grown.end] != b"\n":
        return None  # or that of the next one
    if _FAR_REACHING.search(_widened(old, head, len(old) - tail)) or _FAR_REACHING.search(
        _widened(raw, head, len(raw) - tail)
    ):
        return None
    if tail == 0 and not raw.endswith(b"\n"):
        return None  # a last line that may still be half written: nothing behind it shows that it is whole
    value = before.data[section.name]
    records = _records(old, raw, section, grown, value, head, tail) if isinstance(value, list) and value else None
    if records is None:
        new = changed = _alone(raw, grown)
    else:
        new, changed = records
    data = dict(before.data)
    data[section.name] = new
    document = Document(raw, data, file)
    moved = [
        each if each.start < section.start else grown if each == section else _moved(each, shift) for each in sections
    ]
    document.__dict__["_followed"] = moved
    document.__dict__["_aliased"] = False  # or it would not have come to this
    return document, changed


def _has_aliases(document: Document) -> bool:
    """Whether a part of the document refers to another one: then a change there is a change here, too."""
    known: bool | None = document.__dict__.get("_aliased")
    if known is None:
        raw = document.raw
        known = any(sign in raw for sign in _STARS) and _ALIAS.search(raw) is not None
        document.__dict__["_aliased"] = known
    return known


def _moved(section: _Section, shift: int) -> _Section:
    return _Section(section.name, section.start + shift, section.end + shift)


def _sections(document: Document) -> list[_Section]:
    known: list[_Section] | None = document.__dict__.get("_followed")
    if known is None:
        parts = list(document.sections.values())
        ends = [part.start for part in parts[1:]] + [len(document.raw)]
        known = [_Section(part.key, part.start, end) for part, end in zip(parts, ends, strict=True)]
        document.__dict__["_followed"] = known
    return known


def _widened(raw: bytes, start: int, end: int) -> bytes:
    """The lines that a change touches: a sign may stand before it and get its meaning by it."""
    return raw[raw.rfind(b"\n", 0, start) + 1 : max(raw.find(b"\n", end), end)]


def _records(
    old: bytes, raw: bytes, section: _Section, grown: _Section, value: list[Any], head: int, tail: int
) -> tuple[list[Any], list[Any]] | None:
    """The list with only those records parsed again that the change touches, and these; None where they cannot be
    separated."""
    first = re.compile(rb"\n( *)- ").search(old, section.start, section.end)
    if first is None:
        return None
    mark = b"\n" + first[1] + b"- "
    if old.count(mark, section.start, section.end) != len(value):
        return None
    start = old.rfind(mark, section.start, head)
    if start < 0:
        return None
    stop = old.find(mark, max(len(old) - tail, start + 1), section.end)
    if stop < 0:
        stop = section.end - 1 if section.end < len(old) or old.endswith(b"\n") else section.end
    shift = len(raw) - len(old)
    behind = old.count(mark, stop, section.end)
    before = len(value) - old.count(mark, start, stop) - behind  # most changes are at the end: little to count
    chunk = raw[start + 1 : stop + 1 + shift]
    at_end = stop + 1 + shift >= len(raw)
    parsed = load(decode(b"k:\n" + chunk + (b"" if at_end else _MORE)))
    if not isinstance(parsed, dict) or list(parsed) != ["k", *([] if at_end else [_MORE_KEY])]:
        return None
    if not isinstance(parsed["k"], list):
        return None
    if len(parsed["k"]) != raw.count(mark, start, stop + shift if behind or stop + shift < len(raw) else len(raw)):
        return None
    return [*value[:before], *parsed["k"], *(value[len(value) - behind :] if behind else ())], parsed["k"]


def _alone(raw: bytes, section: _Section) -> Any:
    at_end = section.end >= len(raw)
    parsed = load(decode(raw[section.start : section.end] + (b"" if at_end else _MORE)))
    if not isinstance(parsed, dict) or list(parsed) != [section.name, *([] if at_end else [_MORE_KEY])]:
        raise BadYaml("not one section any more")
    return parsed[section.name]


def only_adds(before: Document | None, after: Document) -> bool:
    """Whether all that was there before still is: something was put in at one place, and nothing taken away."""
    return before is None or sum(common_ends(before.raw, after.raw)) == len(before.raw)


def common_ends(one: bytes, other: bytes) -> tuple[int, int]:
    """How many bytes two texts have in common at their beginning, and then at their end."""
    most = min(len(one), len(other))
    head = 0
    while head < most and one.startswith(other[head : head + _CHUNK], head):
        head += _CHUNK
    head = min(head, most)
    low, high = head, min(head + _CHUNK, most)
    if head < most:
        while low < high:
            middle = (low + high + 1) // 2
            if one[head:middle] == other[head:middle]:
                low = middle
            else:
                high = middle - 1
        head = low
    rest = most - head
    tail = 0
    while tail < rest:
        size = min(_CHUNK, rest - tail)
        if one[len(one) - tail - size : len(one) - tail] != other[len(other) - tail - size : len(other) - tail]:
            break
        tail += size
    low, high = tail, min(tail + _CHUNK, rest)
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - tail] == other[len(other) - middle : len(other) - tail]:
            low = middle
        else:
            high = middle - 1
    return head, low
