"""What agents may read: the report of the last trip, and the rules that are in force."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from liza.model import Rule
from liza.scopes.rules_file import rules_in_force
from liza.store import files
from liza.store.board import Board
from liza.text import printable

_LONGEST = 1_000_000  # bytes of the report


class Page(NamedTuple):
    """A resource as clients see it."""

    uri: str
    name: str
    description: str
    mime_type: str
    read: Callable[[Board], str]


def _report(board: Board) -> str:
    try:
        return files.read(board.paths.report, _LONGEST).decode(errors="replace")
    except FileNotFoundError:
        return "There is no report file. The tool `status` says whether the agents are halted.\n"


def _rules(board: Board) -> str:
    rules, broken = rules_in_force(board.paths.rules)
    lines = [f"rules.yaml cannot be used, so these are the shipped rules: {broken.message}", ""] if broken else []
    return "\n".join([*lines, *(line for each in rules.all for line in _rule(each.rule))]) + "\n"


def _rule(rule: Rule) -> Iterator[str]:
    yield f"{printable(rule.name)} ({rule.action}, {rule.severity}): {printable(rule.description)}"
    yield f"  {printable(rule.condition)}"


PAGES = (
    Page("liza://report", "report", "Why the agents were halted: the report of the trip.", "text/markdown", _report),
    Page("liza://rules", "rules", "The active rules, each with its condition and what it does.", "text/plain", _rules),
)
