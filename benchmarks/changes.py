"""The labelled traces as another agent or client would have left them: rules that only fit one set fail here."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from benchmarks.traces import CUT, Change, Step, without_digest


def _each(change: Callable[[Step, int], Step], steps: Sequence[Step]) -> Sequence[Step]:
    return [{**step, **change(step, number)} for number, step in enumerate(steps)]


def _other_name(name: str) -> str:
    return f"name_{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def _other_tool(step: Step, number: int) -> Step:
    return {"tool": _other_name(step["tool"])}


def _other_keys(step: Step, number: int) -> Step:
    given = step["input"]
    return {"input": {_other_name(key): value for key, value in given.items()} if isinstance(given, dict) else given}


def _merged(step: Step, number: int) -> Step:
    given = step["input"]
    return {"tool": "run", "input": f"{step['tool']} {given if isinstance(given, str) else json.dumps(given)}"}


def _remarked(step: Step, number: int) -> Step:
    given = step["input"] if isinstance(step["input"], dict) else {"input": step["input"]}
    return {"input": {**given, "thought": f"Now I come to {_other_name(str(number))}."}}


def _failed(failed: bool | None, step: Step, number: int) -> Step:
    return {"failed": failed}


def _cut(most: int, step: Step, number: int) -> Step:
    text = without_digest(step["result"])
    return {"result": text if len(text) <= most else f"{text[: most // 2]}{CUT}{text[-most // 2 :]}"}


def _wrapped(step: Step, number: int) -> Step:
    return {"result": f"[step {number + 1}] OBSERVATION:\n{step['result']}\n(Current directory: /repo)\nbash-$"}


def _often_silent(step: Step, number: int) -> Step:
    return {"result": ""} if number % 3 == 2 else {}


def _dropped(steps: Sequence[Step]) -> Sequence[Step]:
    return [step for number, step in enumerate(steps) if number % 10 != 9]


def _with_notes(answer: str, steps: Sequence[Step]) -> Sequence[Step]:
    def both() -> Iterator[Step]:
        for number, step in enumerate(steps):
            thought = {"thought": f"Next is {_other_name(str(number))}."}
            yield {"tool": "think", "input": thought, "result": answer, "failed": False}
            yield step

    return list(both())


def _all_of(*changes: Change) -> Change:
    def change(steps: Sequence[Step]) -> Sequence[Step]:
        for each in changes:
            steps = each(steps)
        return steps

    return change


CHANGES: dict[str, Change] = {
    "other names of tools": partial(_each, _other_tool),
    "other keys of inputs": partial(_each, _other_keys),
    "one tool, its input a text": partial(_each, _merged),
    "a thought in every input": partial(_each, _remarked),
    "unknown what failed": partial(_each, partial(_failed, None)),
    "no call marked as failed": partial(_each, partial(_failed, False)),
    "results cut to 500 characters, no digest": partial(_each, partial(_cut, 500)),
    "results cut to 100 characters": partial(_each, partial(_cut, 100)),
    "results with a header and a counter": partial(_each, _wrapped),
    "every third result empty": partial(_each, _often_silent),
    "every tenth step dropped": _dropped,
    "a thought, a tool of its own, before each step": partial(_with_notes, "Your thought has been logged."),
    "other names and keys, unknown what failed, cut to 200": _all_of(
        partial(_each, _other_tool),
        partial(_each, _other_keys),
        partial(_each, partial(_failed, None)),
        partial(_each, partial(_cut, 200)),
    ),
}
