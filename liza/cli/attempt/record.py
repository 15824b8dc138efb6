"""`liza attempt start`, `fail`, `pass`, `infra` and `arch-stop`."""

import click

from liza.cli import show
from liza.cli.attempt import show as words
from liza.cli.attempt.options import error_of, files_of, in_force, of_slice, of_test
from liza.cli.group import Call, plain
from liza.cli.options import person
from liza.errors import Refused
from liza.run.test_reports import attempt_of
from liza.scopes.inbox import record_or_queue
from liza.scopes.records import check_name
from liza.scopes.slices import attempt_texts, worktree
from liza.scopes.slices.fields import SLICES
from liza.scopes.slices.record import arch_stop, record_attempts, start_test
from liza.text import cut_line, escape_surrogates
from liza.toolerrors import results


@click.command("start")
@of_slice
@of_test
@click.option("--strategy", metavar="TEXT", default="", help="What will be tried.")
@click.option("--workdir", metavar="DIR", help="The git worktree; default: that of this folder, else of .liza/.")
@plain
def start_command(call: Call, name: str, test: str, strategy: str, workdir: str | None) -> int:
    """Start work on a test. The first start records the current commit as the base of the slice.

    Exit code 0 if work may begin, 3 if the slice is stopped.

    \b
    Examples:
      liza attempt start --slice S-3 --test test_conflict_on_duplicate_email
    """
    board = call.board
    rules = in_force(board.paths)
    name, test, strategy = (escape_surrogates(each) for each in (name, test, strategy))
    check_name(SLICES, name)  # before git, whose reference to the base has this name
    here = worktree.arrive(board, name, test, workdir)
    at = board, name, test, cut_line(strategy, attempt_texts.LINE), here.checkpoint, rules, call.at, here.files
    done = record_or_queue(start_test(*at))
    here.leave(done)
    done = done._replace(warnings=(*here.notes, *done.warnings))
    said = [] if done.is_stopped else [f"test {show.short(test, 200)}: {words.in_a_row(done, test)}"]
    return words.print_result("attempt start", done, call.as_json, said, test_name=test)


@click.command("fail")
@of_slice
@of_test
@click.option("--strategy", metavar="TEXT", help="What was tried; default: the one given to start.")
@click.option("--error", metavar="TEXT", help="The output of the test runner, verbatim; - reads standard input.")
@click.option("--error-file", metavar="FILE", help="Read it from this file.")
@click.option("--files", metavar="F...", multiple=True, help="What was changed; default: what git reports.")
@click.argument("more", nargs=-1, metavar="")
@plain
def fail_command(
    call: Call,
    name: str,
    test: str,
    strategy: str | None,
    error: str | None,
    error_file: str | None,
    files: tuple[str, ...],
    more: tuple[str, ...],
) -> int:
    """Record a failed test run.

    It counts for the test and for its slice.

    Exit code 0 if work may continue, 3 if the slice is stopped. After that an attempt is recorded as refused, and not
    counted.

    \b
    Examples:
      liza attempt fail --slice S-3 --test test_x --strategy "check before insert" --error-file out.txt --files src/a.ts
    """
    text = error_of(error, error_file)
    named = files_of(files, more)
    return _one(call, "fail", name, results.FAILED, test, strategy or "", text, named)


@click.command("pass")
@of_slice
@of_test
@plain
def pass_command(call: Call, name: str, test: str) -> int:
    """Record a passed test run.

    It resets the count of the test to 0; the count of the slice stays.

    \b
    Examples:
      liza attempt pass --slice S-3 --test test_conflict_on_duplicate_email
    """
    return _one(call, "pass", name, results.PASSED, test, "", "", ())


@click.command("infra")
@of_slice
@click.option("--test", metavar="NAME", help="The test that could not be run.")
@click.option("--error", metavar="TEXT", help="The error, verbatim; - reads standard input.")
@click.option("--error-file", metavar="FILE", help="Read it from this file.")
@plain
def infra_command(call: Call, name: str, test: str | None, error: str | None, error_file: str | None) -> int:
    """Record that a test could not be run.

    This does not count as an attempt. If it keeps happening, it is reported.

    \b
    Examples:
      liza attempt infra --slice S-3 --test test_x --error "ModuleNotFoundError: No module named 'psycopg'"
    """
    text = error_of(error, error_file)
    return _one(call, "infra", name, results.INFRA, test, "", text, ())


def _one(
    call: Call, verb: str, name: str, result: str, test: str | None, strategy: str, error: str, files: tuple[str, ...]
) -> int:
    board = call.board
    rules = in_force(board.paths)
    name = escape_surrogates(name)
    here = worktree.resume(board, name, files, measure=result in (results.FAILED, results.PASSED))
    test = None if test is None else escape_surrogates(test)
    attempt = attempt_of(board, name, test, results.Outcome(result, error), escape_surrogates(strategy), here.files)
    done = record_or_queue(record_attempts(board, name, [attempt], rules, call.at))
    here.leave(done)
    return words.print_result(
        f"attempt {verb}", done, call.as_json, [words.said(done, attempt)], test_name=attempt.test
    )


@click.command("arch-stop")
@of_slice
@click.option("-m", "--message", metavar="WHY", required=True, help="What would have to be built differently.")
@click.option("--by", metavar="NAME", help="Who reports it; default: the user of this machine.")
@plain
def arch_stop_command(call: Call, name: str, message: str, by: str | None) -> int:
    """Stop the slice now: it needs a different architecture.

    This takes precedence over all counts: do not use up the attempts first. Exit code 3.

    \b
    Examples:
      liza attempt arch-stop --slice S-3 -m "needs a table that no contract has"
    """
    if not message.strip():
        raise Refused("an arch-stop needs a reason", hint="liza attempt arch-stop --slice S -m 'needs a new table'")
    board = call.board
    rules = in_force(board.paths)
    why = cut_line(escape_surrogates(message), 4 * attempt_texts.LINE)
    name = escape_surrogates(name)
    done = record_or_queue(arch_stop(board, name, why, person(by), rules, call.at))
    said = [] if done.did("arch_stopped") else ["already stopped: this reason is not recorded"]
    return words.print_result("attempt arch-stop", done, call.as_json, said)
