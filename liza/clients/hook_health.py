"""What keeps installed hooks from working: the clients' settings and the hook's own files. No process is started."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from liza.clients import load_client
from liza.clients.install import (
    CLIENTS,
    PLACES,
    PROGRAM,
    client_folder,
    data_folder,
    has_hook,
    read_settings,
    script_path,
    settings_file,
    with_hook,
)
from liza.clients.settings import HookProblem, Setup
from liza.errors import LizaError
from liza.templates import read_template


class Hooks(NamedTuple):
    """The hooks of one client for a project: the settings files that have them, and what is wrong."""

    client: str
    places: tuple[str, ...]  # of PLACES
    files: tuple[str, ...]
    problems: tuple[HookProblem, ...] = ()


def read_hooks(project: str) -> list[Hooks]:
    """The clients that have our hook somewhere, each with its problems."""
    return [hooks for client in CLIENTS if (hooks := _read_hooks(client, project)) is not None]


def _read_hooks(client: str, project: str) -> Hooks | None:
    files = {settings_file(client, where, project): where for where in reversed(PLACES)}  # two places may be one file
    files = dict(reversed(files.items()))
    installed: dict[str, str] = {}
    problems: list[HookProblem] = []
    for file in files:
        try:
            text = read_settings(file)
            if text is not None and has_hook(client, text, file):
                installed[file] = text
        except LizaError as error:
            hint = error.hint or f"correct it by hand: {file}"
            problems.append(HookProblem(client, f"its settings cannot be read: {error.message}", hint, file))
    if not installed and not problems:
        return None
    places = {file: files[file] for file in installed}
    if installed:
        setup = Setup(project, client_folder(client), tuple(files), installed, places)
        problems += (*_incomplete(client, setup), *load_client(client).problems(setup))
    return Hooks(client, tuple(places.values()), tuple(places), tuple(problems))


def _incomplete(client: str, setup: Setup) -> Iterator[HookProblem]:
    for file, where in setup.places.items():
        if with_hook(client, where, setup.installed[file], file) != setup.installed[file]:
            option = "" if where == "local" else f" --{where}"
            text = "its hook is incomplete, or of another version of liza"
            yield HookProblem(client, text, f"liza install {client}{option}", file, is_off=False)


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
