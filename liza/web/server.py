"""`liza serve`: the application on a socket, until a signal ends it."""

import contextlib
import os
import signal
import socket
from collections.abc import Callable

import uvicorn

from liza.daemon import dashboard
from liza.errors import Refused
from liza.store.paths import Paths
from liza.web.access import Access
from liza.web.app import make_app
from liza.web.decide import Desk


def serve(
    paths: Paths,
    host: str,
    port: int,
    announce: Callable[[Access, str], None],
    terminal: int | None,
    show_code: Callable[[str], None],
) -> None:
    """Serve the page until a signal; `announce` gets the secrets and the address, once requests are accepted."""
    os.nice(5)  # the daemon beside it comes first: a halt waits for no page
    listening = _listen(host, port)
    with contextlib.closing(listening):
        access = Access(host, listening.getsockname()[1])
        address = _address(listening, host)
        announce(access, address)
        config = uvicorn.Config(
            make_app(paths, access, Desk(paths, terminal, show_code)),
            log_level="warning",
            access_log=False,  # addresses have the token in them
            server_header=False,
            ws="none",
            limit_concurrency=500,
            h11_max_incomplete_event_size=16_384,
            timeout_graceful_shutdown=1,
        )
        signal.signal(signal.SIGTERM, _end)  # uvicorn ends by itself, and then raises the signal again
        with dashboard.noted(paths, address), contextlib.suppress(_Ended):
            uvicorn.Server(config).run(sockets=[listening])


class _Ended(Exception):
    """By SIGTERM, as the daemon: with exit code 0."""


def _end(*_: object) -> None:
    raise _Ended


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        hint = "take a free one: liza serve --port 0"
        raise Refused(f"cannot listen on {host} port {port}: {why}", hint=hint) from None


def _address(listening: socket.socket, host: str) -> str:
    name = "127.0.0.1" if host == "0.0.0.0" else "[::1]" if host == "::" else f"[{host}]" if ":" in host else host
    return f"http://{name}:{listening.getsockname()[1]}/"
