"""`liza log`, `loop record` and `analyze` without click, whose import takes longer than the commands themselves.

Agents' hooks call them many times a minute, nearly always in their plain form. Only that form is understood here; for
everything else (help, a mistake, an unusual spelling) the answer is None, and click does it all from the start. A
test holds the two to the same understanding of every command line.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple


class Form(NamedTuple):
    """What a command takes in its plain form."""

    options: tuple[str, ...]
    flags: tuple[str, ...] = ()
    several: tuple[str, ...] = ()  # options that may be given more than once
    pairs: bool = False  # words like key=value
    name: bool = False  # exactly one other word
    directory: bool = False  # at most one other word


FORMS: dict[tuple[str, ...], Form] = {
    ("log", "anomaly"): Form(("--type", "--task", "--reporter", "--timestamp", "--root"), pairs=True),
    ("log", "entry"): Form(("--agent", "--action", "--task", "--detail", "--timestamp", "--root")),
    ("loop", "record"): Form(
        (
            "--task", "--progress", "--files-changed", "--error", "--output", "--outcome", "--model", "--tokens",
            "--duration", "--project", "--now", "--root",
        ),
        ("--claims-done", "--test-only"),
        ("--evidence", "--workdir"),
        name=True,
    ),
    ("analyze",): Form(
        ("--window", "--rules", "--now", "--root"), ("--dry-run", "--exact", "--quiet"), directory=True
    ),
}  # fmt: skip
_FLAGS = ("--json", "--debug")
_SHORT = {"-q": "--quiet"}


class Parsed(NamedTuple):
    """A command line that was understood."""

    command: str
    options: dict[str, Any]
    words: list[str]
    flags: set[str]


def run(arguments: Sequence[str]) -> int | None:
    """Run the command with these arguments, or None if click has to."""
    parsed = parse(arguments)
    if parsed is None:
        return None
    root = parsed.options.pop("root", None)
    as_json = "--json" in parsed.flags
    flags = {_plain(each): True for each in parsed.flags}
    if parsed.command == "analyze":
        from liza.cli import analyze

        directory = next(iter(parsed.words), None)
        return analyze.run(root, {**parsed.options, **flags, "directory": directory}, as_json)
    if arguments[0] == "loop":
        from liza.cli import loop_record

        return loop_record.run(root, parsed.words[0], {**parsed.options, **flags}, as_json)
    from liza.cli import log_record

    if parsed.command == "anomaly":
        return log_record.anomaly(root, parsed.options, parsed.words, as_json)
    return log_record.entry(root, parsed.options, as_json)


def parse(arguments: Sequence[str]) -> Parsed | None:
    """The parts of a command line in its plain form; None for any other."""
    words = next((words for words in FORMS if tuple(arguments[: len(words)]) == words), None)
    if words is None:
        return None
    form = FORMS[words]
    parsed = Parsed(words[-1], {}, [], set())
    rest = iter(arguments[len(words) :])
    for word in rest:
        name, equals, text = word.partition("=")
        if name in form.options or name in form.several:
            value = text if equals else next(rest, "--")
            if value.startswith("-") and value != "-":
                return None
            if name in form.several:
                parsed.options.setdefault(_plain(name), []).append(value)
            else:
                parsed.options[_plain(name)] = value
        elif (flag := _SHORT.get(word, word)) in _FLAGS or flag in form.flags:
            parsed.flags.add(flag)
        elif not word.startswith("-") and (
            (form.pairs and equals) or ((form.name or form.directory) and not parsed.words)
        ):
            parsed.words.append(word)
        else:
            return None
    return parsed if len(parsed.words) == 1 or not form.name else None


def _plain(option: str) -> str:
    return option[2:].replace("-", "_")
