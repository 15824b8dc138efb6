"""Where messages go: what `notify:` in rules.yaml and `config.escalation_webhook` ask for, and what is wrong with it.

A fault disables only its own target; it names no address, because addresses hold secrets.
"""

import os
from collections.abc import Collection, Iterator, Mapping
from itertools import chain, count
from typing import Any

from liza.model import Fault, Path
from liza.notify.desktop import Desktop
from liza.notify.file import File, is_inside_project
from liza.notify.webhook import FORMATS, Webhook, is_webhook_url
from liza.text import suggestion, value_text

Target = Webhook | File | Desktop
KEYS = ("webhook", "desktop", "file")


def read_targets(block: Any, config: Any, project: str) -> tuple[list[Target], list[Fault]]:
    """The targets, each once, and the faults on their paths in rules.yaml (`notify`) and in state.yaml (`config`)."""
    given: Mapping[str, Any] = block if isinstance(block, Mapping) else {}
    escalation = config.get("escalation_webhook") if isinstance(config, Mapping) else None
    found = [
        *_webhooks(given.get("webhook")),
        *_webhook(escalation, ("config", "escalation_webhook")),
        *_desktop(given.get("desktop")),
        *_file(given.get("file"), project),
        *_unknown(given, ("notify",), KEYS),
    ]
    places: dict[Target, None] = {each: None for each in found if not isinstance(each, Fault)}
    return list(places), [each for each in found if isinstance(each, Fault)]


_MOST = 20  # webhooks: each has a thread of its own


def unique_name(place: Target, taken: Collection[str]) -> str:
    """A distinct name: channels of one host differ only in what must stay secret."""
    numbered = (f"{place.name} ({number})" for number in count(2))
    return next(name for name in chain((place.name,), numbered) if name not in taken)


def _webhooks(given: Any) -> Iterator[Target | Fault]:
    if isinstance(given, list | tuple):
        if len(given) > _MOST:
            hint = "send to one place that passes the messages on"
            yield Fault(("notify", "webhook"), f"{len(given):,} webhooks: only the first {_MOST} get messages", hint)
        for index, each in enumerate(given[:_MOST]):
            yield from _webhook(each, ("notify", "webhook", index))
    else:
        yield from _webhook(given, ("notify", "webhook"))


def _webhook(given: Any, path: Path) -> Iterator[Target | Fault]:
    if given is None:
        return
    details: Mapping[str, Any] = given if isinstance(given, Mapping) else {"url": given}
    yield from _unknown(details, path, ("url", "env", "format"))
    form, url, variable = details.get("format", "json"), details.get("url"), details.get("env")
    if url is None and isinstance(variable, str):
        url = os.environ.get(variable)
        if url is None:  # not here, but perhaps where the daemon runs
            hint = "set it where the daemon is started: an address in a variable is in no file that others can read"
            yield Fault((*path, "env"), f"the environment has no {value_text(variable)}", hint, "warning")
            return
    if not is_webhook_url(url):
        where = (*path, "url") if isinstance(given, Mapping) else path
        hint = "an address begins with http:// or https:// and names a host"
        yield Fault(where, f"{'.'.join(map(str, path))} has no usable address", hint)
    elif form not in FORMATS:
        yield Fault((*path, "format"), f"unknown webhook format {_shown(form)}", suggestion(form, FORMATS))
    else:
        yield Webhook(str(url), form)


def _desktop(given: Any) -> Iterator[Target | Fault]:
    if given is True:
        yield Desktop()
    elif given not in (None, False):
        yield Fault(("notify", "desktop"), f"notify.desktop: expected true or false, got {_shown(given)}")


def _file(given: Any, project: str) -> Iterator[Target | Fault]:
    if given is None:
        return
    usable = isinstance(given, str) and bool(given.strip()) and "\0" not in given and "://" not in given
    if not usable or not is_inside_project(os.path.normpath(os.path.join(project, given)), project):
        hint = "a path like notices.jsonl, inside the project, outside .liza/ and not hidden"
        yield Fault(("notify", "file"), f"notify.file is {_shown(given)}, where no messages can go", hint)
    else:
        yield File(os.path.normpath(given), project)


def _unknown(given: Mapping[Any, Any], path: Path, known: tuple[str, ...]) -> Iterator[Fault]:
    for key in given:
        if key not in known:
            yield Fault((*path, str(key)), f"unknown key {_shown(key)} in {path[0]}", suggestion(key, known, "known"))


def _shown(value: Any) -> str:
    """The value, unless it is an address under the wrong key."""
    return "an address" if "://" in str(value) else value_text(value)
