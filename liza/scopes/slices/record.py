"""Slices on the blackboard: a test that is started, the attempts at it, each in one change under the lock."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import Refused
from liza.git.base import Base
from liza.model import format_time
from liza.rules.evaluate import RuleSet
from liza.scopes.change import change_known, change_record, read_usable, unknown_record
from liza.scopes.records import check_name, list_of, mappings_of
from liza.scopes.rules_file import protocol_rules
from liza.scopes.slices import attempt_texts, derived, evaluate, scope_lock, states
from liza.scopes.slices.fields import ACTIVE, REFUSED, SLICES, known_tests, open_trip, status_of, stop_reason
from liza.scopes.slices.rollback_bases import WentBack
from liza.scopes.slices.scope_violations import add_violations, set_allowed, violation_event
from liza.scopes.slices.states import Attempt
from liza.scopes.transition import Event, Transition
from liza.store.board import Board
from liza.store.document import Document
from liza.store.inbox import EntryBoard, Recording
from liza.store.paths import Paths
from liza.store.payload import dump, load_fields
from liza.text import cut_line, did_you_mean, shell_quoted, text_of, value_text
from liza.toolerrors import results

RESET_FIXES = ("status",)  # a field that a reset corrects, whatever is in it
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
) -> Recording[SliceResult]:  # fmt: skip
    """Begin to work on a test; the first time, with where the slice began."""
    check_name(SLICES, name)
    check_test_name(test)
    evaluator = evaluate.evaluator_for(rules, now)

    def change(document: Document, slice_: Mapping[str, Any] | None) -> Transition:
        before = slice_ or states.new_slice(name)
        begun = states.start_test(name, before, test, strategy, base, evaluator, files)
        return add_violations(board.paths, name, begun, files, now)

    def make() -> SliceResult:
        transition = change_record(board, SLICES, name, change, now)
        return _result_with_reports(board, name, transition, rules, now, _repeats(transition.before, [strategy]))

    fields = {"slice": name, "test": test, "strategy": strategy, "base": dump(base), "files": list(files)}
    return Recording(board, "start", fields, format_time(now), make)


def record_attempts(
    board: Board, name: str, attempts: Sequence[Attempt], rules: RuleSet, now: datetime,
    reports: Sequence[str] = (), *, once: bool = False, without_start: bool = False,
) -> Recording[SliceResult]:  # fmt: skip
    """Add the results of one run of tests, and evaluate the slice at once.

    With `once` nothing is recorded where one of the reports was read before; that is decided under the lock.
    """
    check_name(SLICES, name)
    for each in attempts:
        if each.test is not None:
            check_test_name(each.test)
    evaluator = evaluate.evaluator_for(rules, now)

    def change(document: Document, slice_: Mapping[str, Any] | None) -> Transition:
        if once and is_known_report(slice_, reports):
            return Transition(dict(slice_ or {}))
        before = slice_ or states.new_slice(name)
        added = states.add_attempts(name, before, attempts, evaluator, reports, without_start)
        return add_violations(board.paths, name, added, [file for each in attempts for file in each.files], now)

    def make() -> SliceResult:
        transition = change_record(board, SLICES, name, change, now)
        if once and is_known_report(transition.before, reports):
            return _result(board.paths, name, transition, rules, now)._replace(repeated=True)
        tried = [each.strategy for each in attempts if each.result == results.FAILED]
        done = _result_with_reports(board, name, transition, rules, now, _repeats(transition.before, tried))
        last = mappings_of(transition.record, "attempts")[-len(attempts) :] if attempts else []
        return done._replace(refused=any(each.get("result") == REFUSED for each in last))

    how = {"reports": list(reports), "once": once, "without_start": without_start}
    fields = {"slice": name, "attempts": dump(attempts), **how}
    return Recording(board, "attempts", fields, format_time(now), make)


def is_known_report(record: Mapping[str, Any] | None, reports: Sequence[str]) -> bool:
    return not set(reports).isdisjoint(text_of(each) for each in list_of(record or {}, "reports_read"))


def arch_stop(
    board: Board, name: str, why: str, by: str | None, rules: RuleSet, now: datetime
) -> Recording[SliceResult]:
    """Stop a slice because its work needs another architecture; also one that has not begun."""
    check_name(SLICES, name)

    def change(document: Document, slice_: Mapping[str, Any] | None) -> Transition:
        return states.arch_stop(name, slice_ or states.new_slice(name), why, by, now)

    def make() -> SliceResult:
        return _result_with_reports(board, name, change_record(board, SLICES, name, change, now), rules, now)

    fields = {"slice": name, "why": why, "by": by}
    return Recording(board, "arch_stop", fields, format_time(now), make)


def reset_slice(
    board: Board, name: str, guidance: str | None, by: str, rolled_back: Mapping[str, Any] | None, rules: RuleSet,
    now: datetime, went_back: WentBack | None = None,
) -> SliceResult:  # fmt: skip
    """Set all counters of a slice to 0; its finished attempts are in its history afterwards."""

    def change(slice_: Mapping[str, Any]) -> Transition:
        return states.reset_slice(name, slice_, "reset", guidance, by, now, rolled_back, went_back)

    transition = change_known(board, SLICES, name, change, now, ignored=RESET_FIXES)
    return _result(board.paths, name, transition, rules, now)


def justify_file(
    board: Board, name: str, file: str, test: str, reason: str, relationship: str, now: datetime
) -> Recording[Mapping[str, Any]]:
    """Record why a file outside the scope has to be changed."""
    check_name(SLICES, name)

    def change(document: Document, slice_: Mapping[str, Any] | None) -> Transition:
        text = f"slice {name} may change {value_text(file, 200)}: {reason}"
        before = slice_ or states.new_slice(name)
        known = known_tests(before)
        if test not in known:
            otherwise = f"start it first: liza attempt start --slice {shell_quoted(name)} --test {shell_quoted(test)}"
            hint = did_you_mean(test, known, otherwise)
            raise Refused(f"slice {name} has no test {value_text(test, 200)}, which would need that change", hint=hint)
        changed = scope_lock.add_justification(before, file, test, reason, relationship, now)
        return Transition(changed, (Event("slice", name, "justified", text),))

    def make() -> Mapping[str, Any]:
        return change_record(board, SLICES, name, change, now, ignored=RESET_FIXES).record

    fields = {"slice": name, "file": file, "test": test, "reason": reason, "relationship": relationship}
    return Recording(board, "justification", fields, format_time(now), make)


def allow_files(
    board: Board, name: str, fields: Mapping[str, list[str] | None], rules: RuleSet, now: datetime
) -> SliceResult:
    """Set what a slice may change: its files_in_scope, its contracts, or both."""
    check_name(SLICES, name)

    def change(document: Document, slice_: Mapping[str, Any] | None) -> Transition:
        return set_allowed(board.paths, name, slice_ or states.new_slice(name), fields, now)

    transition = change_record(board, SLICES, name, change, now, ignored=tuple(fields))
    return _result(board.paths, name, transition, rules, now)


def record_violations(board: Board, name: str, files: Sequence[str], now: datetime) -> Mapping[str, Any]:
    """Record which changed files are outside the scope and not justified; an empty list removes no earlier record."""

    def change(slice_: Mapping[str, Any]) -> Transition:
        known = {each.get("file") for each in mappings_of(slice_, "scope_violations")}
        new = [file for file in files if file not in known]
        events = (violation_event(name, new),) if new else ()
        return Transition(scope_lock.set_violations(slice_, files, now), events)

    return change_known(board, SLICES, name, change, now, ignored=None).record


def find_slice(board: Board, name: str) -> Mapping[str, Any]:
    return _require_slice(board.read(), name, ignored=RESET_FIXES)


def read_slice(board: Board, name: str, rules: RuleSet, now: datetime) -> SliceResult:
    """A slice as it is now, evaluated with what other programs wrote into it."""
    return evaluate_slice(board, name, _require_slice(board.read(), name), rules, now)


def _require_slice(document: Document, name: str, ignored: Sequence[str] = ()) -> Mapping[str, Any]:
    slice_ = read_usable(document, SLICES, name, ignored)
    if slice_ is None:
        raise unknown_record(document, SLICES, name)
    return slice_


def evaluate_slice(board: Board, name: str, record: Mapping[str, Any], rules: RuleSet, now: datetime) -> SliceResult:
    """A slice that was read before, as the next one to write it would find it."""
    transition = states.reconcile_record(name, record, evaluate.evaluator_for(rules, now))
    return _result(board.paths, name, transition, rules, now)


def _result_with_reports(
    board: Board, name: str, transition: Transition, rules: RuleSet, now: datetime, warnings: Sequence[str] = ()
) -> SliceResult:
    """With the reports of a trip, which are written once the slice is stopped; a failure is only a warning."""
    wrong: list[str] = []
    if open_trip(transition.record) is not None:
        from liza.scopes.slices.diagnostic_reports import write_missing_reports

        wrong = write_missing_reports(board.paths, name, transition.record)
    return _result(board.paths, name, transition, rules, now, [*wrong, *warnings])


def _result(
    paths: Paths, name: str, transition: Transition, rules: RuleSet, now: datetime, warnings: Sequence[str] = ()
) -> SliceResult:
    record: Mapping[str, Any] = transition.record
    if open_trip(record) is not None:
        from liza.scopes.slices.diagnostic_reports import with_report_states

        record = with_report_states(paths, record)
    alerts = [text for _, text in evaluate.alerts(name, record, evaluate.evaluator_for(rules, now))]
    status = status_of(record)
    return SliceResult(
        name=name,
        status=status,
        reason=stop_reason(record) if status != ACTIVE else "",
        record=record,
        counts=derived.count_attempts(name, record),
        events=transition.events,
        warnings=(*warnings, *alerts),
    )


def _repeats(record: Mapping[str, Any] | None, strategies: Sequence[str]) -> list[str]:
    """A warning for each strategy that was tried before without success."""
    tried = [each for each in dict.fromkeys(strategies) if each.strip()]
    found = [attempt_texts.find_repeated_strategy(each, record or {}) for each in tried]
    return [f"this strategy was tried before and failed: {cut_line(each, 200)}" for each in found if each is not None]


# --- from the inbox -------------------------------------------------------------------------------------------------


def enter_attempts(board: EntryBoard, fields: Mapping[str, Any], now: datetime) -> None:
    how = {"reports": tuple[str, ...], "once": bool, "without_start": bool}
    given = load_fields(fields, slice=str, attempts=tuple[Attempt, ...], **how)
    options = {each: given[each] for each in how}
    record_attempts(board, given["slice"], given["attempts"], _rules(board), now, **options).make()


def enter_start(board: EntryBoard, fields: Mapping[str, Any], now: datetime) -> None:
    given = load_fields(fields, slice=str, test=str, strategy=str, base=Base | None, files=tuple[str, ...])
    at = given["slice"], given["test"], given["strategy"], given["base"]
    start_test(board, *at, _rules(board), now, given["files"]).make()


def enter_arch_stop(board: EntryBoard, fields: Mapping[str, Any], now: datetime) -> None:
    given = load_fields(fields, slice=str, why=str, by=str | None)
    arch_stop(board, given["slice"], given["why"], given["by"], _rules(board), now).make()


def enter_justification(board: EntryBoard, fields: Mapping[str, Any], now: datetime) -> None:
    given = load_fields(fields, slice=str, file=str, test=str, reason=str, relationship=str)
    at = given["slice"], given["file"], given["test"], given["reason"], given["relationship"]
    justify_file(board, *at, now).make()


def _rules(board: Board) -> RuleSet:
    """What stops a slice is fixed, so a rules file that cannot be used keeps no failure from counting."""
    return protocol_rules(board.paths.rules, "attempts")[0]


# --- names ----------------------------------------------------------------------------------------------------------


def check_test_name(name: str) -> None:
    """`Refused` where a test cannot have that name; unlike a slice's it may have line breaks."""
    if not name.strip() or len(name) > MAX_TEST_NAME:
        hint = f"its exact name as the test runner prints it, of at most {MAX_TEST_NAME} characters"
        raise Refused(f"invalid test name {value_text(name)}", hint=hint)
