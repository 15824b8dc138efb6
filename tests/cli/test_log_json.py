"""Records piped in and out as JSON."""

import json
import math
from pathlib import Path

import pytest

from tests.cli.run import anomalies, liza


def test_record_is_piped_in_and_out_as_json(folder: Path) -> None:
    record = {
        "type": "workaround",
        "task": "t",
        "reporter": "r",
        "details": {"what": "x\ny", "n": [1, None, {"a": 1.5}]},
    }
    result = liza(folder, "log", "anomaly", "--json", stdin=json.dumps({**record, "timestamp": "2025-01-18T14:32:00Z"}))
    assert (result.code, result.err) == (0, "")
    envelope = result.json
    assert envelope["record"] == {**record, "timestamp": "2025-01-18T14:32:00Z"}
    assert (envelope["schema"], envelope["command"], envelope["status"]) == (1, "log anomaly", "added")
    assert (envelope["file"], envelope["problems"]) == (".liza/state.yaml", [])
    assert anomalies(folder) == [envelope["record"]]


def test_options_override_a_piped_record(folder: Path) -> None:
    piped = json.dumps({"type": "workaround", "task": "t", "reporter": "r", "details": {"what": "x"}})
    assert liza(folder, "log", "anomaly", "--json", "--task", "t2", stdin=piped).json["record"]["task"] == "t2"


def test_json_with_type_does_not_read_stdin(folder: Path) -> None:
    envelope = liza(
        folder,
        "log",
        "anomaly",
        "--type",
        "workaround",
        "--task",
        "t1",
        "--reporter",
        "coder-1",
        "what=x",
        "--json",
        stdin="not read",
    ).json
    assert envelope["record"]["details"] == {"what": "x"}


def test_non_json_numbers_do_not_break_the_answer(folder: Path) -> None:
    text = '{"type": "workaround", "task": "t", "reporter": "r", "details": {"what": "x", "n": NaN, "i": Infinity}}'
    result = liza(folder, "log", "anomaly", "--json", stdin=text)
    assert (result.code, result.json["schema"]) == (0, 1)
    assert math.isnan(anomalies(folder)[0]["details"]["n"])


SOUND = '{"type": "workaround", "task": "t", "reporter": "r", "what": "x"'
PIPED = {
    "nothing": "",
    "no JSON": "{",
    "a list": "[1]",
    "null": "null",
    "a text": '"x"',
    "two objects": "{} {}",
    "an empty object": "{}",
    "wrong types": '{"type": ["x"], "task": {}, "reporter": null}',
    "a key that is too long": SOUND + ', "%s": 1}' % ("k" * 2000),
    "an empty key": SOUND + ', "": 1}',
    "half a surrogate pair": SOUND + ', "why": "\\ud83d"}',
    "a great number": SOUND + ', "n": %s}' % ("9" * 5000),
    "deep nesting": SOUND + ', "n": %s}' % ("[" * 500 + "]" * 500),
    "deepest nesting": "[" * 100_000,
}  # fmt: skip


@pytest.mark.parametrize("text", PIPED.values(), ids=PIPED.keys())
def test_invalid_piped_record_is_refused_in_json(folder: Path, text: str) -> None:
    result = liza(folder, "log", "anomaly", "--json", stdin=text)
    assert result.code == 1
    result.hint()
    envelope = result.json
    assert envelope["status"] == "refused"
    assert envelope["problems"][0]["message"]
    assert anomalies(folder) == []


def test_json_error_names_its_command(folder: Path) -> None:
    for words in (["log", "anomaly"], ["--root", ".", "log", "anomaly"], ["log", "--root", ".", "anomaly"]):
        assert liza(folder, *words, "--json", stdin="{}").json["command"] == "log anomaly"
    assert liza(folder, "--root", "nowhere", "validate", "--json").json["command"] == "validate"
