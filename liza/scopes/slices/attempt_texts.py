"""Texts of agents and test runners: how much of one stays on the blackboard, its one line, and what it repeats."""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from unicodedata import normalize

from liza.scopes.records import mappings_of
from liza.text import cut_line
from liza.toolerrors.findings import without_escapes
from liza.toolerrors.results import FAILED

ERROR = 20_000  # characters of a test's last error that stay on the blackboard; the whole is kept in a file then
LINE = 500  # of a strategy, and of the texts of one attempt
ALIKE = 0.9  # how much of two strategies must agree for one to repeat the other

# Lines in which test runners print the error, the most specific first.
_ERROR_LINES = (
    re.compile(r"^E {2,}(?P<text>\S.*)"),  # pytest
    re.compile(r"^(?P<text>(?:[\w.]*(?:Error|Exception|Failure)|panic)\b: .*)"),
    re.compile(r"(?P<text>\b(?:assert\w*|expected|want(?:ed)?|panic)\b.*)", re.IGNORECASE),
)


# Words without content.
_NOTHING = ("", "n/a", "na", "none", "null", "nil", "tbd", "todo", "unknown", "not applicable")


def has_words(text: str) -> bool:
    """Whether a text says anything: `n/a`, `none`, `*` and `.` do not."""
    words = text.strip().strip(".").lower()
    return words not in _NOTHING and any(map(str.isalnum, words))


def cut_error(error: str, file: str | None) -> str:
    """An error for the blackboard: verbatim, or its two ends and the file that has all of it."""
    if len(error) <= ERROR:
        return error
    left_out = len(error) - ERROR
    where = f"; all of it is in {file}" if file else ""
    return f"{error[: ERROR // 2]}\n[... {left_out:,} characters are left out here{where} ...]\n{error[-ERROR // 2 :]}"


def summary_line(error: str) -> str:
    """The one line of an error that is most specific."""
    lines = [line[: 4 * LINE] for line in without_escapes(error[:200_000]).splitlines() if line]
    for pattern in _ERROR_LINES:
        found = next((match["text"] for line in lines if (match := pattern.search(line))), None)
        if found is not None:
            return cut_line(found, LINE)
    return cut_line(next((line for line in lines if line.strip()), ""), LINE)


def find_repeated_strategy(strategy: str, record: Mapping[str, Any]) -> str | None:
    """The documented strategy of a failed attempt that this one repeats: in this run, or in one before a reset."""
    wanted = _words(strategy)
    if not wanted:
        return None
    from rapidfuzz.fuzz import ratio

    for earlier in _strategies(record):
        known = _words(earlier)
        if wanted == known or (_digits(wanted) == _digits(known) and ratio(wanted, known) >= 100 * ALIKE):
            return earlier
    return None


def _words(text: str) -> str:
    """A strategy without what makes no difference: case, white space, punctuation, the width of letters."""
    return " ".join(re.findall(r"\w+", normalize("NFKC", text).casefold()))


def _digits(text: str) -> list[str]:
    """The numbers in a text: a retry with another one is another strategy."""
    return re.findall(r"\d+", text)


def _strategies(record: Mapping[str, Any]) -> Iterable[str]:
    runs = [*mappings_of(record, "history"), record]
    for entry in (each for run in reversed(runs) for each in mappings_of(run, "attempts")):
        strategy = entry.get("strategy")
        if entry.get("result") == FAILED and isinstance(strategy, str) and strategy.strip():
            yield strategy
