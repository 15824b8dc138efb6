"""Skip diffs: lines in them that look like errors are not errors."""

from liza.toolerrors.findings import Lines, Read, compiled


def hunk(lines: Lines, at: int) -> Read:
    """Skip to the end of a hunk, whose header gives its length."""
    counts = compiled(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@").match(lines[at])
    if counts is None:
        return None
    old, new = (int(each[:9]) if each else 1 for each in counts.groups())
    at += 1
    while at < len(lines) and (old > 0 or new > 0) and lines[at][:1] in ("", " ", "+", "-", "\\"):
        sign = lines[at][:1]
        old -= sign not in ("+", "\\")
        new -= sign not in ("-", "\\")
        at += 1
    return [], at


def fenced(lines: Lines, at: int) -> Read:
    """Skip to the end of a diff in a Markdown fence."""
    if not lines[at].startswith("```"):
        return None
    end = next((i + 1 for i in range(at + 1, len(lines)) if lines[i].startswith("```")), None)
    return ([], end) if end is not None else None
