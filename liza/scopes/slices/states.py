"""The states of a slice: ACTIVE while its tests are attempted, STOPPED after a trip, ARCH_STOP by an agent's report.

Pure decisions: each function takes a slice as it is on the blackboard and returns what to write there next. Fields that
other programs add are kept.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from liza.git.base import Base
from liza.model import MAPPINGS, Match, format_time
from liza.rules.acknowledged import trip_id
from liza.scopes.evaluator import Evaluator, reason_text
from liza.scopes.records import list_of, mappings_of
from liza.scopes.slices import derived, rollback_bases
from liza.scopes.slices.attempt_texts import LINE
from liza.scopes.slices.fields import (
    ACTIVE,
    ARCH_STOP,
    OBSERVED,
    REFUSED,
    STOPPED,
    Slice,
    find_test,
    named_tests,
    open_tests,
    open_trip,
    status_of,
)
from liza.scopes.transition import Event, Transition
from liza.text import cut_line, file_name, text_of, value_text
from liza.toolerrors.results import FAILED, PASSED

READ = 50  # identities of test reports that are remembered, at least those of the last run
KEPT = 100  # attempts that stay on the blackboard
RUNS = 20  # finished runs that the history keeps
REASONS = 10  # of one trip that its text lists; all are in its reports
DIAGNOSTICS = ".liza/diagnostics"
UNDONE = ("justifications", "scope_violations")  # fields about changes that a rollback undoes


class Attempt(NamedTuple):
    """One cycle of changing code and running a test. The field names are also those of the inbox."""

    test: str | None
    result: str
    strategy: str = ""
    error: str = ""  # for the blackboard, cut if it is long
    said: str = ""  # the error in one line
    files: tuple[str, ...] = ()
    more: Mapping[str, Any] = {}


def new_slice(name: str) -> Slice:
    return {
        "slice_id": name,
        "status": ACTIVE,
        "total_failed_attempts": 0,
        "infra_errors": 0,
        "checkpoint_tag": "",
        "tests": [],
        "attempts": [],
    }


def _new_test(name: str) -> dict[str, Any]:
    return {
        "test_name": name,
        "attempt_count": 0,
        "files_touched": [],
        "description": "",
        "last_error": "",
        "checkpoint_tag": "",
        "open": True,
    }


# --- attempting -----------------------------------------------------------------------------------------------------


def start_test(
    name: str, record: Mapping[str, Any], test: str, strategy: str, base: Base | None,
    evaluator: Evaluator[None], files: Sequence[str] = (),
) -> Transition:  # fmt: skip
    """Start work on a test. A slice that is stopped stays as it is.

    The base is that of the first attempt and is never replaced: after a failure the working tree has what failed.
    `files` changed since the last attempt and belong to the tests in work: the next attempt would not see them.
    """
    before, now = reconcile_record(name, record, evaluator), evaluator.now
    slice_ = before.record
    if status_of(slice_) != ACTIVE:
        return before
    for other in open_tests(slice_) if files else ():
        slice_ = _with_test(slice_, _with_touched_files(find_test(slice_, other), files))
    known = find_test(slice_, test)
    entry = {**_new_test(test), **known, "open": True}
    tried = {text_of(each.get("test")) for each in mappings_of(slice_, "attempts")}
    has_base = bool(slice_.get("checkpoint_tag")) or isinstance(slice_.get("checkpoint"), MAPPINGS)
    begins = base is not None and not tried and not has_base
    if base is not None and begins:
        slice_ = {**slice_, "checkpoint_tag": base.commit, "checkpoint": base.fields(now)}
    if base is not None and test not in tried and not entry["checkpoint_tag"]:
        entry["checkpoint_tag"] = base.commit
        if base.dirty and base.ref and not begins:  # finished work of other tests that is not committed
            entry["checkpoint"] = base.fields(now)
    slice_.pop("without_start", None)  # from now on only started tests count
    if strategy:
        entry["strategy"] = strategy  # moves to the attempt once its result is recorded
    return before._replace(record=_with_test(slice_, entry))


def _with_touched_files(test: Mapping[str, Any], files: Sequence[str]) -> dict[str, Any]:
    return {**test, "files_touched": list(dict.fromkeys([*list_of(test, "files_touched"), *files]))}


def add_attempts(
    name: str, record: Mapping[str, Any], attempts: Sequence[Attempt], evaluator: Evaluator[None],
    reports: Sequence[str] = (), without_start: bool = False,
) -> Transition:  # fmt: skip
    """Add the results of one run of tests, and evaluate the slice once after all of them.

    `reports` are the identities of the test reports that were read. `without_start`: no test was started first.
    """
    before, now = reconcile_record(name, record, evaluator), evaluator.now
    slice_ = derived.list_unlisted(before.record)
    if reports:
        known = [*list_of(slice_, "reports_read"), *reports]
        slice_ = {**slice_, "reports_read": known[-max(READ, len(reports)) :]}
    if without_start and not named_tests(slice_):
        slice_ = {**slice_, "without_start": True}
    stopped = status_of(slice_) != ACTIVE
    for attempt in attempts:
        if stopped and attempt.result != OBSERVED:
            refused = attempt._replace(result=REFUSED, more={"would_be": attempt.result})
            slice_ = _append_attempt(slice_, refused, now)
        else:
            slice_ = _apply_attempt(slice_, attempt, now)
    slice_, older = _trim(_with_counters(name, slice_))
    added = before.then(Transition(slice_, (), older))
    return added if stopped else added.then(reconcile_record(name, slice_, evaluator))


def _apply_attempt(slice_: Slice, attempt: Attempt, now: datetime) -> Slice:
    if attempt.test is None:
        return _append_attempt(slice_, attempt, now)
    known = find_test(slice_, attempt.test)
    test = {**_new_test(attempt.test), **known, "open": attempt.result != PASSED}
    strategy = attempt.strategy or str(test.pop("strategy", "") or "")
    test.pop("strategy", None)
    test = _with_touched_files(test, attempt.files)
    if attempt.result == PASSED:
        test["last_error"] = ""
    if attempt.result == FAILED:
        test |= {"last_error": attempt.error, "description": strategy or test["description"]}
    return _append_attempt(_with_test(slice_, test), attempt._replace(strategy=strategy), now)


def _append_attempt(slice_: Slice, attempt: Attempt, now: datetime) -> Slice:
    entries = list_of(slice_, "attempts")
    numbers = [n for each in entries if isinstance(each, MAPPINGS) and type(n := each.get("attempt")) is int]
    entry = {
        "attempt": max(numbers, default=len(entries)) + 1,
        "timestamp": format_time(now),
        "test": attempt.test,
        "result": attempt.result,
        "strategy": attempt.strategy,
        "files": list(attempt.files),
        "error": attempt.said,
        **attempt.more,
    }
    return {
        **slice_,
        "attempts": [*entries, {key: value for key, value in entry.items() if value not in (None, "", [])}],
    }


def _with_test(slice_: Mapping[str, Any], test: Mapping[str, Any]) -> Slice:
    name = text_of(test["test_name"])
    tests = list_of(slice_, "tests")
    places = [i for i, each in enumerate(tests) if isinstance(each, MAPPINGS) and _is_called(each, name)]
    changed = [dict(test) if i in places[:1] else each for i, each in enumerate(tests)]
    return {**slice_, "tests": changed if places else [*changed, dict(test)]}


def _is_called(test: Mapping[str, Any], name: str) -> bool:
    return test.get("test_name") is not None and text_of(test["test_name"]) == name


def _with_counters(name: str, slice_: Slice) -> Slice:
    counts = derived.count_attempts(name, slice_)
    tests = [
        {**each, "attempt_count": counts.streaks.get(text_of(each["test_name"]), 0)}
        if isinstance(each, MAPPINGS) and each.get("test_name") is not None
        else each
        for each in list_of(slice_, "tests")
    ]
    return {**slice_, "total_failed_attempts": counts.failed, "infra_errors": counts.infra, "tests": tests}


def _trim(slice_: Slice) -> tuple[Slice, tuple[Mapping[str, Any], ...]]:
    kept, older = derived.trim_attempts(list_of(slice_, "attempts"), KEPT)
    return ({**slice_, "attempts": kept}, older) if older else (slice_, ())


# --- evaluating -----------------------------------------------------------------------------------------------------


def reconcile_record(name: str, record: Mapping[str, Any], evaluator: Evaluator[None]) -> Transition:
    """Apply edits by hand and the rules to a slice. Idempotent, so every caller may do it."""
    status, now = status_of(record), evaluator.now
    if status == ACTIVE and open_trip(record) is not None:
        return reset_slice(name, record, "by hand", None, None, now)  # a person changed the status, and nothing else
    matches = evaluator.trips(derived.derive_attempts(name, record)) if status == ACTIVE else ()
    return _stop(name, record, matches, now) if matches else Transition(dict(record))


def _stop(name: str, record: Mapping[str, Any], matches: Sequence[Match], now: datetime) -> Transition:
    """Trip a slice: the reason has every rule that matched, in pack order, which puts the test before the slice."""
    first = matches[0]
    reasons = list(dict.fromkeys(trip_reason(match) for match in matches))
    more = [f"and {len(reasons) - REASONS} more"] if len(reasons) > REASONS else []
    reason = "; ".join([*reasons[:REASONS], *more])
    runs = len(list_of(record, "history"))  # unlisted failures look the same in every run
    identity = trip_id(f"{first.rule.name} {runs}", first.new, first.threshold)
    trip = {
        "stopped": format_time(now),
        "trip_id": identity,
        "rules": list(dict.fromkeys(match.rule.name for match in matches)),
        "reason": reason,
        "reports": [
            {"test": test, "file": f"{DIAGNOSTICS}/{file_name(name)}/{identity}-{file_name(test)}.yaml"}
            for test in _tests_to_report(name, record, matches)
        ],
    }
    text = f"slice {name} is STOPPED: {reason}"
    stopped = {**_with_counters(name, dict(record)), "status": STOPPED, "current_trip": trip}
    return Transition(stopped, (Event("slice", name, "stopped", text),))


def _tests_to_report(name: str, record: Mapping[str, Any], matches: Sequence[Match]) -> tuple[str, ...]:
    """The tests that tripped; where the slice as a whole did, every test that fails now."""
    tripped = [_test(match) for match in matches if "test" in match.fields]
    others = (
        derived.count_attempts(name, record).failing if any("test" not in match.fields for match in matches) else ()
    )
    return tuple(dict.fromkeys(each for each in (*tripped, *others) if each is not None))


def _test(match: Match) -> str | None:
    test = match.evidence[-1].fields.get("test") if match.evidence else None
    return None if test is None else str(test)


def trip_reason(match: Match) -> str:
    return reason_text(match, value_text(_test(match) or "", 200))


def arch_stop(name: str, record: Mapping[str, Any], why: str, by: str | None, now: datetime) -> Transition:
    """Stop a slice because its work needs another architecture; this replaces a trip by a count."""
    if record.get("status") == ARCH_STOP:
        return Transition(dict(record))
    stop = {"stopped": format_time(now), "rules": ["arch_stop"], "reason": why, **({"by": by} if by else {})}
    trip = open_trip(record)
    if trip is not None:
        stop |= {key: trip[key] for key in ("trip_id", "reports") if key in trip}
        stop["rules"] = ["arch_stop", *list_of(trip, "rules")]
    text = f"slice {name} is ARCH_STOP: {why}"
    return Transition(
        {**record, "status": ARCH_STOP, "current_trip": stop}, (Event("slice", name, "arch_stopped", text),)
    )


# --- decisions ------------------------------------------------------------------------------------------------------


def reset_slice(
    name: str, record: Mapping[str, Any], how: str, guidance: str | None, by: str | None, now: datetime,
    rolled_back: Mapping[str, Any] | None = None, went_back: rollback_bases.WentBack | None = None,
) -> Transition:  # fmt: skip
    """Reset a slice: every counter is 0, the finished attempts are in the history, and the base stays."""
    if is_untouched(record):
        return Transition(_move_base(record, rolled_back, went_back) if rolled_back else dict(record))
    counts = derived.count_attempts(name, record)
    trip = dict(open_trip(record) or {})
    end = {"reset": format_time(now), "how": how, "by": by, "guidance": guidance, "rolled_back": rolled_back}
    run = {
        **trip,
        "failed": counts.failed,
        "infra": counts.infra,
        **{key: value for key, value in end.items() if value is not None},
        "attempts": list_of(record, "attempts"),
        "tests": [
            {"test_name": test, "files_touched": list_of(find_test(record, test), "files_touched")}
            for test in rollback_bases.tests_to_reset(record)
        ],
    }
    gone = ("current_trip", *(UNDONE if rolled_back else ()))
    run |= {key: record[key] for key in gone[1:] if record.get(key)}
    runs = [*list_of(record, "history"), run]
    fresh = {
        **{key: value for key, value in record.items() if key not in gone},
        "status": ACTIVE,
        "total_failed_attempts": 0,
        "infra_errors": 0,
        "tests": [_reset_test(each, record, went_back) for each in list_of(record, "tests")],
        "attempts": [],
        "history": runs[-RUNS:],
    }
    older = tuple(each for each in runs[:-RUNS] if isinstance(each, MAPPINGS))
    whose = f"{how} by {by}" if by else how
    text = f"slice {name} is ACTIVE again ({whose}){f': {cut_line(guidance, LINE)}' if guidance else ''}"
    return Transition(fresh, (Event("slice", name, "reset", text),), older)


def _move_base(
    record: Mapping[str, Any], rolled_back: Mapping[str, Any], went_back: rollback_bases.WentBack | None
) -> Slice:
    """The slice after a rollback that came later than its reset."""
    runs = list_of(record, "history")
    if runs and isinstance(runs[-1], MAPPINGS):
        undone = {key: record[key] for key in UNDONE if record.get(key)}
        runs[-1] = {**runs[-1], **undone, "rolled_back": dict(rolled_back)}
    kept = {key: value for key, value in record.items() if key not in UNDONE}
    kept["tests"] = [_reset_test(each, record, went_back) for each in list_of(record, "tests")]
    return {**kept, **({"history": runs} if runs else {})}


def is_untouched(record: Mapping[str, Any]) -> bool:
    has_work = open_trip(record) or list_of(record, "attempts") or status_of(record) != ACTIVE
    counts = derived.count_attempts("", record)
    return not has_work and not counts.failed and not counts.infra


def _reset_test(test: Any, slice_: Mapping[str, Any], went_back: rollback_bases.WentBack | None) -> Any:
    """A test without counts; after a rollback its base is where that went."""
    if not isinstance(test, MAPPINGS):
        return test
    zero = {"attempt_count": 0, "files_touched": [], "description": "", "last_error": "", "open": False}
    kept = {key: value for key, value in test.items() if key != "strategy"}
    if went_back is None or not went_back.base.tag or text_of(test.get("test_name")) not in went_back.tests:
        return {**kept, **zero}
    kept.pop("checkpoint", None)
    fields = went_back.base.fields
    if went_back.base == rollback_bases.recorded_base(slice_):
        fields.pop("checkpoint", None)  # the slice has it already
    return {**kept, **zero, **fields}
