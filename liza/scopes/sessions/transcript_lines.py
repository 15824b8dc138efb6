"""From the lines of a transcript to those of a session's file.

One source a session: what its hook reports is taken from the hook, and the transcript only adds what the hook lacks.
Each line has the name of an event, made of the line of the transcript, so that one that is read again adds nothing.
"""

import hashlib
from collections.abc import Container, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from liza.clients.event import Event
from liza.clients.secrets import mask
from liza.clients.transcript import Transcript, parse_line
from liza.model import format_time, is_future, parse_time
from liza.scopes.sessions.intake import degraded_line, note_of, usage_of, with_edits
from liza.scopes.sessions.step import steps_of
from liza.scopes.sessions.step_window import RESULT
from liza.scopes.sessions.tools import Tools
from liza.store.spool import TRANSCRIPT
from liza.text import person_name

FRESH = 60.0  # seconds; whether an older command has changed files can no longer be seen


class Known(NamedTuple):
    """What is in the files of a session already."""

    events: Container[str] = ()
    calls: Container[str] = ()
    is_hooked: bool = False
    reports_usage: bool = False  # the hook


class Line(NamedTuple):
    """A line for the file of a session, with the event that it was made of."""

    session: str
    event: str
    about: Event
    time: str
    at: datetime


def events_of(client: str, transcript: Transcript, raw: bytes, now: datetime) -> Iterator[Line]:
    """What a line of a transcript reports. One that is no JSON object reports nothing."""
    line = parse_line(raw)
    if line is None:
        return
    at = parse_time(line.get("timestamp"))
    if at is None or is_future(at, now):  # else it would be after every decision that a person makes
        at = now
    uuid = line.get("uuid")  # the same where Claude Code has copied the line into a session that continues this one
    name = event_name(client, uuid.encode(errors="replace") if isinstance(uuid, str) and uuid else raw)
    for event in transcript.read(line):
        yield Line(event.session, name, event, format_time(at), at)


def lines_of(
    line: Line, known: Known, tools: Tools, branch: str | None, now: datetime | None
) -> Iterator[dict[str, Any]]:
    """The lines for the file of a session; with `now` also whether a shell command has just changed files."""
    event = line.about
    task = {"task": person_name(branch)[:100]} if branch else {}
    for step, call in zip(steps_of(event, line.time, tools), event.calls, strict=False):
        if known.is_hooked or step.get("id") in known.calls:
            yield from _result(step)
        elif now is not None and abs((now - line.at).total_seconds()) < FRESH:
            yield {**with_edits(step, call, event, int(line.at.timestamp() * 1e9)), **task}
        else:
            yield {**step, **task}
    if not known.is_hooked:
        yield from ({**note, **task} for note in note_of(event, line.time))
    if not known.reports_usage:
        yield from map(dict, usage_of(event, line.time))
    if event.missing is not None:
        yield degraded_line(event, line.time)


def start_line(client: str, transcript: Transcript, session: str, path: str, time: str) -> dict[str, Any]:
    """The line with which a session begins that is known from its transcript."""
    about = {"cwd": transcript.cwd, "transcript": path, "client_version": transcript.version}
    known = {key: mask(value) for key, value in about.items() if value is not None}
    parent = {"parent": transcript.parent} if transcript.parent is not None else {}
    event = event_name(client, f"start {session}".encode())
    return {"time": time, "session": session, "client": client, "note": "start", **parent, **known, "event": event}


def event_name(client: str, raw: bytes) -> str:
    """The name of the event that is made of these bytes, wherever they are found."""
    return f"{client}-{TRANSCRIPT}-{hashlib.sha256(raw).hexdigest()[:16]}"


def _result(step: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What a transcript adds to a step that is there already: how a call of Codex ended."""
    if "exit_code" in step:
        outcome = {} if step["outcome"] == "unknown" else {"outcome": step["outcome"]}
        about = {key: step[key] for key in ("time", "session", "client", "id")}
        yield {
            **about,
            "note": "result",
            **{key: step[key] for key in RESULT if key in step and key != "outcome"},
            "waits": "waits" in step,
            **outcome,
        }
