"""Coding agents that liza observes: one module a client, loaded when one of its events is read.

A new client is a module with what `Client` lists, and a loader of it here.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from liza.clients.event import CONTINUE, Action, Answer, Event, blocked, with_context
from liza.clients.settings import STARTS, HookProblem, Settings, Setup


class Client(Protocol):
    """What each client's module has."""

    NAME: str
    SETTINGS: Settings

    def read_event(self, payload: dict[str, Any]) -> Event:
        """The event that a hook was given; `InvalidEvent` where it lacks what every event has."""

    def end_turn(self, name: str, text: str) -> Answer | None:
        """The answer that ends the turn; None where an event of that name has none, so that it is refused."""

    def problems(self, setup: Setup) -> Iterator[HookProblem]:
        """What in the client's own settings keeps the hook from working."""


def find_client(name: str) -> Client | None:
    """The module of a client; None for a name that is not known."""
    return load_client(name) if name in NAMES else None


def load_client(name: str) -> Client:
    """The module of a client."""
    return _LOADERS[name]()


def _claude() -> Client:
    from liza.clients import claude

    return claude


def _codex() -> Client:
    from liza.clients import codex

    return codex


def _gemini() -> Client:
    from liza.clients import gemini

    return gemini


def _qwen() -> Client:
    from liza.clients import qwen

    return qwen


def _opencode() -> Client:
    from liza.clients import opencode

    return opencode


# A hook loads one client only. Written out as imports, so that the type checker compares each module with `Client`.
_LOADERS: dict[str, Callable[[], Client]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "qwen": _qwen,
    "opencode": _opencode,
}
NAMES = tuple(_LOADERS)


def answer(client: Client, name: str, action: Action, text: str) -> Answer:
    """What a client's hook is to print for an event of that name. Only what is about to begin can be refused."""
    settings = client.SETTINGS
    if action is Action.WARN and name in settings.warns:
        return with_context(name, text)
    if action is Action.END and (ended := client.end_turn(name, text)) is not None:
        return ended
    is_refused = action in (Action.BLOCK, Action.END) and settings.events.get(name) in STARTS
    return blocked(text) if is_refused else CONTINUE
