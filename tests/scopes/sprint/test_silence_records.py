"""What `liza silence` writes to the blackboard and the log."""

from pathlib import Path

import pytest

from tests.scopes.sprint.cases import OUTAGE, board_with
from tests.scopes.sprint.run import LATER, NOW, Board, state
from tests.scopes.sprint.test_silences import EVENING, log, silence, silences


def test_silence_is_on_the_board_and_in_the_log(tmp_path: Path) -> None:
    board = board_with(tmp_path, *OUTAGE.records)
    silence(board, OUTAGE)
    (entry,) = silences(board)
    assert {name: str(value) for name, value in entry.items() if name not in ("match", "created", "until")} == {
        "id": "silence-1",
        "rule": "external_service_outage",
        "reason": "known, back at six",
        "by": "ann",
    }
    assert entry["match"] == {"blocker_service": "payments sandbox"}
    assert f"created: {NOW}\n" in board.text
    assert f"until: {EVENING}\n" in board.text
    (line,) = log(board)
    assert line["agent"] == "ann"
    for text in ("silence-1", "external_service_outage", "payments sandbox", EVENING, "known, back at six"):
        assert text in line["detail"]
    assert board.run("validate").code == 0


def test_expire_adds_only_author_and_time(tmp_path: Path) -> None:
    board = board_with(tmp_path, *OUTAGE.records)
    silence(board, OUTAGE)
    before = board.text
    assert board.run("silence", "expire", "silence-1", "--by", "bob", "--now", LATER).code == 0
    assert board.text.startswith(before.rstrip("\n"))
    assert board.text[len(before.rstrip("\n")) :].split() == ["expired_at:", LATER, "expired_by:", "bob"]
    assert len(log(board)) == 2
    assert log(board)[1]["agent"] == "bob"
    assert "silence-1" in log(board)[1]["detail"]
    assert board.run("validate").code == 0


WARNING = {"file": None, "line": None, "column": None, "hint": None, "level": "warning"}
NOT_LOGGED = "could not be logged: it is not a list of entries"


def test_unloggable_silence_still_works_with_warning(tmp_path: Path) -> None:
    board = board_with(tmp_path, *OUTAGE.records)
    board.log.write_text("text\n")
    assert f"! {NOT_LOGGED}\n" in silence(board, OUTAGE).out
    assert [each["id"] for each in silences(board)] == ["silence-1"]
    warning = {**WARNING, "message": NOT_LOGGED}
    assert silence(board, OUTAGE, "--json").json["problems"] == [warning]
    ran = board.run("silence", "expire", "silence-1", "--now", NOW)
    assert (ran.code, NOT_LOGGED in ran.out) == (0, True)
    ran = board.run("silence", "expire", "silence-2", "--now", NOW, "--json")
    assert (ran.code, ran.json["problems"]) == (0, [warning])
    assert board.log.read_text() == "text\n"
    assert board.analyze().code == 3


def test_silence_works_on_unreadable_anomalies(tmp_path: Path) -> None:
    board = Board(tmp_path, "version: 1\nanomalies: {}\n")
    assert board.analyze().code == 4
    warning_text = "added, but the blackboard cannot be evaluated: anomalies is not a list"
    ran = silence(board, OUTAGE)
    added, warning = ran.out.splitlines()
    assert (added.startswith("added: external_service_outage "), warning) == (True, f"! {warning_text}")
    assert [each["id"] for each in silences(board)] == ["silence-1"]
    assert [line["action"] for line in log(board)] == ["silenced"]
    answer = silence(board, OUTAGE, "--json").json
    assert (answer["status"], answer["silenced"]) == ("added", [])
    assert answer["problems"] == [{**WARNING, "message": warning_text}]
    assert board.run("silence", "expire", "silence-1", "--now", NOW).code == 0


WRITTEN = """\
silences:   # ours
    # the first
    -   rule:   "retry_cluster"   # flaky runner
        id:     'old one'
        all:    true
        created: 2025-01-18T10:00:00Z   # a comment
        until:  2025-01-18T21:00:00Z
        reason: >-
          known,
          and old
        ticket: OPS-1
    - {id: flow,all: true,  rule: debt_accumulation, reason: x,created: 2025-01-18T10:00:00Z,
       until: 2025-01-18T21:00:00Z}  # tight
# after them
"""


def test_add_changes_no_existing_byte(tmp_path: Path) -> None:
    board = Board(tmp_path, state(OUTAGE.records) + WRITTEN + "last: 1   # here\n")
    before = board.text
    silence(board, OUTAGE)
    lines = iter(board.text.splitlines())
    assert all(line in lines for line in before.splitlines()), "a line was changed or moved"
    assert [each["id"] for each in silences(board)] == ["old one", "flow", "silence-1"]
    assert board.text.endswith("# after them\nlast: 1   # here\n")


@pytest.mark.parametrize("name", ["old one", "flow"])
def test_expire_changes_no_existing_byte(tmp_path: Path, name: str) -> None:
    board = Board(tmp_path, state(OUTAGE.records) + WRITTEN)
    before = board.text
    assert board.run("silence", "expire", name, "--by", "bob", "--now", NOW).code == 0
    expired = {each["id"]: each.get("expired_by") for each in silences(board)}
    assert expired == {"old one": None, "flow": None} | {name: "bob"}
    rest = iter(board.text)
    assert all(char in rest for char in before), "existing bytes were lost"
    for comment in ("# ours", "# the first", "# flaky runner", "# a comment", "# tight", "# after them"):
        assert comment in board.text


@pytest.mark.parametrize("empty", ["silences:\n", "silences: []\n", "silences: null  # none yet\n"])
def test_first_silence_of_an_empty_section(tmp_path: Path, empty: str) -> None:
    board = Board(tmp_path, state(OUTAGE.records) + empty)
    silence(board, OUTAGE)
    assert [each["id"] for each in silences(board)] == ["silence-1"]
    assert board.analyze().code == 0
