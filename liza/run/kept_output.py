"""The output of a command: whole in a file, its beginning and its end in memory."""

from types import TracebackType
from typing import IO, Self

from liza.store.files import open_fd

HEAD, TAIL = 1 << 18, 1 << 21  # bytes that are kept in memory: of the beginning, and of the end


class KeptOutput:
    def __init__(self, path: str) -> None:
        self.size = 0
        self.fault: str | None = None  # why the file is not complete
        self._head = bytearray()
        self._tail = bytearray()
        self._file: IO[bytes] | None = None
        try:
            self._file = open(path, "wb", buffering=0, opener=open_fd)  # noqa: SIM115 - closed with us
        except OSError as error:
            self.fault = f"the output could not be kept: {error.strerror}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        room = HEAD - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:]
        if len(self._tail) > 2 * TAIL:
            del self._tail[:-TAIL]
        self._keep(piece)

    def _keep(self, piece: bytes) -> None:
        if self._file is None:
            return
        try:
            view = memoryview(piece)
            while view:
                view = view[self._file.write(view) :]
        except OSError as error:  # a full disk must not end the agent's work
            self.fault = f"the output could not be kept completely: {error.strerror}"
            self._file.close()
            self._file = None

    @property
    def text(self) -> str:
        left_out = self.size - len(self._head) - min(len(self._tail), TAIL)
        gap = f"\n[... {left_out} bytes left out ...]\n" if left_out > 0 else ""
        tail = bytes(self._tail[-TAIL:])
        return (bytes(self._head) + gap.encode() + tail).decode(errors="replace")
