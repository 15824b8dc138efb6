"""Attempts from the reports that a test runner wrote: which tests of a report count for a slice, and recording them."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import Unreadable
from liza.rules.evaluate import RuleSet
from liza.scopes.change import read_usable
from liza.scopes.inbox import record_or_queue
from liza.scopes.slices import attempt_texts, diagnostic_reports, worktree
from liza.scopes.slices.fields import COUNTED, OBSERVED, SLICES, named_tests, open_tests
from liza.scopes.slices.record import SliceResult, is_known_report, read_slice, record_attempts
from liza.scopes.slices.rollback_bases import recorded_base
from liza.scopes.slices.states import Attempt
from liza.store.board import Board
from liza.text import cut_line, escape_surrogates, shell_quoted
from liza.toolerrors import junit, results
from liza.toolerrors.results import Outcome, Report


class Asked(NamedTuple):
    """The tests of a slice that a report is read for."""

    counted: tuple[str, ...]  # being worked on, or named
    known: tuple[str, ...]  # all that the slice has
    every: bool  # no test was chosen, so every failure counts
    is_new: bool  # nothing is known of where the slice began

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the slice first: a count continues under the name that it began with."""
        return (*self.known, *self.counted)


def asked_tests(board: Board, name: str, tests: Sequence[str]) -> Asked:
    try:
        record = read_usable(board.read(), SLICES, name) or {}
    except Unreadable:
        if not tests:  # which of them count is on the blackboard
            raise
        record = {}
    named = [escape_surrogates(each) for each in tests]
    known = tuple(label for label, _ in named_tests(record))
    base = recorded_base(record)
    return Asked(
        counted=tuple(dict.fromkeys([*named, *open_tests(record)])),
        known=known,
        every=not named and (not known or record.get("without_start") is True),
        is_new=not known and not base.tag and not base.about,
    )


def unread_reports(board: Board, name: str, files: Sequence[str]) -> tuple[list[tuple[str, str | None]], list[str]]:
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


class Run(NamedTuple):
    """One run of tests, as the command that asked for it describes it."""

    strategy: str
    source: str  # where its report is
    reports: Sequence[str] = ()  # their identities
    once: bool = False  # nothing is recorded where another process read one of them meanwhile
    here: worktree.Site | None = None  # measured before the tests ran


class Imported(NamedTuple):
    """A slice after a run was recorded."""

    done: SliceResult
    attempts: tuple[Attempt, ...]
    counted: Mapping[str, str]  # the result of each test that counts
    observed: results.Totals


def import_report(
    board: Board, name: str, asked: Asked, report: Report, run: Run, rules: RuleSet, at: datetime
) -> Imported | None:
    """Record what a report has; None where another process read it meanwhile."""
    report = _observed(report, asked)
    outcomes = {test: found for test, found in report.found.items() if _counts(asked, test, found)}
    if not outcomes and report.broken:  # what could not be loaded is what these tests are in
        outcomes = {test: Outcome(results.INFRA, "\n".join(report.broken)) for test in asked.counted}
    ran = any(each.result in (results.FAILED, results.PASSED) for each in outcomes.values())
    here = run.here or worktree.resume(board, name, (), measure=ran)
    attempts = [
        attempt_of(board, name, test, outcome, run.strategy, here.files)
        for test, outcome in outcomes.items()
        if outcome.result in COUNTED
    ]
    if report.unnamed is not None:
        attempts.append(attempt_of(board, name, None, report.unnamed, run.strategy, here.files))
    if report.others.all:
        attempts.append(_observation(report, run.source))
    elif report.broken and not outcomes:  # nothing was run, and what should have been is unknown
        attempts.append(Attempt(None, results.INFRA, said=attempt_texts.summary_line(report.broken[0])))
    done = record_or_queue(
        record_attempts(board, name, attempts, rules, at, run.reports, once=run.once, without_start=asked.every)
    )
    if done.repeated:
        return None
    here.leave(done)
    done = done._replace(warnings=(*_warnings(asked, report, outcomes, name), *done.warnings))
    counted = {test: outcome.result for test, outcome in outcomes.items()}
    return Imported(done, tuple(attempts), counted, report.others)


def _counts(asked: Asked, test: str, outcome: Outcome) -> bool:
    """Whether what came of a test is recorded: it is worked on, or it fails (again) and is the slice's."""
    return test in asked.counted or outcome.result == results.FAILED


def _observed(report: Report, asked: Asked) -> Report:
    """The tests of the slice that are not worked on, and do not fail, are others as well."""
    idle = [found for test, found in report.found.items() if not _counts(asked, test, found)]
    seen = [each.result for each in idle]
    more = (seen.count(each) for each in (results.PASSED, results.FAILED, results.INFRA, results.SKIPPED))
    others = results.Totals(*(known + extra for known, extra in zip(report.others, more, strict=True)))
    broken = [each.text or "a test could not be run" for each in idle if each.result == results.INFRA]
    return report._replace(others=others, broken=(*report.broken, *broken))


def attempt_of(
    board: Board, name: str, test: str | None, outcome: Outcome, strategy: str, files: tuple[str, ...]
) -> Attempt:
    long = len(outcome.text) > attempt_texts.ERROR
    whole = (
        diagnostic_reports.write_error_file(board.paths, name, outcome.text)
        if long and outcome.result == results.FAILED
        else None
    )
    return Attempt(
        test=test,
        result=outcome.result,
        strategy=cut_line(strategy, attempt_texts.LINE) if outcome.result == results.FAILED else "",
        error=attempt_texts.cut_error(outcome.text, whole),
        said=attempt_texts.summary_line(outcome.text),
        files=files if outcome.result in (results.FAILED, results.PASSED) else (),
    )


def _observation(report: Report, source: str) -> Attempt:
    """All tests that are not being worked on, in one entry: they count for nothing."""
    some = {"failing": list(report.failing)} if report.failing else {}
    counts = {key: value for key, value in report.others._asdict().items() if value}
    more = {"report": cut_line(escape_surrogates(source), 200), **counts, **some}
    said = attempt_texts.summary_line("\n".join(report.broken)) if report.broken else ""
    return Attempt(None, OBSERVED, said=said, more=more)


def _warnings(asked: Asked, report: Report, outcomes: dict[str, Outcome], name: str) -> list[str]:
    found = [report.note] if report.note else []
    if asked.is_new and (outcomes or report.unnamed):
        start = f"liza attempt start --slice {shell_quoted(name)} --test NAME"
        found.append(
            f"slice {name} was never started, so its base is unknown and it cannot be rolled back; "
            f"next time, begin with: {start}"
        )
    for test, first in report.same.items():
        found.append(f"{test} is the same test as {first}, which counts")
    for test, places in report.several.items():
        found.append(f"{test} matches several tests, so none of them counts: {', '.join(places)}")
    for test in asked.counted:
        if test in asked.known or test in outcomes or test in report.several or test in report.same:
            continue
        found.append(f"{test} is not in the report, so it does not count")
    return found


def refuse_run(board: Board, name: str, asked: Asked, rules: RuleSet, at: datetime) -> SliceResult | None:
    """A slice that is stopped already: each attempt is refused before anything is run. None where it is not."""
    if read_usable(board.read(), SLICES, name) is None or not read_slice(board, name, rules, at).is_stopped:
        return None
    refused = [Attempt(test, results.INFRA) for test in asked.counted[:1] or (None,)]
    return record_or_queue(record_attempts(board, name, refused, rules, at))
