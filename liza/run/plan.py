"""The check boxes of a Markdown plan.

An item of a list that begins with a box is a thing to do: `- [ ]`, `* [ ]`, `+ [ ]`, `1. [ ]` or `1) [ ]`, at any
depth. `[x]` and `[X]` are done. `[]` and the marks that people put for what is begun (`[~]`, `[/]`, `[-]`) are open:
where liza is not sure that something is done, it is not. What is in fenced code or in an HTML comment is not an item;
a fence or comment that is never closed hides nothing.
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
    """What a plan says: how many of the things that must be done are, and which are not."""

    done: int
    total: int
    open: tuple[str, ...]
    optional: int = 0  # boxes in sections that do not block

    @property
    def progress(self) -> float | None:
        """In percent; None for a plan without a single box, whose progress is unknown."""
        if self.total:
            return 100.0 * self.done / self.total
        return 100.0 if self.optional else None

    @property
    def is_complete(self) -> bool:
        """Whether nothing is open. A plan without boxes is not: perhaps it was emptied."""
        return not self.open and bool(self.total or self.optional)


def read(text: str, optional_sections: Sequence[str] = ()) -> Plan:
    """The plan in a Markdown text. A heading of one of these names, and all below it, does not block."""
    optional = {_name(section) for section in optional_sections}
    within: int | None = None  # the level of the optional heading that we are below
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
    """The lines that are neither code nor comment; of a heading its words, and its level."""
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
    """How many lines from here on are code or a comment."""
    if fence := _FENCE.match(lines[at]):
        closing = re.compile(rf"\s*{re.escape(fence[1][0])}{{{len(fence[1])},}}\s*$")
        return next((n - at + 1 for n in range(at + 1, len(lines)) if closing.match(lines[n])), 0)
    if lines[at].lstrip().startswith("<!--"):
        return next((n - at + 1 for n in range(at, len(lines)) if "-->" in lines[n]), 0)
    return 0


def _name(heading: str) -> str:
    """A heading as it is compared: without case, emphasis, or the colon at its end."""
    return " ".join(heading.strip(" \t#*_`:").casefold().split())
