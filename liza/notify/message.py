"""What people are told, and why it may not have reached them."""

from typing import NamedTuple

TIMEOUT = 5.0  # seconds that any place has to answer


class Message(NamedTuple):
    """What people are to be told. Its lines are short and printable, whoever wrote them."""

    kind: str  # tripped, resolved, alarm, degraded ...
    title: str
    text: str
    at: str
    board: str
    trip_id: str | None = None


class NotSent(Exception):
    """Why a message did not arrive, in words that hold no secret: an address never is among them.

    `retry` only where it has surely not arrived. A place that does not answer may have taken it all the same, and
    nobody is told of a trip twice.
    """

    def __init__(self, why: str, *, retry: bool) -> None:
        super().__init__(why)
        self.why = why
        self.retry = retry
