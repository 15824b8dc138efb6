"""Lines in `alerts.log` written by commands, in the daemon's format. While a daemon runs, it writes them itself."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from liza.model import format_time
from liza.store.files import open_fd
from liza.store.paths import Paths


def append_alerts(paths: Paths, alerts: Sequence[tuple[str, str]], now: datetime, *, always: bool = False) -> None:
    """Append one line for each (kind, text). `always` is for what a daemon cannot see."""
    from liza.store.daemon_process import is_daemon_running
    from liza.text import printable

    if not alerts or (not always and is_daemon_running(paths)):
        return
    lines = [f"{format_time(now)}  {kind:<9}  {printable(' '.join(text.split()))[:1000]}" for kind, text in alerts]
    written = "".join(f"{line}\n" for line in lines).encode(errors="backslashreplace")
    with suppress(OSError), open(paths.alerts, "ab", opener=open_fd) as file:
        file.write(written)
