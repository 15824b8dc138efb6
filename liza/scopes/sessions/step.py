"""Steps: what a session did, one entry a tool call, made of the events that its client's hook reported."""

import json
from collections.abc import Iterator
from typing import Any

from liza.clients.event import FAILURES, Call, Event, Kind, Outcome
from liza.clients.secrets import mask
from liza.clients.usage import Usage
from liza.scopes.sessions.failures import SEARCHED, error_of, says_failed
from liza.scopes.sessions.identity import call_identity, result_identity
from liza.scopes.sessions.rate_limits import limited_until
from liza.scopes.sessions.tools import SHIPPED, Tools

LONGEST = 4096  # bytes of input and result that are kept; their identities are of the whole


def steps_of(event: Event, time: str, tools: Tools = SHIPPED) -> Iterator[dict[str, Any]]:
    """The steps that an event reports; none for one that reports no call, or one that is only about to be made."""
    if event.kind is Kind.AFTER:
        for call in event.calls:
            yield _step(event, call, time, tools)


def _step(event: Event, call: Call, time: str, tools: Tools) -> dict[str, Any]:
    given = call.input if isinstance(call.input, str) else json.dumps(call.input, ensure_ascii=False, default=str)
    result = call.result or ""
    error = error_of(result, call.outcome)
    outcome = Outcome.FAILED if call.outcome is Outcome.UNKNOWN and error is not None else call.outcome
    changes = tools.changes_file(call.tool, call.input)
    step = {
        "time": time,
        "session": event.session,
        "parent": event.parent,
        "client": event.client,
        "id": call.id,
        "tool": call.tool,
        "input": kept_text(given),
        "outcome": str(outcome),
        "error": error,
        "result": kept_text(result),
        "call": call_identity(call.tool, call.input),
        "answer": result_identity(result),
        "edits": outcome not in FAILURES and not says_failed(result) if changes else None,
        "waits": tools.waits_only(call.tool, call.input, failed=outcome in FAILURES) or None,
        "limited_until": limited_until(result, time) if outcome in FAILURES else None,
        "seconds": call.seconds,
        "exit_code": call.exit_code,
        "cwd": event.cwd,
        "model": event.model,
    }
    return {key: value for key, value in step.items() if value is not None}


def kept_text(text: str) -> str:
    """A text without secrets, cut in its middle."""
    if len(text) > SEARCHED:
        text = f"{text[: SEARCHED // 2]}\n{text[-SEARCHED // 2 :]}"
    masked = mask(text)
    if len(masked.encode(errors="replace")) <= LONGEST:
        return masked
    half = LONGEST // 4  # of characters, which have up to four bytes
    while len((masked[: half * 2] + masked[-half * 2 :]).encode(errors="replace")) <= LONGEST - 16 and half < LONGEST:
        half += LONGEST // 16
    half -= LONGEST // 16
    return f"{masked[: half * 2]} […] {masked[-half * 2 :]}"


def usage_line(session: str, time: str, usage: Usage, **about: str | None) -> dict[str, Any]:
    """The line of a session's file about what it used."""
    known = {key: mask(value)[:200] for key, value in {**about, "model": usage.model}.items() if value is not None}
    return {"time": time, "session": session, "note": "usage", **usage.as_fields(), **known}
