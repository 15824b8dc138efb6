"""What a client reports through its hook, in liza's words. Each client's own module translates into these."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from liza.clients.usage import Usage, read_usage
from liza.text import cut_line

# The inputs that say most of what a call does, by their names in the clients' tools.
_MAIN_INPUTS = ("command", "cmd", "file_path", "path", "pattern", "query", "url", "prompt", "description")


class Kind(StrEnum):
    """What an event is about."""

    BEFORE = "before"  # a call is about to be made
    AFTER = "after"  # calls were made
    PROMPT = "prompt"  # a person or a program gives the session something to do
    START = "start"  # of a session
    END = "end"
    TURN = "turn"  # the model has finished its answer
    NOTE = "note"  # anything else


class Outcome(StrEnum):
    """How a call ended."""

    OK = "ok"
    FAILED = "failed"
    REFUSED = "refused"  # the client did not make it: the edit did not apply, a permission was missing
    UNKNOWN = "unknown"


FAILURES = (Outcome.FAILED, Outcome.REFUSED)


class Call(NamedTuple):
    """One tool call. Before it was made there is no result."""

    id: str | None
    tool: str
    input: Any
    result: str | None = None
    outcome: Outcome = Outcome.UNKNOWN
    seconds: float | None = None
    exit_code: int | None = None


class Event(NamedTuple):
    """One event of one session."""

    client: str
    name: str  # as the client calls the event
    kind: Kind
    session: str
    parent: str | None = None  # the session that started this one as its subagent
    cwd: str | None = None
    calls: tuple[Call, ...] = ()
    model: str | None = None
    transcript: str | None = None
    usage: Usage | None = None  # where the client reports it with the event
    missing: str | None = None  # what an event of this kind should have, and this one does not


class InvalidEvent(ValueError):
    """A payload that does not have what every event of this client has; the message says what is missing."""


_HEADER = b"liza 1\n"


def split_header(raw: bytes) -> tuple[bytes, bytes, bytes]:
    """What the hook adds from its environment, the agent's name and its task, and the client's own JSON."""
    if raw.startswith(b"liza ") and not raw.startswith(_HEADER):
        raise InvalidEvent("the hook is of another version of liza; to fix: liza install")
    if not raw.startswith(_HEADER):
        return b"", b"", raw
    agent, task, payload = raw[len(_HEADER) :].split(b"\n", 2)
    return agent, task, payload


def parse_payload(raw: bytes) -> dict[str, Any]:
    """The client's own JSON; ValueError where it is anything but an object."""
    import json

    payload = json.loads(raw)
    if not isinstance(payload, dict):
        raise InvalidEvent("not a JSON object")
    return payload


def text_field(payload: Mapping[str, Any], name: str) -> str | None:
    """A field that is a non-empty string; None where it is absent or anything else."""
    value = payload.get(name)
    # JSON can hold half a character, which no file can.
    return value.encode(errors="replace").decode() if isinstance(value, str) and value else None


def required(payload: Mapping[str, Any], name: str) -> str:
    """A field without which an event says nothing."""
    value = text_field(payload, name)
    if value is None:
        raise InvalidEvent(f"{name}: expected a non-empty string")
    return value


# The names that Claude Code gave its events; Codex took them over.
CLAUDE_KINDS = {
    "PreToolUse": Kind.BEFORE,
    "PostToolUse": Kind.AFTER,
    "PostToolUseFailure": Kind.AFTER,
    "PostToolBatch": Kind.AFTER,
    "UserPromptSubmit": Kind.PROMPT,
    "SessionStart": Kind.START,
    "SubagentStart": Kind.START,
    "SessionEnd": Kind.END,
    "SubagentStop": Kind.END,
    "Stop": Kind.TURN,
}
NOTHING: Mapping[str, tuple[str, ...]] = {}


def event_of(
    client: str,
    payload: Mapping[str, Any],
    calls: Callable[[str], tuple[Call, ...]],
    kinds: Mapping[str, Kind] = CLAUDE_KINDS,
    expected: Mapping[str, tuple[str, ...]] = NOTHING,
) -> Event:
    """The event of a payload in the form that clients took over from Claude Code; `calls` reads those of an event by
    its name. What the client is known to give with an event (`expected`) and this one lacks is in `missing`.

    A subagent is a session of its own, and its parent the session that started it.
    """
    name = required(payload, "hook_event_name")
    session, agent = required(payload, "session_id"), text_field(payload, "agent_id")
    lacks = next((field for field in expected.get(name, ()) if field not in payload), None)
    made: tuple[Call, ...] = ()
    try:
        made = calls(name)
    except InvalidEvent as error:
        lacks = lacks or str(error)
    return Event(
        client=client,
        name=name,
        kind=kinds.get(name, Kind.NOTE),
        session=agent or session,
        parent=session if agent else None,
        cwd=text_field(payload, "cwd"),
        calls=made,
        model=text_field(payload, "model"),
        transcript=text_field(payload, "agent_transcript_path" if agent else "transcript_path"),
        usage=read_usage(payload.get("usage"), payload.get("model"), payload.get("total_cost_usd")),
        missing=f"{lacks} in {name}" if lacks is not None else None,
    )


def seconds_of(milliseconds: Any) -> float | None:
    """A duration that the client gives in milliseconds."""
    is_number = isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool)
    return milliseconds / 1000 if is_number and 0 <= milliseconds < 1e12 else None


class Action(StrEnum):
    """The answer to a client."""

    CONTINUE = "continue"
    WARN = "warn"  # continue, with a text for the model
    BLOCK = "block"  # refuse this call or prompt
    END = "end"  # end the turn; where the client cannot do that at this event, refuse


class Answer(NamedTuple):
    """What the hook prints, and its exit code. Clients block on 2 and on nothing else."""

    out: str = ""
    err: str = ""
    code: int = 0


CONTINUE = Answer()


def blocked(text: str) -> Answer:
    """The answer that every client takes for a refusal."""
    return Answer(err=f"{text}\n", code=2)


def with_context(event: str, text: str) -> Answer:
    """The answer that puts a text before the model, as Claude Code and Codex read it."""
    import json

    return Answer(json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}) + "\n")


def call_text(tool: Any, given: Any, most: int = 120) -> str:
    """A call as people read it: the tool, and of its input what says most."""
    import json

    try:
        value: Any = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        value = given
    if isinstance(value, dict):
        texts = {key: each for key, each in value.items() if isinstance(each, str) and each.strip()}
        value = next((texts[key] for key in _MAIN_INPUTS if key in texts), next(iter(texts.values()), given))
    return cut_line(f"{tool} {value if isinstance(value, str) else given}", most)
