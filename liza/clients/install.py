"""Putting liza's hook into the settings of a client, and taking it out again.

The hook itself is one script in the user's data folder; a settings file only names it, so that the line in it is the
same for every version of liza, and stays trusted. Everything else in a settings file stays as it is, to the byte.
"""

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from liza import templates
from liza.clients import NAMES, load_client
from liza.clients.hook_entries import MARK, SCRIPT, entries_of, is_ours
from liza.clients.json_edit import add_entries, remove_entries
from liza.clients.settings import STARTS
from liza.errors import Refused

PLACES = ("local", "project", "user")  # which settings file a hook is put into
PROGRAM = "program"  # beside the script: where liza is, for clients that reset PATH
FOLDERS = "folders"  # beside it: those that installs have made
MARK_PROGRAM = f"/liza/{PROGRAM}"
EMPTY = "{\n}\n"  # a file that was made for the hook


CLIENTS = {name: load_client(name).SETTINGS for name in NAMES}


class Edit(NamedTuple):
    """A settings file before and after; None where it does not exist."""

    file: str
    before: str | None
    after: str | None

    @property
    def changes(self) -> bool:
        return self.before != self.after


# --- the script -------------------------------------------------------------------------------------------------------


def data_folder() -> str:
    """The folder of the hook script: the same that the script itself looks into."""
    return os.path.join(os.environ.get("XDG_DATA_HOME") or os.path.join(home_folder(), ".local", "share"), "liza")


def home_folder() -> str:
    """The user's home folder; a container may run as a user that has none."""
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise Refused("this user has no home folder", hint="set HOME to a permanent folder, then run this again")
    return home


def script_path() -> str:
    return os.path.join(data_folder(), SCRIPT)


def write_script() -> str:
    """Put the script of this version in place, and note where this liza is. Returns the script's path."""
    folder = data_folder()
    os.makedirs(folder, exist_ok=True)
    for name, text in ((SCRIPT, templates.read_template(SCRIPT)), (PROGRAM, f"{program_path()}\n")):
        _replace(os.path.join(folder, name), text)
    return script_path()


def program_path() -> str:
    """The liza that is running, as hooks are to start it."""
    beside = os.path.join(os.path.dirname(sys.executable), "liza")
    return beside if os.access(beside, os.X_OK) else os.path.abspath(sys.argv[0])


# --- the settings -----------------------------------------------------------------------------------------------------


def client_folder(client: str) -> str:
    """The folder of a client's own settings and transcripts."""
    variable, below, below_home = CLIENTS[client].home
    named = os.environ.get(variable)
    return os.path.join(named, below).rstrip("/") if named else os.path.join(home_folder(), below_home)


def settings_file(client: str, where: str, project: str) -> str:
    """The settings file for `user`, `local` or `project`."""
    settings = CLIENTS[client]
    if where == "user":
        return os.path.join(client_folder(client), settings.user)
    if where == "project" and settings.shared is not None:
        return os.path.join(project, settings.shared)
    return os.path.join(project, settings.local)


def with_hook(client: str, where: str, before: str | None, file: str) -> str:
    """The text of the settings with our hook at every event; those that are there already stay."""
    if (plugin := CLIENTS[client].plugin) is not None:
        return _plugin_text(plugin, before, file)
    text = before if before is not None and before.strip() else EMPTY
    events = CLIENTS[client].events
    for event, kind in events.items():
        entry = _entry(client, kind, shared=where == "project" or (where == "local" and CLIENTS[client].shared is None))
        if [each for each in entries_of(text, event, file) if is_ours(each)] != [entry]:
            text = remove_entries(text, ("hooks", event), is_ours, file)
            text = add_entries(text, ("hooks", event), [entry], file)
    return text


def without_hook(client: str, edit: Edit) -> Edit:
    """The settings also without our hook; a file that holds nothing else is removed."""
    if edit.after is None:
        return edit
    if CLIENTS[client].plugin is not None:
        return edit._replace(after=None if MARK in edit.after else edit.after)
    text = edit.after
    for event in reversed(list(CLIENTS[client].events)):
        text = remove_entries(text, ("hooks", event), is_ours, edit.file)
    return edit._replace(after=None if text != edit.before and text == EMPTY else text)


def _plugin_text(plugin: str, before: str | None, file: str) -> str:
    """The text of a file that is ours alone."""
    if before is not None and MARK not in before:
        raise Refused("this file is not liza's", hint=f"give it another name: {file}", file=file)
    return templates.read_template(plugin)


def apply(edit: Edit) -> None:
    """Write what was planned."""
    if not edit.changes:
        return
    try:
        if edit.after is None:
            os.unlink(os.path.realpath(edit.file))
            _remove_folders(os.path.dirname(edit.file))
        else:
            _make_folders(os.path.dirname(edit.file))
            _replace(edit.file, edit.after)
    except OSError as error:
        hint = f"make {edit.file} writable"
        raise Refused(f"the settings could not be written: {error.strerror}", hint=hint, file=edit.file) from None


def _make_folders(folder: str) -> None:
    """Make the folder of a settings file, and note what was not there before: an uninstall removes no other."""
    made: list[str] = []
    above = folder
    while not os.path.isdir(above):
        made.append(above)
        above = os.path.dirname(above)
    os.makedirs(folder, exist_ok=True)
    if made:
        os.makedirs(data_folder(), exist_ok=True)
        _note(dict.fromkeys((*_noted(), *made)))


def _remove_folders(folder: str) -> None:
    """Remove the folders that an install made, from the inner to the outer, as long as they are empty."""
    noted = _noted()
    with suppress(OSError):
        while folder in noted:
            os.rmdir(folder)
            noted.remove(folder)
            _note(noted)
            folder = os.path.dirname(folder)


def _noted() -> list[str]:
    """The folders that installs have made, one a line."""
    return (read_settings(os.path.join(data_folder(), FOLDERS)) or "").splitlines()


def _note(folders: Iterable[str]) -> None:
    _replace(os.path.join(data_folder(), FOLDERS), "".join(f"{folder}\n" for folder in folders))


def has_hook(client: str, text: str, file: str) -> bool:
    """Whether settings have our hook at any event."""
    if CLIENTS[client].plugin is not None:
        return MARK in text
    return any(is_ours(entry) for event in CLIENTS[client].events for entry in entries_of(text or "{}", event, file))


def _entry(client: str, kind: str, *, shared: bool) -> dict[str, Any]:
    settings = CLIENTS[client]
    hook = {"type": "command", "command": hook_command(client, kind, shared=shared), "timeout": settings.timeout}
    return {**({} if settings.matcher is None else {"matcher": settings.matcher}), "hooks": [hook]}


def hook_command(client: str, kind: str, *, shared: bool) -> str:
    """The line in the settings. In a file that is committed it has no path of this machine."""
    from shlex import quote

    script = f'"${{XDG_DATA_HOME:-$HOME/.local/share}}{MARK}"' if shared else quote(script_path())
    # Without the script nothing can be known about a halt: a broken installation stops the agent, visibly. At the end
    # of a turn the same answer would make the agent continue.
    missing = f"echo 'liza: its hook is missing; to fix: liza install' >&2; exit {2 if kind in STARTS else 0}"
    return f"[ -r {script} ] || {{ {missing}; }}; exec sh {script} {client} {kind}"


def read_settings(file: str) -> str | None:
    """The text of a settings file; None where there is none."""
    try:
        with open(file, encoding="utf-8", newline="") as stream:
            return stream.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"the settings cannot be read: {error}", hint="make them readable", file=file) from None


def _replace(file: str, text: str) -> None:
    """Write a file whole or not at all, with the mode that it had; a link stays one."""
    file = os.path.realpath(file)
    draft = f"{file}.liza-{os.getpid()}"
    mode = os.stat(file).st_mode & 0o777 if os.path.exists(file) else 0o644
    try:
        with open(draft, "x", encoding="utf-8", newline="") as stream:
            stream.write(text)
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        os.rename(draft, file)
    finally:
        if os.path.exists(draft):
            os.unlink(draft)
