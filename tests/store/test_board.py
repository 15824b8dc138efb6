"""One blackboard: which readings are accepted, and how it is changed while others write."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from liza.errors import Unreadable
from liza.store import edit
from liza.store.board import Board
from liza.store.document import Document, parse
from liza.store.lock import Lock
from liza.store.paths import Paths
from tests.store.files import old

FULL = "anomalies:\n- id: a\n- id: b\n- id: c\ncircuit_breaker: {status: OK}\n"


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return Board(Paths(str(tmp_path)))


def state(board: Board) -> Path:
    return Path(board.paths.state)


SHRUNK = {
    "fewer records": "anomalies:\n- id: a\ncircuit_breaker: {status: OK}\n",
    "a section gone": "anomalies:\n- id: a\n- id: b\n- id: c\n",
    "a section emptied": "anomalies:\ncircuit_breaker: {status: OK}\n",
    "a list that is a text": "anomalies: x\ncircuit_breaker: {status: OK}\n",
    "fewer fields in a mapping": "anomalies:\n- id: a\n- id: b\n- id: c\ncircuit_breaker: {}\n",
}


@pytest.mark.parametrize("text", SHRUNK.values(), ids=SHRUNK.keys())
def test_shrunken_board_is_read_again_before_it_is_accepted(
    board: Board, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = parse(FULL.encode(), "state.yaml")
    old(state(board), text)
    # While the second read waits for quiet, the writer finishes.
    monkeypatch.setattr(time, "sleep", lambda seconds: old(state(board), FULL))
    assert board.read(before).data == before.data


@pytest.mark.parametrize("text", SHRUNK.values(), ids=SHRUNK.keys())
def test_board_still_shrunken_at_second_read_is_accepted(
    board: Board, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    old(state(board), text)
    assert board.read(parse(FULL.encode(), "state.yaml")).raw == text.encode()
    assert len(waits) == 1


GROWN = ["a: 1\n" + FULL, FULL.replace("- id: c\n", "- id: c\n- id: d\n"), FULL.replace("id: b", "id: x"), FULL]


@pytest.mark.parametrize("text", GROWN)
def test_grown_or_changed_board_is_accepted_at_once(board: Board, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("it waited"))
    old(state(board), text)
    assert board.read(parse(FULL.encode(), "state.yaml")).raw == text.encode()


def test_board_without_breaker_beside_reports_is_degraded(board: Board) -> None:
    old(state(board), "anomalies: []\n")
    assert board.read().data == {"anomalies": []}
    os.mkdir(board.paths.reports)
    assert board.read().data == {"anomalies": []}
    Path(board.paths.reports, "2025-01-18.md").touch()
    with pytest.raises(Unreadable) as caught:
        board.read()
    assert caught.value.exit_code == 4
    assert caught.value.hint
    with pytest.raises(Unreadable):
        board.rewrite(lambda document: edit.append_record(document, "anomalies", {"id": "a"}))
    assert state(board).read_text() == "anomalies: []\n"
    old(state(board), "circuit_breaker: {status: OK}\n")
    assert board.read().data == {"circuit_breaker": {"status": "OK"}}


def test_reports_path_that_is_a_file_counts_as_no_reports(board: Board) -> None:
    Path(board.paths.reports).touch()
    old(state(board), "a: 1\n")
    assert board.read().data == {"a": 1}


NOTHING = {
    "0 bytes": "", "comments only": "# c\n", "null": "null\n", "a list": "[]\n", "a text": "x\n", "a number": "0\n",
    "an empty mapping": "{}\n", "only a marker": "---\n", "several documents": "a: 1\n---\nb: 2\n",
}  # fmt: skip


@pytest.mark.parametrize("text", NOTHING.values(), ids=NOTHING.keys())
def test_file_without_sections_is_degraded_not_empty(board: Board, text: str) -> None:
    old(state(board), text)
    with pytest.raises(Unreadable) as caught:
        board.read()
    assert caught.value.hint


def test_change_starts_over_after_a_concurrent_save(board: Board) -> None:
    old(state(board), "a: 1\nanomalies: []\n")
    seen: list[int] = []

    def append(document: Document) -> tuple[bytes, int]:
        seen.append(document.data["a"])
        if len(seen) < 3:  # a program that does not take the lock saves another version by rename
            old(state(board).with_name("draft"), f"a: {len(seen) + 1}\nanomalies: []\n").rename(state(board))
        return edit.append_record(document, "anomalies", {"id": "new"}), document.data["a"]

    assert board.change(append) == 3
    assert seen == [1, 2, 3]
    assert state(board).read_bytes() == b"a: 3\nanomalies:\n  - id: new\n"


def test_change_without_effect_writes_nothing(board: Board) -> None:
    inode = old(state(board)).stat().st_ino
    board.rewrite(lambda document: document.raw)
    assert state(board).stat().st_ino == inode


def add_one(board: Board) -> None:
    board.rewrite(lambda document: edit.append_record(document, "anomalies", {"id": "new"}))


@pytest.mark.parametrize("write", [add_one, Board.sweep])
def test_next_write_removes_crash_leftovers(board: Board, write: Callable[[Board], None]) -> None:
    old(state(board), "anomalies: []\n")
    old(state(board).with_name(".state.yaml.1-2.new"), "half")
    old(state(board).with_name(".state.yaml.1-2-3-4.swap"), "theirs\n")
    write(board)
    (kept,) = board.rescued
    assert Path(kept).read_text() == "theirs\n"
    assert sorted(os.listdir(board.paths.folder)) == ["backups", "state.yaml", "state.yaml.lock"]


def test_sweep_without_leftovers_touches_nothing(board: Board) -> None:
    old(state(board), "anomalies: []\n")
    board.sweep()
    assert os.listdir(board.paths.folder) == ["state.yaml"]


def test_sweep_leaves_a_draft_alone_while_the_lock_is_held(board: Board) -> None:
    old(state(board), "anomalies: []\n")
    draft = old(state(board).with_name(".state.yaml.1-2.new"), "half")
    with Lock(board.paths.lock):
        board.sweep()
    assert draft.exists()
