"""Errors in one JSON object: a diagnostic, a failed test, a line of a log, or an error response."""

from collections.abc import Mapping
from typing import Any

from liza.toolerrors.findings import ENDED, LOGGED, ROOT, TEST, Found
from liza.toolerrors.plain_text import found_in as in_text

Object = Mapping[str, Any]

_MESSAGES = ("message", "msg", "@message", "summary", "detail", "description", "reason", "title", "text", "error")
_BLOCKS = ("text", "content", "message", "output", "stdout")
_CODES = ("code", "ruleId", "rule", "type", "name", "status")
_STACKS = ("rendered", "stack", "stack_trace", "traceback", "exc_info", "longrepr", "exception")
_LEVELS = ("severity", "level", "@level", "levelname", "log.level", "lvl")
_TESTS = ("fullName", "fullTitle", "nodeid")
_OUTCOMES = ("status", "outcome", "state")
_FILES = ("file", "filename", "filePath", "path")
_BAD = frozenset(("error", "fatal", "critical", "panic", "err", "severe", "emerg", "alert", "crit"))
_FINE = frozenset(
    ("info", "information", "debug", "trace", "notice", "warn", "warning", "note", "help", "failure-note", "hint")
)
_FAILED = frozenset(("failed", "fail", "failure", "error"))
_AGAIN = ("Reconnecting", "Retrying")  # an agent's messages about an error that may pass
_PINO_ERROR, _ESLINT_ERROR = 50, 2


def read(node: Object, file: str | None) -> list[Found] | None:
    """The errors in an object, or None to read its parts. `file` is the file that the enclosing object is about."""
    for reader in (_test, _diagnostic, _answer):
        found = reader(node, file)
        if found is not None:
            return found
    return None


def text_of(value: Any, deep: int = 6) -> str:
    """A text, or the texts in a list of blocks. What is deeper than blocks go is not looked at."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and deep:
        return text_of(next((value[key] for key in _BLOCKS if value.get(key)), None), deep - 1)
    if isinstance(value, list) and deep:
        return "\n".join(text for each in value if (text := text_of(each, deep - 1)))
    return ""


def first_line(text: str) -> str:
    """The first line that is not empty."""
    return next((line.strip() for line in text[:20_000].splitlines() if line.strip()), "")


def file_of(node: Object) -> str | None:
    """The file that an object is about, with the line if there is one."""
    file = next((node[key] for key in _FILES if isinstance(node.get(key), str) and node[key]), None)
    return f"{file}:{line}" if file and (line := _line_of(node)) else file


def _line_of(node: Object) -> int | None:
    start = node
    for key in ("location", "range", "start", "position", "loc"):
        if isinstance(start.get(key), Mapping):
            start = start[key]
    if "start" in start and isinstance(start["start"], Mapping):
        start = start["start"]
    for key in ("line", "row", "lineno"):
        if isinstance(start.get(key), int) and not isinstance(start[key], bool):
            return int(start[key]) + ("range" in node)  # the ranges of editors count from 0
    return None


def _worded(node: Object) -> str:
    """The message of an object with its code, as the same tools write it in plain text."""
    message = next(
        (first_line(node[key]) for key in _MESSAGES if isinstance(node.get(key), str) and node[key].strip()), ""
    )
    code = next((node[key] for key in _CODES if node.get(key) and key in node), None)
    code = code.get("code") if isinstance(code, Mapping) else code
    if isinstance(code, int) and not isinstance(code, bool):
        return f"code {code}: {message}" if str(code) not in message else message
    if not isinstance(code, str) or code.lower() in _BAD or code in message:
        return message
    return f"{code}: {message}" if message else code


def _stack_of(node: Object) -> list[Found]:
    """The errors in the stack trace of an object."""
    return next((found for key in _STACKS if isinstance(node.get(key), str) and (found := in_text(node[key]))), [])


def _test(node: Object, file: str | None) -> list[Found] | None:
    """A test in a report of jest, vitest, mocha or pytest; an empty list if it passed."""
    test = next((node[key] for key in _TESTS if isinstance(node.get(key), str)), None)
    if test is None:
        return None
    inner = node.get("err") if isinstance(node.get("err"), Mapping) else node.get("call")
    details = inner if isinstance(inner, Mapping) else {}
    crash = details["crash"] if isinstance(details.get("crash"), Mapping) else details
    outcome = next(
        (node[key] for key in _OUTCOMES if isinstance(node.get(key), str)), "failed" if details else "passed"
    )
    if outcome.lower() not in _FAILED:
        return []
    messages = node.get("failureMessages")
    stack = text_of(messages) if messages else text_of(crash.get("stack") or crash.get("longrepr"))
    found = in_text(stack)
    message = found[0].text if found else first_line(stack) or _worded(crash)
    where = (found[0].file if found else None) or file_of(crash) or file_of(node) or file
    return [Found(TEST, f"FAILED {test} - {message}" if message else f"FAILED {test}", where, test)]


def _diagnostic(node: Object, file: str | None) -> list[Found] | None:
    """A diagnostic of a compiler or linter, or a log line; its level decides."""
    level = next((node[key] for key in _LEVELS if isinstance(node.get(key), str | int) and node[key] is not True), None)
    message = _worded(node)
    placed = file_of(node) or (file if "ruleId" in node or "line" in node else None)
    if level is None and not ("code" in node and "filename" in node and "location" in node):
        return None
    if isinstance(level, str) and level.lower() not in _BAD:
        return [] if level.lower() in _FINE else None
    if isinstance(level, int) and level < (_ESLINT_ERROR if "ruleId" in node else _PINO_ERROR):
        return [] if message else None
    error = node["err"] if isinstance(node.get("err"), Mapping) else node.get("error")
    found = _stack_of(node) or (_stack_of(error) or [Found(ROOT, _worded(error))] if isinstance(error, Mapping) else [])
    if "rendered" in node and found:
        return found
    if placed and ":" not in placed and (line := _line_of(node)):
        placed = f"{placed}:{line}"
    return [*found, Found(ROOT if placed else LOGGED, message, placed)] if message else None


def _answer(node: Object, file: str | None) -> list[Found] | None:
    """An answer that is an error: `{"error": {"type": ..., "message": ...}}` and its many relatives."""
    error = node.get("error") or node.get("errors")
    failed = node.get("type") == "error" or (node.get("success") is False and isinstance(node.get("message"), str))
    if error is True or (not error and failed):
        error = {key: each for key, each in node.items() if key != "type"}
    if not error or not isinstance(error, str | Mapping | list):
        return None
    rank = ENDED if node.get("type") in ("error", "turn.failed", "stream_error") else ROOT
    errors: list[Found] = []
    for each in error[:50] if isinstance(error, list) else [error]:
        if isinstance(each, str):
            errors += in_text(each) or [Found(rank, first_line(each))]
        elif isinstance(each, Mapping):
            errors += _stack_of(each) or [Found(rank, _worded(each), file_of(each) or file)]
    errors = [
        each._replace(rank=min(rank, each.rank)) for each in errors if each.text and not each.text.startswith(_AGAIN)
    ]
    return errors or None
