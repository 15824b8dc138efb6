"""What keeps installed hooks from working: the clients' settings and the hook's own files. No process is started."""

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from liza.clients.codex_trust import EVENTS, Trust, read_trust, trusts_project
from liza.clients.install import (
    CLIENTS,
    PLACES,
    PROGRAM,
    client_folder,
    data_folder,
    entries_of,
    is_ours,
    plan_install,
    read_settings,
    script_path,
    settings_file,
)
from liza.errors import LizaError
from liza.templates import read_template


class HookProblem(NamedTuple):
    """Why a client's hook does not do all it should, and the fix."""

    client: str
    message: str
    hint: str
    file: str | None = None
    is_off: bool = True  # nothing is seen or held; otherwise the hook works in part


class Hooks(NamedTuple):
    """The hooks of one client for a project: the settings files that have them, and what is wrong."""

    client: str
    places: tuple[str, ...]  # of PLACES
    files: tuple[str, ...]
    problems: tuple[HookProblem, ...] = ()


def read_hooks(project: str) -> list[Hooks]:
    """The clients that have our hook somewhere, each with its problems."""
    found = []
    for client in CLIENTS:
        entries: dict[str, Mapping[str, list[Any]]] = {}
        problems: list[HookProblem] = []
        for where in PLACES:
            file = settings_file(client, where, project)
            if file not in [settings_file(client, each, project) for each in entries]:
                try:
                    entries[where] = _entries(client, file)
                except LizaError as error:
                    hint = error.hint or f"correct it by hand: {file}"
                    problems.append(HookProblem(client, f"its settings cannot be read: {error.message}", hint, file))
        here = tuple(
            where
            for where, events in entries.items()
            if any(is_ours(entry) for listed in events.values() for entry in listed)
        )
        if here:
            problems += _problems(client, here, entries, project)
        if here or problems:
            files = tuple(settings_file(client, where, project) for where in here)
            found.append(Hooks(client, here, files, tuple(problems)))
    return found


def script_problem(client: str) -> HookProblem | None:
    """What keeps every hook from working: its script, or the program liza that it starts, is missing.

    Installing any client again fixes it, such as the one that is given.
    """
    script, program = script_path(), os.path.join(data_folder(), PROGRAM)
    again = f"liza install {client}"
    try:
        with open(script, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError):
        return HookProblem("", f"the hook's script is missing, so every call is refused: {script}", again, script)
    named = read_program()
    if (missing := _missing_for(named or program)) is not None:
        message = f"the hook cannot start liza: {missing} is missing; it enforces halts, but cannot warn or wait"
        return HookProblem("", message, again, program)
    if text != read_template(os.path.basename(script)):
        return HookProblem("", "the hook's script is of another version of liza", again, script, is_off=False)
    return None


def read_program() -> str:
    """Where the hook looks for liza; empty where that is not noted."""
    try:
        with open(os.path.join(data_folder(), PROGRAM), encoding="utf-8") as file:
            return file.readline().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _missing_for(program: str) -> str | None:
    """What keeps a program from being started: itself, or the interpreter of its first line, as in a broken venv."""
    if not os.access(program, os.X_OK):
        return program
    try:
        with open(program, "rb") as file:
            first = file.readline(4096)
    except OSError:
        return program
    words = first[2:].split() if first.startswith(b"#!") else []
    interpreter = os.fsdecode(words[0]) if words else None
    return None if interpreter is None or os.access(interpreter, os.X_OK) else interpreter


def _entries(client: str, file: str) -> Mapping[str, list[Any]]:
    """The entries of each event that we use, of everyone."""
    text = read_settings(file)
    if text is None or not text.strip():
        return {}
    return {event: entries_of(text, event, file) for event in CLIENTS[client].events}


def _problems(
    client: str, places: tuple[str, ...], entries: Mapping[str, Mapping[str, list[Any]]], project: str
) -> Iterator[HookProblem]:
    for where in places:
        file = settings_file(client, where, project)
        if plan_install(client, where, project).changes:
            option = "" if where == "local" else f" --{where}"
            text = "its hook is incomplete, or of another version of liza"
            yield HookProblem(client, text, f"liza install {client}{option}", file, is_off=False)
        if client == "codex":
            yield from _untrusted(file, entries[where], None if where == "user" else project)
    if client == "claude":
        yield from _disabled(project)


def _disabled(project: str) -> Iterator[HookProblem]:
    for file in dict.fromkeys(settings_file("claude", where, project) for where in PLACES):
        try:
            with open(file, encoding="utf-8") as stream:
                is_off = json.load(stream).get("disableAllHooks") is True
        except (OSError, ValueError, AttributeError):
            continue
        if is_off:
            yield HookProblem("claude", "all hooks are disabled", f"remove disableAllHooks from {file}", file)


def _untrusted(file: str, entries: Mapping[str, list[Any]], project: str | None) -> Iterator[HookProblem]:
    """What Codex skips, in the order in which a person has to deal with it."""
    import tomllib

    settings = os.path.join(client_folder("codex"), "config.toml")
    config: dict[str, Any] = {}
    try:
        with open(settings, "rb") as stream:
            config = tomllib.load(stream)
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        yield HookProblem("codex", f"its settings cannot be read: {error}", f"correct it by hand: {settings}", settings)
        return
    features, hooks = config.get("features"), config.get("hooks")
    if isinstance(features, dict) and (features.get("hooks") is False or features.get("codex_hooks") is False):
        hint = f"remove hooks = false under [features] in {settings}"
        yield HookProblem("codex", "all hooks are disabled", hint, settings)
        return
    if project is not None and not trusts_project(config, project):
        message = "this project is not trusted, so none of its hooks runs"
        yield HookProblem("codex", message, f"start codex in {project}, and trust the folder", settings)
    state = hooks.get("state") if isinstance(hooks, dict) else None
    found: dict[Trust, list[str]] = {}
    for event in EVENTS:
        for position, entry in enumerate(entries.get(event, ())):
            if is_ours(entry):
                found.setdefault(read_trust(state, file, event, position, entry), []).append(event)
    for trust, events in found.items():
        if trust is not Trust.TRUSTED:
            message = f"no hook runs for {', '.join(events)}: {trust}"
            yield HookProblem("codex", message, "start codex, and trust the hooks of liza (later: /hooks)", file)
