"""What the commands about attempts take."""

import sys
from collections.abc import Sequence
from typing import Any

import click

from liza.cli.streams import warn
from liza.errors import Refused, WrongUsage
from liza.rules.evaluate import RuleSet
from liza.scopes.rules_file import protocol_rules
from liza.store.paths import Paths
from liza.text import escape_surrogates

MOST = 8 << 20  # bytes of an error's text that are read: its two ends, where it is longer

of_slice = click.option(
    "--slice",
    "name",
    metavar="S",
    required=True,
    envvar="LIZA_SLICE",
    help="The slice of work; default: $LIZA_SLICE.",
)
of_test = click.option("--test", metavar="NAME", required=True, help="The exact name of the test.")


def in_force(paths: Paths) -> RuleSet:
    """The active rules. What stops a slice is fixed, so a file that cannot be used keeps no failure from counting."""
    rules, broken = protocol_rules(paths.rules, "attempts")
    if broken is not None:
        warn(str(broken), "the shipped rules apply until it is fixed; see: liza rules check")
    return rules


def error_of(text: str | None, file: str | None) -> str:
    """What --error or --error-file gives; `-` is standard input for both."""
    if text is not None and file is not None:
        raise WrongUsage("--error and --error-file are both given", hint="give one of them")
    if text == "-" or file == "-":
        return _ends(sys.stdin.buffer)
    if file is not None:
        try:
            with open(file, "rb") as opened:
                return _ends(opened)
        except OSError as error:
            hint = "name a file with the output of the test runner, or - for standard input"
            raise Refused(f"cannot be read: {error.strerror}", hint=hint, file=file) from None
    return escape_surrogates(text or "")


def _ends(stream: Any) -> str:
    """All of a stream, or its two ends: a runner that prints for ever must not fill the memory."""
    head: bytes = stream.read(MOST // 2)
    tail = b""
    left_out = 0
    while piece := stream.read(1 << 20):
        tail += piece
        if len(tail) > MOST:
            left_out += len(tail) - MOST // 2
            tail = tail[-MOST // 2 :]
    gap = b"\n[... %d bytes are left out here ...]\n" % left_out if left_out else b""
    return (head + gap + tail).decode(errors="backslashreplace")


def files_of(named: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    """The files behind --files, which may be followed by several."""
    if more and not named:
        raise WrongUsage(f"unexpected argument {more[0]!r}", hint="list changed files after --files")
    return tuple(escape_surrogates(each) for each in (*named, *more))
