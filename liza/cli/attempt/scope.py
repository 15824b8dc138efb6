"""`liza attempt scope` and `justify`: which files a slice may change, and why another one has to be."""

import os
from collections.abc import Sequence

import click

from liza.cli import envelope, show
from liza.cli.attempt import show as words
from liza.cli.attempt.options import of_slice
from liza.cli.group import Call, plain
from liza.errors import Refused, Unreadable, WrongUsage
from liza.scopes.change import read_usable
from liza.scopes.inbox import record_or_queue
from liza.scopes.records import mappings_of
from liza.scopes.slices import attempt_texts, files_in_scope, scope_lock, worktree
from liza.scopes.slices.fields import SLICES
from liza.scopes.slices.record import justify_file, record_violations
from liza.scopes.slices.scope_lock import Decision
from liza.text import cut_line, escape_surrogates, printable, value_text

_WORDS = {
    scope_lock.LISTED: "files_in_scope",
    scope_lock.CONTRACTS: "a contract",
    scope_lock.PACKAGES: "a package of GRAPH.json",
    scope_lock.DELIVERABLES: "a deliverable of GRAPH.json",
    scope_lock.JUSTIFIED: "a justification",
}


@click.command("scope")
@click.argument("files", metavar="FILE...", nargs=-1)
@of_slice
@click.option("--changed", is_flag=True, help="Check all files that the slice has changed, according to git.")
@click.option("--graph", metavar="FILE", help="The GRAPH.json; default: beside the .liza/, or in .greenlight/.")
@plain
def scope_command(call: Call, files: tuple[str, ...], name: str, changed: bool, graph: str | None) -> int:
    """Show whether files are in the scope of a slice, and why.

    The rules, in their order: files_in_scope of the slice, which alone counts where it is given; its contracts;
    packages and deliverables of its entry in GRAPH.json; a justification. Exit code 0 if all are in scope, 1 if not.
    With --changed a file outside without a justification is a scope violation: it is recorded, and the exit code is 3.

    \b
    Examples:
      liza attempt scope --slice S-3 src/shared/errors.ts
    """
    if not files and not changed:
        raise WrongUsage("no files given", hint="name files, or use --changed")
    board = call.board
    name = escape_surrogates(name)
    record = read_usable(board.read(), SLICES, name, ignored=("status",)) or {}
    folder, named = worktree.named(board, record, files)
    top, touched = worktree.changed(board, name, record) if changed else (folder, ())
    ground = files_in_scope.find_roots(board.paths, record, top)
    known = files_in_scope.read_scope(ground, name, record, graph)
    found = files_in_scope.decide_files(ground, known, record, list(dict.fromkeys([*named, *touched])))
    outside = [each for each in found if not each.in_scope]
    violated = [each.file for each in outside if each.file in touched] if known.is_known else []
    if changed and known.is_known:
        record_violations(board, name, violated, call.at)
    code = 3 if violated else 1 if outside else 0
    if call.as_json:
        status = "violated" if violated else "outside" if outside else "in scope"
        listed = [each._asdict() for each in found]
        envelope.write("attempt scope", status, known.notes, slice_id=name, files=listed, violations=violated)
        return code
    _print(found, name, violated)
    show.warnings(known.notes)
    return code


def _print(found: Sequence[Decision], name: str, violated: Sequence[str]) -> None:
    if not found:
        click.echo("nothing was changed")
    for each in found:
        file = show.short(each.file, 160)
        if each.in_scope:
            click.echo(
                f"{click.style('allowed', fg='green')}: {file} (by {_WORDS[each.rule]}: {show.short(each.by, 120)})"
            )
        else:
            click.echo(f"{click.style('not allowed', fg='red')}: {file} ({each.rule})")
    if violated:
        click.echo(f"{show.bold('scope violated', 'red')}: if no honest justification can be written, stop:")
        click.echo(f"  liza attempt arch-stop --slice {words.quoted(name)} -m 'why the allowed files are too few'")
    if any(each.rule == scope_lock.UNKNOWN for each in found):
        click.echo("  list the allowed files: files_in_scope of the slice, its contracts, or GRAPH.json")
    if any(not each.in_scope for each in found):
        options = "--file F --test NAME --reason R --relationship T"
        click.echo(f"  justify a file: liza attempt justify --slice {words.quoted(name)} {options}")


@click.command("justify")
@of_slice
@click.option("--file", metavar="F", required=True, help="The file that is not allowed.")
@click.option("--test", metavar="NAME", required=True, help="The failing test that requires the change.")
@click.option("--reason", metavar="R", required=True, help="Why the test cannot pass without it.")
@click.option("--relationship", metavar="T", required=True, help="What the file has to do with the slice's contracts.")
@plain
def justify_command(call: Call, name: str, file: str, test: str, reason: str, relationship: str) -> int:
    """Record why a file outside the scope has to be changed.

    All four options are needed.
    A change for which no honest justification can be written must not be made: liza attempt arch-stop.

    \b
    Examples:
      liza attempt justify --slice S-3 --file src/shared/errors.ts --test test_conflict \\
        --reason "only the factory makes the error's shape" --relationship "contract C-12 names that shape"
    """
    given = {"--file": file, "--test": test, "--reason": reason, "--relationship": relationship}
    empty = [option for option, text in given.items() if not attempt_texts.has_words(text)]
    if empty:
        hint = "all four are needed; if one cannot be written: liza attempt arch-stop"
        raise Refused(f"{' and '.join(empty)} {'says' if len(empty) == 1 else 'say'} nothing", hint=hint)
    board = call.board
    name = escape_surrogates(name)
    try:
        known = read_usable(board.read(), SLICES, name, ignored=("status",)) or {}
    except Unreadable:
        known = {}  # the justification waits until it can be read
    top, (path,) = worktree.named(board, known, [file])
    if "*" in path or os.path.isdir(os.path.join(top, path)):
        hint = "name the one file; each file needs its own justification"
        raise Refused(f"--file: {value_text(file)} is not a file", hint=hint)
    test, reason, relationship = (
        cut_line(escape_surrogates(each), 4 * attempt_texts.LINE) for each in (test, reason, relationship)
    )
    record = record_or_queue(justify_file(board, name, path, test, reason, relationship, call.at))
    left = [str(each.get("file")) for each in mappings_of(record, "scope_violations")]
    if call.as_json:
        entry = mappings_of(record, "justifications")[-1]
        envelope.write("attempt justify", "justified", slice_id=name, justification=dict(entry), violations=left)
        return 0
    click.echo(f"justified: {printable(path)}")
    if left:
        show.warnings([f"not justified yet: {', '.join(left)}"])
    return 0
