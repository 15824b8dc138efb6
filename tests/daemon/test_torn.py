"""A save in place, read half done: no trip that the whole file would not give, and no resolution.

Some of its moments; `tests/faults` has all of them.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.daemon import torn
from tests.daemon.daemon import RETRIES, STATE, Daemon, Watched, run, until
from tests.daemon.stepped import SteppedWatcher
from tests.daemon.writers import text_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", torn.SAVES)
@pytest.mark.parametrize("board", torn.BOARDS)
def test_half_a_save_decides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, board: str, name: str) -> None:
    made = torn.BOARDS[board](tmp_path / "team")
    save = torn.saves(made)[name]
    with torn.observe_save(made, save, monkeypatch) as looks:
        assert torn.wrong_moments(looks, range(0, save.moments, 293)) == []


@pytest.mark.parametrize("board", torn.BOARDS)
def test_writer_that_died_halfway_resolves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, board: str) -> None:
    made = torn.BOARDS[board](tmp_path / "team")
    text = made.state.read_bytes()
    wrong = []
    with torn.observe_save(made, torn.Save(text, text, cuts_first=True), monkeypatch) as looks:
        for at in range(0, len(text), 149):
            looks.at_rest()
            made.state.write_bytes(text[:at])
            if any("RESOLVED" in each for each in looks.look().decided):
                wrong.append(at)
    assert wrong == []


def test_lasting_half_of_a_history_trips_nothing(tmp_path: Path) -> None:
    """The resolution is missing and no record is: only the open file shows that it is half."""
    head, key, rest = STATE.partition("circuit_breaker:")
    section, anomalies, records = rest.partition("anomalies:")
    board = Watched(tmp_path / "team", head + anomalies + records + text_of(RETRIES) + key + section)
    assert board.analyze().code == 3
    assert board.resolve().code == 0
    whole = board.text
    cut = whole.index("history:\n") + len("history:\n")
    with SteppedWatcher(board) as stepped:
        stepped.ticks(1)
        with board.state.open("w") as half:
            half.write(whole[:cut])
            half.flush()
            stepped.ticks(2, seconds=5.0)
            assert not board.checkpoint.exists()
            assert len(stepped.reported("degraded")) == 1
            half.write(whole[cut:])
        stepped.ticks(1)
        assert len(stepped.reported("recovered")) == 1
    assert not board.checkpoint.exists()
    assert board.text == whole


def test_file_kept_open_forever_is_evaluated(tmp_path: Path) -> None:
    board = Watched(tmp_path / "team")
    with Daemon(board.root) as daemon, board.state.open("a") as kept_open:
        kept_open.write(text_of(RETRIES))
        kept_open.flush()
        until(board.checkpoint.exists, "the agents are halted")
        assert daemon.reported("degraded") == []
    assert run(board.root, "watch", "--once").code == 3


def test_watch_once_waits_for_a_writer_but_not_forever(tmp_path: Path) -> None:
    board = Watched(tmp_path / "team")
    with board.state.open("a") as kept_open:
        kept_open.write(text_of(RETRIES[:1]))
        kept_open.flush()
        ran = run(board.root, "watch", "--once")
    assert (ran.code, "retry_cluster 1 of 3" in ran.out) == (0, True)


def test_open_writer_is_shown_as_degraded(tmp_path: Path) -> None:
    board = Watched(tmp_path / "team")
    with SteppedWatcher(board) as stepped:
        stepped.ticks(1)
        with board.state.open("a") as kept_open:
            kept_open.write("# a comment\n")
            kept_open.flush()
            stepped.ticks(1, seconds=0.5)
            assert board.facts["health"] == "degraded"
            assert board.facts["last_error"].startswith(f"{board.state}: ")
        stepped.ticks(1)
        assert board.facts["health"] == "ok"
    assert stepped.reported("degraded") == []
    assert board.text == STATE + "# a comment\n"


def test_record_deleted_in_a_file_kept_open_is_noticed_later(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property("effect", "halted after at most 30 s")
    board = Watched(tmp_path / "team")
    board.state.write_text(STATE + text_of(RETRIES[:2]))
    less = STATE + text_of(RETRIES[:1])
    with SteppedWatcher(board) as stepped:
        stepped.ticks(1)
        with board.state.open("r+") as kept_open:
            kept_open.write(less)
            kept_open.truncate()
            kept_open.flush()
            stepped.ticks(10)
            assert len(stepped.watcher.document.data["anomalies"]) == 3  # type: ignore[union-attr]
            stepped.ticks(25)
            assert len(stepped.watcher.document.data["anomalies"]) == 2  # type: ignore[union-attr]


def test_on_degraded_halt_lasts_as_long_as_the_board_is_unreadable(tmp_path: Path) -> None:
    board = Watched(tmp_path / "team")
    (board.folder / "rules.yaml").write_text("on_degraded: halt\n")
    with SteppedWatcher(board) as stepped:
        stepped.ticks(1)
        board.state.write_text("anomalies: [\n")
        stepped.ticks(1)
        assert not board.checkpoint.exists(), "a save may take a moment"
        stepped.ticks(4)
        assert "\ndegraded: " in board.checkpoint.read_text()
        board.state.write_text(STATE)
        stepped.ticks(3)
        assert not board.checkpoint.exists()


def test_daemon_halts_by_shipped_rules_before_custom_ones_run(tmp_path: Path) -> None:
    board = Watched(tmp_path / "team")
    limited = "limits: {own_rules_seconds: 0}\n"
    own = "rules: [{name: own, condition: 'count(what =~ \"x\") >= 9', severity: SPEC_FLAW}]\n"
    (board.folder / "rules.yaml").write_text(limited + own)
    with SteppedWatcher(board) as stepped:
        stepped.ticks(1)
        board.state.write_text(STATE + text_of(RETRIES))
        stepped.ticks(4)
        assert board.checkpoint.exists()
        assert [each for each in stepped.reported("tripped") if "retry_cluster" in each]
        assert [each for each in stepped.reported("degraded") if "rule own " in each]
