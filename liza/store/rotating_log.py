"""A text file of lines that does not grow for ever: `watch.log`, `alerts.log` and the event logs of loops."""

import os
from collections.abc import Callable
from contextlib import suppress

from liza.store import files

LARGEST = 1_000_000  # bytes, after which it is started over; one old one is kept
KEPT = 200  # lines
LONGEST = 1000  # characters of a line that is kept


class RotatingLog:
    """Started over when it has become large."""

    def __init__(self, path: str, keeps: Callable[[str], bool] = lambda line: False) -> None:
        self.path = path
        self.keeps = keeps  # which lines are taken along when it is started over, at most KEPT of them

    def write(self, line: str) -> str | None:
        """Add a line; why not, if it cannot be done, which stops nothing else.

        Agents can write beside it: a FIFO must not make liza wait, nor a link let it write anywhere else.
        """
        try:
            kept: list[str] = []
            with suppress(FileNotFoundError):
                if os.lstat(self.path).st_size > LARGEST:
                    kept = self._kept()
                    os.replace(self.path, f"{self.path}.1")
            with open(self.path, "a", encoding="utf-8", errors="backslashreplace", opener=files.open_fd) as file:
                file.write("".join(f"{each}\n" for each in (*kept, line)))
        except OSError as error:
            return error.strerror or type(error).__name__
        return None

    def _kept(self) -> list[str]:
        with open(self.path, encoding="utf-8", errors="backslashreplace", opener=files.open_fd) as file:
            return [line.rstrip("\n")[:LONGEST] for line in file if self.keeps(line)][-KEPT:]
