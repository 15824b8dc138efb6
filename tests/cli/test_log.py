"""`liza log anomaly`: what is entered on the blackboard, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from liza.schema.anomalies import TYPES
from tests.cli.run import Result, anomalies, liza, new_board

WHEN = ["--timestamp", "2025-01-18T14:32:00Z"]
WORKAROUND = ["log", "anomaly", "--type", "workaround", "--task", "t1", "--reporter", "coder-1", *WHEN]


def details(folder: Path, *words: str, **options: Any) -> dict[str, Any]:
    result = liza(folder, *WORKAROUND, "what=x", *words, **options)
    assert result.code == 0, result.err
    found: dict[str, Any] = anomalies(folder)[-1]["details"]
    assert found.pop("what") == "x"
    return found


def refused(folder: Path, result: Result, code: int = 1) -> Result:
    assert (result.code, result.out) == (code, "")
    assert (folder / ".liza" / "state.yaml").read_text() == "version: 1\nanomalies: []\n"
    assert not (folder / ".liza" / "log.yaml").exists()
    result.hint()
    return result


def test_anomaly_is_appended_and_shown(folder: Path) -> None:
    result = liza(folder, *WORKAROUND, "what=a shell script", "cost=3")
    assert (result.code, result.err) == (0, "")
    first, shown = result.out.split("\n", 1)
    assert first.startswith("added to .liza/state.yaml, line ")
    assert shown == (
        "  - timestamp: 2025-01-18T14:32:00Z\n    task: t1\n    reporter: coder-1\n    type: workaround\n"
        "    details:\n      what: a shell script\n      cost: 3\n"
    )
    assert (folder / ".liza" / "state.yaml").read_text() == "version: 1\nanomalies:\n" + shown


@pytest.mark.parametrize(
    "state",
    [
        "anomalies: []\n",
        "anomalies:\n- task: t0\n",
        "a: 1\nanomalies:\n- task: t0",
        "a: 1",
        "a: 1\nanomalies:\n\nb: 1\n",
    ],
)
def test_reported_line_is_where_the_record_begins(tmp_path: Path, state: str) -> None:
    new_board(tmp_path, "version: 1\n" + state)
    line = liza(tmp_path, *WORKAROUND, "what=x", "--json").json["line"]
    assert "timestamp: 2025" in (tmp_path / ".liza" / "state.yaml").read_text().splitlines()[line - 1]


def test_default_time_is_now_in_utc(folder: Path) -> None:
    assert liza(folder, *WORKAROUND[:8], "what=x", TZ="Asia/Tokyo").code == 0
    assert anomalies(folder)[0]["timestamp"].endswith("Z")
    assert liza(folder, "validate").out.endswith("valid\n")


def test_time_in_another_zone_is_stored_in_utc(folder: Path) -> None:
    assert liza(folder, *WORKAROUND[:8], "what=x", "--timestamp", "2025-01-18T16:32:00+02:00").code == 0
    assert anomalies(folder)[0]["timestamp"] == "2025-01-18T14:32:00Z"


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_time_at_calendar_limit_does_not_crash(folder: Path, time: str) -> None:
    assert liza(folder, *WORKAROUND[:8], "what=x", "--timestamp", time).code == 0


@pytest.mark.parametrize("time", ["2025-13-01", "yesterday", "14:05", ""])
def test_invalid_time_is_refused(folder: Path, time: str) -> None:
    assert liza(folder, *WORKAROUND[:8], "what=x", "--timestamp", time).code == 1
    entry = ("log", "entry", "--agent", "a", "--action", "claimed")
    assert liza(folder, *entry, "--timestamp", time).code == 1
    assert anomalies(folder) == []
    assert not (folder / ".liza" / "log.yaml").exists()


VALUES: dict[str, Any] = {
    "3": 3, "-1": -1, "2.5": 2.5, "1e3": 1000.0, "true": True, "False": False, "null": None, "~": None,
    "yes": "yes", "12:30:45": "12:30:45", "2025-01-18": "2025-01-18", "---": "---", "...": "...",
    "plain words": "plain words", "TypeError: x is not y": "TypeError: x is not y", "exit 1 # try": "exit 1 # try",
    "- x": "- x", "a: 1": "a: 1", "3 # three": "3 # three", "'3'": "3", '"@file"': "@file", '"a\\nb"': "a\nb",
    "[1, two, [3]]": [1, "two", [3]], "{a: 1, b: {c: x}}": {"a": 1, "b": {"c": "x"}}, "[": "[", "{a: ": "{a: ",
    "]": "]", "*alias": "*alias", "&anchor": "&anchor", "!tag x": "!tag x", "a=b=c": "a=b=c", "x\ty": "x\ty",
    "größe 漢字 😀": "größe 漢字 😀", "two\nlines": "two\nlines", "| x": "| x", "%x": "%x", "_1": "_1", "1_000": 1000,
}  # fmt: skip


def test_detail_is_read_as_yaml_or_kept_as_text(folder: Path) -> None:
    found = details(folder, *(f"key {number}={text}" for number, text in enumerate(VALUES)))
    read = dict(zip(VALUES, found.values(), strict=True))
    assert {text: (value, type(value)) for text, value in read.items()} == {
        text: (value, type(value)) for text, value in VALUES.items()
    }


@pytest.mark.parametrize("text", ["404", "null", "{a: 1}", "_1"])
def test_compared_detail_is_always_text(folder: Path, text: str) -> None:
    result = liza(
        folder, "log", "anomaly", "--type", "retry_loop", "--task", "1", "--reporter", "2", *WHEN, "count=3",
        f"error_pattern={text}",
    )  # fmt: skip
    assert result.code == 0, result.err
    assert anomalies(folder)[0]["details"] == {"count": 3, "error_pattern": text}
    assert (anomalies(folder)[0]["task"], anomalies(folder)[0]["reporter"]) == ("1", "2")


def test_detail_from_file_or_stdin_is_text(folder: Path) -> None:
    (folder / "error.txt").write_bytes(b"line 1: [x\n  line 2\n\n")
    assert details(folder, "key=@error.txt") == {"key": "line 1: [x\n  line 2"}
    assert details(folder, "key=-", stdin="3\n") == {"key": "3"}
    assert details(folder, "key=-", stdin=b"caf\xe9\n") == {"key": "caf\\xe9"}
    assert details(folder, "key=-", stdin="a\r\n\ttab\x1b[31m\0") == {"key": "a\r\n\ttab\x1b[31m\0"}


@pytest.mark.parametrize("word", ["novalue", "=x", ""])
def test_detail_without_key_or_value_is_wrong_usage(folder: Path, word: str) -> None:
    refused(folder, liza(folder, *WORKAROUND, "what=x", word), code=2)


def test_duplicate_key_is_wrong_usage(folder: Path) -> None:
    refused(folder, liza(folder, *WORKAROUND, "what=x", "what=y"), code=2)


@pytest.mark.parametrize("path", ["missing.txt", ".", ""])
def test_unreadable_detail_file_is_refused(folder: Path, path: str) -> None:
    result = refused(folder, liza(folder, *WORKAROUND, f"what=@{path}"))
    assert "quote it" in result.hint()


INVALID = {
    "a detail is missing": ["--type", "retry_loop", "--task", "t", "--reporter", "r", "count=3"],
    "a detail of the wrong type": ["--type", "trade_off", "--task", "t", "--reporter", "r", "what=a", "why=b",
                                   "debt_created=1"],
    "an empty text": ["--type", "workaround", "--task", "t", "--reporter", "r", "what="],
    "an empty task": ["--type", "workaround", "--task", "", "--reporter", "r", "what=x"],
    "an empty type": ["--type", " ", "--task", "t", "--reporter", "r", "what=x"],
    "bytes that are no UTF-8": ["--type", "workaround", "--task", "t", "--reporter", "r", b"what=caf\xe9"],
}  # fmt: skip


@pytest.mark.parametrize("words", INVALID.values(), ids=INVALID.keys())
def test_record_unusable_for_its_pattern_is_refused(folder: Path, words: list[str | bytes]) -> None:
    result = refused(folder, liza(folder, "log", "anomaly", *words))
    assert "touching other text" not in result.err, "the record is wrong, not the file"


def test_all_problems_of_a_record_are_reported(folder: Path) -> None:
    result = refused(folder, liza(folder, "log", "anomaly", "--type", "retry_loop", "--task", "", "--reporter", ""))
    for word in ("task", "reporter", "count", "error_pattern"):
        assert word in result.err
    assert "count=... error_pattern=..." in result.hint()


def test_help_names_every_type_and_its_details(folder: Path) -> None:
    table = liza(folder, "log", "anomaly", "--help").out.partition("patterns need:\n")[2].partition("\n\n")[0]
    rows = [line.split(maxsplit=1) for line in table.splitlines()]
    named = {kind: tuple(needs.replace(" or ", "|").split(", ")) for kind, needs in (row for row in rows if row[1:])}
    assert {row[0]: named.get(row[0], ()) for row in rows} == {name: tuple(each.needed) for name, each in TYPES.items()}


@pytest.mark.parametrize("words", [[], ["--type", "x"], ["--task", "t", "--reporter", "r"]])
def test_missing_options_are_wrong_usage(folder: Path, words: list[str]) -> None:
    assert "--help" in refused(folder, liza(folder, "log", "anomaly", *words), code=2).hint()


def test_unknown_type_is_added_with_warning(folder: Path) -> None:
    result = liza(folder, "log", "anomaly", "--type", "retry_lop", "--task", "t", "--reporter", "r")
    assert result.code == 0
    assert result.err.splitlines()[0].startswith("liza: warning: ")
    assert "did you mean retry_loop?" in result.err
