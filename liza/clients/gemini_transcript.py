"""Gemini CLI's transcripts: `tmp/FOLDER/chats/session-*.jsonl`, and those of a session's subagents in `chats/SESSION/`.

Only what was used is read, which its hook is not given; calls come from the hook. The folder of the session is the text
of a file, and an answer is written again with its calls once they have ended.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from liza.clients.event import Event, Kind, text_field
from liza.clients.gemini import NAME, ROOT
from liza.clients.usage import Usage, read_counts
from liza.store.tail import open_own

_LONGEST = 4096  # bytes of a path
_COUNTS = ("input", "output", "cached", "total")


class Transcript:
    """One transcript as it is read."""

    branch: str | None = None
    version: str | None = None

    def __init__(self, path: str) -> None:
        self.session: str | None = None
        self.parent: str | None = None
        self.cwd: str | None = None
        self._path = path
        self._counted: tuple[str | None, Usage | None] = (None, None)  # of the newest answer

    def read(self, line: Mapping[str, Any]) -> Iterator[Event]:
        """The events that a line reports."""
        if self.session is None:
            self._read_head(line)
        elif line.get("type") == "gemini":
            usage = read_counts(line.get("tokens"), _COUNTS, line.get("model"))
            known = (text_field(line, "id"), usage)
            if usage is not None and known != self._counted:
                self._counted = known
                yield self._event(Kind.NOTE, usage._replace(id=known[0]))
            if line.get("content") and not line.get("toolCalls"):
                yield self._event(Kind.TURN if self.parent is None else Kind.END)

    def _read_head(self, line: Mapping[str, Any]) -> None:
        self.session = text_field(line, "sessionId")
        folder = os.path.dirname(self._path)
        if line.get("kind") == "subagent":
            folder, self.parent = os.path.split(folder)
        with suppress(OSError), open_own(os.path.join(folder, ROOT)) as file:
            self.cwd = (file.read(_LONGEST) or b"").decode(errors="replace").strip() or None

    def _event(self, kind: Kind, usage: Usage | None = None) -> Event:
        return Event(NAME, "transcript", kind, str(self.session), self.parent, self.cwd, usage=usage)
