"""`liza ingest`."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click

from liza.cli import envelope, show
from liza.cli.group import Call, untimed
from liza.errors import Refused
from liza.scopes.rules_file import rules_in_force
from liza.scopes.sessions.ingest import Ingested, ingest, transcripts_in
from liza.scopes.sessions.tools import tools_of
from liza.text import plural, printable


@click.command("ingest")
@click.argument("places", metavar="PATH...", nargs=-1, required=True)
@untimed
def command(call: Call, places: tuple[str, ...]) -> int:
    """Import transcripts of sessions that liza did not follow.

    PATH is a transcript of Claude Code or Codex, or a folder of them, for example from yesterday or from another
    machine. Steps that are already known are skipped. The sessions count as ended: they are never stopped, and raise
    no alarm.

    \b
    Examples:
      liza ingest ~/.claude/projects/-home-ann-shop
      liza replay --session 7c1f2a90
    """
    paths = call.board.paths
    tools = tools_of(rules_in_force(paths.rules)[0].blocks.get("tools"))
    named = [(file, os.path.abspath(place) == os.path.abspath(file)) for place in places for file in _files(place)]
    found: list[Ingested] = []
    with _progress([file for file, _ in named]) as progress:
        for file, is_named in named:
            found.append(ingest(paths, file, tools, is_named=is_named, progress=progress))
    listed = [each for each, (_, is_named) in zip(found, named, strict=True) if each.client is not None or is_named]
    problems = [each.problem for each in listed if each.problem is not None]
    if len(places) == 1 and len(problems) == len(listed) == 1:
        raise Refused(problems[0].message, hint=problems[0].hint, file=problems[0].file)
    if call.as_json:
        rows = [each._asdict() | {"sessions": list(each.sessions)} for each in listed if each.problem is None]
        for row in rows:
            del row["problem"]
        envelope.write("ingest", "ok", problems, transcripts=rows, skipped=len(found) - len(listed))
    else:
        _print([each for each in listed if each.problem is None], len(found) - len(listed))
        show.warnings(f"{each.file}: {each.message}" for each in problems)
    return 1 if problems else 0


def _files(place: str) -> list[str]:
    found = transcripts_in(place)
    if not found:
        raise Refused(f"no transcript in {printable(place)}", hint="name a folder with files that end in .jsonl")
    return found


def _print(found: Sequence[Ingested], skipped: int) -> None:
    sessions = dict.fromkeys(session for each in found for session in each.sessions)
    new = plural(sum(each.steps for each in found), "new step")
    click.echo(f"{plural(len(found), 'transcript')}, {plural(len(sessions), 'session')}: {new}")
    if broken := sum(each.broken for each in found):
        click.echo(f"  {plural(broken, 'line')} could not be read")
    if skipped:
        click.echo(f"  {plural(skipped, 'file')} skipped: not a transcript")
    if sessions:
        click.echo(
            f"to see one: liza replay --session {printable(next(iter(sessions)))[:8]}   (all: liza sessions --all)"
        )


@contextmanager
def _progress(files: Sequence[str]) -> Iterator[Callable[[int], None] | None]:
    """A bar on a terminal, by bytes; nothing otherwise."""
    if not sys.stderr.isatty():
        yield None
        return
    total = sum(os.stat(file).st_size for file in files if os.path.isfile(file))
    label = f"reading {plural(len(files), 'transcript')}"
    with click.progressbar(length=total, label=label, file=sys.stderr, show_pos=False) as bar:
        yield bar.update
