"""Coding agents that liza observes: one module a client, loaded when one of its events is read."""

from importlib import import_module
from typing import Any, Protocol, cast

from liza.clients.event import Action, Answer, Event

NAMES = ("claude", "codex")


class Client(Protocol):
    """What each client's module has."""

    NAME: str

    def read_event(self, payload: dict[str, Any]) -> Event:
        """The event that a hook was given; `InvalidEvent` where it lacks what every event has."""

    def answer(self, name: str, action: Action, text: str) -> Answer:
        """What its hook is to print for an event of that name."""

    def can_warn(self, name: str) -> bool:
        """Whether a warning in the answer to an event of that name reaches the model."""


def load_client(name: str) -> Client | None:
    """The module of a client; None for a name that is not known."""
    return cast(Client, import_module(f"liza.clients.{name}")) if name in NAMES else None
