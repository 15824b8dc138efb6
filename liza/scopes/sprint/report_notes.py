"""What people wrote into a report, carried over into its next version: their ticks, and every line of their own.

A line is a person's if liza wrote it neither before nor now. It goes behind the same line as before, or, where that is
gone, behind the nearest one above that is still there.
"""

import re
from collections.abc import Iterator, Sequence

_BOX = r"(\s*[-*+] \[)[ xX](\] )(.*)"


def carry_over(before: str, edited: str, renewed: str) -> str:
    """The renewed report with what a person added to the earlier one; `before` is that one as liza wrote it."""
    lines = _with_ticks(_lines(edited), renewed.splitlines())  # whose ends stay: two spaces are a line break there
    written = {line for line in (*_lines(before), *_lines(renewed), *_lines("\n".join(lines))) if line}
    anchors: list[str] = []
    at = 0
    for block in _blocks(_lines(edited), written):
        if block.is_note:
            at = _place([line.rstrip() for line in lines], anchors, at)
            added = _framed(block.lines, lines[at - 1] if at else "", lines[at] if at < len(lines) else "")
            lines[at:at] = added
            at += len(added)
        else:
            anchors += [line for line in block.lines if line]
    return "\n".join(lines) + "\n"


def holds(edited: str, before: str) -> bool:
    """Whether all that liza wrote is still in a report; ticks, and what is behind an item, are a person's."""
    lines = _lines(edited)
    there, items = set(lines), [box[3] for line in lines if (box := re.fullmatch(_BOX, line)) is not None]
    for line in filter(None, _lines(before)):
        box = re.fullmatch(_BOX, line)
        if line not in there and not (box is not None and any(item.startswith(box[3]) for item in items)):
            return False
    return True


class _Block:
    """Lines that follow each other, all of them a person's or none of them."""

    def __init__(self, is_note: bool) -> None:
        self.is_note = is_note
        self.lines: list[str] = []


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]  # an editor may cut what is behind them, and how they end


def _blocks(edited: Sequence[str], written: set[str]) -> Iterator[_Block]:
    """The report in turns. An empty line belongs to a note only between two lines of it."""
    current = _Block(is_note=False)
    empty: list[str] = []
    for line in edited:
        if not line:
            empty.append(line)
            continue
        is_note = line not in written
        if is_note != current.is_note:
            yield current
            current = _Block(is_note)
        elif is_note:
            current.lines += empty
        empty = []
        current.lines.append(line)
    yield current


def _with_ticks(edited: Sequence[str], renewed: Sequence[str]) -> list[str]:
    """The items of the renewed report as they are in the edited one: ticked, and with what was written behind them."""
    items = [(box[3], line) for line in edited if (box := re.fullmatch(_BOX, line)) is not None]
    lines = []
    for line in renewed:
        box = re.fullmatch(_BOX, line.rstrip())
        same = [there for item, there in items if box is not None and item.startswith(box[3])]
        lines.append(same[0] if same else line)
    return lines


def _place(lines: Sequence[str], anchors: Sequence[str], least: int) -> int:
    """Where a note goes: behind the last of the lines above it that is still there, and never into a table."""
    for anchor in reversed(anchors):
        if anchor in lines[least:]:
            place = lines.index(anchor, least) + 1
            while place < len(lines) and lines[place - 1].startswith("|") and lines[place].startswith("|"):
                place += 1
            return place
        if anchor in lines[:least]:
            break  # behind the note before this one
    return least


def _framed(note: Sequence[str], above: str, below: str) -> list[str]:
    """A note apart from what liza wrote, except in a list."""
    return [*([""] if above and not _is_item(above) else []), *note, *([""] if below and not _is_item(below) else [])]


def _is_item(line: str) -> bool:
    return re.match(r"\s*([-*+]|\d+\.) ", line) is not None
