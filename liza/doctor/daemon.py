"""The daemon: whether it runs, checks, and gets events."""

from collections.abc import Iterator
from datetime import datetime

from liza.daemon.lease import Seen, facts_of, intruder, state
from liza.doctor.finding import Finding, Level
from liza.store.lock import holder
from liza.store.paths import Paths
from liza.text import one_line

_START = "liza watch --background"


def daemon(paths: Paths, now: datetime) -> Iterator[Finding]:
    seen, facts = facts_of(paths)
    word = state(seen, facts)
    if seen is None:
        yield _absent(word, facts.get("pid"))
    else:
        yield from _present(seen, word)
    if held := intruder(paths):
        yield Finding("daemon", Level.ERROR, held, f"kill {holder(paths.watch_lock)}, then: {_START}", paths.watch_lock)
    if facts.get("not_sent"):
        text = f"a message did not arrive: {one_line(facts['not_sent'], 200)}"
        yield Finding("daemon", Level.WARNING, text, "liza watch --test-message", paths.watch_json)


def _absent(word: str, pid: object) -> Finding:
    if word == "gone":
        text = f"process {one_line(pid)} ended without notice: killed, or the machine went down"
        return Finding("daemon", Level.ERROR, text, _START)
    return Finding("daemon", Level.WARNING, "none is running: only liza analyze finds patterns", _START)


def _present(seen: Seen, word: str) -> Iterator[Finding]:
    who = f"process {seen.pid}" if seen.pid is not None else "it"
    if word == "stuck":
        text = f"{who} runs, but has not checked for {seen.silent_for:.0f} s"
        yield Finding("daemon", Level.ERROR, text, f"kill -9 {seen.pid}, then: {_START}")
        return
    backend = one_line(seen.facts.get("backend") or "?", 200)
    if word == "degraded":
        text = f"{who} is degraded: {one_line(seen.facts.get('last_error'), 300)}"
        yield Finding("daemon", Level.ERROR, text, "fix what it names; it recovers by itself")
    else:
        yield Finding("daemon", Level.OK, f"{who}, last heartbeat {seen.silent_for:.0f} s ago, by {backend}")
    if backend.startswith("polling") and "as asked for" not in backend:
        text = f"no event reaches it, so it polls: {backend}"
        yield Finding("daemon", Level.WARNING, text, "see inotify and filesystem below")
    if seen.facts.get("observe"):
        yield Finding(
            "daemon", Level.WARNING, "it only observes: a trip halts no agent", f"liza watch --stop && {_START}"
        )
