"""Signals come at any time, even while the daemon handles the last one."""

import signal
import time
from pathlib import Path

from tests.daemon.daemon import RETRIES, Daemon, Watched

SIGNALS = 4_000
APART = 0.0003  # seconds; closer together, the kernel merges them


def test_daemon_still_watches_after_any_number_of_signals(tmp_path: Path) -> None:
    """Each may arrive just when the daemon starts or ends a wait."""
    board = Watched(tmp_path / "team")
    with Daemon(board.root) as daemon:
        for _ in range(SIGNALS):
            daemon.send(signal.SIGHUP)
            daemon.reported("reloaded")
            time.sleep(APART)
        board.report_anomalies(*RETRIES)
        daemon.wait_for("tripped")
        assert daemon.stop() == 0
