"""Transcripts: what clients write down of their sessions, one JSON object a line, read as the events that hooks report.

A transcript may begin anywhere, because of a long one only the end is read: a result whose call is not known is left
out. What a line has that is not known is ignored; what it lacks is in `Event.missing`.
"""

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Protocol, cast

from liza.clients.event import Event

CLIENTS = ("claude", "codex")
FOLLOWED = (*CLIENTS, "gemini", "qwen")  # of the last two only what they used is read: their hooks are not given it
OPEN = 1_000  # calls without a result that are remembered


class Transcript(Protocol):
    """One transcript as it is read, line by line."""

    session: str | None  # None as long as no line has named it
    parent: str | None
    cwd: str | None
    branch: str | None
    version: str | None  # of the client

    def read(self, line: Mapping[str, Any]) -> Iterator[Event]:
        """The events that a line reports."""


def new_transcript(client: str, path: str) -> Transcript:
    """The reader of one of these clients' transcripts."""
    return cast(Transcript, import_module(f"liza.clients.{client}_transcript").Transcript(path))


def parse_line(raw: bytes) -> Mapping[str, Any] | None:
    """The object in a line; None for anything else. Invalid UTF-8 is read with replacement characters."""
    try:
        found = json.loads(raw.decode(errors="replace"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def client_of(line: Mapping[str, Any]) -> str | None:
    """The client whose transcript has such a line; None where the line does not show it."""
    if isinstance(line.get("payload"), dict) and isinstance(line.get("type"), str):
        return "codex"
    return "claude" if isinstance(line.get("sessionId"), str) else None


def remember_call(calls: dict[str, Any], call: str, about: Any) -> None:
    """Enter a call that has no result yet; the oldest goes where they become too many."""
    calls[call] = about
    if len(calls) > OPEN:
        del calls[next(iter(calls))]


def text_of(content: Any) -> str:
    """A result as the model sees it: a text, or a list of parts of which some are text."""
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if isinstance(part, Mapping) and "text" in part)
    return content if isinstance(content, str) else ""
