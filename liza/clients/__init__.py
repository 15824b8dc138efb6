"""Coding agents that liza observes: one module a client, loaded when one of its events is read.

A new client is a module with what `Client` lists, and its name here.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Protocol, cast

from liza.clients.event import Action, Answer, Event
from liza.clients.settings import HookProblem, Settings, Setup

NAMES = ("claude", "codex", "gemini", "qwen", "opencode")


class Client(Protocol):
    """What each client's module has."""

    NAME: str
    SETTINGS: Settings

    def read_event(self, payload: dict[str, Any]) -> Event:
        """The event that a hook was given; `InvalidEvent` where it lacks what every event has."""

    def answer(self, name: str, action: Action, text: str) -> Answer:
        """What its hook is to print for an event of that name."""

    def can_warn(self, name: str) -> bool:
        """Whether a warning in the answer to an event of that name reaches the model."""

    def problems(self, setup: Setup) -> Iterator[HookProblem]:
        """What in the client's own settings keeps the hook from working."""


def find_client(name: str) -> Client | None:
    """The module of a client; None for a name that is not known."""
    return load_client(name) if name in NAMES else None


def load_client(name: str) -> Client:
    """The module of a client."""
    return cast(Client, import_module(f"liza.clients.{name}"))
