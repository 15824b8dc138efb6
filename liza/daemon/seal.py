"""Whether the list of earlier messages in `watch.json` is what the daemon wrote there.

Agents can write it, and a message that it claims was sent is not sent. So a digest of that part is kept among the
user's own files, outside the repository; what does not agree with it is not trusted, and reported again. The digest is
there before `watch.json` is, beside the one before: a daemon that is killed between the two is still trusted.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from liza.daemon.watch_lock import own_file
from liza.rules.fingerprints import digest
from liza.store.files import write_atomically
from liza.store.paths import Paths
from liza.store.replace import sweep_drafts

SEALED = ("alarms", "errors", "places", "notified")
BROKEN = "watch.json was changed by another program: its list of earlier messages is not used, and some may be repeated"


class Seal:
    def __init__(self, paths: Paths) -> None:
        self._folder = paths.folder
        self._file = own_file(paths, "reported", ".json")
        self._last = ""

    def set(self, facts: Mapping[str, Any]) -> str | None:
        """Remember the facts before they are written to `watch.json`; why that is not possible, if it is not."""
        mine = _digest(facts)
        if mine == self._last:
            return None
        kept = {"folder": self._identity(), "digests": [mine, self._last]}
        try:
            os.makedirs(os.path.dirname(self._file), 0o700, exist_ok=True)
            write_atomically(self._file, (json.dumps(kept) + "\n").encode())
        except OSError as error:
            return error.strerror or type(error).__name__
        self._last = mine
        return None

    def confirms(self, facts: Mapping[str, Any]) -> bool | None:
        """Whether the facts of `watch.json` are those of the last daemon; None if it never watched this blackboard."""
        with suppress(OSError):
            sweep_drafts(os.path.dirname(self._file))  # of a daemon that was killed
        if not facts:
            self._last = _digest(facts)  # killed between the two, the first daemon leaves no watch.json
        try:
            with open(self._file, encoding="utf-8") as file:
                kept = json.load(file)
            known, folder = list(kept["digests"]), kept["folder"]
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None
        if folder != self._identity():
            return None  # another blackboard was here before
        self._last = _digest(facts) if _digest(facts) in known else ""
        return bool(self._last)

    def _identity(self) -> list[int]:
        try:
            status = os.stat(self._folder)
        except OSError:
            return []
        return [status.st_dev, status.st_ino]


def _digest(facts: Mapping[str, Any]) -> str:
    return digest(json.dumps({name: facts.get(name) for name in SEALED}, sort_keys=True))
