"""Labelled traces of agents, played step by step through liza's own code: from a client's event to the rules' verdict.

The data is not part of the project: see docs/sessions.md for where it comes from.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
CUT = " … "
_DIGEST = " whole:"
_LETTERS = str.maketrans("0123456789abcdef", "ghijklmnopqrstuv")  # a digest that is not taken for one


Step = dict[str, Any]  # tool, input, result, failed (None: unknown)
Change = Callable[[Sequence[Step]], Sequence[Step]]


class Trace(NamedTuple):
    """One run, with what is known of it."""

    name: str
    stuck: bool | None  # as people labelled it; None if unlabelled
    resolved: bool | None
    calls: tuple[dict[str, Any], ...]  # as the data has them
    steps: tuple[dict[str, Any], ...]  # as liza has them


def read_traces(file: str, change: Change | None = None) -> list[Trace]:
    """The traces of a file, one a line, their steps changed if wanted."""
    with open(file, encoding="utf-8") as lines:
        return [_trace(json.loads(line), change) for line in lines]


def _trace(given: dict[str, Any], change: Change | None) -> Trace:
    calls = tuple(given["steps"])
    decoded: Sequence[Step] = [
        {
            "tool": each["tool"],
            "input": _input(each),
            "result": _whole(each["result"], each["result_id"]),
            "failed": each["failed"],
        }
        for each in calls
    ]
    if change is not None:
        decoded = change(decoded)
    made = tuple(_step(given["trace"], number, each) for number, each in enumerate(decoded))
    return Trace(given["trace"], given.get("stuck"), given.get("resolved"), calls, made)


def _step(session: str, number: int, given: Step) -> dict[str, Any]:
    outcome = {True: Outcome.FAILED, False: Outcome.OK, None: Outcome.UNKNOWN}[given["failed"]]
    call = Call(id=None, tool=given["tool"], input=given["input"], result=given["result"], outcome=outcome)
    event = Event("claude", "PostToolUse", Kind.AFTER, session, calls=(call,))
    return next(steps_of(event, format_time(START + number * PACE)))


def _input(given: Mapping[str, Any]) -> Any:
    """The input as an object, as a client gives it; of one that was cut, the keys that can still be seen."""
    text = given["input"]
    try:
        found = json.loads(text)
    except ValueError:
        return {**dict.fromkeys(_KEYS.findall(text), ""), "_": _whole(text, given["input_id"])}
    return found if isinstance(found, dict) else text


def _whole(text: str, digest: str) -> str:
    """A text that was cut, with the digest of the whole, so that two that differ in the middle differ."""
    return f"{text}{_DIGEST}{digest.translate(_LETTERS)}" if CUT in text else text


def without_digest(text: str) -> str:
    """A text as it is given: of one that was cut, the beginning and the end."""
    return text.partition(_DIGEST)[0]


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
