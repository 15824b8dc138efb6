"""A daemon without a terminal: started, and ended."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NoReturn

from liza.daemon.notifier import Event, EventKind
from liza.daemon.status import read_daemon
from liza.daemon.watch_lock import WatchLockTaken
from liza.errors import LizaError, Refused
from liza.model import format_time
from liza.store.daemon_process import is_process_running
from liza.store.lock import holder
from liza.store.paths import Paths
from liza.store.rotating_log import RotatingLog
from liza.text import shell_quoted

_PATIENCE = 15.0

Announce = Callable[..., None]  # its fields reach the process that started the daemon; called once


def start(paths: Paths, watch: Callable[[Callable[[Event], None]], int]) -> int:
    """Call `watch` in a process of its own, which logs its events; the pid. `Refused` if it could not begin."""
    answer = _detach(lambda announce: _watch(paths, watch, announce))
    if "pid" not in answer:
        why = answer.get("why") or "the daemon exited during startup"
        raise Refused(str(why), hint=answer.get("hint") or f"see: tail {shell_quoted(paths.watch_log)}")
    return int(answer["pid"])


def _watch(paths: Paths, watch: Callable[[Callable[[Event], None]], int], announce: Announce) -> int:
    log = RotatingLog(paths.watch_log)
    has_begun = False

    def on_event(event: Event) -> None:
        nonlocal has_begun
        log.write(event.line)
        if event.kind in (EventKind.STARTED, EventKind.WAITING) and not has_begun:
            has_begun = True  # the pipe is closed by it, and its number may be another file's then
            announce(pid=os.getpid())

    try:
        return watch(on_event)
    except WatchLockTaken as error:
        announce(why=error.message, hint=error.hint)  # the log is that of the daemon which has it
        return error.exit_code
    except LizaError as error:
        announce(why=str(error), hint=error.hint)
        log.write(f"{format_time(datetime.now(UTC))}  ended      {error.message}")
        return error.exit_code
    except Exception as error:  # noqa: BLE001 - its traceback is seen nowhere else: it must be in the log
        import traceback

        announce(why=f"a bug in liza: {error}", hint=f"please report it with the end of {paths.watch_log}")
        log.write(traceback.format_exc())
        return 70


def _detach(work: Callable[[Announce], int]) -> dict[str, Any]:
    """Run `work` in a process of its own, without a terminal; what it announces."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _become_daemon(work, writing)
    os.close(writing)
    with open(reading, encoding="utf-8", errors="replace") as pipe:
        answer = pipe.readline()
    os.waitpid(child, 0)
    with suppress(ValueError):
        announced = json.loads(answer)
        return announced if isinstance(announced, dict) else {}
    return {}


def _become_daemon(work: Callable[[Announce], int], writing: int) -> NoReturn:
    code = 70
    try:
        os.setsid()  # no longer of the terminal, whose hang-up would end it
        if os.fork() > 0:
            os._exit(0)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)

        def announce(**fields: object) -> None:
            with suppress(OSError):
                os.write(writing, (json.dumps(fields) + "\n").encode())
                os.close(writing)

        code = work(announce)
    finally:
        sys.stdout.flush()
        os._exit(code)


def stop(paths: Paths) -> int | None:
    """End the daemon of a blackboard; its process number, or None if there was none. It finishes what it has begun."""
    daemon = read_daemon(paths)
    if not daemon.is_alive:
        return None
    # The process that holds the lock, by the kernel's word: watch.json may name any process.
    pid = daemon.pid if daemon.waits else holder(paths.watch_lock)
    if pid is None and daemon.facts.get("pid") == daemon.pid and is_process_running(daemon.facts):
        raise Refused(
            f"process {daemon.pid} watches, but does not hold {paths.watch_lock}", hint=f"see: ps -fp {daemon.pid}"
        )
    if pid is None or pid <= 1:
        hint = f"fuser -v {shell_quoted(paths.watch_lock)}"
        raise Refused("a daemon is running, but its process is not known", hint=hint)
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return pid
    except PermissionError:
        raise Refused(f"process {pid} belongs to another user", hint=f"ask its owner to run: kill {pid}") from None
    started = time.monotonic()
    while read_daemon(paths).is_alive:
        if time.monotonic() - started > _PATIENCE:
            raise Refused(f"process {pid} has not ended after {_PATIENCE:g} s", hint=f"kill -9 {pid}")
        time.sleep(0.02)
    return pid
