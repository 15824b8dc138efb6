"""Where `liza serve` runs for a blackboard: noted among the user's own files, so that messages can name it.

Only the address, never its token. An agent that writes `.liza/` cannot lead people elsewhere with it.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from liza.daemon.watch_lock import own_file
from liza.store.daemon_process import is_process_running, process_start
from liza.store.files import write_atomically
from liza.store.paths import Paths


@contextmanager
def noted(paths: Paths, address: str) -> Iterator[None]:
    """Note the address of this process while it serves; that it cannot be noted keeps nothing from working."""
    file = _file(paths)
    facts = {"address": address, "pid": os.getpid(), "process_start": process_start(os.getpid())}
    with suppress(OSError):
        os.makedirs(os.path.dirname(file), 0o700, exist_ok=True)
        write_atomically(file, (json.dumps(facts) + "\n").encode())
    try:
        yield
    finally:
        if read_address(paths) == address:  # else another one has started since
            with suppress(OSError):
                os.unlink(file)


def read_address(paths: Paths) -> str | None:
    """The address of the process that serves now; None if there is none."""
    try:
        with open(_file(paths), encoding="utf-8") as file:
            facts = json.load(file)
        return str(facts["address"]) if is_process_running(facts) else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _file(paths: Paths) -> str:
    return own_file(paths, "served", ".json")
