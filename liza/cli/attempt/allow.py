"""`liza attempt allow`: what a slice may change."""

from typing import Any

import click

from liza.cli.attempt import show
from liza.cli.attempt.options import in_force, of_slice
from liza.cli.group import Call, plain
from liza.errors import WrongUsage
from liza.model import one_or_several
from liza.scopes.slices.record import allow_files
from liza.scopes.slices.scope_lock import CONTRACTS, LISTED
from liza.text import cut_line, escape_surrogates, printable, text_of


@click.command("allow")
@click.argument("files", metavar="[FILE]...", nargs=-1)
@of_slice
@click.option("--contract", "contracts", metavar="C", multiple=True, help="An id, a file, or the text of a contract.")
@click.option("--nothing", is_flag=True, help="Allow no file.")
@click.option("--inferred", is_flag=True, help="Remove the list: contracts and GRAPH.json decide.")
@plain
def allow_command(
    call: Call, files: tuple[str, ...], name: str, contracts: tuple[str, ...], nothing: bool, inferred: bool
) -> int:
    """Set what a slice may change.

    Files, folders and patterns, or the contracts that name them; each replaces what was there before. Paths are
    relative to the top of the working tree.

    \b
    Examples:
      liza attempt allow --slice S-3 src/users "docs/**/*.md"
      liza attempt allow --slice S-3 --contract C-12
    """
    if bool(files) + nothing + inferred > 1:
        raise WrongUsage("give either files, --nothing or --inferred")
    fields: dict[str, list[str] | None] = {}
    if files or nothing or inferred:
        fields[LISTED] = None if inferred else [escape_surrogates(each) for each in files]
    if contracts:
        fields[CONTRACTS] = [escape_surrogates(each) for each in contracts]
    if not fields:
        raise WrongUsage("nothing to set", hint="name files, --contract, --nothing or --inferred")
    board = call.board
    done = allow_files(board, escape_surrogates(name), fields, in_force(board.paths), call.at)
    allowed = {"files_in_scope": done.record.get(LISTED), "contracts": done.record.get(CONTRACTS)}
    said = [f"{field}: {_shown(value)}" for field, value in allowed.items() if value is not None]
    return show.print_result("attempt allow", done, call.as_json, said, **allowed)


def _shown(value: Any) -> str:
    return printable(cut_line(", ".join(map(text_of, one_or_several(value))), 400)) or "nothing"
