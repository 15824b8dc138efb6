"""The daemon of a blackboard in `liza watch --status` and `liza status`."""

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from liza.cli import show
from liza.daemon.status import CHECKED_ONCE, DaemonState, DaemonStatus
from liza.model import parse_time, span_text
from liza.store.paths import Paths
from liza.text import one_line, plural

_ALARMS = 10


def lines(daemon: DaemonStatus, paths: Paths) -> Iterator[str]:
    yield f"daemon:  {_described(daemon, paths)}"
    if not daemon.is_alive:
        return
    alarms = daemon.facts.get("alarms")
    active = [each for each in alarms.values() if isinstance(each, Mapping)] if isinstance(alarms, Mapping) else []
    if active:
        yield f"alarms:  {len(active)} (all: .liza/alerts.log)"
    for each in active[-_ALARMS:]:
        since = parse_time(each.get("since"))
        age = f" (for {span_text(datetime.now(UTC) - since)})" if since is not None else ""
        yield f"  {one_line(each.get('text'), 200)}{age}"


def warnings(daemon: DaemonStatus) -> Iterator[str]:
    if daemon.intruder_text:
        yield f"{daemon.intruder_text}; to fix: kill {daemon.intruder}, then: liza watch --background"
    if daemon.is_stuck:
        yield f"it is stuck: kill -9 {daemon.pid}, then start another: liza watch --background"
    if daemon.other_version is not None:
        yield f"it is another version of liza ({one_line(daemon.other_version, 40)}); to fix: liza watch --restart"
    if daemon.is_alive and daemon.facts.get("last_error"):
        yield one_line(daemon.facts["last_error"], 300)
    if daemon.facts.get("not_sent"):
        yield f"not delivered: {one_line(daemon.facts['not_sent'], 200)}"


def _described(daemon: DaemonStatus, paths: Paths) -> str:
    facts = daemon.facts
    if not daemon.is_alive:
        if not facts or facts.get("health") == CHECKED_ONCE:
            return "not running; to start: liza watch --background"
        how = show.bold("is gone", "red") if daemon.state is DaemonState.GONE else "has ended"
        return f"not running, process {one_line(facts.get('pid'))} {how}; to start: liza watch --background"
    if daemon.waits:
        folder = one_line(os.path.relpath(paths.folder))
        word = click.style(daemon.state, fg="green", bold=True)
        return f"{word}, process {daemon.pid or 'unknown'}, for {folder}/ to be created"
    parts = [
        f"process {daemon.pid}" if daemon.pid else "process unknown",
        one_line(facts.get("backend") or "it cannot write watch.json"),
    ]
    started, checks = parse_time(facts.get("started")), facts.get("checks")
    parts += [f"for {span_text(datetime.now(UTC) - started)}"] if started is not None else []
    parts += [plural(checks, "check")] if isinstance(checks, int) else []
    parts += ["only observing"] if facts.get("observe") else []
    parts += [f"no heartbeat for {span_text(timedelta(seconds=daemon.silent_for))}"] if daemon.is_stuck else []
    colour = "green" if daemon.state is DaemonState.RUNNING else "red"
    return f"{click.style(daemon.state, fg=colour, bold=True)}, {', '.join(parts)}"


def as_json(daemon: DaemonStatus) -> dict[str, Any]:
    """The daemon in the JSON of `liza status`."""
    names = ("version", "backend", "health", "last_check", "last_error", "not_sent")
    known = {name: daemon.facts.get(name) for name in names} | ({} if daemon.is_alive else {"health": None})
    return {"state": daemon.state, "pid": daemon.pid, **known}
