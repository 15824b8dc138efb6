"""Signals come when they like, also in the middle of what the daemon does about the last one."""

import signal
import time
from pathlib import Path

from tests.daemon.daemon import RETRIES, Daemon, Watched

SIGNALS = 4_000
APART = 0.0003  # seconds; closer together, the kernel makes one of many


def test_after_any_number_of_signals_it_still_watches(tmp_path: Path) -> None:
    """Each of them may meet the daemon at the very moment at which it begins or ends to wait."""
    board = Watched(tmp_path / "team")
    with Daemon(board.root) as daemon:
        for _ in range(SIGNALS):
            daemon.send(signal.SIGHUP)
            daemon.told("reloaded")
            time.sleep(APART)
        board.report_anomalies(*RETRIES)
        daemon.tells("tripped")
        assert daemon.stop() == 0
