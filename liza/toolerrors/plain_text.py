"""Errors in plain text: the output of compilers, test runners, package managers, shells and programs.

Not errors: the content of diffs, log lines below the level of an error, source code and the output of grep, and
sentences about errors. The time is linear in the length of the text.
"""

from bisect import bisect_right

from liza.toolerrors.findings import DETAIL, LINE, TEST, Found, Lines, Read, compiled, without_escapes
from liza.toolerrors.lines import is_quiet, logged
from liza.toolerrors.readers import BY_HINT, Reader, readers_of

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


def found_in(text: str) -> list[Found]:
    lines, timed = _lines(text)
    found: list[Found] = []
    done = latest = -1
    for at, asked in _candidates(lines):
        if at < done or (len(found) > _ENOUGH and at < len(lines) - _LAST) or is_quiet(lines[at][:LINE], at in timed):
            continue
        read = _first(readers_of(asked), lines, at) or (logged(lines, at, timed=True) if at in timed else None)
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


def _first(readers: tuple[Reader, ...], lines: Lines, at: int) -> Read:
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
    for hint, bits in BY_HINT.items():
        at, line = low.find(hint), 0
        while at >= 0:
            line = bisect_right(starts, at, line) - 1
            asked[line] = asked.get(line, 0) | bits
            at = low.find(hint, starts[line + 1])
    return sorted(asked.items())
