"""Verifying an edit: the new bytes must hold exactly the intended values."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from liza.store.compare import common_ends, identical
from liza.store.document import Document
from liza.store.parser import BadYaml, decode, load
from liza.store.spans import Part

# Up to this size a changed section is verified by parsing all of it, beyond it by parsing the changed records and their
# neighbours. Both are sound; the first is simpler, the second makes an append to 10,000 records cheap.
WHOLE_SECTION = 1 << 16

# An anchor and an alias of it: a change in one place may then be a change in another. The sign comes first, with
# look-behind for what precedes it, so that the search skips to the signs.
_BEFORE = rb"(?:(?<=[:\-?,\[{\n] %b)|(?<=[,\[{\n]%b)|(?<=[ \t][ \t]%b)|(?<=\t%b))[\w-]"
_ANCHOR = b"&" + _BEFORE.replace(b"%b", b"&")
_ALIAS = rb"\*" + _BEFORE.replace(b"%b", rb"\*")


class Splice(NamedTuple):
    """Bytes [start, end) are replaced by `text`."""

    start: int
    end: int
    text: bytes


def is_verified(document: Document, changes: Mapping[str, Any], splices: Sequence[Splice], raw: bytes) -> bool:
    """Whether the new bytes hold exactly the intended values.

    Bytes outside the splices are the old ones by construction. The keys of the old file were found where the parser saw
    them, so the changed parts can be parsed on their own, unless a section is added at the end, after any kind of text,
    or an alias refers to another part.
    """
    meant = {**document.data, **changes}
    if not changes.keys() <= document.data.keys() or _has_aliases(document.raw):
        return _parses_to(raw, meant)
    try:
        return all(_parses_to(*_changed_text(document, name, meant[name], splices, raw)) for name in changes)
    except BadYaml:
        return _parses_to(raw, meant)  # perhaps an alias to an anchor outside the changed part


def _has_aliases(raw: bytes) -> bool:
    return b"&" in raw and b"*" in raw and bool(re.search(_ANCHOR, raw) and re.search(_ALIAS, raw))


def _changed_text(document: Document, name: str, new: Any, splices: Sequence[Splice], raw: bytes) -> tuple[bytes, Any]:
    """The new bytes that must parse to `{name: ...}`: the section, or the changed records of a long list."""

    def moved(offset: int) -> int:
        """An old offset in the new bytes; an insertion at the offset comes before it."""
        return offset + sum(len(each.text) - (each.end - each.start) for each in splices if each.end <= offset)

    def line(part: Part) -> int:
        return document.raw.rfind(b"\n", 0, part.start) + 1

    section, old = document.sections[name], document.data[name]
    begin = max(line(section), document.root.start)
    head_of_section = moved(begin)
    if section.end - section.start <= WHOLE_SECTION or not (
        isinstance(old, list) and isinstance(new, list) and old and new
    ):
        return raw[head_of_section : moved(section.end)], {name: new}
    parts = document.parts(section, old)
    head, tail = common_ends(old, new)
    low, keep = max(head - 1, 0), max(tail - 1, 0)  # one unchanged neighbour on either side
    first = moved(line(parts[low]))
    last = moved(line(parts[len(old) - keep]) if keep else section.end)
    return raw[head_of_section : moved(line(parts[0]))] + raw[first:last], {name: new[low : len(new) - keep]}


def _parses_to(text: bytes, value: Any) -> bool:
    return identical(load(decode(text)), value)
