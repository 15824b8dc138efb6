"""An agent holds the lock: the halt, and that people hear of it, wait for nothing."""

from pathlib import Path

import pytest

from liza.store import lock
from tests.daemon.daemon import RETRIES, Watched
from tests.daemon.looking import Looking
from tests.daemon.test_disputes import BOARD, with_third
from tests.faults.holders import held_by_flock
from tests.scopes.sprint.run import record
from tests.store.oracle import libyaml_value


@pytest.fixture(autouse=True)
def never_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one thread that decides may try the lock, and never wait for it."""
    real = lock._wait

    def wait(path: str, timeout: float) -> object:
        assert timeout == 0, f"it would have waited for {timeout} s"
        return real(path, timeout)

    monkeypatch.setattr(lock, "_wait", wait)


def test_people_are_notified_while_the_lock_is_held(tmp_path: Path) -> None:
    board = Watched(tmp_path / "team")
    with Looking(board) as looking:
        looking.ticks()
        with held_by_flock(looking.watcher.paths):
            board.report_anomalies(*RETRIES)
            looking.ticks()
            assert board.checkpoint.exists()
            assert len(looking.told("tripped")) == 1
            looking.ticks(5)
            assert board.section.get("status") != "TRIGGERED"
            assert "holds the lock" in looking.told("degraded")[0]
        looking.ticks(3)
        assert board.section["status"] == "TRIGGERED"
        assert len(looking.told("tripped")) == 1
        assert len(board.trips) == 1
        assert looking.told("alarm") == []


def test_a_freeze_that_waits_for_the_lock_delays_no_halt(tmp_path: Path) -> None:
    board = Watched(tmp_path / "lab", BOARD)
    with Looking(board) as looking:
        looking.ticks()
        with held_by_flock(looking.watcher.paths):
            board.save(with_third(board.text))
            looking.ticks()
            retries = [record("retry_loop", f"t{n}", error_pattern="connection refused") for n in range(3)]
            text = "".join(f"- {each}\n" for each in retries)
            board.save(board.text.replace("anomalies: []\n", f"anomalies:\n{text}"))
            looking.ticks()
            assert board.checkpoint.exists()
            assert len(looking.told("tripped")) == 1
        looking.ticks(5)
        assert libyaml_value(board.text.encode())["claims"]["C-001"]["status"] == "DISPUTED"
        actions = [entry["action"] for entry in libyaml_value((board.folder / "log.yaml").read_bytes())]
        assert sorted(actions) == ["claim_disputed", "tripped"]


def test_a_log_line_that_waits_for_the_lock_is_written_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody takes the lock between the freeze and its line in the log."""
    from liza.store import log

    board = Watched(tmp_path / "lab", BOARD)
    with Looking(board) as looking:
        looking.ticks()
        with held_by_flock(looking.watcher.paths, str(tmp_path / "other")):
            monkeypatch.setattr(log, "Lock", lambda path, timeout: lock.Lock(str(tmp_path / "other"), timeout))
            board.save(with_third(board.text))
            looking.ticks(2)
            assert not (board.folder / "log.yaml").exists()
        looking.ticks(2)
        assert [entry["action"] for entry in libyaml_value((board.folder / "log.yaml").read_bytes())] == [
            "claim_disputed"
        ]
