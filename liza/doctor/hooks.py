"""The hooks of clients: present, trusted, able to start liza, and asked by every session."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from liza.clients.hook_health import Hooks, read_hooks, read_program, script_problem
from liza.clients.install import CLIENTS, client_folder
from liza.clients.recorded_sessions import Recorded, is_newer, recorded_sessions
from liza.clients.settings import HookProblem
from liza.clients.transcript import CLIENTS as STEPPED
from liza.daemon.status import read_daemon
from liza.doctor.finding import Finding, Level
from liza.model import parse_time
from liza.rules.evaluate import RuleSet
from liza.scopes.engine import session_rows, source_problems
from liza.scopes.scope import HOOK
from liza.store.locate import board_of
from liza.store.paths import Paths
from liza.store.spool import list_spool
from liza.text import one_line, plural, shell_quoted, waiting_text

_DAY = 86_400.0
_TIME_LIMIT = 10.0
_BACKLOG = 100  # events that may wait while a daemon runs
_SHOWN = 3


def hooks(paths: Paths, now: datetime) -> Iterator[Finding]:
    """What is wrong with each client's hook, and when it was last asked."""
    project = paths.project
    found = {each.client: each for each in read_hooks(project)}
    for client in CLIENTS:
        if client in found:
            yield from _installed(found[client])
        elif shutil.which(client) or os.path.isdir(client_folder(client)):
            seen = "neither warned nor held" if client in STEPPED else "neither recorded nor held"
            text = f"{client} is used here without liza's hook: its sessions are {seen}"
            yield Finding("hooks", Level.WARNING, text, f"liza install {client}")
    if not found:
        yield Finding("hooks", Level.OK, "no coding agent has liza's hook; to add it: liza install")
        return
    yield from _reachable(next(iter(found)))
    yield from _asked(paths, now, list(found))
    yield from _waiting(paths)


def _installed(hooks: Hooks) -> Iterator[Finding]:
    for file in hooks.files:
        yield Finding("hooks", Level.OK, f"{hooks.client}: installed in {file}")
    if len(hooks.files) > 1:
        text = f"{hooks.client}: installed {len(hooks.files)} times: each call is checked {len(hooks.files)} times"
        option = "" if hooks.places[0] == "local" else f" --{hooks.places[0]}"
        yield Finding("hooks", Level.WARNING, text, f"liza install --uninstall {hooks.client}{option}")
    yield from map(_finding, hooks.problems)


def _finding(problem: HookProblem) -> Finding:
    text = f"{problem.client}: {problem.message}" if problem.client else problem.message
    return Finding("hooks", Level.ERROR if problem.is_off else Level.WARNING, text, problem.hint, problem.file)


def _reachable(client: str) -> Iterator[Finding]:
    """Whether the hook finds its script, and the script starts liza with nothing in the environment."""
    problem = script_problem(client)
    if problem is not None:
        yield _finding(problem)
    if problem is None or not problem.is_off:
        program = read_program()
        try:
            done = subprocess.run([program, "--version"], env={}, capture_output=True, timeout=_TIME_LIMIT, check=False)
            why = "" if done.returncode == 0 else f"exit code {done.returncode}"
        except (OSError, subprocess.TimeoutExpired) as error:
            why = str(error)
        if why:
            text = f"the hook cannot start liza: {program}: {one_line(why, 200)}"
            yield Finding("hooks", Level.ERROR, text, f"liza install {client}")


def _asked(paths: Paths, now: datetime, clients: list[str]) -> Iterator[Finding]:
    """When each client's hook was last asked, by which session, and the sessions that never asked it."""
    rows = [each for each in session_rows(paths, {}, RuleSet(())) if each.source == HOOK]
    for each in source_problems(paths):
        yield Finding("hooks", Level.WARNING, each.message, each.hint, each.file)
    sessions = {each.session for each in rows}
    for client in clients:
        own = [each for each in rows if each.client == client and each.last]
        last = max(own, key=lambda each: each.last or "", default=None)
        time_of = parse_time(last.last) if last is not None else None
        if last is None or time_of is None:
            yield Finding("hooks", Level.OK, f"{client}: no sessions in the last day")
        else:
            minutes = max((now - time_of).total_seconds(), 0.0) / 60
            name = one_line(f"{last.name} {last.session[:8]}".strip(), 60)
            yield Finding("hooks", Level.OK, f"{client}: the hook last ran {minutes:,.0f} min ago, in session {name}")
        recorded = list(recorded_sessions(client, time.time_ns() - int(_DAY * 1e9)))
        yield from _version(client, recorded)
        yield from _unseen(paths, client, [each for each in recorded if each.session not in sessions])


def _version(client: str, recorded: list[Recorded]) -> Iterator[Finding]:
    """The newest version that was at work lately, and whether its hooks are known to work."""
    newest = next((each.version for each in recorded if each.version), None)
    if newest is None:
        return
    if not is_newer(newest, CLIENTS[client].tested):
        text = f"{client}: last seen in version {newest}; tested up to {CLIENTS[client].tested}"
        yield Finding("hooks", Level.OK, text)
    else:
        text = f"{client} {newest} is newer than tested ({CLIENTS[client].tested}): its hooks may work differently"
        hint = "halt it once, and see that its next call waits: liza trip -m test; then liza resolve -m tested"
        yield Finding("hooks", Level.WARNING, text, hint)


def _unseen(paths: Paths, client: str, recorded: list[Recorded]) -> Iterator[Finding]:
    """Sessions in folders of this blackboard that ran without the hook."""
    board = os.path.realpath(paths.folder)
    unseen = [each for each in recorded if os.path.isdir(each.cwd) and board_of(each.cwd) == board]
    if unseen:
        folders = ", ".join(dict.fromkeys(one_line(each.cwd, 200) for each in unseen[:_SHOWN]))
        since = datetime.fromtimestamp(unseen[0].ns / 1e9, UTC)
        text = f"{client}: {plural(len(unseen), 'session')} of the last day ran without the hook, in {folders}"
        text += f"; the newest, {one_line(unseen[0].session[:8])}, until {since:%H:%M} UTC"
        yield Finding("hooks", Level.WARNING, text, f"cover all folders of this user: liza install {client} --user")


def _waiting(paths: Paths) -> Iterator[Finding]:
    """Events that no daemon reads."""
    waiting = list_spool(paths).total
    is_alive = read_daemon(paths).is_alive
    if waiting and not is_alive:
        text = f"no daemon runs, so nothing is evaluated: {waiting_text(waiting)}"
        yield Finding("hooks", Level.ERROR, text, f"liza watch --background --root {shell_quoted(paths.folder)}")
    elif waiting > _BACKLOG:
        text = f"the daemon is behind: {waiting_text(waiting)}"
        yield Finding("hooks", Level.WARNING, text, "see its state: liza watch --status")
