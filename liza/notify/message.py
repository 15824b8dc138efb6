"""A notification, where it may go, and why it may not have arrived."""

from typing import NamedTuple, Protocol

TIMEOUT = 5.0  # seconds that a target has to answer


class Message(NamedTuple):
    """One notification. Its lines are short and printable, whatever agents wrote."""

    kind: str  # tripped, resolved, alarm, degraded ...
    title: str
    text: str
    at: str
    board: str
    trip_id: str | None = None
    dashboard: str | None = None  # where liza serve runs; without its token


class NotSent(Exception):
    """Why a message did not arrive, without secrets such as an address.

    `retry` only where it has certainly not arrived: a target that does not answer may have accepted it, and a trip is
    reported at most once. `is_fault` is false where this machine cannot have such a target, so nothing is wrong.
    """

    def __init__(self, why: str, *, retry: bool, is_fault: bool = True) -> None:
        super().__init__(why)
        self.why = why
        self.retry = retry
        self.is_fault = is_fault


class Target(Protocol):
    """Somewhere messages go. Two equal ones are one; a target is hashable."""

    @property
    def name(self) -> str:
        """Without secrets such as an address."""

    def send(self, message: Message) -> None:
        """`NotSent` if it has not arrived, or may not have."""
