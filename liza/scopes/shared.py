"""The records of a team: those of this blackboard, and those that its other hosts have sent.

Which host a record comes from is in its field `from_host`. The order is the server's, so it is the same on every host;
what was not sent yet is the newest. A record's key leaves the host out: a blackboard that two hosts share through git
counts once.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from liza.model import FROM_HOST, MAPPINGS, Record, list_in
from liza.rules.fingerprints import fingerprint
from liza.store.board import Board
from liza.store.team_files import Mirror, read_host

ANOMALIES = "anomalies"
Fields = Mapping[str, Any]


class Keyed(NamedTuple):
    """A record of this blackboard under the name that it has in the team."""

    key: str
    fields: Fields


class Shared:
    """A cache for repeated reading: the same objects for the same records, which is what makes a memo find them."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self.mirror = Mirror(board.paths)
        self._host = ""
        self._prints: dict[int, tuple[Fields, str, dict[str, Any]]] = {}
        self._union: tuple[Any, tuple[int, int], list[Any]] | None = None

    def union(self, section: Any) -> Any:
        """The section `anomalies` with the records of the other hosts; a section that is no list stays as it is."""
        if not isinstance(section, list | None):
            return section
        self.mirror.refresh()
        host = read_host(self._board.paths)
        self._host = host.host if host is not None else ""
        state = (self.mirror.generation, len(self.mirror.records))
        if self._union is not None and self._union[0] is section and self._union[1] == state:
            return self._union[2]
        own = {keyed.key: keyed.fields for keyed in self.keyed(section)}
        found: list[Any] = []
        for each in self.mirror.records:
            if each.stream == ANOMALIES:
                mine = own.pop(each.key, None)
                found.append(mine if mine is not None else each.fields)
        found += own.values()
        found += [entry for entry in list_in(section) if not isinstance(entry, MAPPINGS)]
        self._union = (section, state, found)
        return found

    def keyed(self, section: Any) -> list[Keyed]:
        """The records of this blackboard, each with its host and its key."""
        seen: Counter[str] = Counter()
        found = []
        kept: dict[int, tuple[Fields, str, dict[str, Any]]] = {}
        for fields in list_in(section):
            if isinstance(fields, MAPPINGS):
                known = self._prints.get(id(fields))
                if known is None or known[0] is not fields or known[2].get(FROM_HOST) != self._host:
                    known = (fields, fingerprint(Record(ANOMALIES, 0, fields)), {**fields, FROM_HOST: self._host})
                kept[id(fields)] = known
                seen[known[1]] += 1
                found.append(Keyed(f"{known[1]}:{seen[known[1]]}", known[2]))
        self._prints = kept
        return found


def shared_of(board: Board) -> Shared:
    """What is remembered for a blackboard between two looks."""
    if not isinstance(board.shared, Shared):
        board.shared = Shared(board)
    return board.shared


def with_team(board: Board, sections: Mapping[str, Any]) -> Mapping[str, Any]:
    """The sections of a blackboard with the records of its team."""
    union = shared_of(board).union(sections.get(ANOMALIES))
    return sections if union is None else {**sections, ANOMALIES: union}
