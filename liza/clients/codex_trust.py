"""Whether Codex runs our hooks: it silently skips every hook that a person has not trusted.

What is trusted is in the user's `config.toml`: a digest of each hook, under the hook's place (file, event, position).
So a changed command loses the trust, and so does another hook that is put before ours. Measured with Codex 0.169.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from liza.clients.hook_entries import entries_of, is_ours
from liza.clients.settings import HookProblem, Setup

# Without these there is neither a halt nor a step. Codex shortens the time limit of others before it makes the digest.
EVENTS = ("PreToolUse", "UserPromptSubmit", "PostToolUse", "SessionStart")
_DEFAULT_TIMEOUT = 600


def untrusted(setup: Setup) -> Iterator[HookProblem]:
    """What Codex skips, in the order in which a person has to deal with it."""
    import tomllib

    settings = os.path.join(setup.folder, "config.toml")
    config: dict[str, Any] = {}
    try:
        with open(settings, "rb") as stream:
            config = tomllib.load(stream)
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        yield HookProblem("codex", f"its settings cannot be read: {error}", f"correct it by hand: {settings}", settings)
        return
    features = config.get("features")
    if isinstance(features, dict) and (features.get("hooks") is False or features.get("codex_hooks") is False):
        hint = f"remove hooks = false under [features] in {settings}"
        yield HookProblem("codex", "all hooks are disabled", hint, settings)
        return
    for file, text in setup.installed.items():
        if setup.places[file] != "user" and not trusts_project(config, setup.project):
            message = "this project is not trusted, so none of its hooks runs"
            yield HookProblem("codex", message, f"start codex in {setup.project}, and trust the folder", settings)
        yield from _untrusted_hooks(config, file, text)


def _untrusted_hooks(config: Mapping[str, Any], file: str, text: str) -> Iterator[HookProblem]:
    hooks = config.get("hooks")
    state = hooks.get("state") if isinstance(hooks, dict) else None
    found: dict[Trust, list[str]] = {}
    for event in EVENTS:
        for position, entry in enumerate(entries_of(text, event, file)):
            if is_ours(entry):
                found.setdefault(read_trust(state, file, event, position, entry), []).append(event)
    for trust, events in found.items():
        if trust is not Trust.TRUSTED:
            message = f"no hook runs for {', '.join(events)}: {trust}"
            yield HookProblem("codex", message, "start codex, and trust the hooks of liza (later: /hooks)", file)


class Trust(StrEnum):
    """What Codex does with a hook."""

    TRUSTED = "trusted"
    DISABLED = "disabled"
    NEW = "not trusted"
    CHANGED = "changed since it was trusted"
    MOVED = "moved by another hook since it was trusted"


def read_trust(state: Any, file: str, event: str, position: int, entry: Mapping[str, Any]) -> Trust:
    """The trust of the entry at a position of an event in `file`; `state` is `hooks.state` of config.toml."""
    known = state if isinstance(state, Mapping) else {}
    label = re.sub(r"(?<!^)([A-Z])", r"_\1", event).lower()
    digest = hook_digest(label, entry)
    places = [f"{path}:{label}:" for path in dict.fromkeys((os.path.abspath(file), os.path.realpath(file)))]
    for place in places:
        own = known.get(f"{place}{position}:0")
        if isinstance(own, Mapping) and own.get("enabled") is False:
            return Trust.DISABLED
        if isinstance(own, Mapping) and own.get("trusted_hash") == digest:
            return Trust.TRUSTED
    others = [(key, each) for key, each in known.items() if key.startswith(tuple(places)) and isinstance(each, Mapping)]
    if any(each.get("trusted_hash") == digest for _, each in others):
        return Trust.MOVED
    return Trust.CHANGED if others else Trust.NEW


def hook_digest(label: str, entry: Mapping[str, Any]) -> str:
    """The digest that Codex makes of an entry with one command; `label` is the event as it writes it there."""
    (hook,) = entry["hooks"]
    handler = {
        "type": "command",
        "command": hook.get("command"),
        "timeout": hook.get("timeout", _DEFAULT_TIMEOUT),
        "async": hook.get("async", False),
    }
    matcher = {"matcher": entry["matcher"]} if isinstance(entry.get("matcher"), str) else {}
    identity = {"event_name": label, "hooks": [handler], **matcher}
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}"


def trusts_project(config: Mapping[str, Any], project: str) -> bool:
    """Whether Codex reads the settings of a project at all: a person has trusted its folder, or that of its git."""
    listed = config.get("projects")
    projects = listed if isinstance(listed, Mapping) else {}
    trusted = {
        path for path, each in projects.items() if isinstance(each, Mapping) and each.get("trust_level") == "trusted"
    }
    own = (os.path.abspath(project), os.path.realpath(project))
    return any(folder in trusted for start in own for folder in _up_to_git(start))


def _up_to_git(folder: str) -> Iterator[str]:
    """The folder and those above it up to the top of its git worktree."""
    yield folder
    while not os.path.lexists(os.path.join(folder, ".git")) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
        yield folder
