"""From the spool to the steps: what hooks have put into `.liza/spool/` becomes lines of `.liza/steps/`.

Each event is entered exactly once: its steps carry its name, and it is taken away after they are written. A process
that is killed in between leaves both, and the next one finds the name at the end of the session's file. What cannot be
read is put aside, so that it is read once and holds up no other.
"""

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from liza.clients import find_client
from liza.clients.event import FAILURES, Call, Event, InvalidEvent, Kind, parse_payload, split_header
from liza.clients.secrets import mask
from liza.clients.truncated_event import HEAD, TAIL, read_cut
from liza.errors import LizaError, Unwritable
from liza.model import Problem, format_time
from liza.scopes.sessions.shell_edits import changed_files
from liza.scopes.sessions.step import steps_of, usage_line
from liza.scopes.sessions.step_window import StepWindow
from liza.scopes.sessions.tools import SHIPPED, Tools, command_of
from liza.store import spool, steps
from liza.store.locate import current_branch
from liza.store.paths import Paths
from liza.store.spool import Spooled
from liza.text import one_line, person_name, plural, shell_quoted

_NOTES = 20  # of events that cannot be read, of one look
_NOTED = {Kind.START: "start", Kind.END: "end", Kind.TURN: "turn"}  # events without a call that are kept


class Intake(NamedTuple):
    """What came of the spool."""

    sessions: frozenset[str] = frozenset()  # that have new steps
    events: int = 0
    waiting: int = 0  # events that were left for the next time, which can take them
    problems: tuple[Problem, ...] = ()  # the spool itself cannot be read
    notes: tuple[str, ...] = ()  # events of which only the beginning was read, or nothing
    error: LizaError | None = None  # why events could not be entered; they wait


def take_spool(paths: Paths, windows: Mapping[str, StepWindow], tools: Tools = SHIPPED) -> Intake:
    """Enter the events that wait. `windows` are the sessions as their files have them now."""
    try:
        listing = spool.list_spool(paths)
    except OSError as error:
        problem = Problem(f"events cannot be read: {error.strerror}", paths.spool, hint=f"move it away: {paths.spool}")
        return Intake(problems=(problem,))
    lines: dict[str, list[dict[str, Any]]] = {}
    names: list[str] = []
    unreadable = dict.fromkeys(listing.odd, "not the name of an event")
    for spooled in listing.events:
        try:
            for line in _lines_of(paths, spooled, tools):
                lines.setdefault(str(line["session"]), []).append({**line, "event": spooled.name})
            names.append(spooled.name)
        except FileNotFoundError:
            continue  # another process was faster
        except (OSError, ValueError, RecursionError) as error:
            unreadable[spooled.name] = f"{type(error).__name__}: {error}"
    entered, notes, waiting, failed = _enter(paths, lines, windows)
    done = [name for name in names if name not in waiting]
    try:
        if done:
            spool.remove_events(paths, done)
        notes += _put_aside(paths, unreadable)
    except OSError as error:
        hint = f"make {paths.spool} writable"
        failed = failed or Unwritable(f"events cannot be taken: {error.strerror}", hint=hint, file=paths.spool)
    left = listing.total - len(listing.events) if done or (unreadable and failed is None) else 0
    return Intake(frozenset(entered), len(done), left, (), tuple(notes), failed)


def _enter(
    paths: Paths, lines: Mapping[str, list[dict[str, Any]]], windows: Mapping[str, StepWindow]
) -> tuple[set[str], list[str], set[str], LizaError | None]:
    """Write the lines of each session. Returns the sessions, notes, and the events that could not be entered, and why:
    one session's files hold up no other."""
    entered: set[str] = set()
    notes: list[str] = []
    waiting: set[str] = set()
    failed: LizaError | None = None
    for session, found in lines.items():
        known = windows[session].events if session in windows else ()
        new = [line for line in found if line["event"] not in known]
        try:
            if new:
                steps.append_lines(paths, session, new)
                entered.add(session)
                notes += [_note_of_cut(line) for line in new if "bytes" in line]
        except LizaError as error:
            failed = failed or error
            waiting |= {line["event"] for line in new}
    return entered, notes, waiting, failed


def _put_aside(paths: Paths, unreadable: Mapping[str, str]) -> list[str]:
    """Take events that cannot be read out of the way; what is to be noted about them."""
    for name in unreadable:
        spool.put_aside(paths, paths.spool, name)
    notes = [f"an event cannot be read: {one_line(f'{name}: {why}', 300)}" for name, why in unreadable.items()]
    more = len(notes) - _NOTES
    return notes if more <= 0 else [*notes[:_NOTES], f"and {plural(more, 'event')} more cannot be read"]


def aside_problems(paths: Paths) -> tuple[Problem, ...]:
    """What was put aside, until a person has deleted it."""
    names = spool.list_aside(paths)
    if not names:
        return ()
    folder = os.path.join(paths.spool, spool.ASIDE)
    text = f"{plural(len(names), 'file')} could not be used, such as {one_line(names[-1], 100)}"
    return (Problem(text, folder, hint=f"look at them, and delete them: rm -r {shell_quoted(folder)}"),)


def _lines_of(paths: Paths, spooled: Spooled, tools: Tools) -> Iterator[dict[str, Any]]:
    """The lines of the session's file that an event makes."""
    client = find_client(spooled.client)
    if client is None:
        raise InvalidEvent(f"unknown client {spooled.client!r}")
    agent, task, payload = _read(paths, spooled)
    event = client.read_event(payload)
    time = format_time(datetime.fromtimestamp(spooled.ns / 1e9, UTC))
    about = {"name": _name(agent), "task": _name(task) or _name(os.fsencode(current_branch(event.cwd or "") or ""))}
    more = {"bytes": spooled.size} if spooled.size > spool.LARGEST else {}
    calls = zip(steps_of(event, time, tools), event.calls, strict=False)  # of most events there is no step
    made = [with_edits(step, call, event, spooled.ns) for step, call in calls]
    degraded = [degraded_line(event, time)] if event.missing is not None and not more else []  # a part lacks much
    for line in (*made, *note_of(event, time), *usage_of(event, time), *degraded):
        yield {**line, **{key: value for key, value in about.items() if value}, **more}


def with_edits(step: dict[str, Any], call: Call, event: Event, ns: int) -> dict[str, Any]:
    """The step as an edit if it is a shell command that went well and has changed files."""
    command = command_of(call.input)
    is_other = not command or "waits" in step or step["outcome"] in FAILURES
    if is_other or not changed_files(command, event.cwd or "", ns, call.seconds):
        return step
    return {**step, "edits": True}


def _read(paths: Paths, spooled: Spooled) -> tuple[bytes, bytes, Any]:
    """An event with the agent's name and its task; of one that is too large what its beginning says."""
    if spooled.size <= spool.LARGEST:
        agent, task, payload = split_header(spool.read_event(paths, spooled))
        return agent, task, parse_payload(payload)
    head, tail = spool.read_ends(paths, spooled, HEAD, TAIL)
    agent, task, payload = split_header(head)
    return agent, task, read_cut(payload, tail, spooled.size)


def _note_of_cut(line: Mapping[str, Any]) -> str:
    what = f"an event of {line['bytes']:,} bytes"
    return f"session {line['session']}: {what} was too large: only its beginning was read ({line.get('tool', 'note')})"


def _name(raw: bytes) -> str:
    return person_name(raw.decode(errors="replace"))[:100]


def note_of(event: Event, time: str) -> Iterator[Mapping[str, Any]]:
    """A line for the start and the end of a session, and for the end of a turn."""
    if event.kind in _NOTED:
        note = {"time": time, "session": event.session, "client": event.client, "note": _NOTED[event.kind]}
        more = {"cwd": event.cwd, "model": event.model, "transcript": event.transcript}
        masked = {key: mask(value) for key, value in more.items() if value is not None}
        yield {**note, **({"parent": event.parent} if event.parent is not None else {}), **masked}


def degraded_line(event: Event, time: str) -> dict[str, Any]:
    """The line that says that a client no longer reports what it should."""
    why = f"{event.client} no longer reports what liza needs: {mask(event.missing or '')[:200]}"
    return {"time": time, "session": event.session, "client": event.client, "note": "degraded", "why": why}


def usage_of(event: Event, time: str) -> Iterator[Mapping[str, Any]]:
    if event.usage is not None:
        usage = event.usage._replace(model=event.usage.model or event.model)
        yield usage_line(event.session, time, usage, client=event.client, parent=event.parent)
