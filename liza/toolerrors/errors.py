"""Which errors the output of an iteration tells of, whatever tool wrote it.

A signature is the line that names the error, as it was printed, without what a terminal or a log puts before it
(colours, times, `E   `). Where a test runner prints the failing test on one line and what went wrong on another, the
two are one signature, written as pytest does: `FAIL: test_total (...) - AssertionError: 3 != 4`. Comparing is the
business of `similar(signature)`, which passes over line numbers, paths, durations and names; `subject_of` says what it
passes over although it tells two errors apart.

The primary error comes first. What ended the agent itself (an API error) goes before everything; then failing tests,
in the words of their runner; then compilers, exceptions and programs, in the order of the output; then lines of a log;
then what only passes on that something else failed (`make: *** Error 2`). A mere count of failures is an error only if
nothing else is. Of exceptions that caused each other it is the last one in Python, which is the one that nobody caught,
and the deepest cause in Java and node, where the outer ones are often wrappers without a message of their own.

What an agent says about errors is no error: `outputs.text` tells what is passed over, and `outputs.streams` how the
streams of agents are read.
"""

import re
from typing import NamedTuple

LONGEST = 500  # characters of a signature
MOST = 200  # errors: who has more does not read them
_HEAD, _TAIL = 2_000_000, 6_000_000  # characters that are looked at


class Error(NamedTuple):
    """One error: its line, and where known the place in the user's code (`src/auth.js:42`) and the failing test."""

    signature: str
    file: str | None = None
    test: str | None = None


def errors_of(output: str) -> tuple[Error, ...]:
    """Every error in the output of a tool or an agent, the primary one first; none if there is none. Never raises."""
    text = output if len(output) <= _HEAD + _TAIL else f"{output[:_HEAD]}\n{output[-_TAIL:]}"
    if "\x1b" in text:
        from liza.toolerrors.findings import without_escapes

        text = without_escapes(text)
    if _may_hold_json(text):
        from liza.toolerrors.streams import found_in
    else:
        from liza.toolerrors.plain_text import found_in
    from liza.toolerrors.findings import COUNT

    found = sorted(found_in(text), key=lambda each: each.rank)
    told: dict[tuple[str, str | None], Error] = {}
    for each in found:
        if each.rank == COUNT and told:
            break
        error = Error(one_line(each.text), one_line(each.file or "") or None, one_line(each.test or "") or None)
        if error.signature:
            told.setdefault((error.signature, error.file), error)
        if len(told) == MOST or each.rank == COUNT:
            break
    return tuple(told.values())


def primary_error(error: str | None, output: str | None, outcome: str) -> Error | None:
    """The error of one iteration: as it was given, found in what it printed, or what its outcome alone says."""
    found = errors_of(error if error is not None else output or "")
    if found:
        return found[0]
    if error is not None:
        lines = error.strip().splitlines()
        place = re.match(r"([^\s:]*[./][^\s:]*:\d+)(?::\d+)?: ", lines[0][:LONGEST]) if lines else None
        return Error(lines[0][:LONGEST], place[1] if place else None) if lines else None
    return Error(f"the agent's command ended in a {outcome}") if outcome in ("timeout", "crash") else None


def subject_of(error: Error) -> str:
    """What tells two errors apart that are worded alike: the failing test, or else the file and the names in quotes.

    The same assertion in another test, the same mistake in another file, or another module that is missing is another
    error: whoever mends one after the other gets somewhere. Names with digits in them may differ each time.
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
    """The text on one line of printable characters. What does not print goes, so that no terminal acts on it."""
    line = text[: 2 * LONGEST].strip()
    if not line.isprintable():
        line = "".join(c if c.isprintable() else " " if c.isspace() else "" for c in line)
    return line[:LONGEST].strip()


def _may_hold_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[") or any(each in text for each in ("\n{", "\n[{", "\n[\n", "data: {"))
