"""A webhook: an address that takes JSON by POST, in the form that its owner expects.

What is sent may hold text that agents wrote, so nothing in it mentions a user, links or shows a picture.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from liza.model import Fault, Path
from liza.notify.message import TIMEOUT, Message, NotSent
from liza.notify.settings import shown, unknown_keys
from liza.text import cut, escape_angles, suggestion, value_text

FORMATS = ("json", "slack", "discord", "ntfy")
_MOST = 20  # webhooks: each has a thread of its own
_BUSY = (429, 500, 502, 503, 504)  # try again later
_DISCORD = 2000  # characters that it takes
_SLACK = 4000  # as many as it shows in one piece
_NTFY = 4000  # bytes; a longer message becomes an attachment
_TOPIC = re.compile(r"[-\w]{1,64}", re.ASCII)
_PRIORITIES = {"tripped": 5, "alarm": 4, "degraded": 4}  # of ntfy, where 3 is the default
_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_~|[]()<>#:@-"})


class Webhook(NamedTuple):
    """Where to, and in which form; `is_webhook_url` must hold for the first."""

    url: str
    form: str = "json"

    @property
    def name(self) -> str:
        """Without anything that could be a secret: those are in the path, the query or before an @."""
        parts = urlsplit(self.url)
        port = f":{parts.port}" if parts.port is not None else ""
        return f"webhook {parts.scheme}://{parts.hostname}{port}/…"

    def send(self, message: Message) -> None:
        from http.client import HTTPException
        from urllib.error import HTTPError, URLError
        from urllib.request import HTTPRedirectHandler, Request, build_opener

        class Stay(HTTPRedirectHandler):
            """Follows no redirect: a redirected POST arrives as a GET without its body, and seems to be sent."""

            def redirect_request(self, *_: Any) -> None:
                return None

        address, headers = _with_credentials(_ntfy_server(self.url)[0] if self.form == "ntfy" else self.url)
        body = json.dumps(self.body(message)).encode()
        try:
            with build_opener(Stay).open(Request(address, body, headers), timeout=TIMEOUT):
                pass
        except HTTPError as error:
            error.close()
            raise NotSent(f"it answered {error.code}", retry=error.code in _BUSY) from None
        except URLError as error:  # before anything was sent: unknown host, refused connection, certificate
            why = error.reason if isinstance(error.reason, Exception) else error
            raise NotSent(f"no connection ({type(why).__name__})", retry=True) from None
        except (OSError, HTTPException) as error:
            raise NotSent(f"no answer ({type(error).__name__}), so it may have arrived", retry=False) from None

    def body(self, message: Message) -> dict[str, Any]:
        line = f"{message.title}: {message.text}"
        if self.form == "slack":
            plain = {"mrkdwn": False, "link_names": False, "unfurl_links": False, "unfurl_media": False}
            return {"text": escape_angles(cut(line, _SLACK)), **plain}
        if self.form == "discord":
            return {"content": _discord(line), "allowed_mentions": {"parse": []}, "flags": 4}  # 4: no previews of links
        if self.form == "ntfy":
            return {"topic": _ntfy_server(self.url)[1], **_ntfy(message)}
        return message._asdict()


def read(given: Any, path: Path, project: str) -> Iterator[Webhook | Fault]:
    """One webhook, or a list of them, as `notify.webhook` has it."""
    if isinstance(given, list | tuple):
        if len(given) > _MOST:
            hint = "use one webhook that forwards the messages"
            yield Fault(path, f"{len(given):,} webhooks: only the first {_MOST} get messages", hint)
        for index, each in enumerate(given[:_MOST]):
            yield from read_one(each, (*path, index))
    else:
        yield from read_one(given, path)


def read_one(given: Any, path: Path) -> Iterator[Webhook | Fault]:
    """A webhook by its address, or by a mapping with `url` or `env`."""
    if given is None:
        return
    details: Mapping[str, Any] = given if isinstance(given, Mapping) else {"url": given}
    yield from unknown_keys(details, path, ("url", "env", "format"))
    form, url, variable = details.get("format", "json"), details.get("url"), details.get("env")
    if url is None and isinstance(variable, str):
        url = os.environ.get(variable)
        if url is None:  # not here, but perhaps where the daemon runs
            hint = "set it in the environment of the daemon: unlike a file, others cannot read it there"
            yield Fault((*path, "env"), f"environment variable {value_text(variable)} is not set", hint, "warning")
            return
    if not is_webhook_url(url):
        where = (*path, "url") if isinstance(given, Mapping) else path
        hint = "set url (or env, a variable that holds it) to an http:// or https:// address with a host name"
        yield Fault(where, f"{'.'.join(map(str, path))} has no usable address", hint)
    elif form not in FORMATS:
        yield Fault((*path, "format"), f"unknown webhook format {shown(form)}", suggestion(form, FORMATS))
    elif form == "ntfy" and not _TOPIC.fullmatch(_ntfy_server(str(url))[1]):
        hint = (
            "the topic is the last part of the address, like https://ntfy.sh/my-team-7f3a; of letters, digits, - and _"
        )
        yield Fault(path, f"{'.'.join(map(str, path))} has no ntfy topic", hint)
    else:
        yield Webhook(str(url), form)


def is_webhook_url(url: Any) -> bool:
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an unfinished bracket, or a port that is none
        return False


def _with_credentials(url: str) -> tuple[str, dict[str, str]]:
    """The address without a name and password, which go into a header: urllib takes them for part of the host."""
    headers = {"Content-Type": "application/json", "User-Agent": "liza"}
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return url, headers
    from base64 import b64encode
    from urllib.parse import unquote

    given, _, host = parts.netloc.rpartition("@")
    headers["Authorization"] = f"Basic {b64encode(unquote(given).encode()).decode()}"
    return parts._replace(netloc=host).geturl(), headers


def _ntfy_server(url: str) -> tuple[str, str]:
    """The address to which messages in JSON go, and the topic."""
    parts = urlsplit(url)
    above, _, topic = parts.path.rpartition("/")
    return parts._replace(path=f"{above}/").geturl(), topic


def _ntfy(message: Message) -> dict[str, Any]:
    """A message for ntfy, which shows it as plain text; a tap opens the dashboard."""
    text = message.text
    while len(text.encode()) > _NTFY:
        text = cut(text, min(len(text) - 1, _NTFY * len(text) // len(text.encode())))
    click = {"click": message.dashboard} if message.dashboard is not None else {}
    return {"title": message.title, "message": text, "priority": _PRIORITIES.get(message.kind, 3), **click}


def _discord(line: str) -> str:
    """Every mark of its markup escaped, and no half of an escape where it has to be cut."""
    escaped = line.translate(_MARKS)
    while len(escaped) > _DISCORD:
        line = cut(line, len(line) - max((len(escaped) - _DISCORD) // 2, 1))
        escaped = line.translate(_MARKS)
    return escaped
