"""A report as its reader sees it: headings, paragraphs and tables, parsed by the rules of Markdown."""

import re
from typing import NamedTuple

_BAR = re.compile(r"(?<!\\)(?:\\\\)*\|")


class Table(NamedTuple):
    """One table, with its cells as in the source."""

    header: list[str]
    rows: list[list[str]]


def parts(text: str) -> dict[str, str]:
    """The text below each second-level heading, by name; the text above the first is under ''."""
    found = {"": ""}
    name = ""
    for line in text.splitlines(keepends=True):
        if line.startswith("## "):
            name = line[3:].strip()
            assert name not in found, f"the heading {name!r} appears twice"
            found[name] = ""
        else:
            found[name] += line
    return found


def cells(line: str) -> list[str]:
    """The cells of a row; a bar after an odd number of backslashes is text."""
    assert line.startswith("|"), line
    assert line.endswith("|"), line
    inner, start = [], 1
    for at in [match.end() - 1 for match in _BAR.finditer(line)][1:]:
        inner.append(line[start:at].strip())
        start = at + 1
    return inner


def tables(text: str) -> list[Table]:
    """All tables; a broken table, or one joined to a paragraph, is an error."""
    found: list[Table] = []
    lines = ["", *text.splitlines(), ""]
    at = 0
    while at < len(lines):
        if not lines[at].startswith("|"):
            at += 1
            continue
        assert lines[at - 1] == "", f"a table begins in a paragraph: {lines[at - 1]!r}"
        end = next(i for i in range(at, len(lines)) if not lines[i].startswith("|"))
        assert lines[end] == "", f"a table ends in a paragraph: {lines[end]!r}"
        header, ruler, *rows = [cells(line) for line in lines[at:end]]
        assert all(re.fullmatch(r"-{2,}", cell) for cell in ruler)
        assert {len(row) for row in (header, ruler, *rows)} == {len(header)}, "a row has too many or too few cells"
        found.append(Table(header, rows))
        at = end
    return found


def well_formed(text: str) -> None:
    """Check the format that every report must have."""
    assert text.startswith("# Circuit Breaker Report\n\n")
    assert text.endswith("\n")
    assert [char for char in text if not char.isprintable() and char != "\n"] == [], "a raw control character"
    tables(text)
    lines = ["", *text.splitlines(), ""]
    for before, line, after in zip(lines, lines[1:], lines[2:], strict=False):
        if line.startswith("#"):
            assert before == after == "", f"{line!r} is not a heading of its own"
        assert not re.match(r"\s*(```|~~~|<)", line), f"{line!r} is markup"
        assert not re.match(r"-{3,}$|={3,}$", line), f"{line!r} makes a heading of what is above it"
    assert "\n\n\n" not in text, "empty lines in a row"
