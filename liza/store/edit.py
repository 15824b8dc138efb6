"""New bytes for a blackboard: a section gets a new value, and no other byte changes.

There is one way to write: give a section's new value. It is compared with the old one, and text is replaced, inserted
or removed only where they differ, so comments, order, quoting and indentation of everything else stay. The operations
on a blackboard are ways of computing the new value.

Nothing leaves this module unverified: the changed text is parsed again and must give exactly the intended value.
"""

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

from liza.errors import Refused, Unreadable, Unwritable
from liza.store import emit, spans
from liza.store.compare import common_ends, identical
from liza.store.document import Document
from liza.store.parser import MAX_DEPTH, BadYaml, decode, load
from liza.store.spans import CannotCut, Part
from liza.store.verify import Splice, is_verified

_QUOTED = rb"""(?s:\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*')"""
_COMMENT = re.compile(rb"[ \t]+#")
_TRIES = 16  # hashes after a flow collection that are tried as the start of a comment


# --- the operations, as new values of a section ---------------------------------------------------------------------


def replace_section(document: Document, section: str, value: Any) -> bytes:
    """Set the section to exactly `value`."""
    return revise(document, {section: value})


def append_record(document: Document, section: str, record: Mapping[str, Any]) -> bytes:
    """Append a record to a list section; a missing, empty or `null` section becomes a list of one."""
    return revise(document, {section: [*_list(document, document.data.get(section), section), record]})


def set_fields(document: Document, section: str, where: int | str, fields: Mapping[str, Any]) -> bytes:
    """Set these fields of one record; its other fields and all other records stay as they are."""
    record = _record(document, section, where)
    return revise(document, {section: _with(document.data[section], where, {**record, **fields})})


def _list(document: Document, value: Any, name: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        hint = f"write {name} as a list, each item after '- '"
        raise Unwritable(f"{name} is not a list, so nothing can be appended to it", hint=hint, file=document.file)
    return value


def _record(document: Document, section: str, where: int | str) -> dict[str, Any]:
    try:
        record = document.data[section][where]
    except (LookupError, TypeError):
        raise Refused(f"no record {where!r} in {section}", file=document.file) from None
    if not isinstance(record, dict):
        raise Refused(f"{section}[{where}] is not a mapping, so it has no fields", file=document.file)
    return record


def _with(container: Any, where: int | str, record: Any) -> Any:
    copy = container.copy()
    copy[where] = record
    return copy


# --- from values to bytes -------------------------------------------------------------------------------------------


def revise(document: Document, changes: Mapping[str, Any]) -> bytes:
    """The document's bytes with these sections set to these values, verified; `Refused` where that is impossible."""
    error: Exception | None = None
    for trim in (True, False):
        # Blank and comment lines at the end of a value are rarely part of it. Where they are (a literal block that
        # keeps its trailing line breaks), the verification fails and the second try includes them.
        try:
            draft = Draft(document, trim)
            for section, value in changes.items():
                draft.change_section(section, value)
            raw = draft.text()
            if raw == document.raw or is_verified(document, changes, draft.splices, raw):
                return raw
        except (CannotCut, BadYaml) as caught:
            error = caught
        except TypeError as caught:
            raise Refused(f"the value cannot be written as YAML: {caught}", file=document.file) from None
        except RecursionError:
            hint = "write it with fewer levels"
            if _is_deep(document.data):
                raise Unreadable("nested too deeply", hint=hint, file=document.file) from None
            message = "the value cannot be written as YAML: it is nested too deeply"
            raise Unwritable(message, hint=hint, file=document.file) from None
    names = ", ".join(changes)
    offset = error.offset if isinstance(error, CannotCut) else 0
    raise document.not_cuttable(
        f"{names} cannot be changed without touching other text ({error or 'no safe cut'})", offset
    )


def _is_deep(value: Any) -> bool:
    """Whether the file itself, rather than the new value, is nested too deeply; without recursion."""
    level = [value]
    for _ in range(MAX_DEPTH):
        inside = [each for one in level for each in (one.values() if isinstance(one, dict) else one)]
        level = [each for each in inside if isinstance(each, dict | list)]
    return bool(level)


class Draft:
    """Collects the splices that turn one document into another. All offsets are those of the old bytes."""

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
        """New sections go after everything else, comments included.

        Without a blank line before them: a literal block that keeps its line breaks (`|+`) would include it.
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
                raise CannotCut("items before one that follows another dash", parts[0].start)
            self.splices.append(self.lines(begin, indent + f"\n{indent}".join(added) + "\n"))
            return
        self.splices.append(
            self.lines(self.end_of(parts[head + paired - 1], column), indent + f"\n{indent}".join(added) + "\n")
        )

    def remove(self, parts: list[Part], start: int, stop: int) -> None:
        """Remove consecutive fields or items by their lines.

        The first field of a list item shares its line with the dash; the first that stays has to move there.
        """
        gone = parts[start:stop]
        ends = [self.end_of(part, part.column + 1) for part in gone]
        begins = [self.raw.rfind(b"\n", 0, part.start) + 1 for part in gone]
        if not gone or not self.raw[begins[0] : gone[0].start].strip():
            for begin, end in zip(begins, ends, strict=True):
                self.put(begin, end, "")
            return
        following = [part.start for part in parts[start + 1 : stop + 1]]  # at least one stays, else all is replaced
        for end, after in zip(ends, following, strict=True):
            if self.raw[end:after].strip():
                raise CannotCut("a comment between two fields, the first of which is removed", gone[0].start)
        self.put(gone[0].start, following[-1], "")

    def replace(self, part: Part, old: Any, new: Any) -> None:
        """Replace the value after a key or a dash. A comment on that line stays."""
        text = emit.item(new, part.column)[1:] if part.key is None else emit.block(new, part.column + 2)
        first = spans.first_token(self.raw, part.value, part.end)
        line_end = self.line_end(part.value, part.end)
        if first < line_end:
            start, end = self.inline(part, old)
            opens = self.raw[start : start + 1]
            if opens in (b"[", b"{") and re.search(rb"\s#", re.sub(_QUOTED, b"", self.raw[start:end])):
                raise CannotCut("a comment inside its brackets", start)
            if "\n" in text.lstrip("\n") and text.startswith(" ") and self.raw[end:line_end].strip():
                text = " " + emit.flow(new)  # a literal block cannot precede a comment on the line
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
        """Replace a value that begins on its key's line; new lines go after the comment there."""
        if text.startswith("\n") and end <= line_end:
            self.put(start, end, "")
            self.put(line_end, line_end, text)
        else:
            self.put(start, end, text)

    def line_end(self, start: int, end: int) -> int:
        """The end of the line, without its line break."""
        at = self.raw.find(b"\n", start, end)
        if at < 0:
            return end
        return at - 1 if self.raw[at - 1 : at] == b"\r" else at

    def inline(self, part: Part, old: Any) -> tuple[int, int]:
        """The span of a value that begins on its key's line, without a comment after it."""
        start = part.value + len(self.raw[part.value : part.end]) - len(self.raw[part.value : part.end].lstrip(b" \t"))
        end = start + len(self.raw[start : self.end_of(part, part.column + 1)].rstrip())
        opens = self.raw[start : start + 1]
        if opens in (b'"', b"'") and (quoted := re.match(_QUOTED, self.raw[start:end])):
            return start, start + quoted.end()
        if opens not in (b"[", b"{") and isinstance(old, dict | list):
            return start, end  # the first of several lines in block style, after a dash
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
