"""`liza log anomaly` and `entry`: from the words of a command line to a record, and what is printed about it."""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from liza.cli.streams import read_text, warn
from liza.errors import Refused, WrongUsage
from liza.schema import anomalies
from liza.scopes.anomalies import Added, add_entry, stamped
from liza.store.board import Board
from liza.store.parser import BadYaml, load
from liza.text import cut, value_text

Options = Mapping[str, str | None]

_VALUE = re.compile(r"\s*|~|null|true|false|[-+]?(?:\d|\.\d|\.inf)[\w.+-]*|\.nan", re.IGNORECASE)
_LINES = 40  # of a record, how many are printed


def anomaly(root: str | None, options: Options, words: Sequence[str], as_json: bool) -> int:
    """`liza log anomaly`: the record from options and key=value words, or piped in as JSON."""
    given = {name: options[name] for name in ("timestamp", "task", "reporter", "type") if options.get(name) is not None}
    if as_json and "type" not in given and not words:
        record = {**_piped("anomaly"), **given}
    else:
        missing = [f"--{name}" for name in ("type", "task", "reporter") if name not in given]
        if missing:
            raise WrongUsage(f"missing {', '.join(missing)}", hint="see: liza log anomaly --help")
        record = {**given, "details": details(words)}
        if not record["details"]:
            del record["details"]
    from liza.scopes.inbox import record_anomaly

    return _print("log anomaly", record_anomaly(Board.find(root), stamped(record)), as_json)


def entry(root: str | None, options: Options, as_json: bool) -> int:
    """`liza log entry`: the same for one line of the log."""
    given = {
        name: options[name]
        for name in ("timestamp", "agent", "action", "task", "detail")
        if options.get(name) is not None
    }
    if as_json and not given:
        record = _piped("log entry")
    else:
        missing = [f"--{name}" for name in ("agent", "action") if name not in given]
        if missing:
            raise WrongUsage(f"missing {', '.join(missing)}", hint="see: liza log entry --help")
        record = dict(given)
        if record.get("detail") == "-":
            record["detail"] = _text("-")
    board = Board.find(root)
    return _print("log entry", add_entry(board, stamped(record)), as_json)


def details(words: Sequence[str]) -> dict[str, Any]:
    """The details that `key=value` words name. `key=@file` is the text of a file, `key=-` that of standard input."""
    found: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key.strip():
            raise WrongUsage(
                f"{value_text(word)} is not key=value", hint="for example: error_pattern='timeout in payment service'"
            )
        if key in found:
            raise WrongUsage(f"{value_text(key)} is given twice")
        if text == "-":
            found[key] = _text("-")
        elif text.startswith("@"):
            found[key] = _text(text[1:], f"to give a text that begins with @, quote it: {key}='\"@...\"'")
        else:
            found[key] = value(text, as_text=key in anomalies.TEXTS)
    return found


def value(text: str, *, as_text: bool = False) -> Any:
    """A word read as YAML where it is a number, true, false, null, quoted, or in brackets; else just the text it is.

    Error messages are not YAML, though many would pass for it: `TypeError: x` is a mapping, and `exit 1 # retried`
    loses its end. What an agent wrote is kept as it wrote it.
    """
    try:
        parsed = load(text)
    except BadYaml:
        return text
    if text[:1] in ("'", '"') or (text[:1] in ("[", "{") and not as_text):
        return parsed
    is_value = not as_text and _VALUE.fullmatch(text) is not None and not isinstance(parsed, str)
    return parsed if is_value else text


def _piped(what: str) -> dict[str, Any]:
    import json

    if sys.stdin is None or sys.stdin.isatty():
        raise WrongUsage(f"no {what} was given", hint="pipe a JSON object in, or use the options: liza log --help")
    text = _text("-")
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused(f"standard input is not a JSON object: {error}", hint=f"pipe one {what} in as {{...}}") from None
    if not isinstance(record, dict):
        raise Refused("standard input is not a JSON object", hint=f"pipe one {what} in as {{...}}")
    return record


def _text(source: str, hint: str = "") -> str:
    """What is read, without the line break at the end, as in a shell's $(...)."""
    return read_text(source, hint).rstrip("\n")


def _print(command: str, added: Added, as_json: bool) -> int:
    from liza.store import emit
    from liza.text import printable

    file = printable(os.path.relpath(added.file))
    for kept in added.rescued:
        warn(f"a version written by another program was saved in {kept}")
    for warning in added.warnings:
        warn(warning.message, warning.hint)
    if as_json:
        from liza.cli import envelope
        from liza.model import Problem

        problems = [Problem(w.message, file, added.line, None, w.hint, w.level) for w in added.warnings]
        waiting = None if added.waits is None else added.waits.fields["waiting"]
        status = "added" if added.waits is None else added.waits.status
        envelope.write(command, status, problems, file=file, line=added.line, record=added.record, waiting=waiting)
        return 0
    if added.waits is not None:
        warn(str(added.waits.cause), added.waits.cause.hint)
        print(f"waiting in {file}; the next check (liza analyze, liza watch) adds it to state.yaml:")
    else:
        print(f"added to {file}{f', line {added.line}' if added.line else ''}:")
    lines = ("  " + emit.item(added.record, 2)).split("\n")
    for line in lines[:_LINES]:
        print(cut(line, 200))
    if len(lines) > _LINES:
        print(f"  … and {len(lines) - _LINES} more lines")
    return 0
