"""click's usage errors in liza's words, with an example of a right one where something is missing."""

import re

import click

from liza.errors import WrongUsage
from liza.text import value_text, with_meant


def usage_error(error: click.UsageError, called: str) -> WrongUsage:
    called = error.ctx.command_path if error.ctx else called
    see = f"see: {called} --help"
    if isinstance(error, click.NoSuchOption):
        text, known = f"unknown option {value_text(error.option_name)}", tuple(error.possibilities or ())
        return WrongUsage(with_meant(text, error.option_name, known), hint=see)
    if isinstance(error, click.MissingParameter) and error.param is not None:
        example = _example(error.ctx)
        return WrongUsage(f"missing {_name(error.param)}", hint=f"for example: {example}" if example else see)
    if (extra := re.fullmatch(r"Got unexpected extra arguments? \((.*)\)", error.message, re.DOTALL)) is not None:
        return WrongUsage(f"unexpected argument {value_text(extra[1])}", hint=see)
    message = " ".join(error.format_message().split())  # click puts the words to choose from on lines of their own
    return WrongUsage(message[:1].lower() + message[1:].removesuffix("."), hint=see)


def _name(param: click.Parameter) -> str:
    """An option by the shortest of its names; an argument as the help writes it."""
    return min(param.opts, key=len) if isinstance(param, click.Option) else param.human_readable_name


def _example(ctx: click.Context | None) -> str:
    """The first one that the help of the command gives."""
    text = (ctx.command.help or "") if ctx is not None else ""
    lines = text.partition("Examples:")[2].strip().splitlines()
    while len(lines) > 1 and lines[0].endswith("\\"):
        lines[:2] = [f"{lines[0].removesuffix(chr(92)).rstrip()} {lines[1].strip()}"]
    return lines[0].strip() if lines else ""
