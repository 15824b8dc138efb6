"""How many files changed from the end of one iteration to the end of the next, across two calls of a command."""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import quote

from liza.blackboard.paths import Paths
from liza.blackboard.storage import make_folder, put
from liza.runner import git


class Measured(NamedTuple):
    """What was measured; kept for the next time once the iteration is recorded."""

    files_changed: int | None
    path: str
    now: Any  # a snapshot as JSON, or None

    def keep(self) -> None:
        """An iteration whose end cannot be kept makes the next one unknown, and nothing worse."""
        with suppress(OSError):
            if self.now is None:
                if os.path.exists(self.path):
                    os.unlink(self.path)
                return
            folder = os.path.dirname(self.path)
            for each in (os.path.dirname(folder), folder):
                make_folder(each)
            put(self.path, json.dumps(self.now).encode())


def measure(paths: Paths, loop: str, workdirs: Sequence[str]) -> Measured:
    """Compare the work trees with how the last iteration of this loop left them; the first has nothing to compare."""
    path = os.path.join(paths.runs, "loops", f"{quote(loop, safe=' ')[:200]}.snapshot.json")
    roots = [os.path.abspath(each) for each in workdirs] or [os.path.dirname(os.path.abspath(paths.folder))]
    now = git.snapshot(roots)
    before = None
    with suppress(OSError, ValueError), open(path, encoding="utf-8") as file:
        before = git.load(json.load(file))
    return Measured(git.files_changed(before, now), path, None if now is None else git.dump(now))
