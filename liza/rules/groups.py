"""Texts by number, and which of them are together."""

from collections.abc import Callable, Iterator, Sequence

from liza.rules.time_limit import unlimited


class Groups:
    """What is joined stays joined, in whatever order it was; the lowest number of a group names it."""

    def __init__(self) -> None:
        self.coarse = 0  # texts that were compared for equality only, because there is too much text
        self._parent: list[int] = []

    def add_all(self, texts: Sequence[str], spend: Callable[[], None] = unlimited) -> Iterator[int]:
        """Take texts in; for each a number to ask `group` about it with, as long as no further text is added."""
        raise NotImplementedError

    def enter(self) -> int:
        """A further number, in a group of its own."""
        self._parent.append(len(self._parent))
        return len(self._parent) - 1

    def group(self, number: int) -> int:
        while self._parent[number] != number:
            self._parent[number] = self._parent[self._parent[number]]
            number = self._parent[number]
        return number

    def join(self, one: int, other: int) -> None:
        one, other = self.group(one), self.group(other)
        self._parent[max(one, other)] = min(one, other)
