"""A terminal with a person at it: its output is read as it comes, and keys are typed."""

import os
import re
import select
import signal
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cli.run import environment
from tests.daemon.daemon import PATIENCE
from tests.served import server

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")

_PIECES = re.compile(r"(\n|\r|[^\n\r\x1b]+)|\x1b(?:\[([0-9;?]*[A-Za-z])|\][^\x07]*\x07)")


class Terminal:
    """`liza` on its own terminal and in its own session, as a shell starts it."""

    def __init__(self, folder: Path, *words: str, **env: str) -> None:
        self.raw = b""
        self._read_up_to = 0
        self.process, self.fd = server().start_on_terminal(words, folder, environment(folder, **env))

    def _take(self, seconds: float) -> bool:
        if not select.select([self.fd], [], [], max(seconds, 0.0))[0]:
            return True
        try:
            piece = os.read(self.fd, 1 << 16)
        except OSError:  # Linux gives EIO after the other side has hung up
            return False
        self.raw += piece
        return bool(piece)

    @property
    def text(self) -> str:
        """All that was shown, without escape sequences."""
        return _ESCAPES.sub("", self.raw.decode(errors="replace")).replace("\r\n", "\n")

    @property
    def lines(self) -> list[str]:
        """The lines that are left on the terminal, without what was erased or written over since."""
        lines, row, column = [""], 0, 0
        for text, code in _PIECES.findall(self.raw.decode(errors="replace")):
            if text == "\n":
                row += 1
                lines += [""] * (row == len(lines))
            elif text == "\r":
                column = 0
            elif text:
                lines[row] = lines[row][:column].ljust(column) + text + lines[row][column + len(text) :]
                column += len(text)
            elif code.endswith("A"):
                row -= int(code[:-1] or 1)
            elif code == "2K":
                lines[row] = ""
        return lines

    def shows(self, text: str, patience: float = PATIENCE) -> None:
        """Wait until this is shown, after the text that was waited for before."""
        end = time.monotonic() + patience
        while (at := self.text.find(text, self._read_up_to)) < 0:
            assert time.monotonic() < end, f"never shown: {text!r} in {self.text[self._read_up_to :]!r}"
            assert self._take(end - time.monotonic()), f"it ended without showing {text!r}: {self.text!r}"
        self._read_up_to = at + len(text)

    def types(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def code(self) -> int:
        """Wait for its end; the exit code."""
        end = time.monotonic() + PATIENCE
        while self._take(end - time.monotonic()):
            assert time.monotonic() < end, f"it does not end: {self.text[-2000:]!r}"
        return self.process.wait()

    def hang_up(self) -> None:
        """Close the terminal under it, as closing its window does."""
        os.close(self.fd)
        self.process.wait()
        self.fd = os.open(os.devnull, os.O_RDWR)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            end = time.monotonic() + 5
            while time.monotonic() < end and self._take(0.1):
                pass
            self.process.kill()
            self.process.wait()
        os.close(self.fd)
