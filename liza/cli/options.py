"""Values of options that several commands take."""

import os
from datetime import UTC, datetime

from liza.errors import WrongUsage
from liza.model import parse_time
from liza.rules.evaluate import RuleSet
from liza.text import value_text


def moment(text: str | None) -> datetime:
    """The time that --now gives, else the clock's."""
    if text is None:
        return datetime.now(UTC)
    found = parse_time(text)
    if found is None or not 1000 <= found.year < 9999:
        raise WrongUsage(f"--now: expected an ISO 8601 time, got {text!r}", hint="like 2025-01-18T17:30:00Z")
    return found


def person(name: str | None) -> str:
    """Who decides: --by, else the user of this machine, or an agent of that user."""
    import getpass

    if name and name.strip():
        return name.strip()
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        user = f"uid {os.getuid()}"
    from liza.clients.caller import VARIABLES

    return f"an agent of {user}" if any(map(os.environ.get, VARIABLES)) else user


def words(text: str, option: str) -> str:
    """The text that an option gives: - is standard input, @FILE the text of a file, all else the words themselves.

    Bytes that are not UTF-8 stay visible as escapes; the line break at the end goes, as in a shell's $(...).
    """
    import sys

    if text == "-":
        raw = sys.stdin.buffer.read()
    elif text.startswith("@"):
        try:
            with open(text[1:], "rb") as file:
                raw = file.read()
        except OSError as error:
            hint = f"to give a text that begins with @, use standard input: printf %s '@...' | liza ... {option} -"
            raise WrongUsage(f"{option} names the file {text[1:]!r}: {error.strerror}", hint=hint) from None
    else:
        raw = os.fsencode(text)
    return _said(raw, option)


def plain_words(text: str, option: str) -> str:
    """The text that an option gives, nothing of it special: a reason may begin with @name."""
    return _said(os.fsencode(text), option)


def optional_words(text: str | None, option: str) -> str | None:
    return None if text is None else plain_words(text, option)


def _said(raw: bytes, option: str) -> str:
    text = raw.decode(errors="backslashreplace").rstrip("\n")
    if not text.strip():
        raise WrongUsage(f"{option} is empty", hint=f"give a non-empty text: {option} TEXT")
    return text


def adjusted(rules: RuleSet, exact: bool, window: str | None) -> RuleSet:
    """The rules as --exact and --window ask for them."""
    if window is not None:
        from liza.schema.rules_yaml import window as window_kind

        if (expected := window_kind(window)) is not None:
            raise WrongUsage(f"--window: expected {expected}, got {value_text(window)}")
        own = tuple(each._replace(rule=each.rule._replace(window=None)) for each in rules.rules)
        rules = rules._replace(window=window, rules=own)
    return rules._replace(exact=rules.exact or exact)
