"""Which reader reads which line: a new one is a row here, of a function that is given the lines and the number of one.

A line is given to the readers one of whose hints it contains, in the order of the table; a reader that does not apply
returns None, and the next one is asked. What a tool prints on one line needs no function: see `patterns.py`.
"""

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module

from liza.toolerrors import traces
from liza.toolerrors.findings import Lines, Read
from liza.toolerrors.lines import arrow, biome, logged, single
from liza.toolerrors.patterns import COUNTS, GENERIC, TOOLS

Reader = Callable[[Lines, int], Read]


def _of(module: str, name: str) -> Reader:
    """A reader whose module is loaded for the first line that needs it: most outputs have no such line."""

    def read(lines: Lines, at: int) -> Read:
        found: Read = getattr(import_module(f"liza.toolerrors.{module}"), name)(lines, at)
        return found

    return read


_EXCEPTIONS = ("error", "exception", "rejection", "failure", "fault", "interrupt", "timeout")
# The readers in order, each with the hints of which a line must contain one, in lower case.
_READERS: tuple[tuple[tuple[str, ...], Reader], ...] = (
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
BY_HINT: dict[str, int] = {}  # for each hint its readers, as bits
for _number, (_hints, _reader) in enumerate(_READERS):
    for _hint in _hints:
        BY_HINT[_hint] = BY_HINT.get(_hint, 0) | 1 << _number


@cache
def readers_of(asked: int) -> tuple[Reader, ...]:
    return tuple(read for number, (_, read) in enumerate(_READERS) if asked >> number & 1)
