"""The daemon of a blackboard as others see it: what `liza watch --status` and `liza status` say of it."""

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from liza.cli import show
from liza.daemon.lease import Seen, facts_of, intruder, state
from liza.model import parse_time
from liza.store.lock import holder
from liza.store.paths import Paths
from liza.text import one_line, plural

_ALARMS = 10


def lines(paths: Paths) -> Iterator[str]:
    """The daemon for people, and what it would have them know."""
    seen, facts = facts_of(paths)
    yield f"daemon:  {_described(paths, seen, facts)}"
    if seen is None:
        return
    alarms = facts.get("alarms")
    active = [each for each in alarms.values() if isinstance(each, Mapping)] if isinstance(alarms, Mapping) else []
    if active:
        yield f"alarms:  {plural(len(active), 'alarm')} (.liza/alerts.log has all)"
    for each in active[-_ALARMS:]:
        since = parse_time(each.get("since"))
        age = f" (for {show.span(datetime.now(UTC) - since)})" if since is not None else ""
        yield f"  {one_line(each.get('text'), 200)}{age}"


def warnings(paths: Paths) -> Iterator[str]:
    """What is wrong with it, and what to do about it."""
    seen, facts = facts_of(paths)
    if held := intruder(paths):
        yield f"{held}; to fix: kill {holder(paths.watch_lock)}, then: liza watch --background"
    if seen is not None and seen.is_stuck:
        yield f"it does nothing: kill -9 {seen.pid}, then start another: liza watch --background"
    if seen is not None and facts.get("last_error"):
        yield one_line(facts["last_error"], 300)
    if facts.get("not_sent"):
        yield f"not delivered: {one_line(facts['not_sent'], 200)}"


def _described(paths: Paths, seen: Seen | None, facts: Mapping[str, Any]) -> str:
    word = state(seen, facts)
    if seen is None:
        if not facts:
            return "none (liza watch --background)"
        how = "ended" if word == "not running" else show.bold("is gone", "red")
        return f"process {one_line(facts.get('pid'))} {how} (liza watch --background)"
    if seen.waits:
        folder = one_line(os.path.relpath(paths.folder))
        return f"{click.style(word, fg='green', bold=True)}, process {seen.pid}, for {folder}/ to be created"
    parts = [f"process {seen.pid}", one_line(facts.get("backend") or "it cannot write watch.json")]
    started, checks = parse_time(facts.get("started")), facts.get("checks")
    parts += [f"for {show.span(datetime.now(UTC) - started)}"] if started is not None else []
    parts += [plural(checks, "check")] if isinstance(checks, int) else []
    parts += ["only observing"] if facts.get("observe") else []
    parts += [f"no heartbeat for {show.span(timedelta(seconds=seen.silent_for))}"] if seen.is_stuck else []
    colour = "green" if word == "running" else "red"
    return f"{click.style(word, fg=colour, bold=True)}, {', '.join(parts)}"


def as_json(paths: Paths) -> dict[str, Any]:
    """The daemon in the JSON of `liza status`."""
    seen, facts = facts_of(paths)
    names = ("backend", "health", "last_check", "last_error", "not_sent")
    known = {name: facts.get(name) for name in names} | ({} if seen is not None else {"health": None})
    return {"state": state(seen, facts), "pid": seen.pid if seen is not None else None, **known}
