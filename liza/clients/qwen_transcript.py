"""Qwen Code's transcripts: `projects/FOLDER/chats/SESSION.jsonl`.

Only what was used is read, which its hook is not given; calls come from the hook. Each answer of the model, also to a
subagent, is reported by an `api_response`, and those of the session itself by their own lines, too.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from liza.clients.event import Event, Kind, text_field
from liza.clients.qwen import NAME
from liza.clients.usage import Usage, read_counts
from liza.model import mappings_in

_REPORTED = ("input_token_count", "output_token_count", "cached_content_token_count", "total_token_count")
_COUNTS = ("promptTokenCount", "candidatesTokenCount", "cachedContentTokenCount", "totalTokenCount")


class Transcript:
    """One transcript as it is read."""

    parent: str | None = None

    def __init__(self, path: str) -> None:
        self.session: str | None = None
        self.cwd: str | None = None
        self.branch: str | None = None
        self.version: str | None = None
        self._has_reports = False

    def read(self, line: Mapping[str, Any]) -> Iterator[Event]:
        """The events that a line reports."""
        session = text_field(line, "sessionId")
        if session is None:
            return
        self.session = session
        self.cwd = text_field(line, "cwd") or self.cwd
        self.version = text_field(line, "version") or self.version
        self.branch = text_field(line, "gitBranch") or self.branch
        if line.get("type") == "system":
            yield from self._read_report(line.get("systemPayload"))
        elif line.get("type") == "assistant":
            yield from self._read_answer(line)

    def _read_report(self, payload: Any) -> Iterator[Event]:
        report = payload.get("uiEvent") if isinstance(payload, Mapping) else None
        if isinstance(report, Mapping) and str(report.get("event.name")).endswith("api_response"):
            usage = read_counts(report, _REPORTED, report.get("model"))
            if usage is not None:
                self._has_reports = True
                yield self._event(Kind.NOTE, usage._replace(id=text_field(report, "response_id")))

    def _read_answer(self, line: Mapping[str, Any]) -> Iterator[Event]:
        usage = read_counts(line.get("usageMetadata"), _COUNTS, line.get("model"))
        if usage is not None and not self._has_reports:
            yield self._event(Kind.NOTE, usage._replace(id=text_field(line, "uuid")))
        message = line.get("message")
        parts = mappings_in(message.get("parts")) if isinstance(message, Mapping) else []
        if not any("functionCall" in part for part in parts):
            yield self._event(Kind.TURN)

    def _event(self, kind: Kind, usage: Usage | None = None) -> Event:
        return Event(NAME, "transcript", kind, str(self.session), None, self.cwd, usage=usage)
