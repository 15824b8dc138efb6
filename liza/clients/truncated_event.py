"""An event that is too large to be read whole: what its beginning says, and the id of the call at its end.

Agents write results of any size, and memory is bounded. Clients put the session, the event and the tool first; behind
the result come only the call's id and its duration.
"""

import json
import re
from typing import Any

HEAD = 1 << 16  # bytes of the beginning that are read
TAIL = 1 << 12
_DEEPEST = 100

_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+)', re.DOTALL)
_CUT_STRING = re.compile(r'\s*"(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_CLOSERS = {"{": "}", "[": "]"}
_ID = re.compile(rb'(?<!\\)"tool_use_id"\s*:\s*"([^"\\]{1,200})"')  # inside a string its quotes would be escaped


def read_cut(head: bytes, tail: bytes, size: int) -> dict[str, Any]:
    """The event whose first and last bytes these are; ValueError where its beginning is not that of an object.

    A text that is cut ends with the size of the whole, so that results of different sizes are different results.
    """
    note = f"[cut: {size:,} bytes in all]"
    payload = json.loads(_closed(head.decode(errors="ignore"), note))
    if not isinstance(payload, dict):
        raise ValueError("not a JSON object")
    calls = payload.get("tool_calls")
    if isinstance(calls, list):  # one without an id cannot be distinguished from a call that was already reported
        payload["tool_calls"] = [each for each in calls if isinstance(each, dict) and "tool_use_id" in each]
    elif "tool_name" in payload:
        payload = {"tool_response": note, "error": note, **payload}
        if "tool_use_id" not in payload and (found := _ID.findall(tail)):
            payload["tool_use_id"] = found[-1].decode(errors="replace")
    return payload


def _closed(text: str, note: str) -> str:
    """The beginning of a JSON text with an end: a string that is cut is closed, another value that is cut is left out.

    The text is only scanned; whether it is valid is for the parser to find.
    """
    nested: list[str] = []
    at, last = 0, ""  # where the next token begins, and the one before it
    safe = (0, "{}")  # where the text can be cut, and what ends it there
    while (match := _TOKEN.match(text, at)) is not None and match.end() < len(text):
        last, at = match[1], match.end()
        if last in _CLOSERS:
            nested.append(last)
        elif last in ("}", "]"):
            del nested[-1:]
        if last in _CLOSERS or last == ",":
            safe = (at - (last == ","), _ends(nested))
        if not nested or len(nested) > _DEEPEST:
            return text
    is_value = last == ":" or (last in ("[", ",") and nested[-1:] == ["["])
    cut = _CUT_STRING.match(text, at) if is_value else None
    if cut is None:
        return text[: safe[0]] + safe[1]
    return f'{text[: cut.end()]} {note}"{_ends(nested)}'


def _ends(nested: list[str]) -> str:
    return "".join(_CLOSERS[each] for each in reversed(nested))
