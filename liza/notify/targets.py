"""Where messages go, and how each place wants them written."""

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

TIMEOUT = 5.0  # seconds


class Message(NamedTuple):
    """What people are to be told."""

    kind: str  # tripped, resolved, alarm, degraded ...
    title: str
    text: str
    at: str
    board: str
    trip_id: str | None = None


class Webhook(NamedTuple):
    """An address that takes JSON by POST, in the form that its owner expects."""

    url: str
    form: str = "json"  # or slack, discord

    @property
    def name(self) -> str:
        """Without anything that could be a secret: those are in the path, the query or before an @."""
        parts = urlsplit(self.url)
        return f"webhook {parts.scheme}://{parts.hostname or '?'}/…"

    def send(self, message: Message) -> None:
        from urllib.request import Request, urlopen

        body = json.dumps(self._body(message)).encode()
        headers = {"Content-Type": "application/json", "User-Agent": "liza"}
        with urlopen(Request(self.url, body, headers), timeout=TIMEOUT) as answer:
            answer.read(1000)

    def _body(self, message: Message) -> dict[str, Any]:
        line = f"{message.title}: {message.text}"
        if self.form == "slack":
            return {"text": line}
        if self.form == "discord":
            return {"content": line[:1900], "allowed_mentions": {"parse": []}}
        return message._asdict()


class File(NamedTuple):
    """A file that gets one line of JSON a message."""

    path: str

    @property
    def name(self) -> str:
        return f"file {self.path}"

    def send(self, message: Message) -> None:
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(message._asdict()) + "\n")


class Desktop(NamedTuple):
    """The notifications of the desktop, over D-Bus; no program is started for it."""

    name: str = "desktop"

    def send(self, message: Message) -> None:
        from jeepney import DBusAddress, new_method_call
        from jeepney.io.blocking import open_dbus_connection

        address = DBusAddress(
            "/org/freedesktop/Notifications",
            bus_name="org.freedesktop.Notifications",
            interface="org.freedesktop.Notifications",
        )
        urgent = {"urgency": ("y", 2 if message.kind == "tripped" else 1)}
        values: tuple[Any, ...] = ("liza", 0, "", message.title, message.text, [], urgent, -1)
        connection = open_dbus_connection(bus="SESSION")
        try:
            connection.send_and_get_reply(new_method_call(address, "Notify", "susssasa{sv}i", values), timeout=TIMEOUT)
        finally:
            connection.close()


Target = Webhook | File | Desktop


def targets(block: Any, config: Any, folder: str) -> tuple[list[Target], list[str]]:
    """What `notify:` in rules.yaml and `config.escalation_webhook` ask for, and what is wrong with it."""
    found: list[Target] = []
    wrong: list[str] = []
    given = dict(block) if isinstance(block, Mapping) else {}
    hooks = given.pop("webhook", None)
    for hook in hooks if isinstance(hooks, list) else [hooks] if hooks is not None else []:
        url, form = (hook.get("url"), hook.get("format", "json")) if isinstance(hook, Mapping) else (hook, "json")
        _add_webhook(found, wrong, url, form)
    escalation = config.get("escalation_webhook") if isinstance(config, Mapping) else None
    if escalation is not None:
        _add_webhook(found, wrong, escalation, "json")
    if given.pop("desktop", False) is True:
        found.append(Desktop())
    path = given.pop("file", None)
    if isinstance(path, str) and path.strip():
        found.append(File(os.path.join(folder, path)))
    elif path is not None:
        wrong.append("notify.file is not the path of a file")
    wrong += [f"notify.{key} is not known: webhook, desktop and file are" for key in given]
    return list(dict.fromkeys(found)), wrong


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _add_webhook(found: list[Target], wrong: list[str], url: Any, form: Any) -> None:
    if not isinstance(url, str) or not _is_address(url):
        wrong.append("a webhook needs an address that begins with http:// or https://")
    elif form not in ("json", "slack", "discord"):
        wrong.append(f"the format of a webhook is one of json, slack and discord, not {form!r}"[:120])
    else:
        found.append(Webhook(url, form))
