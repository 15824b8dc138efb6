"""New bytes for a blackboard: a section gets another value, and no byte changes that need not.

There is one way to write: say what a section is to be. The old value and the new one are compared, and only where
they differ is text replaced, inserted or removed, so comments, order, quoting and indentation of everything else
stay. The five operations on a blackboard are five ways of saying what the new value is.

Nothing leaves this module unproven: the changed text is parsed again and must give exactly the value that was meant.
"""

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

from liza.errors import Refused, Unreadable, Unwritable
from liza.store import emit, spans
from liza.store.document import Document
from liza.store.parser import MAX_DEPTH, BadYaml, decode, load
from liza.store.spans import CannotCut, Part
from liza.store.values import common_ends, identical

# Up to this size a changed section is proven by parsing all of it, beyond it by parsing the changed records and their
# neighbours. Both are sound; the first is simpler to believe, the second is what makes an append to 10,000 records
# cheap.
WHOLE_SECTION = 1 << 16


_QUOTED = rb"""(?s:\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*')"""
_COMMENT = re.compile(rb"[ \t]+#")
_TRIES = 16  # how many of the hashes behind a collection in brackets may be the one that begins a comment
# An anchor and an alias of it somewhere: a change at one place may then mean a change at another.
# Written with the sign first and what stands before it looked back at, so that the search skips to the signs.
_BEFORE = rb"(?:(?<=[:\-?,\[{\n] %b)|(?<=[,\[{\n]%b)|(?<=[ \t][ \t]%b)|(?<=\t%b))[\w-]"
_ANCHOR = b"&" + _BEFORE.replace(b"%b", b"&")
_ALIAS = rb"\*" + _BEFORE.replace(b"%b", rb"\*")


class Splice(NamedTuple):
    """Bytes [start, end) give way to `text`."""

    start: int
    end: int
    text: bytes


# --- the five operations, as new values of a section ----------------------------------------------------------------


def replace_section(document: Document, section: str, value: Any) -> bytes:
    """The section is exactly `value` afterwards."""
    return revise(document, {section: value})


def append_record(document: Document, section: str, record: Mapping[str, Any]) -> bytes:
    """The list section has one more record at its end; a missing, empty or `null` section becomes a list of one."""
    return revise(document, {section: [*_list(document, document.data.get(section), section), record]})


def set_fields(document: Document, section: str, where: int | str, fields: Mapping[str, Any]) -> bytes:
    """These fields of one record have these values; its other fields and all other records stay as they are."""
    record = _record(document, section, where)
    return revise(document, {section: _with(document.data[section], where, {**record, **fields})})


def append_inside(document: Document, section: str, where: int | str, field: str, item: Any) -> bytes:
    """The list in one field of one record has one more item at its end."""
    record = _record(document, section, where)
    grown = [*_list(document, record.get(field), f"{section}[{where}].{field}"), item]
    return revise(document, {section: _with(document.data[section], where, {**record, field: grown})})


def _list(document: Document, value: Any, name: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        hint = f"write {name} as a list, each item behind '- '"
        raise Unwritable(f"{name} is not a list, so nothing can be appended to it", hint=hint, file=document.file)
    return value


def _record(document: Document, section: str, where: int | str) -> dict[str, Any]:
    try:
        record = document.data[section][where]
    except (LookupError, TypeError):
        raise Refused(f"there is no record {where!r} in {section}", file=document.file) from None
    if not isinstance(record, dict):
        raise Refused(f"{section}[{where}] is not a mapping, so it has no fields", file=document.file)
    return record


def _with(container: Any, where: int | str, record: Any) -> Any:
    copy = container.copy()
    copy[where] = record
    return copy


# --- from values to bytes -------------------------------------------------------------------------------------------


def revise(document: Document, changes: Mapping[str, Any]) -> bytes:
    """The document's bytes with these sections changed to these values, proven; `Refused` where that cannot be done."""
    error: Exception | None = None
    for trim in (True, False):
        # Blank and comment lines at the end of a value are nearly always not part of it. Where they are (a literal
        # block that keeps its trailing line breaks), the proof fails and the second try counts them in.
        try:
            draft = _Draft(document, trim)
            for section, value in changes.items():
                draft.change_section(section, value)
            raw = draft.text()
            if raw == document.raw or _proven(document, changes, draft, raw):
                return raw
        except (CannotCut, BadYaml) as caught:
            error = caught
        except TypeError as caught:
            raise Refused(f"that value cannot be written as YAML: {caught}", file=document.file) from None
        except RecursionError:
            hint = "write it with fewer levels"
            if _is_deep(document.data):
                raise Unreadable("it is nested too deeply to be a blackboard", hint=hint, file=document.file) from None
            message = "that value cannot be written as YAML: it is nested too deeply"
            raise Unwritable(message, hint=hint, file=document.file) from None
    names = ", ".join(changes)
    offset = error.offset if isinstance(error, CannotCut) else 0
    raise document.refused(f"{names} cannot be changed without touching other text ({error or 'no safe cut'})", offset)


def _is_deep(value: Any) -> bool:
    """Whether it is the file that is nested too deeply, rather than what is to be written; without recursion."""
    level = [value]
    for _ in range(MAX_DEPTH):
        inside = [each for one in level for each in (one.values() if isinstance(one, dict) else one)]
        level = [each for each in inside if isinstance(each, dict | list)]
    return bool(level)


class _Draft:
    """Collects the splices that turn one document into another. Offsets are always those of the old bytes."""

    def __init__(self, document: Document, trim: bool) -> None:
        self.document = document
        self.raw = document.raw
        self.trim = trim
        self.splices: list[Splice] = []
        self.new_sections = ""
        first_break = self.raw.find(b"\n")
        self.newline = b"\r\n" if self.raw[first_break - 1 : first_break] == b"\r" and first_break > 0 else b"\n"

    def text(self) -> bytes:
        pieces: list[bytes] = []
        at = 0
        for splice in sorted([*self.splices, *self.at_the_end()], key=lambda splice: splice[:2]):
            pieces += (self.raw[at : splice.start], splice.text)
            at = splice.end
        pieces.append(self.raw[at:])
        return b"".join(pieces)

    def splice(self, start: int, end: int, text: str) -> Splice:
        return Splice(start, end, text.encode().replace(b"\n", self.newline))

    def put(self, start: int, end: int, text: str) -> None:
        self.splices.append(self.splice(start, end, text))

    def lines(self, at: int, text: str) -> Splice:
        """Whole lines at the start of a line, or after a last line that has no line break."""
        return self.splice(at, at, text if self.raw[at - 1 : at] in (b"\n", b"") else "\n" + text)

    def change_section(self, name: str, value: Any) -> None:
        sections = self.document.sections
        if name in sections:
            self.change(sections[name], self.document.data[name], value)
            return
        column = next(iter(sections.values())).column if sections else 0
        self.new_sections += f"{' ' * column}{emit.field(name, value, column)}\n"

    def at_the_end(self) -> list[Splice]:
        """New sections, behind everything: what stands there, comments included, keeps its place.

        No blank line before them, however well it would look: a literal block that keeps its line breaks (`|+`) may
        stand there, and would count it as one of its own.
        """
        return [self.lines(self.document.root.end, self.new_sections)] if self.new_sections else []

    def end_of(self, part: Part, column: int) -> int:
        return spans.content_end(self.raw, part.start, part.end, column) if self.trim else part.end

    def change(self, part: Part, old: Any, new: Any) -> None:
        if identical(old, new):
            return
        if old and new and type(old) is type(new) and (isinstance(old, list) or self.shares_keys(old, new)):
            first = spans.first_token(self.raw, part.value, part.end)
            opens = self.raw[first : first + 1]
            if opens in (b"{", b"["):
                from liza.store import flow  # imports ruamel.yaml, which no other write needs

                for start, end, text in flow.changes(self.raw, *self.inline(part, old), old, new):
                    self.put(start, end, text)
            elif isinstance(old, dict):
                self.change_fields(part, old, new)
            else:
                self.change_items(part, old, new)
            return
        self.replace(part, old, new)

    @staticmethod
    def shares_keys(old: Any, new: Any) -> bool:
        return isinstance(old, dict) and not old.keys().isdisjoint(new.keys())

    def change_fields(self, part: Part, old: dict[str, Any], new: dict[str, Any]) -> None:
        parts = self.document.parts(part, old)
        first = next(index for index, each in enumerate(parts) if each.key in new)
        self.remove(parts, 0, first)
        for index, each in enumerate(parts[first:], first):
            if each.key in new:
                self.change(each, old[each.key], new[each.key])
            else:
                self.remove(parts, index, index + 1)
        added = [emit.field(key, value, parts[0].column) for key, value in new.items() if key not in old]
        if added:
            indent = " " * parts[0].column
            self.splices.append(
                self.lines(self.end_of(parts[-1], parts[0].column), indent + f"\n{indent}".join(added) + "\n")
            )

    def change_items(self, part: Part, old: list[Any], new: list[Any]) -> None:
        parts = self.document.parts(part, old)
        head, tail = common_ends(old, new)
        paired = min(len(old), len(new)) - head - tail
        for index in range(head, head + paired):
            self.change(parts[index], old[index], new[index])
        self.remove(parts, head + paired, len(old) - tail)
        column = parts[0].column
        added = [emit.item(value, column) for value in new[head + paired : len(new) - tail]]
        if not added:
            return
        indent = " " * column
        if head + paired == 0:
            begin = self.raw.rfind(b"\n", 0, parts[0].start) + 1
            if self.raw[begin : parts[0].start].strip():
                raise CannotCut("items in front of one that stands behind another dash", parts[0].start)
            self.splices.append(self.lines(begin, indent + f"\n{indent}".join(added) + "\n"))
            return
        self.splices.append(
            self.lines(self.end_of(parts[head + paired - 1], column), indent + f"\n{indent}".join(added) + "\n")
        )

    def remove(self, parts: list[Part], start: int, stop: int) -> None:
        """Take fields or items that follow each other out by their lines.

        The first one of a list item shares its line with the dash, behind which the first that stays has to stand.
        """
        gone = parts[start:stop]
        ends = [self.end_of(part, part.column + 1) for part in gone]
        begins = [self.raw.rfind(b"\n", 0, part.start) + 1 for part in gone]
        if not gone or not self.raw[begins[0] : gone[0].start].strip():
            for begin, end in zip(begins, ends, strict=True):
                self.put(begin, end, "")
            return
        following = [part.start for part in parts[start + 1 : stop + 1]]  # one stays at least: else all is replaced
        for end, after in zip(ends, following, strict=True):
            if self.raw[end:after].strip():
                raise CannotCut("a comment stands between two fields of which the first is to go", gone[0].start)
        self.put(gone[0].start, following[-1], "")

    def replace(self, part: Part, old: Any, new: Any) -> None:
        """Put another value behind a key or a dash. A comment on that line stays there."""
        text = emit.item(new, part.column)[1:] if part.key is None else emit.block(new, part.column + 2)
        first = spans.first_token(self.raw, part.value, part.end)
        line_end = self.line_end(part.value, part.end)
        if first < line_end:
            start, end = self.inline(part, old)
            opens = self.raw[start : start + 1]
            if opens in (b"[", b"{") and re.search(rb"\s#", re.sub(_QUOTED, b"", self.raw[start:end])):
                raise CannotCut("a comment stands inside its brackets", start)
            if "\n" in text.lstrip("\n") and text.startswith(" ") and self.raw[end:line_end].strip():
                text = " " + emit.flow(new)  # the lines of a literal block cannot stand before a comment
            self.replace_inline(part.value, end, line_end, text)
        elif old is None:
            self.replace_inline(part.value, part.value, line_end, text)  # `key:`, and perhaps a comment
        else:
            end = self.end_of(part, part.column + 1)
            end = max(self.line_end(end - 1, end), line_end) if self.raw[end - 1 : end] == b"\n" else end
            if text.startswith("\n"):
                self.put(line_end, end, text)
            else:
                self.put(part.value, part.value, text)
                self.put(line_end, end, "")

    def replace_inline(self, start: int, end: int, line_end: int, text: str) -> None:
        """Replace a value that begins on its key's line; new lines go behind the comment there."""
        if text.startswith("\n") and end <= line_end:
            self.put(start, end, "")
            self.put(line_end, line_end, text)
        else:
            self.put(start, end, text)

    def line_end(self, start: int, end: int) -> int:
        """The end of the line, its line break not included."""
        at = self.raw.find(b"\n", start, end)
        if at < 0:
            return end
        return at - 1 if self.raw[at - 1 : at] == b"\r" else at

    def inline(self, part: Part, old: Any) -> tuple[int, int]:
        """The span of a value that begins on its key's line, a comment behind it left out."""
        start = part.value + len(self.raw[part.value : part.end]) - len(self.raw[part.value : part.end].lstrip(b" \t"))
        end = start + len(self.raw[start : self.end_of(part, part.column + 1)].rstrip())
        opens = self.raw[start : start + 1]
        if opens in (b'"', b"'") and (quoted := re.match(_QUOTED, self.raw[start:end])):
            return start, start + quoted.end()
        if opens not in (b"[", b"{") and isinstance(old, dict | list):
            return start, end  # the first of several lines in block style, behind a dash
        if opens not in (b"[", b"{"):
            comment = None if opens in (b"|", b">") else _COMMENT.search(self.raw, start, end)
            return start, comment.start() if comment else end
        last_line = max(self.raw.rfind(b"\n", start, end) + 1, start)
        for comment in islice(_COMMENT.finditer(self.raw, last_line, end), _TRIES):
            if self.is_value(start, comment.start(), old):
                return start, comment.start()
        return start, end

    def is_value(self, start: int, end: int, value: Any) -> bool:
        lead = spans.column_of(self.raw, start)
        try:
            return identical(load("k:\n" + " " * (lead + 1) + decode(self.raw[start:end])), {"k": value})
        except BadYaml:
            return False


# --- proof ----------------------------------------------------------------------------------------------------------


def _proven(document: Document, changes: Mapping[str, Any], draft: _Draft, raw: bytes) -> bool:
    """Whether the new bytes hold exactly the values that were meant.

    Bytes outside the splices are the old ones by construction. The keys of the old file were found where the parser saw
    them, so the changed parts can be judged on their own, unless a section is added at the end, where anything may
    stand, or an anchor is used somewhere else.
    """
    meant = {**document.data, **changes}
    if draft.new_sections or _has_aliases(document.raw):
        return _parses_to(raw, meant)
    try:
        return all(
            _parses_to(*_changed_text(document, name, meant[name], draft, raw))
            for name in changes
            if name in document.data
        )
    except BadYaml:
        return _parses_to(raw, meant)  # an alias to an anchor outside the changed part, perhaps


def _has_aliases(raw: bytes) -> bool:
    return b"&" in raw and b"*" in raw and bool(re.search(_ANCHOR, raw) and re.search(_ALIAS, raw))


def _changed_text(document: Document, name: str, new: Any, draft: _Draft, raw: bytes) -> tuple[bytes, Any]:
    """What of the new bytes must parse to `{name: ...}`: the section, or, if it is a long list, its changed records."""

    def moved(offset: int) -> int:
        """Where an old offset is in the new bytes; what is inserted right there comes before it."""
        return offset + sum(len(each.text) - (each.end - each.start) for each in draft.splices if each.end <= offset)

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
