"""Errors in plain text: the output of compilers, test runners, package managers, shells and programs.

Not errors: the content of diffs, log lines below the level of an error, source code and the output of grep, and
sentences about errors. The time is linear in the length of the text.
"""

from bisect import bisect_right
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module

from liza.toolerrors import traces
from liza.toolerrors.findings import DETAIL, LINE, TEST, Found, Lines, Read, compiled, without_escapes
from liza.toolerrors.lines import arrow, biome, is_quiet, logged, single
from liza.toolerrors.patterns import COUNTS, GENERIC, TOOLS

_ENOUGH = 500  # errors after which only the end is read
_LAST = 1_000  # lines
_TIME = (
    r"\[?(?:\d{4}-\d\d-\d\d[T ]|\d\d-[A-Z][a-z]{2}-\d{4} )?\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
    r"(?: (?:UTC|[A-Z]\w+/\w+)(?=\]))?\]?(?: [|:-])? ?"
)
_PREFIX = (
    rf"(?:(?P<time>{_TIME})"
    r"|[A-Za-z][\w.-]*[-_]\d+ +\| "  # docker compose
    r"|#\d+ (?:\d+\.\d+ )?"  # docker build
    r"|(?:time|ts)=\S+ |##\[error\]|INTERNALERROR> |\(node:\d+\) |[│✗✘❌×⨯] )+"
)
_MAY_BE_PREFIX = frozenset("0123456789[#It(│✗✘❌×⨯")


def _of(module: str, name: str) -> Callable[[Lines, int], Read]:
    """A reader whose module is loaded for the first line that needs it: most outputs have no such line."""

    def read(lines: Lines, at: int) -> Read:
        found: Read = getattr(import_module(f"liza.toolerrors.{module}"), name)(lines, at)
        return found

    return read


_EXCEPTIONS = ("error", "exception", "rejection", "failure", "fault", "interrupt", "timeout")
# The readers in order, each with the hints of which a line must contain one, in lower case.
_READERS: tuple[tuple[tuple[str, ...], Callable[[Lines, int], Read]], ...] = (
    (("@@ -",), _of("diffs", "hunk")),
    (("```diff", "```patch"), _of("diffs", "fenced")),
    (("traceback (most",), traces.traceback),
    ((".py",), _of("pytest", "verdict")),
    (("fail: ", "error: "), traces.unittest),
    (("● ",), _of("runners", "jest")),
    (("fail  ",), _of("runners", "vitest")),
    ((" failing",), _of("runners", "mocha")),
    (("not ok ",), _of("runners", "tap")),
    (("--- fail: ",), _of("runners", "go_test")),
    (("panicked at ",), _of("runners", "rust_panic")),
    (("<<< ",), _of("runners", "surefire")),
    ((" failed",), _of("runners", "gradle")),
    (("panic: ", "fatal error: "), traces.panic),
    (("npm err",), traces.npm),
    *((tuple(each.hints.split("|")), partial(single, each)) for each in TOOLS),
    (_EXCEPTIONS, traces.placed),
    (_EXCEPTIONS, traces.exception),
    (("-->", "╭─[", "┌─", "╭▸"), arrow),
    (("━━━",), biome),
    (("e  ",), _of("pytest", "detail")),
    *((tuple(each.hints.split("|")), partial(single, each)) for each in (*GENERIC, *COUNTS)),
    (("error", "fatal", "critical", "severe"), logged),
)
_ASKED: dict[str, int] = {}  # for each hint its readers, as bits
for _number, (_hints, _reader) in enumerate(_READERS):
    for _hint in _hints:
        _ASKED[_hint] = _ASKED.get(_hint, 0) | 1 << _number


@cache
def _readers(asked: int) -> tuple[Callable[[Lines, int], Read], ...]:
    return tuple(read for number, (_, read) in enumerate(_READERS) if asked >> number & 1)


def found_in(text: str) -> list[Found]:
    lines, timed = _lines(text)
    found: list[Found] = []
    done = latest = -1
    for at, asked in _candidates(lines):
        if at < done or (len(found) > _ENOUGH and at < len(lines) - _LAST) or is_quiet(lines[at][:LINE], at in timed):
            continue
        read = _first(_readers(asked), lines, at) or (logged(lines, at, timed=True) if at in timed else None)
        if read is None:
            continue
        if not read[0] and latest == at and lines[at].endswith("(ignored)"):
            found.pop()  # make continues after an error that it is set to ignore
        found += read[0]
        latest, done = read[1] if read[0] else latest, read[1]
    if not any(each.rank in (TEST, DETAIL) for each in found):
        return found
    from liza.toolerrors.pytest import with_details

    return with_details(found)


def _first(readers: tuple[Callable[[Lines, int], Read], ...], lines: Lines, at: int) -> Read:
    return next((found for read in readers if (found := read(lines, at)) is not None), None)


def _lines(text: str) -> tuple[list[str], set[int]]:
    """The lines without colours and log prefixes, and the numbers of those whose prefix had a time."""
    if "\x1b" in text:
        text = without_escapes(text)
    if "\n" * 6 in text:
        text = compiled(r"\n{6,}").sub("\n" * 5, text)
    lines, timed = text.splitlines(), set()
    for i, line in enumerate(lines):
        if line[:1] in _MAY_BE_PREFIX or " | " in line[:40]:
            found = compiled(_PREFIX).match(line[:LINE])
            if found:
                lines[i] = line[found.end() :]
                if found["time"]:
                    timed.add(i)
    return lines, timed


def _candidates(lines: Lines) -> list[tuple[int, int]]:
    """The lines that contain a hint, each with its readers.

    The whole text is searched once for each hint: most outputs contain few of them, and most lines none.
    """
    low = "\n".join(line[:LINE] for line in lines).lower()
    starts = [0]
    for each in low.split("\n"):
        starts.append(starts[-1] + len(each) + 1)
    asked: dict[int, int] = {}
    for hint, bits in _ASKED.items():
        at, line = low.find(hint), 0
        while at >= 0:
            line = bisect_right(starts, at, line) - 1
            asked[line] = asked.get(line, 0) | bits
            at = low.find(hint, starts[line + 1])
    return sorted(asked.items())
