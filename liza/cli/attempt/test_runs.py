"""`liza attempt junit` and `exec`: attempts as a test runner reports them."""

import sys
from collections.abc import Sequence
from typing import Any

import click

from liza.cli.attempt import show
from liza.cli.attempt.options import in_force, of_slice
from liza.cli.group import Call, common, plain, root_of
from liza.cli.options import moment
from liza.cli.waiting import Waiting
from liza.run.test_reports import Imported, Run, asked_tests, import_report, refuse_run, unread_reports
from liza.scopes.slices import worktree
from liza.scopes.slices.fields import OBSERVED
from liza.scopes.slices.record import SliceResult, read_slice
from liza.scopes.slices.states import Attempt
from liza.store.board import Board
from liza.text import escape_surrogates
from liza.toolerrors import junit, results


@click.command("junit")
@click.argument("files", metavar="REPORT.xml...", nargs=-1, required=True)
@of_slice
@click.option("--test", "tests", metavar="NAME", multiple=True, help="Count this test even if it was not started.")
@click.option("--strategy", metavar="TEXT", default="", help="What was tried; default: the one given to start.")
@plain
def junit_command(call: Call, files: tuple[str, ...], name: str, tests: tuple[str, ...], strategy: str) -> int:
    """Record one run of tests from the JUnit reports that it wrote.

    Tests with an open attempt count: a failure is one, an error is infrastructure, a pass sets the test to 0. A test of
    the slice that passed before counts again when it fails. All others are only observed. In a slice without a start
    every failure counts. A report that was read before counts once. Exit code 0 if work may continue, 3 if the slice is
    stopped.

    \b
    Examples:
      pytest --junitxml=report.xml; liza attempt junit report.xml --slice S-3 --strategy "check before insert"
    """
    board = call.board
    name = escape_surrogates(name)
    found: Imported | None = None
    while found is None:  # once more where another process read one of the reports meanwhile
        asked = asked_tests(board, name, tests)
        fresh, old = unread_reports(board, name, files)
        if not fresh:
            found = Imported(read_slice(board, name, in_force(board.paths), call.at), (), {}, results.Totals())
            break
        with Waiting("reading the reports"):
            report = junit.read([file for file, _ in fresh], asked.names, every=asked.every)
        ids = [each for _, each in fresh if each is not None]
        run = Run(escape_surrogates(strategy), fresh[0][0], ids, once=True)
        found = import_report(board, name, asked, report, run, in_force(board.paths), call.at)
    return _print("attempt junit", found, call.as_json, old)


def _print(command: str, found: Imported, as_json: bool, old: Sequence[str] = (), **more: Any) -> int:
    done = found.done._replace(warnings=(*old, *found.done.warnings))
    said = [_said(done, attempt) for attempt in found.attempts]
    more |= {"counted": found.counted, "observed": found.observed._asdict()}
    return show.print_result(command, done, as_json, said, **more)


def _said(done: SliceResult, attempt: Attempt) -> str:
    if attempt.result != OBSERVED:
        return show.said(done, attempt)
    counts = [f"{attempt.more[word]} {word}" for word in results.Totals._fields if word in attempt.more]
    return f"observed, not counted: {', '.join(counts)}"


@click.command("exec", context_settings={"allow_interspersed_args": False})
@click.argument("run", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@of_slice
@click.option("--test", "tests", metavar="NAME", multiple=True, help="Count this test even if it was not started.")
@click.option("--strategy", metavar="TEXT", default="", help="What was tried; default: the one given to start.")
@click.option("--report", "written_to", metavar="FILE", multiple=True, help="Where the runner writes; also a pattern.")
@click.option("--now", metavar="TIME", help="Evaluate as of this time.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; what the tests print goes to standard error.")
@common
@click.pass_context
def exec_command(
    ctx: click.Context,
    run: tuple[str, ...],
    name: str,
    tests: tuple[str, ...],
    strategy: str,
    written_to: tuple[str, ...],
    now: str | None,
    as_json: bool,
) -> int:
    """Run tests, and record their results from the JUnit report.

    pytest, vitest and gotestsum get a path to write one to. For any other runner, put {report} into the
    command, use $LIZA_JUNIT, or name the file it writes with --report. A failed run that writes none is an attempt if
    what it printed shows a failed assertion, else an infrastructure error. Exit code 0 if the command succeeded, 1 if
    not, 3 if the slice is stopped, and then the command is not run.

    \b
    Examples:
      liza attempt exec --slice S-3 --strategy "check before insert" -- pytest tests/test_users.py
    """
    from liza.run import test_command

    board = Board.find(root_of(ctx))
    name = escape_surrogates(name)
    asked = asked_tests(board, name, tests)
    rules, at = in_force(board.paths), moment(now)
    before = refuse_run(board, name, asked, rules, at)
    if before is not None:
        why = ["not run, because the slice is stopped"]
        return show.print_result("attempt exec", before, as_json, why, counted={}, observed=None, exit_code=None)
    sys.stdout.flush()
    here = worktree.resume(board, name, (), measure=True)  # before the tests write files of their own
    ran = test_command.run(run, written_to, sys.stderr.buffer if as_json else sys.stdout.buffer)
    with ran.folder:
        report = test_command.report_of(ran, asked.names, asked.counted, asked.every, written_to)
        ids = [each for each in map(junit.identity, ran.reports if written_to else ()) if each is not None]
    source = written_to[0] if written_to else ""
    asked_run = Run(escape_surrogates(strategy), source, ids, here=here)  # a new one, whatever its report is
    found = import_report(board, name, asked, report, asked_run, in_force(board.paths), moment(now))
    assert found is not None
    code = _print("attempt exec", found, as_json, exit_code=ran.code)
    worktree.look_around(board, name)
    return code or int(ran.code != 0)
