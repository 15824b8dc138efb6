"""The hooks of clients: present, complete, able to start liza, and heard."""

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime

from liza.clients.install import CLIENTS, PROGRAM, data_folder, is_installed, script_path, settings_file
from liza.doctor.finding import Finding, Level
from liza.store.paths import Paths
from liza.store.spool import list_spool
from liza.store.steps import list_files
from liza.text import plural, shell_quoted

_PLACES = ("local", "project", "user")


def hooks(paths: Paths, now: datetime) -> Iterator[Finding]:
    """One finding a client, and what keeps the hooks from working."""
    project = os.path.dirname(paths.folder)
    found = {
        client: [where for where in _PLACES if is_installed(client, where, project)]
        for client in CLIENTS
        if shutil.which(client) or any(is_installed(client, where, project) for where in _PLACES)
    }
    for client, places in found.items():
        if places:
            file = settings_file(client, places[0], project)
            yield Finding("hooks", Level.OK, f"{client}: installed in {file}", file=None)
        else:
            hint = f"liza install {client}"
            yield Finding("hooks", Level.WARNING, f"{client} is here without liza's hook: its steps are not seen", hint)
    if any(found.values()):
        yield from _reachable()
        yield from _heard(paths, now)
    if not found:
        yield Finding("hooks", Level.OK, "no coding agent that liza knows is installed here")


def _reachable() -> Iterator[Finding]:
    """Whether the hook finds its script, and the script finds liza."""
    script, program = script_path(), os.path.join(data_folder(), PROGRAM)
    if not os.path.isfile(script):
        yield Finding("hooks", Level.ERROR, f"the hook's script is missing, so every call is refused: {script}", _AGAIN)
        return
    try:
        with open(program, encoding="utf-8") as file:
            named = file.readline().strip()
    except OSError:
        named = ""
    if not os.access(named, os.X_OK):
        message = f"the hook cannot start liza: {named or program} is not there; only a halt of everyone is still seen"
        yield Finding("hooks", Level.ERROR, message, _AGAIN)


_AGAIN = "liza install"


def _heard(paths: Paths, now: datetime) -> Iterator[Finding]:
    """When a hook was last heard of, and what waits because no daemon reads it."""
    waiting = list_spool(paths).total
    if waiting > 100:
        message = f"{plural(waiting, 'event')} of hooks wait: no daemon evaluates them"
        yield Finding("hooks", Level.ERROR, message, f"liza watch --background --root {shell_quoted(paths.folder)}")
    files = list_files(paths)
    if not files:
        yield Finding("hooks", Level.OK, "no step was recorded yet")
        return
    last = datetime.fromtimestamp(files[-1].ns / 1e9, UTC)
    minutes = max((now - last).total_seconds(), 0.0) / 60
    yield Finding("hooks", Level.OK, f"the last step was recorded {minutes:,.0f} min ago")
