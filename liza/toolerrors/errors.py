"""Find the errors in the output of an iteration, whichever tool wrote it.

A signature is the line that names the error, as printed, without the prefix of a terminal or a log (colours, times,
`E   `). If a test runner prints the failing test on one line and the failure on another, the two become one signature,
as pytest writes it: `FAIL: test_total (...) - AssertionError: 3 != 4`. `similar(signature)` compares them and ignores
line numbers, paths, durations and names; `subject_of` returns what it ignores although it distinguishes two errors.

The primary error comes first. An API error, which ended the agent itself, goes before everything; then failing tests,
as their runner prints them; then compilers, exceptions and programs, in the order of the output; then lines of a log;
then consequences of another failure (`make: *** Error 2`). A count of failures is an error only if there is no other.
Of chained exceptions it is the last one in Python, which was not caught, and the deepest cause in Java and node, where
the outer ones are often wrappers without a message of their own.

An agent's text about errors is not an error: see `plain_text` for what is skipped, and `streams` for how the streams of
agents are read.
"""

import re
from typing import NamedTuple

LONGEST = 500  # characters of a signature
MOST = 200  # errors
_SHORT = 50_000  # characters of a text that an agent wrote which are searched for a headline
_HEAD, _TAIL = 2_000_000, 6_000_000  # characters that are read


class Error(NamedTuple):
    """One error: its line, and if known the place in the user's code (`src/auth.js:42`) and the failing test."""

    signature: str
    file: str | None = None
    test: str | None = None


def errors_of(output: str) -> tuple[Error, ...]:
    """All errors in the output of a tool or an agent, the primary one first. Never raises."""
    text = output if len(output) <= _HEAD + _TAIL else f"{output[:_HEAD]}\n{output[-_TAIL:]}"
    if "\x1b" in text:
        from liza.toolerrors.findings import without_escapes

        text = without_escapes(text)
    if text.lstrip()[:1] in ("{", "[") or any(each in text for each in ("\n{", "\n[{", "\n[\n", "data: {")):
        from liza.toolerrors.streams import found_in
    else:
        from liza.toolerrors.plain_text import found_in
    from liza.toolerrors.findings import COUNT

    found = sorted(found_in(text), key=lambda each: each.rank)
    distinct: dict[tuple[str, str | None], Error] = {}
    for each in found:
        if each.rank == COUNT and distinct:
            break
        error = Error(one_line(each.text), one_line(each.file or "") or None, one_line(each.test or "") or None)
        if error.signature:
            distinct.setdefault((error.signature, error.file), error)
        if len(distinct) == MOST or each.rank == COUNT:
            break
    return tuple(distinct.values())


def headline(text: str) -> str:
    """What a text says went wrong, on one line: of a tool's output the primary error, else the lines with words."""
    if "\n" not in text.strip():
        return text
    found = errors_of(text if len(text) <= _SHORT else f"{text[: _SHORT // 2]}\n{text[-_SHORT // 2 :]}")
    if found:
        return found[0].signature
    return " ".join(line.strip() for line in text[:_SHORT].splitlines() if any(map(str.isalnum, line)))


def primary_error(error: str | None, output: str | None, outcome: str) -> Error | None:
    """The error of one iteration: as given, else from its output, else from its outcome."""
    found = errors_of(error if error is not None else output or "")
    if found:
        return found[0]
    if error is not None:
        lines = error.strip().splitlines()
        place = re.match(r"([^\s:]*[./][^\s:]*:\d+)(?::\d+)?: ", lines[0][:LONGEST]) if lines else None
        return Error(lines[0][:LONGEST], place[1] if place else None) if lines else None
    return Error(f"the agent's command ended in a {outcome}") if outcome in ("timeout", "crash") else None


def subject_of(error: Error) -> str:
    """What distinguishes errors with similar messages: the failing test, or else the file and the names in quotes.

    The same assertion in another test, the same mistake in another file, or another missing module is another error:
    fixing one after the other is progress. Names with digits in them may differ each time.
    """
    if error.test:
        return error.test
    path, colon, line = (error.file or "").rpartition(":")
    file = path if colon and line.isdecimal() else error.file or ""
    quoted: list[str] = []
    if any(mark in error.signature for mark in "\"'`‘“"):
        quoted = re.findall(r"""["'`‘“]([^\s\d"'`‘’“”]{1,80})["'`’”]""", error.signature)
    _, colon, word = error.signature.rpartition(": ")
    is_name = word.isascii() and word.replace("_", "x").replace(".", "x").isalpha() and not word.startswith(".")
    return " ".join([file, *quoted, *([word] if colon and is_name else [])]).strip()


def one_line(text: str) -> str:
    """The text on one line, without unprintable characters, which a terminal could act on."""
    line = text[: 2 * LONGEST].strip()
    if not line.isprintable():
        line = "".join(c if c.isprintable() else " " if c.isspace() else "" for c in line)
    return line[:LONGEST].strip()
