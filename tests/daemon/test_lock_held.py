"""An agent holds the lock: the halt and its notification wait for nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from liza.store import lock
from tests.daemon.daemon import RETRIES, Watched
from tests.daemon.stepped import SteppedWatcher
from tests.daemon.test_disputes import BOARD, with_third
from tests.faults.holders import held_by_flock
from tests.scopes.sprint.run import record
from tests.store.oracle import libyaml_value


@pytest.fixture(autouse=True)
def never_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deciding thread may try the lock, and never wait for it."""
    real = lock._wait

    def wait(path: str, timeout: float) -> object:
        assert timeout == 0, f"it would have waited for {timeout} s"
        return real(path, timeout)

    monkeypatch.setattr(lock, "_wait", wait)


def test_trip_is_reported_while_the_lock_is_held(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property("effect", "halted and reported")
    board = Watched(tmp_path / "team")
    with SteppedWatcher(board) as stepped:
        stepped.ticks()
        with held_by_flock(stepped.watcher.paths):
            board.report_anomalies(*RETRIES)
            stepped.ticks()
            assert board.checkpoint.exists()
            assert len(stepped.reported("tripped")) == 1
            stepped.ticks(5)
            assert board.section.get("status") != "TRIGGERED"
            assert "holds the lock" in stepped.reported("degraded")[0]
        stepped.ticks(3)
        assert board.section["status"] == "TRIGGERED"
        assert len(stepped.reported("tripped")) == 1
        assert len(board.trips) == 1
        assert stepped.reported("alarm") == []


def test_freeze_waiting_for_the_lock_delays_no_halt(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property("effect", "halted and reported at once; frozen later")
    board = Watched(tmp_path / "lab", BOARD)
    with SteppedWatcher(board) as stepped:
        stepped.ticks()
        with held_by_flock(stepped.watcher.paths):
            board.save(with_third(board.text))
            stepped.ticks()
            retries = [record("retry_loop", f"t{n}", error_pattern="connection refused") for n in range(3)]
            text = "".join(f"- {each}\n" for each in retries)
            board.save(board.text.replace("anomalies: []\n", f"anomalies:\n{text}"))
            stepped.ticks()
            assert board.checkpoint.exists()
            assert len(stepped.reported("tripped")) == 1
        stepped.ticks(5)
        assert libyaml_value(board.text.encode())["claims"]["C-001"]["status"] == "DISPUTED"
        actions = [entry["action"] for entry in libyaml_value((board.folder / "log.yaml").read_bytes())]
        assert sorted(actions) == ["claim_disputed", "tripped"]


def test_log_line_waiting_for_the_lock_is_written_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process takes the lock between the freeze and its line in the log."""
    from liza.store import log

    board = Watched(tmp_path / "lab", BOARD)
    with SteppedWatcher(board) as stepped:
        stepped.ticks()
        with held_by_flock(stepped.watcher.paths, str(tmp_path / "other")):
            monkeypatch.setattr(log, "Lock", lambda path, timeout: lock.Lock(str(tmp_path / "other"), timeout))
            board.save(with_third(board.text))
            stepped.ticks(2)
            assert not (board.folder / "log.yaml").exists()
        stepped.ticks(2)
        assert [entry["action"] for entry in libyaml_value((board.folder / "log.yaml").read_bytes())] == [
            "claim_disputed"
        ]
