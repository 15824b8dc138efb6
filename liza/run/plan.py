"""The check boxes of a Markdown plan.

A list item that begins with a box is a task: `- [ ]`, `* [ ]`, `+ [ ]`, `1. [ ]` or `1) [ ]`, at any
depth. `[x]` and `[X]` are done. `[]` and common marks of started items (`[~]`, `[/]`, `[-]`) are
open: an item counts as done only if that is certain. Fenced code and HTML comments contain no items; a
fence or comment that is never closed hides nothing.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX~/-]?)\](?:[ \t]+(.*))?$")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_NO_PARAGRAPH = re.compile(r"\s*(?:$|[-*+>|]|\d{1,9}[.)]|#)")
_FENCE = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,})")


class Plan(NamedTuple):
    """How many of the required items of a plan are done, and which are open."""

    done: int
    total: int
    open: tuple[str, ...]
    optional: int = 0  # boxes in sections that do not block
    lost: int = 0  # boxes that it had before

    @property
    def boxes(self) -> int:
        return self.total + self.optional

    def since(self, boxes: int) -> "Plan":
        """The same plan, which had that many boxes before: deleting an item does not complete it."""
        return self._replace(lost=max(boxes - self.boxes, 0))

    @property
    def progress(self) -> float | None:
        """In percent; None for a plan without boxes."""
        if self.total + self.lost:
            return 100.0 * self.done / (self.total + self.lost)
        return 100.0 if self.optional else None

    @property
    def is_complete(self) -> bool:
        """Whether no item is open. A plan without boxes is not complete: perhaps it was emptied."""
        return not self.open and not self.lost and bool(self.boxes)


def read(text: str, optional_sections: Sequence[str] = ()) -> Plan:
    """Read a Markdown plan. Items below a heading of one of these names do not block."""
    optional = {_name(section) for section in optional_sections}
    within: int | None = None  # the level of the optional heading above
    done, skipped, still_open = 0, 0, []
    for line, level in _lines(text):
        if level is not None:
            if within is None or level <= within:
                within = level if _name(line) in optional else None
        elif item := _ITEM.match(line):
            if within is not None:
                skipped += 1
            elif item[1] in ("x", "X"):
                done += 1
            else:
                still_open.append((item[2] or "").strip() or "(no text)")
    return Plan(done, done + len(still_open), tuple(still_open), skipped)


def _lines(text: str) -> Iterator[tuple[str, int | None]]:
    """The lines that are neither code nor comment; for a heading its text and its level."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        hidden = _hidden(lines, at)
        if hidden:
            at += hidden
            continue
        underline = _UNDERLINE.match(lines[at + 1]) if at + 1 < len(lines) else None
        if heading := _HEADING.match(line):
            yield heading[2] or "", len(heading[1])
        elif underline and not _NO_PARAGRAPH.match(line):
            yield line, 1 if underline[1].startswith("=") else 2
            at += 1
        else:
            yield line, None
        at += 1


def _hidden(lines: Sequence[str], at: int) -> int:
    """The number of lines of code or comment that begin here."""
    if fence := _FENCE.match(lines[at]):
        closing = re.compile(rf"\s*{re.escape(fence[1][0])}{{{len(fence[1])},}}\s*$")
        return next((n - at + 1 for n in range(at + 1, len(lines)) if closing.match(lines[n])), 0)
    if lines[at].lstrip().startswith("<!--"):
        return next((n - at + 1 for n in range(at, len(lines)) if "-->" in lines[n]), 0)
    return 0


def _name(heading: str) -> str:
    """A heading for comparison: without case, emphasis, or a final colon."""
    return " ".join(heading.strip(" \t#*_`:").casefold().split())
