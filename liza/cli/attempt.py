"""`liza attempt`: a test that is worked on, and what comes of it, until the slice is done or stopped."""

from importlib import import_module

import click

from liza.blackboard.board import Board
from liza.cli import attempted, envelope, show, worksite
from liza.cli.group import Family, common, root_of
from liza.cli.options import moment, person
from liza.errors import LizaError, Refused
from liza.model import MAPPINGS
from liza.protocols import scopes
from liza.protocols.attempts import judging, recording, reports, texts
from liza.protocols.attempts import records as rec
from liza.protocols.attempts.recording import Recorded
from liza.protocols.attempts.states import Attempt

# Commands that live in modules of their own, which are loaded when they are called.
_ELSEWHERE = {
    "diagnose": "attempt_reset", "reset": "attempt_reset", "junit": "attempt_run", "exec": "attempt_run",
    "scope": "attempt_scope", "justify": "attempt_scope",
}  # fmt: skip


class _Family(Family):
    """Knows some of its commands by name only."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_ELSEWHERE})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        found: click.Command = getattr(import_module(f"liza.cli.{_ELSEWHERE[cmd_name]}"), f"{cmd_name}_command")
        return found


@click.group("attempt", cls=_Family)
@common
def command() -> None:
    """Record attempts at tests; stop a slice that gets nowhere.

    What stops a slice, the first that applies: an agent's arch-stop, a test that failed three times, seven failures in
    all. Bugs, gaps and blockers on the way are mended without asking, as long as none of these applies.

    \b
    Examples:
      liza attempt start --slice S-3 --test test_conflict_on_duplicate_email
      liza attempt status --slice S-3
    """


@command.command("start")
@click.option("--slice", "name", metavar="S", required=True, help="The slice of work.")
@click.option("--test", metavar="NAME", required=True, help="The exact name of the test.")
@click.option("--strategy", metavar="TEXT", default="", help="What is going to be tried.")
@click.option("--workdir", metavar="DIR", help="The git work tree; default: the one around this folder or the .liza/.")
@click.option("--now", metavar="TIME", help="As if it were this time.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common
@click.pass_context
def start_command(
    ctx: click.Context, name: str, test: str, strategy: str, workdir: str | None, now: str | None, as_json: bool
) -> int:
    """Begin to work on a test. The first time, where the slice begins is kept as its checkpoint.

    Exit code 0 if work may begin, 3 if the slice is stopped.

    \b
    Examples:
      liza attempt start --slice S-3 --test test_conflict_on_duplicate_email
    """
    board = Board.find(root_of(ctx))
    rules = attempted.in_force(board.paths)
    name, test, strategy = (texts.written(each) for each in (name, test, strategy))
    here = worksite.arrive(board, name, workdir)
    done = recording.start(board, name, test, texts.short(strategy), here.checkpoint, rules, moment(now))
    here.leave(done)
    done = done._replace(warnings=(*here.notes, *done.warnings))
    count = f"{attempted.streak(done, test)} of {rec.PER_TEST}"
    said = [] if done.is_stopped else [f"test {show.short(test, 200)}: {count}"]
    return attempted.tell("attempt start", done, as_json, said, test_name=test)


@command.command("fail")
@click.option("--slice", "name", metavar="S", required=True, help="The slice of work.")
@click.option("--test", metavar="NAME", required=True, help="The exact name of the test.")
@click.option("--strategy", metavar="TEXT", help="What was tried; default: what start was told.")
@click.option("--error", metavar="TEXT", help="What the test runner said, verbatim; - reads standard input.")
@click.option("--error-file", metavar="FILE", help="The same from a file.")
@click.option("--files", metavar="F...", multiple=True, help="What was changed; default: asked of git.")
@click.argument("more", nargs=-1, metavar="")
@click.option("--now", metavar="TIME", help="As if it were this time.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common
@click.pass_context
def fail_command(
    ctx: click.Context,
    name: str,
    test: str,
    strategy: str | None,
    error: str | None,
    error_file: str | None,
    files: tuple[str, ...],
    more: tuple[str, ...],
    now: str | None,
    as_json: bool,
) -> int:
    """A test was run and failed.

    That counts for the test and for its slice.
    Exit code 0 if work may go on, 3 if the slice is stopped. After that an attempt is recorded as refused, and not
    counted.

    \b
    Examples:
      liza attempt fail --slice S-3 --test test_x --strategy "check before insert" --error-file out.txt --files src/a.ts
    """
    text = attempted.error_of(error, error_file)
    named = attempted.files_of(files, more)
    return _one(ctx, "fail", name, rec.FAILED, test, strategy or "", text, named, now, as_json)


@command.command("pass")
@click.option("--slice", "name", metavar="S", required=True, help="The slice of work.")
@click.option("--test", metavar="NAME", required=True, help="The exact name of the test.")
@click.option("--now", metavar="TIME", help="As if it were this time.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common
@click.pass_context
def pass_command(ctx: click.Context, name: str, test: str, now: str | None, as_json: bool) -> int:
    """A test was run and passed.

    Its count is 0 again, that of the slice stays.

    \b
    Examples:
      liza attempt pass --slice S-3 --test test_conflict_on_duplicate_email
    """
    return _one(ctx, "pass", name, rec.PASSED, test, "", "", (), now, as_json)


@command.command("infra")
@click.option("--slice", "name", metavar="S", required=True, help="The slice of work.")
@click.option("--test", metavar="NAME", help="The test that could not be run.")
@click.option("--error", metavar="TEXT", help="What was said, verbatim; - reads standard input.")
@click.option("--error-file", metavar="FILE", help="The same from a file.")
@click.option("--now", metavar="TIME", help="As if it were this time.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common
@click.pass_context
def infra_command(
    ctx: click.Context,
    name: str,
    test: str | None,
    error: str | None,
    error_file: str | None,
    now: str | None,
    as_json: bool,
) -> int:
    """A test could not be run.

    That is no attempt, and counted apart; told if it happens again.

    \b
    Examples:
      liza attempt infra --slice S-3 --test test_x --error "ModuleNotFoundError: No module named 'psycopg'"
    """
    text = attempted.error_of(error, error_file)
    return _one(ctx, "infra", name, rec.INFRA, test, "", text, (), now, as_json)


def _one(
    ctx: click.Context,
    verb: str,
    name: str,
    result: str,
    test: str | None,
    strategy: str,
    error: str,
    files: tuple[str, ...],
    now: str | None,
    as_json: bool,
) -> int:
    board = Board.find(root_of(ctx))
    rules = attempted.in_force(board.paths)
    name = texts.written(name)
    here = worksite.resume(board, name, files, measure=result == rec.FAILED)
    long = result == rec.FAILED and len(error) > texts.ERROR
    whole = reports.error_file(board.paths, name, error) if long else None
    attempt = Attempt(
        test=None if test is None else texts.written(test),
        result=result,
        strategy=texts.short(texts.written(strategy)),
        error=texts.kept(error, whole),
        said=texts.summary(error),
        files=here.files,
    )
    done = recording.record(board, name, [attempt], rules, moment(now))
    here.leave(done)
    return attempted.tell(f"attempt {verb}", done, as_json, [attempted.said(done, attempt)], test_name=attempt.test)


@command.command("arch-stop")
@click.option("--slice", "name", metavar="S", required=True, help="The slice of work.")
@click.option("-m", "--message", metavar="WHY", required=True, help="What would have to be built differently.")
@click.option("--by", metavar="NAME", help="Who says so; default: the user of this machine.")
@click.option("--now", metavar="TIME", help="As if it were this time.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common
@click.pass_context
def arch_stop_command(
    ctx: click.Context, name: str, message: str, by: str | None, now: str | None, as_json: bool
) -> int:
    """Stop the slice at once: it needs another architecture.

    This goes before every count: do not use up the attempts first. Exit code 3.

    \b
    Examples:
      liza attempt arch-stop --slice S-3 -m "needs a table that no contract has"
    """
    if not message.strip():
        raise Refused("an arch-stop needs a reason", hint="liza attempt arch-stop --slice S -m 'needs a new table'")
    board = Board.find(root_of(ctx))
    rules = attempted.in_force(board.paths)
    why = texts.short(texts.written(message), 4 * texts.LINE)
    done = recording.arch_stop(board, texts.written(name), why, person(by), rules, moment(now))
    said = [] if done.did("arch_stopped") else ["it was stopped before"]
    return attempted.tell("attempt arch-stop", done, as_json, said)


@command.command("status")
@click.option("--slice", "name", metavar="S", help="One slice; default: all of them.")
@click.option("--now", metavar="TIME", help="As if it were this time.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@common
@click.pass_context
def status_command(ctx: click.Context, name: str | None, now: str | None, as_json: bool) -> int:
    """Show how the slices stand.

    Their tests, their attempts, and what they wait for.
    Exit code 3 if a slice that is shown is stopped, 4 if one cannot be understood.

    \b
    Examples:
      liza attempt status --slice S-3
    """
    board = Board.find(root_of(ctx))
    rules = attempted.in_force(board.paths)
    at = moment(now)
    if name is not None:
        done = recording.look(board, texts.written(name), rules, at)
        code = attempted.tell("attempt status", done, as_json)
        if not as_json:
            _details(done)
        return code
    document = board.read()
    rows: list[Recorded] = []
    wrong: list[LizaError] = []
    for _, label, record in scopes.named(document.data.get("slices"), "slice"):
        try:
            judging.understood(document, label)
        except LizaError as error:
            wrong.append(error)
            continue
        if isinstance(record, MAPPINGS):
            rows.append(recording.judged(label, record, rules, at))
    stopped = any(row.is_stopped for row in rows)
    if as_json:
        problems = [envelope.problem_of(each) for each in wrong]
        status = "degraded" if wrong else "stopped" if stopped else "ok"
        envelope.write("attempt status", status, problems, slices=[attempted.facts(row) for row in rows])
    else:
        for row in rows:
            attempted.tell("attempt status", row, as_json=False)
        for each in wrong:
            click.echo(
                f"{click.style('unreadable', fg='red')}: {show.short(each.message, 200)} ({show.short(each.hint, 200)})"
            )
        if not rows and not wrong:
            click.echo("no attempt has been recorded yet: liza attempt start --slice S --test NAME")
    return 4 if wrong else 3 if stopped else 0


def _details(done: Recorded) -> None:
    for name, test in rec.tests_of(done.record):
        count = attempted.streak(done, name)
        state = "failing" if count else "open" if test.get("open") is True else "passing or not attempted"
        click.echo(f"  {show.short(name, 100)}: {count} of {rec.PER_TEST}, {state}")
        if count and test.get("last_error"):
            click.echo(f"    {show.short(texts.summary(str(test['last_error'])), 160)}")
    refused = sum(each.get("result") == rec.REFUSED for each in rec.records_of(done.record, "attempts"))
    if refused:
        click.echo(f"  {show.number(refused, 'attempt')} refused since it was stopped")
    tag = done.record.get("checkpoint_tag")
    resets = show.number(len(rec.list_of(done.record, "history")), "reset")
    click.echo(f"  checkpoint: {show.short(tag, 60) if tag else 'none'}, {resets}")
