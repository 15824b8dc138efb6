"""`liza attempt junit` and `exec`: attempts as a test runner reports them."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from liza.cli.attempt import show, work_tree
from liza.cli.attempt.options import in_force, of_slice
from liza.cli.group import Call, common, plain, root_of
from liza.cli.options import moment
from liza.cli.progress import Waiting
from liza.errors import Refused, Unreadable
from liza.scopes.change import read_usable
from liza.scopes.inbox import record_or_queue
from liza.scopes.slices import diagnostic_reports, texts
from liza.scopes.slices.evaluate import SLICES
from liza.scopes.slices.fields import COUNTED, OBSERVED, named_tests, open_tests
from liza.scopes.slices.record import SliceResult, is_known_report, read_slice, record_attempts
from liza.scopes.slices.rollback_bases import recorded_base
from liza.scopes.slices.states import Attempt
from liza.store.board import Board
from liza.text import escape_surrogates
from liza.toolerrors import junit, printed_failures, results
from liza.toolerrors.results import Outcome, Report

if TYPE_CHECKING:
    from liza.run.test_command import Ran


class _Asked(NamedTuple):
    """The tests of a slice that a report is read for."""

    counted: tuple[str, ...]  # being worked on, or named
    known: tuple[str, ...]  # all that the slice has
    every: bool  # no test was chosen, so every failure counts
    is_new: bool  # nothing is known of where the slice began

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the slice first: a count goes on under the name that it began with."""
        return (*self.known, *self.counted)


@click.command("junit")
@click.argument("files", metavar="REPORT.xml...", nargs=-1, required=True)
@of_slice
@click.option("--test", "tests", metavar="NAME", multiple=True, help="A test that counts, also if it was not started.")
@click.option("--strategy", metavar="TEXT", default="", help="What was tried; default: the one given to start.")
@plain
def junit_command(call: Call, files: tuple[str, ...], name: str, tests: tuple[str, ...], strategy: str) -> int:
    """Record one run of tests from the JUnit reports that it wrote.

    Tests with an open attempt count: a failure is one, an error is infrastructure, a pass sets the test to 0. A test of
    the slice that passed before counts again when it fails. All others are only observed. In a slice without a start
    every failure counts. A report that was read before counts once. Exit code 0 if work may go on, 3 if the slice is
    stopped.

    \b
    Examples:
      pytest --junitxml=report.xml; liza attempt junit report.xml --slice S-3 --strategy "check before insert"
    """
    board = call.board
    name = escape_surrogates(name)
    code = None
    while code is None:  # once more where another process read one of the reports meanwhile
        asked = _asked(board, name, tests)
        fresh, old = _not_read_before(board, name, files)
        if not fresh:
            return _nothing_new(board, name, old, call.at, call.as_json)
        with Waiting("reading the reports"):
            report = junit.read([file for file, _ in fresh], asked.names, every=asked.every)
        ids = [each for _, each in fresh if each is not None]
        said, source = escape_surrogates(strategy), fresh[0][0]
        code = _import(board, "junit", name, asked, report, said, source, call.at, call.as_json, reports=ids, old=old)
    return code


def _not_read_before(board: Board, name: str, files: Sequence[str]) -> tuple[list[tuple[str, str | None]], list[str]]:
    """The reports that count, each with its identity, and those that were read before.

    Where the blackboard cannot be read now, that is decided when the record is entered.
    """
    record: Mapping[str, Any] = {}
    with suppress(Unreadable):
        record = read_usable(board.read(), SLICES, name) or {}
    fresh: list[tuple[str, str | None]] = []
    old: list[str] = []
    for file in files:
        known = junit.identity(file)
        if known is not None and (is_known_report(record, [known]) or known in (each for _, each in fresh)):
            old.append(f"{file} has been read already and has not changed, so it is not counted again")
        else:
            fresh.append((file, known))
    return fresh, old


def _nothing_new(board: Board, name: str, old: Sequence[str], at: datetime, as_json: bool) -> int:
    done = read_slice(board, name, in_force(board.paths), at)
    done = done._replace(warnings=(*old, *done.warnings))
    return show.print_result("attempt junit", done, as_json, counted={}, observed=results.Totals()._asdict())


def _asked(board: Board, name: str, tests: Sequence[str]) -> _Asked:
    try:
        record = read_usable(board.read(), SLICES, name) or {}
    except Unreadable:
        if not tests:  # which of them count is on the blackboard
            raise
        record = {}
    named = [escape_surrogates(each) for each in tests]
    known = tuple(label for label, _ in named_tests(record))
    base = recorded_base(record)
    return _Asked(
        counted=tuple(dict.fromkeys([*named, *open_tests(record)])),
        known=known,
        every=not named and (not known or record.get("without_start") is True),
        is_new=not known and not base.tag and not base.about,
    )


def _import(
    board: Board,
    verb: str,
    name: str,
    asked: _Asked,
    report: Report,
    strategy: str,
    source: str,
    at: datetime,
    as_json: bool,
    here: work_tree.Site | None = None,
    reports: Sequence[str] = (),
    old: Sequence[str] = (),
    **more: Any,
) -> int | None:
    """Record what a report has; the exit code, or None where another process read it meanwhile."""
    rules = in_force(board.paths)
    report = _observed(report, asked)
    outcomes = {test: found for test, found in report.found.items() if _counts(asked, test, found)}
    if not outcomes and report.broken:  # what could not be loaded is what these tests are in
        outcomes = {test: Outcome(results.INFRA, "\n".join(report.broken)) for test in asked.counted}
    ran = any(each.result in (results.FAILED, results.PASSED) for each in outcomes.values())
    here = here or work_tree.resume(board, name, (), measure=ran)
    attempts = [
        _attempt(board, name, test, outcome, strategy, here.files)
        for test, outcome in outcomes.items()
        if outcome.result in COUNTED
    ]
    if report.unnamed is not None:
        attempts.append(_attempt(board, name, None, report.unnamed, strategy, here.files))
    if report.others.all:
        attempts.append(_observation(report, source))
    elif report.broken and not outcomes:  # nothing was run, and what should have been is unknown
        attempts.append(Attempt(None, results.INFRA, said=texts.summary_line(report.broken[0])))
    once = verb == "junit"  # a run by liza is a new one, whatever it wrote
    done = record_or_queue(
        record_attempts(board, name, attempts, rules, at, reports, once=once, without_start=asked.every)
    )
    if done.repeated:
        return None
    here.leave(done)
    done = done._replace(warnings=(*old, *_warnings(asked, report, outcomes, name), *done.warnings))
    said = [_said(done, attempt) for attempt in attempts]
    counted = {test: outcome.result for test, outcome in outcomes.items()}
    more |= {"counted": counted, "observed": report.others._asdict()}
    return show.print_result(f"attempt {verb}", done, as_json, said, **more)


def _counts(asked: _Asked, test: str, outcome: Outcome) -> bool:
    """Whether what came of a test is recorded: it is worked on, or it fails (again) and is the slice's."""
    return test in asked.counted or outcome.result == results.FAILED


def _observed(report: Report, asked: _Asked) -> Report:
    """The tests of the slice that are not worked on, and do not fail, are others as well."""
    idle = [found for test, found in report.found.items() if not _counts(asked, test, found)]
    seen = [each.result for each in idle]
    more = (seen.count(each) for each in (results.PASSED, results.FAILED, results.INFRA, results.SKIPPED))
    others = results.Totals(*(known + extra for known, extra in zip(report.others, more, strict=True)))
    broken = [each.text or "a test could not be run" for each in idle if each.result == results.INFRA]
    return report._replace(others=others, broken=(*report.broken, *broken))


def _attempt(
    board: Board, name: str, test: str | None, outcome: Outcome, strategy: str, files: tuple[str, ...]
) -> Attempt:
    long = len(outcome.text) > texts.ERROR
    whole = (
        diagnostic_reports.write_error_file(board.paths, name, outcome.text)
        if long and outcome.result == results.FAILED
        else None
    )
    return Attempt(
        test=test,
        result=outcome.result,
        strategy=texts.short(strategy) if outcome.result == results.FAILED else "",
        error=texts.cut_error(outcome.text, whole),
        said=texts.summary_line(outcome.text),
        files=files if outcome.result in (results.FAILED, results.PASSED) else (),
    )


def _observation(report: Report, source: str) -> Attempt:
    """All tests that are not being worked on, in one entry: they count for nothing."""
    some = {"failing": list(report.failing)} if report.failing else {}
    counts = {key: value for key, value in report.others._asdict().items() if value}
    more = {"report": texts.short(escape_surrogates(source), 200), **counts, **some}
    said = texts.summary_line("\n".join(report.broken)) if report.broken else ""
    return Attempt(None, OBSERVED, said=said, more=more)


def _warnings(asked: _Asked, report: Report, outcomes: dict[str, Outcome], name: str) -> list[str]:
    found = [report.note] if report.note else []
    if asked.is_new and (outcomes or report.unnamed):
        start = f"liza attempt start --slice {show.quoted(name)} --test NAME"
        found.append(
            f"slice {name} was never started, so its base is unknown and it cannot be rolled back; "
            f"next time, begin with: {start}"
        )
    for test, first in report.same.items():
        found.append(f"{test} is the same test as {first}, which counts")
    for test, places in report.several.items():
        found.append(f"{test} fits several tests, so none of them counts: {', '.join(places)}")
    for test in asked.counted:
        if test in asked.known or test in outcomes or test in report.several or test in report.same:
            continue
        found.append(f"{test} is not in the report, so it does not count")
    return found


def _said(done: SliceResult, attempt: Attempt) -> str:
    if attempt.result != OBSERVED:
        return show.said(done, attempt)
    counts = [f"{attempt.more[word]} {word}" for word in results.Totals._fields if word in attempt.more]
    return f"observed, not counted: {', '.join(counts)}"


@click.command("exec", context_settings={"allow_interspersed_args": False})
@click.argument("run", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@of_slice
@click.option("--test", "tests", metavar="NAME", multiple=True, help="A test that counts, also if it was not started.")
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
    asked = _asked(board, name, tests)
    rules, at = in_force(board.paths), moment(now)
    before = _stopped(board, name, asked, rules, at)
    if before is not None:
        why = ["not run, because the slice is stopped"]
        return show.print_result("attempt exec", before, as_json, why, counted={}, observed=None, exit_code=None)
    sys.stdout.flush()
    here = work_tree.resume(board, name, (), measure=True)  # before the tests write files of their own
    ran = test_command.run(run, written_to, sys.stderr.buffer if as_json else sys.stdout.buffer)
    with ran.folder:
        report = _report(ran, asked, written_to)
        ids = [each for each in map(junit.identity, ran.reports if written_to else ()) if each is not None]
    said, source = escape_surrogates(strategy), written_to[0] if written_to else ""
    code = _import(
        board, "exec", name, asked, report, said, source, moment(now), as_json, here, ids, exit_code=ran.code
    )
    work_tree.look_around(board, name)
    return code or int(ran.code != 0)


def _stopped(board: Board, name: str, asked: _Asked, rules: Any, at: datetime) -> SliceResult | None:
    """A slice that is stopped already: each attempt is refused before anything is run."""
    if read_usable(board.read(), SLICES, name) is None or not read_slice(board, name, rules, at).is_stopped:
        return None
    refused = [Attempt(test, results.INFRA) for test in asked.counted[:1] or (None,)]
    return record_or_queue(record_attempts(board, name, refused, rules, at))


def _report(ran: "Ran", asked: _Asked, written_to: Sequence[str]) -> Report:
    """What the reports of a run say; without a usable one, what it printed says whether a test failed.

    A run that shows no failed assertion, and has no report with a test in it, could not be run.
    """
    why = f"the command ended with exit code {ran.code} and wrote no report: {_missing(written_to)}"
    if ran.reports:
        try:
            report = junit.read(ran.reports, asked.names, every=asked.every)
            if ran.code == 0 or report.found or report.several or report.others.all or report.broken:
                return report
            why = f"the command ended with exit code {ran.code}, and no test is in its report"
        except Refused as error:
            why = f"the command ended with exit code {ran.code}, and its report cannot be used: {error.message}"
    if ran.code != 0:
        found = printed_failures.read(ran.tail, ran.code, asked.names, asked.counted, every=asked.every)
        if found is not None:
            return found._replace(note=f"{why}; what it printed counts")
    return Report({}, {}, results.Totals(), (), (f"{why}\n{ran.tail}",), note=why)


def _missing(written_to: Sequence[str]) -> str:
    """The report that was expected, and how to get one."""
    if written_to:
        return f"nothing new at {', '.join(escape_surrogates(each) for each in written_to)}"
    return "nothing at $LIZA_JUNIT; put {report} into the command, or say with --report FILE where it writes"
