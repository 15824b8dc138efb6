"""Every `--help` of liza as files, so that a change is reviewed.

`make snapshots` renews them.
"""

from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner

from liza.cli.group import liza

FOLDER = Path(__file__).with_name("help")
WIDTH = 80  # columns, where the output is no terminal

Words = tuple[str, ...]


def commands(command: click.Command = liza, words: Words = ()) -> Iterator[tuple[Words, click.Command]]:
    """Each command with the words that call it, in the order of the help."""
    yield words, command
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            assert inner is not None
            yield from commands(inner, (*words, name))


def text(words: Words) -> str:
    """The output of `liza ... --help`."""
    env = {"COLUMNS": str(WIDTH)}
    result = CliRunner(env=env).invoke(liza, [*words, "--help"], prog_name="liza", catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def pages() -> dict[str, str]:
    """The name and content of each file: a command with its subcommands."""
    held: dict[str, list[str]] = {}
    for words, _ in commands():
        name = words[0] if words else "liza"
        held.setdefault(f"{name}.txt", []).append(f"$ {' '.join(('liza', *words))} --help\n{text(words)}")
    return {name: "\n".join(parts) for name, parts in held.items()}


def write() -> None:
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.iterdir():
        old.unlink()
    for name, page in pages().items():
        (FOLDER / name).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    write()
