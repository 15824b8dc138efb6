"""`liza log` without click, whose import takes longer than the command itself.

Agents' hooks call it many times a minute, nearly always in its plain form. Only that form is understood here; for
everything else (help, a mistake, an unusual spelling) the answer is None, and click does it all from the start. A
test holds the two to the same understanding of every command line.
"""

from collections.abc import Sequence
from typing import NamedTuple

_OPTIONS = {
    "anomaly": ("--type", "--task", "--reporter", "--timestamp", "--root"),
    "entry": ("--agent", "--action", "--task", "--detail", "--timestamp", "--root"),
}
_FLAGS = ("--json", "--debug")


class Parsed(NamedTuple):
    """A command line that was understood."""

    command: str
    options: dict[str, str]
    words: list[str]
    flags: set[str]


def log(arguments: Sequence[str]) -> int | None:
    """Run `liza log` with these arguments, or None if click has to."""
    parsed = parse(arguments)
    if parsed is None:
        return None
    from liza.cli import record

    root = parsed.options.pop("root", None)
    as_json = "--json" in parsed.flags
    if parsed.command == "anomaly":
        return record.anomaly(root, parsed.options, parsed.words, as_json)
    return record.entry(root, parsed.options, as_json)


def parse(arguments: Sequence[str]) -> Parsed | None:
    if not arguments or arguments[0] not in _OPTIONS:
        return None
    parsed = Parsed(arguments[0], {}, [], set())
    rest = iter(arguments[1:])
    for word in rest:
        name, equals, text = word.partition("=")
        if name in _OPTIONS[parsed.command]:
            parsed.options[name[2:]] = value = text if equals else next(rest, "--")
            if value.startswith("-") and value != "-":
                return None
        elif word in _FLAGS:
            parsed.flags.add(word)
        elif parsed.command == "anomaly" and equals and not word.startswith("-"):
            parsed.words.append(word)
        else:
            return None
    return parsed
