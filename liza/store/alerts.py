"""Lines in `alerts.log` from commands, as the daemon writes them; where one is at work, that is for it to do."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from liza.model import format_time
from liza.store.files import open_fd
from liza.store.paths import Paths


def append_alerts(paths: Paths, alerts: Sequence[tuple[str, str]], now: datetime, *, always: bool = False) -> None:
    """One line for each: the daemon's word for what happened, and the text. `always`: what no daemon can see."""
    from liza.store.daemon_process import is_daemon_running
    from liza.text import printable

    if not alerts or (not always and is_daemon_running(paths)):
        return
    lines = [f"{format_time(now)}  {kind:<9}  {printable(' '.join(text.split()))[:1000]}" for kind, text in alerts]
    written = "".join(f"{line}\n" for line in lines).encode(errors="backslashreplace")
    with suppress(OSError), open(paths.alerts, "ab", opener=open_fd) as file:
        file.write(written)
