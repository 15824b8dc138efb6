"""A proxy on the socket of the server, which can cut a host off: nothing arrives any more, and no connection ends."""

import select
import socket
import threading
from contextlib import suppress
from pathlib import Path

_NAME = ".s.PGSQL.5432"


class Proxy:
    """Listens in a folder of its own; `url` of the server with that folder leads through it."""

    def __init__(self, folder: Path, server: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self._server = str(server / _NAME)
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / _NAME))
        self._listening.listen(64)
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._is_cut = threading.Event()
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def cut(self) -> None:
        """From now on nothing gets through, and who connects hears nothing."""
        self._is_cut.set()

    def restore(self) -> None:
        """New connections get through again; those of before are gone."""
        for pair in self._pairs:
            for end in pair:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self._pairs.clear()
        self._is_cut.clear()

    def close(self) -> None:
        self._ends.set()
        self.restore()
        self._listening.close()

    def _accept(self) -> None:
        while not self._ends.is_set():
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            with suppress(OSError):
                server.connect(self._server)
            self._pairs.append((client, server))
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=self._forward, args=(one, other), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError, ValueError), source, target:  # the other direction may have closed both
            while not self._ends.is_set():
                if not select.select([source], [], [], 0.05)[0]:
                    continue
                if self._is_cut.is_set():
                    self._ends.wait(0.05)
                    continue
                piece = source.recv(1 << 16)
                if not piece:
                    return
                target.sendall(piece)
