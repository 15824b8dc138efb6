"""Read the JSON output of coding agents: their own text, whether they failed, and the cost.

Agents print one object, or one per line as events happen. Their formats differ and change; this reads what most have in
common, and what is not found is unknown. Only the agent's own text counts: not the results of its tools, and not its
prompt.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from liza.clients.usage import Usage, read_tokens, read_usage

_OWN_WORDS = ("text", "result", "response", "message", "content", "output_text")
_OTHERS = ("tool_result", "tool_use", "function_call_output", "command_execution", "user", "system", "tool")
_COUNTED = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_SESSION = ("session_id", "thread_id", "sessionID")
_DEPTH = 12  # of objects in objects
_MOST = 200_000  # lines that are read


class Answer(NamedTuple):
    """The facts in the JSON output of an agent; empty and None for plain text."""

    words: tuple[str, ...] = ()  # the lines of its own words
    is_json: bool = False
    failure: str | None = None  # its message, if it ended in a failure
    commands: tuple[str, ...] = ()  # that it ran in a shell
    tokens: int | None = None
    cost: float | None = None  # in US dollars
    usage: Usage | None = None
    session: str | None = None  # as the agent calls it


def answer_of(output: str) -> Answer:
    """Read the output of an agent. Output that is not JSON is text, line by line."""
    words: list[str] = []
    commands: list[str] = []
    failure: str | None = None
    spent = _Spent()
    is_json = False
    for line in json_values(output):
        if isinstance(line, str):
            words.append(line)
            continue
        is_json = True
        words += [each for text in texts_of(line) for each in text.splitlines()]
        commands += _commands(line, 0)
        failure = _failure(line, failure)
        spent.add(line)
    failure = failure or _refusal(words, is_json)
    return Answer(tuple(words), is_json, failure, tuple(commands), spent.tokens, spent.cost, spent.usage, spent.session)


def json_values(output: str) -> Iterator[Mapping[str, Any] | str]:
    """Each line as the object that it is, or as a text; an answer of one object over many lines as that object."""
    stripped = output.strip()
    if stripped.startswith("{") and isinstance(whole := _json(stripped), dict):
        yield whole
        return
    if stripped.startswith("[") and isinstance(whole := _json(stripped), list):
        yield from (each for each in whole if isinstance(each, dict))
        return
    for line in output.splitlines()[-_MOST:]:
        value = _json(line) if line.lstrip().startswith("{") else None
        yield value if isinstance(value, dict) else line


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def texts_of(value: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    """The agent's own text in an object, in order."""
    if depth > _DEPTH or value.get("type") in _OTHERS or value.get("role") in _OTHERS:
        return
    for key, each in value.items():
        if isinstance(each, str):
            if key in _OWN_WORDS:
                yield each
        else:
            for part in each if isinstance(each, list) else (each,):
                if isinstance(part, dict):
                    yield from texts_of(part, depth + 1)


def _commands(value: Any, depth: int) -> Iterator[str]:
    """The commands that the agent ran: the `command` of its tools, a string or a list of words."""
    if depth > _DEPTH:
        return
    if isinstance(value, list):
        for each in value:
            yield from _commands(each, depth + 1)
    elif isinstance(value, dict):
        command = value.get("command")
        if isinstance(command, str):
            yield command
        elif isinstance(command, list) and all(isinstance(word, str) for word in command):
            yield " ".join(command)
        for each in value.values():
            yield from _commands(each, depth + 1)


def _failure(value: Mapping[str, Any], before: str | None) -> str | None:
    """The failure after this object: one lasts until a later object reports success."""
    kind = value.get("type")
    if value.get("is_error") is True and kind in ("result", None):
        return _text_in(value.get("result")) or _text_in(value.get("error")) or _text_in(value) or "is_error"
    if kind in ("error", "turn.failed", "session.error"):
        return _text_in(value.get("error")) or _text_in(value) or str(kind)
    error = value.get("error")
    if kind in (None, "result") and error and not value.get("result") and not value.get("response"):
        return _text_in(error) or "error"
    succeeded = kind in ("result", "turn.completed", "step_finish") or (kind is None and "response" in value)
    return None if succeeded else before


def _text_in(value: Any) -> str | None:
    """The message of an error, however it is wrapped."""
    for _ in range(_DEPTH):
        if not isinstance(value, dict):
            break
        value = next((value[key] for key in ("message", "error", "data", "detail", "type") if value.get(key)), None)
    return value.strip() or None if isinstance(value, str) else None


def _refusal(words: list[str], is_json: bool) -> str | None:
    """The API error that is all of a short plain answer."""
    lines = [line.strip() for line in words if line.strip()]
    if is_json or not 0 < len(lines) <= 5:
        return None
    return next((line for line in lines if line.startswith(("API Error", "API error"))), None)


class _Spent:
    """Tokens and cost, summed over the objects. A final total replaces the sum."""

    def __init__(self) -> None:
        self.tokens: int | None = None
        self.cost: float | None = None
        self.usage: Usage | None = None
        self.session: str | None = None
        self._model: str | None = None
        self._is_final = False

    def add(self, value: Mapping[str, Any]) -> None:
        kind = value.get("type")
        inner = value.get("part")
        part = inner if isinstance(inner, dict) else value
        tokens, cost = _tokens(part), _number(value.get("total_cost_usd"), _number(part.get("cost")))
        usage = self._usage(value, part, cost)
        if kind in ("result", None) and (tokens is not None or cost is not None):
            self.tokens, self.cost, self.usage, self._is_final = tokens, cost, usage, True
        elif not self._is_final and kind in ("turn.completed", "step_finish"):
            self.tokens = self.tokens if tokens is None else (self.tokens or 0) + tokens
            self.cost = self.cost if cost is None else (self.cost or 0.0) + cost
            self.usage = usage if self.usage is None or usage is None else self.usage.plus(usage)

    def _usage(self, value: Mapping[str, Any], part: Mapping[str, Any], cost: float | None) -> Usage | None:
        names = (value.get(name) for name in _SESSION)
        self.session = self.session or next((name for name in names if isinstance(name, str) and name), None)
        message = value.get("message")
        model = message.get("model") if isinstance(message, Mapping) else value.get("model")
        self._model = model if isinstance(model, str) and model else self._model
        return read_usage(part.get("usage"), self._model, cost) or read_tokens(part.get("tokens"), self._model, cost)


def _tokens(value: Mapping[str, Any]) -> int | None:
    usage = value.get("usage")
    if isinstance(usage, dict):
        counted = [usage[name] for name in _COUNTED if type(usage.get(name)) is int]
        return sum(counted) if counted else None
    tokens = value.get("tokens")
    if isinstance(tokens, dict):
        counted = [tokens[name] for name in ("input", "output", "reasoning") if type(tokens.get(name)) is int]
        return sum(counted) if counted else None
    stats = value.get("stats")
    models = stats.get("models") if isinstance(stats, dict) else None
    per_model = [_total(model) for model in models.values()] if isinstance(models, dict) else []
    known = [total for total in per_model if total is not None]
    return sum(known) if known else None


def _total(model: Any) -> int | None:
    tokens = model.get("tokens") if isinstance(model, dict) else None
    total = tokens.get("total") if isinstance(tokens, dict) else None
    return total if type(total) is int else None


def _number(value: Any, otherwise: float | None = None) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else otherwise
