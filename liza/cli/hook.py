"""`liza hook CLIENT KIND`: the answer to a client's event while agents are halted, stopped or warned.

Only `hook.sh` calls this, with the event on standard input. Whatever goes wrong while agents are halted is a refusal;
while none is, the call continues, with the reason on standard error.
"""

import os
import sys
import time
from contextlib import suppress
from select import poll
from typing import NamedTuple

from liza.clients import Client, answer, find_client
from liza.clients.event import CONTINUE, Action, Answer, Event, Kind, blocked, parse_payload, split_header
from liza.clients.settings import STARTS
from liza.halt import halt_reason, printable
from liza.store.session_halt import STOP, SessionHalt, read_session_halt, remove_session_halt

LARGEST = 16 << 20  # bytes of an event that are read; of a larger one only its ends
LIMIT = "LIZA_HOOK_LIMIT"  # seconds after which the client takes its hook for dead and lets the call through
MARGIN = 60.0  # seconds before that at which a hook that waits refuses instead
POLL = 0.25
DAEMON = 20.0  # seconds that the start of the daemon may take


class Hold(NamedTuple):
    """Why a session may not continue."""

    why: str
    hint: str

    @property
    def text(self) -> str:
        return f"liza: {self.why}\n  hint: {self.hint}"


def main(arguments: list[str]) -> int:
    """Print the answer, and return the exit code that the client acts on."""
    try:
        given = _answer(*arguments[:2])
    except KeyboardInterrupt:
        given = _refusal(arguments, "liza: interrupted while agents are halted")
    except BaseException as error:  # noqa: BLE001 - a hook that fails must let nothing through while agents are halted
        text = f"liza: the hook itself failed: {type(error).__name__}: {error}\n  hint: run: liza doctor"
        given = _refusal(arguments, text) if halt_reason() is not None else Answer(err=text)
    _print(given)
    return given.code


def _refusal(arguments: list[str], text: str) -> Answer:
    """Refuse what is about to begin. At the end of a turn the same answer would make the agent continue."""
    return blocked(text) if arguments[1:] and arguments[1] in STARTS else Answer(err=text)


def _answer(client_name: str, kind: str) -> Answer:
    board = os.environ["LIZA_ROOT"]
    client = find_client(client_name)
    if client is None:
        raise ValueError(f"unknown client {client_name!r}")
    event = client.read_event(_payload())
    names = [name for name in (event.session, event.parent) if name]
    if kind in ("start", "request"):
        _start_daemon(board)
    hold = _hold(board, names)
    if hold is None:
        return _warning(board, client, event)
    policy = _policy(board)
    if policy == "wait" and event.kind in (Kind.BEFORE, Kind.AFTER):
        limit = os.environ.get(LIMIT)
        hold = _wait(board, names, hold, float(limit) - MARGIN if limit else client.SETTINGS.hold)
        if hold is None:
            return CONTINUE
    action = Action.END if policy == "end" else Action.BLOCK
    return answer(client, event.name, action, hold.text)


def _payload() -> dict[str, object]:
    raw = sys.stdin.buffer.read(LARGEST + 1)
    if len(raw) > LARGEST:
        return _cut_payload(raw)
    return parse_payload(split_header(raw)[2])


def _cut_payload(raw: bytes) -> dict[str, object]:
    """What the beginning of a large event says: whose it is must be known, or a stopped session would continue."""
    from liza.clients.truncated_event import HEAD, TAIL, read_cut

    tail, size = raw, len(raw)
    while more := sys.stdin.buffer.read(1 << 20):
        tail, size = (tail + more)[-TAIL:], size + len(more)
    return read_cut(split_header(raw[: HEAD + 200])[2][:HEAD], tail, size)


def _hold(board: str, names: list[str]) -> Hold | None:
    """What holds a session back: everyone's halt, or its own, or that of the session that started it."""
    halted = halt_reason(board)
    if halted is not None:
        return Hold(*halted)
    for name in names:
        halt = _session_halt(board, name)
        if halt is not None and halt.action == STOP:
            whose = (halt.pattern or "hand").removeprefix("by ")  # of a person: by hand
            why = f"this session was stopped by {whose}{f': {halt.reason}' if halt.reason else ''}"
            return Hold(why, f"wait: a person must run: liza session resume {name} -m WHY")
    return None


def _session_halt(board: str, name: str) -> SessionHalt | None:
    from liza.text import file_name

    return read_session_halt(os.path.join(board, "stopped"), file_name(name))


def _warning(board: str, client: Client, event: Event) -> Answer:
    """The warning of this session, which is given once."""
    from liza.text import file_name

    halt = _session_halt(board, event.session) if event.name in client.SETTINGS.warns else None
    if halt is None:
        return CONTINUE
    remove_session_halt(os.path.join(board, "stopped"), file_name(event.session))
    return answer(client, event.name, Action.WARN, f"liza: {halt.reason}")


def _wait(board: str, names: list[str], hold: Hold, seconds: float) -> Hold | None:
    """Hold the call until a person has decided; the reason again where the client would give up on the hook first."""
    until = time.monotonic() + seconds
    print(printable(hold.why), file=sys.stderr, flush=True)
    closed = poll()
    for stream in (1, 2):
        closed.register(stream, 0)  # reported is only that the other end is closed: the client has ended
    while time.monotonic() < until and not closed.poll(POLL * 1000):
        found = _hold(board, names)
        if found is None:
            return None
        hold = found
    return hold


def _policy(board: str) -> str:
    """`on_halt` of the blackboard: wait, block or end."""
    from liza.scopes.rules_file import on_halt

    return on_halt(os.path.join(board, "rules.yaml"))


def _start_daemon(board: str) -> None:
    """A session that begins is evaluated: start the daemon where none runs. Its output is not the client's to read."""
    from liza.daemon.status import read_daemon
    from liza.scopes.rules_file import starts_daemon
    from liza.store.paths import Paths

    paths = Paths(board)
    if not starts_daemon(paths.rules) or read_daemon(paths).is_alive:
        return
    import subprocess

    from liza.clients.install import program_path

    command = [program_path(), "watch", "--background", "--root", board]
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(command, stdin=-3, stdout=-3, stderr=-3, timeout=DAEMON, check=False)


def _print(given: Answer) -> None:
    for stream, text in ((1, given.out), (2, given.err)):
        try:  # noqa: SIM105 - whether anyone reads it must not change the answer
            os.write(stream, text.encode(errors="replace"))
        except OSError:
            pass
