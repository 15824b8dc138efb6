"""Labelled traces of agents, played step by step through liza's own code: from a client's event to the rules' verdict.

The data is not part of the project: see docs/sessions.md for where it comes from.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from liza.clients.event import Call, Event, Kind, Outcome
from liza.model import Record, Snapshot, format_time
from liza.rules.conditions import Condition
from liza.rules.evaluate import Compiled, RuleSet, evaluate
from liza.scopes.sessions.step import steps_of
from liza.scopes.sessions.step_window import StepWindow

START = datetime(2026, 1, 1, tzinfo=UTC)
PACE = timedelta(seconds=20)  # of one step
_KEYS = re.compile(r'"(\w+)": ')
_CUT = " … "
_LETTERS = str.maketrans("0123456789abcdef", "ghijklmnopqrstuv")  # a digest that is not taken for one


class Trace(NamedTuple):
    """One run, with what is known of it."""

    name: str
    stuck: bool | None  # as people labelled it; None if unlabelled
    resolved: bool | None
    calls: tuple[dict[str, Any], ...]  # as the data has them
    steps: tuple[dict[str, Any], ...]  # as liza has them


def read_traces(file: str) -> list[Trace]:
    """The traces of a file, one a line."""
    with open(file, encoding="utf-8") as lines:
        return [_trace(json.loads(line)) for line in lines]


def _trace(given: dict[str, Any]) -> Trace:
    calls = tuple(given["steps"])
    made = tuple(_step(given["trace"], number, call) for number, call in enumerate(calls))
    return Trace(given["trace"], given.get("stuck"), given.get("resolved"), calls, made)


def _step(session: str, number: int, given: dict[str, Any]) -> dict[str, Any]:
    call = Call(
        id=None,
        tool=given["tool"],
        input=_input(given),
        result=_whole(given["result"], given["result_id"]),
        outcome=Outcome.FAILED if given["failed"] else Outcome.OK,
    )
    event = Event("claude", "PostToolUse", Kind.AFTER, session, calls=(call,))
    return next(steps_of(event, format_time(START + number * PACE)))


def _input(given: dict[str, Any]) -> Any:
    """The input as an object, as a client gives it; of one that was cut, the keys that can still be seen."""
    text = given["input"]
    try:
        found = json.loads(text)
    except ValueError:
        return {**dict.fromkeys(_KEYS.findall(text), ""), "_": _whole(text, given["input_id"])}
    return found if isinstance(found, dict) else text


def _whole(text: str, digest: str) -> str:
    """A text that was cut, with the digest of the whole, so that two that differ in the middle differ."""
    return f"{text} {digest.translate(_LETTERS)}" if _CUT in text else text


def moments(trace: Trace) -> Iterator[tuple[int, tuple[Record, ...]]]:
    """After each step: its number, and the steps as the rules see them."""
    window = StepWindow(trace.name)
    for number, step in enumerate(trace.steps):
        window.add(step)
        yield number, window.records()


def at_least_one(rules: Sequence[Compiled]) -> RuleSet:
    """The rules with every threshold at 1, so that a match says how far it has come."""
    lowered = [
        Compiled(each.rule, Condition(each.condition.tree, dict.fromkeys(each.condition.params, 1.0))) for each in rules
    ]
    return RuleSet(tuple(lowered), window="all")


def peaks(trace: Trace, rules: RuleSet) -> dict[str, list[float]]:
    """For each rule, the value that it has after each step."""
    found: dict[str, list[float]] = {each.rule.name: [0.0] * len(trace.steps) for each in rules.rules}
    for number, records in moments(trace):
        snapshot = Snapshot(b"", {}, {}, (), derived={"steps": records})
        for match in evaluate(rules, snapshot, START + number * PACE).observed:
            values = found[match.rule.name]
            values[number] = max(values[number], match.value)
    return found


def data_folder(given: str | None) -> str | None:
    """Where the traces are: the folder given, else ../shared/data beside the repository; None without."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for folder in (given, os.path.join(here, "..", "shared", "data", "stuck")):
        if folder is not None and os.path.isdir(folder):
            return os.path.abspath(folder)
    return None
