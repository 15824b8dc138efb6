"""The daemon: whether it runs, checks, and gets events."""

from collections.abc import Iterator
from datetime import datetime

from liza import __version__
from liza.daemon.status import DaemonState, DaemonStatus, read_daemon
from liza.doctor.finding import Finding, Level
from liza.store.paths import Paths
from liza.text import one_line

_START = "liza watch --background"


def daemon(paths: Paths, now: datetime) -> Iterator[Finding]:
    found = read_daemon(paths)
    if found.is_alive:
        yield from _present(found)
    elif found.state is DaemonState.GONE:
        text = f"process {one_line(found.facts.get('pid'))} is gone: killed, or the machine went down"
        yield Finding("daemon", Level.ERROR, text, _START)
    else:
        yield Finding("daemon", Level.WARNING, "not running: patterns are found only when liza analyze is run", _START)
    if found.intruder_text:
        hint = f"kill {found.intruder}, then: {_START}"
        yield Finding("daemon", Level.ERROR, found.intruder_text, hint, paths.watch_lock)
    if found.facts.get("not_sent"):
        text = f"a message did not arrive: {one_line(found.facts['not_sent'], 200)}"
        yield Finding("daemon", Level.WARNING, text, "liza watch --test-message", paths.watch_json)


def _present(found: DaemonStatus) -> Iterator[Finding]:
    who = f"process {found.pid}" if found.pid is not None else "it"
    if found.is_stuck:
        text = f"{who} runs, but has not checked for {found.silent_for:.0f} s"
        yield Finding("daemon", Level.ERROR, text, f"kill -9 {found.pid}, then: {_START}")
        return
    backend = one_line(found.facts.get("backend") or "?", 200)
    if found.state is DaemonState.DEGRADED:
        text = f"{who} is degraded: {one_line(found.facts.get('last_error'), 300)}"
        yield Finding("daemon", Level.ERROR, text, "fix what it names; it recovers by itself")
    else:
        yield Finding("daemon", Level.OK, f"{who}, last heartbeat {found.silent_for:.0f} s ago, by {backend}")
    if found.other_version is not None:
        text = f"it is another version of liza: {one_line(found.other_version, 40)}, this is {__version__}"
        yield Finding("daemon", Level.WARNING, text, "liza watch --restart")
    if found.facts.get("no_events"):
        text = f"no event reaches it, so it polls: {backend}"
        yield Finding("daemon", Level.WARNING, text, "see inotify and filesystem below")
    if found.facts.get("observe"):
        text = "it only observes: a trip halts no agent"
        yield Finding("daemon", Level.WARNING, text, f"liza watch --stop && {_START}")
