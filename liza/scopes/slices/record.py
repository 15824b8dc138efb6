"""Slices on the blackboard: a test that is started, the attempts at it, each in one change under the lock."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import Refused
from liza.model import format_time
from liza.rules.evaluate import RuleSet
from liza.scopes import records
from liza.scopes.change import Outcome, change_record, unknown_record
from liza.scopes.inbox import record_or_queue
from liza.scopes.payload import dump
from liza.scopes.records import Event, list_of, mappings_of
from liza.scopes.slices import derived, evaluate, scope_lock, states, texts
from liza.scopes.slices.fields import ACTIVE, REFUSED, open_trip, status_of, stop_reason
from liza.scopes.slices.rollback_bases import Base, WentBack
from liza.scopes.slices.states import Attempt
from liza.store.board import Board
from liza.store.document import Document
from liza.text import cut_line, text_of, value_text
from liza.toolerrors import results

MAX_TEST_NAME = 1_000


class SliceResult(NamedTuple):
    """A slice after a command, or as it is now."""

    name: str
    status: str
    reason: str
    record: Mapping[str, Any]
    counts: derived.Counts
    events: tuple[Event, ...] = ()
    warnings: tuple[str, ...] = ()
    refused: bool = False  # what was to be recorded just now
    repeated: bool = False  # a report was read before, and nothing was recorded

    @property
    def is_stopped(self) -> bool:
        return self.status != ACTIVE

    def did(self, kind: str) -> bool:
        """Whether that happened to it just now."""
        return any(event.kind == kind for event in self.events)


def start_test(
    board: Board, name: str, test: str, strategy: str, base: Base | None, rules: RuleSet, now: datetime,
    files: Sequence[str] = (),
) -> SliceResult:  # fmt: skip
    """Begin to work on a test; the first time, with where the slice began."""
    check_name(name)
    check_test_name(test)
    evaluator = evaluate.evaluator_for(rules, now)
    before: list[Mapping[str, Any]] = []

    def after(document: Document, _: Mapping[str, Any] | None) -> Outcome:
        before[:] = [evaluate.read_record(document, name) or states.new_slice(name)]
        return states.start_test(name, before[0], test, strategy, base, evaluator, files)

    def fields() -> Mapping[str, Any]:
        return {"slice": name, "test": test, "strategy": strategy, "base": dump(base), "files": list(files)}

    outcome = record_or_queue(board, "start", fields, format_time(now), lambda: _change(board, name, after, now))
    return _result_with_reports(board, name, outcome, rules, now, _repeats(before[0], [strategy]))


def record_attempts(
    board: Board, name: str, attempts: Sequence[Attempt], rules: RuleSet, now: datetime,
    reports: Sequence[str] = (), *, once: bool = False, without_start: bool = False,
) -> SliceResult:  # fmt: skip
    """Add the results of one run of tests, and evaluate the slice at once.

    With `once` nothing is recorded where one of the reports was read before; that is decided under the lock.
    """
    check_name(name)
    for each in attempts:
        if each.test is not None:
            check_test_name(each.test)
    evaluator = evaluate.evaluator_for(rules, now)
    before: list[Mapping[str, Any]] = []

    def after(document: Document, _: Mapping[str, Any] | None) -> Outcome:
        before[:] = [evaluate.read_record(document, name) or states.new_slice(name)]
        if once and is_known_report(before[0], reports):
            return Outcome(dict(before[0]))
        return states.add_attempts(name, before[0], attempts, evaluator, reports, without_start)

    def fields() -> Mapping[str, Any]:
        how = {"reports": list(reports), "once": once, "without_start": without_start}
        return {"slice": name, "attempts": dump(attempts), **how}

    outcome = record_or_queue(board, "attempts", fields, format_time(now), lambda: _change(board, name, after, now))
    if once and is_known_report(before[0], reports):
        return _result(name, outcome, rules, now)._replace(repeated=True)
    tried = [each.strategy for each in attempts if each.result == results.FAILED]
    done = _result_with_reports(board, name, outcome, rules, now, _repeats(before[0], tried))
    last = mappings_of(outcome.record, "attempts")[-len(attempts) :] if attempts else []
    return done._replace(refused=any(each.get("result") == REFUSED for each in last))


def is_known_report(record: Mapping[str, Any], reports: Sequence[str]) -> bool:
    return not set(reports).isdisjoint(text_of(each) for each in list_of(record, "reports_read"))


def arch_stop(board: Board, name: str, why: str, by: str | None, rules: RuleSet, now: datetime) -> SliceResult:
    """Stop a slice because its work needs another architecture; also one that has not begun."""
    check_name(name)

    def after(document: Document, _: Mapping[str, Any] | None) -> Outcome:
        record = evaluate.read_record(document, name) or states.new_slice(name)
        return states.arch_stop(name, record, why, by, now)

    def fields() -> Mapping[str, Any]:
        return {"slice": name, "why": why, "by": by}

    outcome = record_or_queue(board, "arch_stop", fields, format_time(now), lambda: _change(board, name, after, now))
    return _result_with_reports(board, name, outcome, rules, now)


def reset_slice(
    board: Board, name: str, guidance: str | None, by: str, rolled_back: Mapping[str, Any] | None, rules: RuleSet,
    now: datetime, went_back: WentBack | None = None,
) -> SliceResult:  # fmt: skip
    """Set all counters of a slice to 0; its finished attempts are in its history afterwards."""

    def after(document: Document, record: Mapping[str, Any] | None) -> Outcome:
        if record is None:
            raise unknown_record(document, evaluate.SCOPE, name)
        evaluate.read_record(document, name, ignored=("status",))  # a reset fixes an unknown status
        return states.reset_slice(name, record, "reset", guidance, by, now, rolled_back, went_back)

    return _result(name, _change(board, name, after, now), rules, now)


def justify_file(
    board: Board, name: str, file: str, test: str, reason: str, relationship: str, now: datetime
) -> Mapping[str, Any]:
    """Record why a file outside the scope has to be changed."""
    check_name(name)

    def after(document: Document, _: Mapping[str, Any] | None) -> Outcome:
        record = evaluate.read_record(document, name, ignored=("status",)) or states.new_slice(name)
        said = f"slice {name} may change {value_text(file, 200)}: {reason}"
        changed = scope_lock.add_justification(record, file, test, reason, relationship, now)
        return Outcome(changed, (Event("slice", name, "justified", said),))

    def fields() -> Mapping[str, Any]:
        return {"slice": name, "file": file, "test": test, "reason": reason, "relationship": relationship}

    return record_or_queue(
        board, "justification", fields, format_time(now), lambda: _change(board, name, after, now)
    ).record


def record_violations(board: Board, name: str, files: Sequence[str], now: datetime) -> Mapping[str, Any]:
    """Record which changed files are outside the scope and not justified; none takes back what was recorded before."""

    def after(document: Document, record: Mapping[str, Any] | None) -> Outcome:
        if record is None:
            raise unknown_record(document, evaluate.SCOPE, name)
        known = {each.get("file") for each in mappings_of(record, "scope_violations")}
        new = [file for file in files if file not in known]
        said = f"slice {name} changed files outside its scope: {', '.join(value_text(file) for file in new[:10])}"
        events = (Event("slice", name, "scope_violated", said),) if new else ()
        return Outcome(scope_lock.set_violations(record, files, now), events)

    return _change(board, name, after, now).record


def find_slice(board: Board, name: str) -> Mapping[str, Any]:
    """The slice with that name, as written."""
    document = board.read()
    record = evaluate.read_record(document, name, ignored=("status",))
    if record is None:
        raise unknown_record(document, evaluate.SCOPE, name)
    return record


def read_slice(board: Board, name: str, rules: RuleSet, now: datetime) -> SliceResult:
    """A slice as it is now, with what the rules say of what others wrote into it."""
    document = board.read()
    record = evaluate.read_record(document, name)
    if record is None:
        raise unknown_record(document, evaluate.SCOPE, name)
    return evaluate_slice(name, record, rules, now)


def evaluate_slice(name: str, record: Mapping[str, Any], rules: RuleSet, now: datetime) -> SliceResult:
    """A slice that was read before, as the next one to write it would find it."""
    return _result(name, states.reconcile_record(name, record, evaluate.evaluator_for(rules, now)), rules, now)


def _result_with_reports(
    board: Board, name: str, outcome: Outcome, rules: RuleSet, now: datetime, warnings: Sequence[str] = ()
) -> SliceResult:
    """With the paperwork of a trip, which comes after the slice is stopped and keeps nothing from being said."""
    wrong: list[str] = []
    if open_trip(outcome.record) is not None:
        from liza.scopes.slices.diagnostic_reports import write_missing_reports

        wrong = write_missing_reports(board.paths, name, outcome.record)
    return _result(name, outcome, rules, now, [*wrong, *warnings])


def _result(name: str, outcome: Outcome, rules: RuleSet, now: datetime, warnings: Sequence[str] = ()) -> SliceResult:
    record = outcome.record
    alerts = [text for _, text in evaluate.alerts(name, record, evaluate.evaluator_for(rules, now))]
    status = status_of(record)
    return SliceResult(
        name=name,
        status=status,
        reason=stop_reason(record) if status != ACTIVE else "",
        record=record,
        counts=derived.count_attempts(name, record),
        events=outcome.events,
        warnings=(*warnings, *alerts),
    )


def _repeats(record: Mapping[str, Any], strategies: Sequence[str]) -> list[str]:
    """What was tried before without success should not be tried again."""
    found = ((each, texts.find_repeated_strategy(each, record)) for each in dict.fromkeys(strategies) if each.strip())
    return [
        f"this strategy was tried before and failed: {cut_line(earlier, 200)}"
        for _, earlier in found
        if earlier is not None
    ]


def _change(
    board: Board, name: str, after: Callable[[Document, Mapping[str, Any] | None], Outcome], now: datetime
) -> Outcome:
    return change_record(board, evaluate.SCOPE, name, after, now, evaluate.archive)


def check_name(name: str) -> None:
    """`Refused` where a slice cannot have that name."""
    records.check_name("slice", name, 120, "S-3")


def check_test_name(name: str) -> None:
    """`Refused` where a test cannot have that name; unlike a slice's it may have line breaks."""
    if not name.strip() or len(name) > MAX_TEST_NAME:
        hint = f"its exact name as the test runner prints it, of at most {MAX_TEST_NAME} characters"
        raise Refused(f"invalid test name {value_text(name)}", hint=hint)
