"""The JSON that every command prints with --json: one object, the same outer fields everywhere."""

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from liza.errors import LizaError
from liza.model import MAPPINGS, Match, Problem
from liza.scopes.history.section import trigger_fields
from liza.text import MAX_NUMBER_BITS, text_of, value_text

if TYPE_CHECKING:
    from datetime import datetime

    from liza.clients.hook_health import Hooks
    from liza.model import OutsideDecision, Progress, Silenced
    from liza.scopes.scope import SessionRow, Spent

SCHEMA = 1
_PROBLEM = {"file": None, "line": None, "column": None, "message": "", "hint": None, "level": "error"}


def write(
    command: str, status: str, problems: "Iterable[dict[str, Any] | Problem | LizaError | str]" = (), **fields: Any
) -> None:
    """Print the envelope with the command's own fields behind the common ones. A text as a problem is a warning."""
    listed = [problem(each) for each in problems]
    document = {"schema": SCHEMA, "command": command, "status": status, "problems": listed, **fields}
    # Not json.dump: it encodes in Python, piece by piece, which takes eight times as long.
    try:
        text = json.dumps(document, allow_nan=False, check_circular=False, default=_other)
    except (TypeError, ValueError):  # some key or number is not one that JSON has
        text = json.dumps(plain(document), default=_other)
    sys.stdout.write(text)  # which may be megabytes: not copied to add a line break
    sys.stdout.write("\n")


def _other(value: Any) -> Any:
    """What the encoder has no form for: a mapping of another type as one, anything else as its text."""
    return dict(value) if isinstance(value, MAPPINGS) else str(value)


def problem(source: "dict[str, Any] | Problem | LizaError | str") -> dict[str, Any]:
    """A problem, with the same fields everywhere."""
    return {**_PROBLEM, **_problem(source)}


def _problem(source: "dict[str, Any] | Problem | LizaError | str") -> dict[str, Any]:
    if isinstance(source, str):
        return {"message": source, "level": "warning"}
    if isinstance(source, dict):
        return source
    place = {"file": source.file, "line": source.line, "column": source.column}
    level = source.level if isinstance(source, Problem) else "error"
    return {**place, "message": source.message, "hint": source.hint, "level": level}


def problems_of(error: LizaError | None) -> "Sequence[Problem | LizaError]":
    return () if error is None else error.problems or (error,)


def pattern(source: "Progress | Match") -> dict[str, Any]:
    """A rule and how close it is, the same whether it matched or not."""
    fields = {
        "rule": source.rule.name,
        "severity": source.rule.severity,
        "action": source.rule.action,
        "count": number(source.value),
        "threshold": number(source.threshold),
        "key": source.key,
        "tasks": list(source.tasks),
    }
    if isinstance(source, Match):
        return fields
    groups = [
        {"key": each.key, "count": number(each.value), "tasks": list(each.tasks), "matched": each.matched}
        for each in source.groups
    ]
    return {**fields, "reason": str(source.reason), "groups": groups}


def silenced(source: "Silenced") -> dict[str, Any]:
    """A match that a silence keeps from tripping."""
    silence = source.silence
    return {
        **pattern(source.match),
        "silence": {**silence._asdict(), **_times(created=silence.created, until=silence.until)},
    }


def claim(source: "OutsideDecision") -> dict[str, Any]:
    """A decision in the history that did not come by `liza resolve`."""
    return {
        "history": source.place,
        "rule": source.rule,
        "origin": str(source.origin),
        "claimed_by": source.by,
        "used": source.counts,
        "records": source.records,
        "message": source.text,
    }


def session(source: "SessionRow") -> dict[str, Any]:
    """A session; `status` is the envelope's own word."""
    fields = source._asdict()
    fields["session_status"] = fields.pop("status")
    used = fields.pop("used")
    return {**fields, **spent(used)}


def spent(source: "Spent") -> dict[str, Any]:
    """What was used; models without a price are in `unpriced`, with their tokens."""
    fields = {"tokens": source.tokens, "cost": source.cost, "hours": round(source.hours, 4)}
    return {**fields, "unpriced": dict(source.unpriced)}


def hooks(source: "Hooks") -> dict[str, Any]:
    """The hooks of a client."""
    problems = [{"message": each.message, "hint": each.hint, "file": each.file} for each in source.problems]
    return {"client": source.client, "files": list(source.files), "problems": problems}


def _times(**moments: "datetime") -> dict[str, str]:
    from liza.model import format_time

    return {name: format_time(moment) for name, moment in moments.items()}


def number(value: float) -> float:
    """A whole number as one: 3, not 3.0."""
    return int(value) if float(value).is_integer() else value


def trigger(source: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The open trip, always with the same fields."""
    return None if source is None else trigger_fields(source)


def plain(value: Any) -> Any:
    """Facts as JSON has them: keys are strings, and numbers that it does not have are, too."""
    if isinstance(value, MAPPINGS):
        return {text_of(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS:
        return value_text(value)
    return value
