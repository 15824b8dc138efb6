"""Local webhook servers: one that answers, and others that do not."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Hooks:
    """The received requests, in order."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.bodies: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.asked = 0  # requests, including those answered with an error

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [body for body in self.bodies if body.get("kind") == kind]


@contextmanager
def webhook(*answers: int, location: str = "") -> Iterator[Hooks]:
    """A server that answers with these codes, repeating the last."""
    codes = list(answers or (204,))

    class Handler(BaseHTTPRequestHandler):
        """Stores posted bodies."""

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            code = codes.pop(0) if len(codes) > 1 else codes[0]
            hooks.asked += 1
            if code < 300:
                hooks.paths.append(self.path)
                hooks.headers.append(dict(self.headers))
                hooks.bodies.append(body)
            self.send_response(code)
            if location:
                self.send_header("Location", location)
            self.end_headers()

        def do_GET(self) -> None:
            hooks.asked += 1
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hooks = Hooks(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield hooks
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def hanging() -> Iterator[str]:
    """An address that accepts a connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/hangs"


@contextmanager
def refusing() -> Iterator[str]:
    """An address that refuses connections, and that no other program gets meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


def dead() -> str:
    """An address without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    return f"http://127.0.0.1:{port}/dead"
