"""The states of a slice: ACTIVE while its tests are attempted, STOPPED after a trip, ARCH_STOP where an agent says so.

Only decisions: a slice is what stands on the blackboard under its name, and each function says what is to stand there
next. Whatever people put beside our fields stays.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from liza.model import MAPPINGS, Match, Record, format_time
from liza.rules.acknowledged import trip_id
from liza.scopes.change import Outcome
from liza.scopes.records import Event
from liza.scopes.slices import derived as rec
from liza.scopes.slices import rollback_bases
from liza.scopes.slices.derived import ACTIVE, ARCH_STOP, OBSERVED, REFUSED, STOPPED, Slice
from liza.scopes.slices.names import file_name
from liza.scopes.slices.texts import short
from liza.text import text_of, value_text
from liza.toolerrors.results import FAILED, PASSED

READ = 50  # reports that are remembered, at least all of the last run
KEPT = 100  # attempts that stay on the blackboard
RUNS = 20  # finished runs that its history keeps
SAID = 10  # reasons of one trip that are told; all are in its reports
DIAGNOSTICS = ".liza/diagnostics"

Judge = Callable[[Sequence[Record]], Sequence[Match]]


class Attempt(NamedTuple):
    """One cycle of changing code, running a test and seeing what comes of it."""

    test: str | None
    result: str
    strategy: str = ""
    error: str = ""  # as it is kept on the blackboard
    said: str = ""  # the same in one line
    files: tuple[str, ...] = ()
    more: Mapping[str, Any] = {}


class Checkpoint(NamedTuple):
    """Where a slice began."""

    commit: str  # "" before the first commit
    branch: str | None  # None where HEAD is detached
    dirty: bool
    work_tree: str
    ref: str | None = None  # what keeps it, and what the commit does not have

    def fields(self, now: datetime) -> dict[str, Any]:
        said = {"branch": self.branch, "dirty": self.dirty, "ref": self.ref, "work_tree": self.work_tree}
        return {"taken": format_time(now), **said}


def new(name: str) -> Slice:
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


def started(
    name: str, record: Mapping[str, Any], test: str, strategy: str, checkpoint: Checkpoint | None, judge: Judge,
    now: datetime, files: Sequence[str] = (),
) -> Outcome:  # fmt: skip
    """After somebody began to work on a test. A slice that is stopped stays as it is.

    The checkpoint is that of the first attempt and is never taken again: what is there after a failure is what failed.
    `files` were changed since the last attempt, by the tests that are at work: the next one does not see them any more.
    """
    before = settled(name, record, judge, now)
    slice_ = before.record
    if rec.status_of(slice_) != ACTIVE:
        return before
    for other in rec.open_tests(slice_) if files else ():
        slice_ = _with_test(slice_, _touching(rec.test_of(slice_, other), files))
    known = rec.test_of(slice_, test)
    entry = {**_new_test(test), **known, "open": True}
    tried = {text_of(each.get("test")) for each in rec.records_of(slice_, "attempts")}
    begins = checkpoint is not None and not tried and not _is_placed(slice_)
    if checkpoint is not None and begins:
        slice_ = {**slice_, "checkpoint_tag": checkpoint.commit, "checkpoint": checkpoint.fields(now)}
    if checkpoint is not None and test not in tried and not entry["checkpoint_tag"]:
        entry["checkpoint_tag"] = checkpoint.commit
        if checkpoint.dirty and checkpoint.ref and not begins:  # finished work of other tests that is not committed
            entry["checkpoint"] = checkpoint.fields(now)
    slice_.pop("without_start", None)  # from now on the tests that count are chosen
    if strategy:
        entry["strategy"] = strategy  # of the attempt that begins; the result takes it along
    return before._replace(record=_with_test(slice_, entry))


def _touching(test: Mapping[str, Any], files: Sequence[str]) -> dict[str, Any]:
    return {**test, "files_touched": list(dict.fromkeys([*rec.list_of(test, "files_touched"), *files]))}


def _is_placed(record: Mapping[str, Any]) -> bool:
    return bool(record.get("checkpoint_tag")) or isinstance(record.get("checkpoint"), MAPPINGS)


def recorded(
    name: str, record: Mapping[str, Any], attempts: Sequence[Attempt], judge: Judge, now: datetime,
    reports: Sequence[str] = (), without_start: bool = False,
) -> Outcome:  # fmt: skip
    """After one run of tests: all that came of it is counted, and then it is judged once.

    `reports` are the identities of what was read, which counts once. `without_start` says that no test was chosen.
    """
    before = settled(name, record, judge, now)
    slice_ = rec.with_unlisted(before.record)
    if reports:
        known = [*rec.list_of(slice_, "reports_read"), *reports]
        slice_ = {**slice_, "reports_read": known[-max(READ, len(reports)) :]}
    if without_start and not rec.tests_of(slice_):
        slice_ = {**slice_, "without_start": True}
    stopped = rec.status_of(slice_) != ACTIVE
    for attempt in attempts:
        refused = stopped and attempt.result != OBSERVED
        slice_ = _refused(slice_, attempt, now) if refused else _attempted(slice_, attempt, now)
    slice_, older = _trimmed(_counted(name, slice_))
    after = Outcome(slice_) if stopped else settled(name, slice_, judge, now)
    return Outcome(after.record, before.events + after.events, before.archived + older + after.archived)


def _attempted(slice_: Slice, attempt: Attempt, now: datetime) -> Slice:
    if attempt.test is None:
        return _listed(slice_, attempt, now)
    known = rec.test_of(slice_, attempt.test)
    test = {**_new_test(attempt.test), **known, "open": attempt.result != PASSED}
    strategy = attempt.strategy or str(test.pop("strategy", "") or "")
    test.pop("strategy", None)
    test = _touching(test, attempt.files)
    if attempt.result == PASSED:
        test["last_error"] = ""
    if attempt.result == FAILED:
        test |= {"last_error": attempt.error, "description": strategy or test["description"]}
    return _listed(_with_test(slice_, test), attempt._replace(strategy=strategy), now)


def _refused(slice_: Slice, attempt: Attempt, now: datetime) -> Slice:
    return _listed(slice_, attempt._replace(result=REFUSED, more={"would_be": attempt.result}), now)


def _listed(slice_: Slice, attempt: Attempt, now: datetime) -> Slice:
    entries = rec.list_of(slice_, "attempts")
    numbers = [n for each in entries if isinstance(each, MAPPINGS) and type(n := each.get("attempt")) is int]
    said = {
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
        "attempts": [*entries, {key: value for key, value in said.items() if value not in (None, "", [])}],
    }


def _with_test(slice_: Mapping[str, Any], test: Mapping[str, Any]) -> Slice:
    name = text_of(test["test_name"])
    tests = rec.list_of(slice_, "tests")
    places = [i for i, each in enumerate(tests) if isinstance(each, MAPPINGS) and _is_called(each, name)]
    changed = [dict(test) if i in places[:1] else each for i, each in enumerate(tests)]
    return {**slice_, "tests": changed if places else [*changed, dict(test)]}


def _is_called(test: Mapping[str, Any], name: str) -> bool:
    return test.get("test_name") is not None and text_of(test["test_name"]) == name


def _counted(name: str, slice_: Slice) -> Slice:
    """With the counters that people read."""
    counts = rec.counts_of(name, slice_)
    tests = [
        {**each, "attempt_count": counts.streaks.get(text_of(each["test_name"]), 0)}
        if isinstance(each, MAPPINGS) and each.get("test_name") is not None
        else each
        for each in rec.list_of(slice_, "tests")
    ]
    return {**slice_, "total_failed_attempts": counts.failed, "infra_errors": counts.infra, "tests": tests}


def _trimmed(slice_: Slice) -> tuple[Slice, tuple[Mapping[str, Any], ...]]:
    kept, older = rec.trimmed(rec.list_of(slice_, "attempts"), KEPT)
    return ({**slice_, "attempts": kept}, older) if older else (slice_, ())


# --- judging --------------------------------------------------------------------------------------------------------


def settled(name: str, record: Mapping[str, Any], judge: Judge, now: datetime) -> Outcome:
    """What the slice is to be, as it stands: the same for whoever looks, and nothing more when it is asked again."""
    status = rec.status_of(record)
    if status == ACTIVE and rec.trip_of(record) is not None:
        return reset(name, record, "by hand", None, None, now)  # somebody changed the status, and that was all
    matches = judge(rec.derived(name, record)) if status == ACTIVE else ()
    return _stopped(name, record, matches, now) if matches else Outcome(dict(record))


def _stopped(name: str, record: Mapping[str, Any], matches: Sequence[Match], now: datetime) -> Outcome:
    """After a trip: every rule that matched, in pack order, which puts the test before the slice."""
    first = matches[0]
    reasons = list(dict.fromkeys(words(match) for match in matches))
    more = [f"and {len(reasons) - SAID} more"] if len(reasons) > SAID else []
    reason = "; ".join([*reasons[:SAID], *more])
    runs = len(rec.list_of(record, "history"))  # what nobody listed looks the same each time
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
    said = f"slice {name} is STOPPED: {reason}"
    stopped = {**_counted(name, dict(record)), "status": STOPPED, "current_trip": trip}
    return Outcome(stopped, (Event("slice", name, "stopped", said),))


def _tests_to_report(name: str, record: Mapping[str, Any], matches: Sequence[Match]) -> tuple[str, ...]:
    """The test that tripped; where it was the slice, every test that fails at present."""
    tripped = [_test(match) for match in matches if "test" in match.fields]
    others = rec.counts_of(name, record).failing if any("test" not in match.fields for match in matches) else ()
    return tuple(dict.fromkeys(each for each in (*tripped, *others) if each is not None))


def _test(match: Match) -> str | None:
    test = match.evidence[-1].fields.get("test") if match.evidence else None
    return None if test is None else str(test)


def words(match: Match) -> str:
    """The reason in the words of the rule."""
    template = match.rule.summary or match.rule.description or match.rule.name
    return template.replace("{count}", f"{match.value:g}").replace("{text}", value_text(_test(match) or "", 200))


def arch_stopped(name: str, record: Mapping[str, Any], why: str, by: str | None, now: datetime) -> Outcome:
    """After an agent said that the work needs another architecture: that goes before any count."""
    if record.get("status") == ARCH_STOP:
        return Outcome(dict(record))
    said = {"stopped": format_time(now), "rules": ["arch_stop"], "reason": why, **({"by": by} if by else {})}
    trip = rec.trip_of(record)
    if trip is not None:
        said |= {key: trip[key] for key in ("trip_id", "reports") if key in trip}
        said["rules"] = ["arch_stop", *(rule for rule in rec.list_of(trip, "rules"))]
    text = f"slice {name} is ARCH_STOP: {why}"
    return Outcome({**record, "status": ARCH_STOP, "current_trip": said}, (Event("slice", name, "arch_stopped", text),))


# --- what people decide ---------------------------------------------------------------------------------------------


def reset(
    name: str, record: Mapping[str, Any], how: str, guidance: str | None, by: str | None, now: datetime,
    rolled_back: Mapping[str, Any] | None = None, went_back: rollback_bases.WentBack | None = None,
) -> Outcome:  # fmt: skip
    """After a reset: every counter is 0, the finished attempts are in the history, and the base is the same."""
    if is_untouched(record):
        return Outcome(_went_back(record, rolled_back, went_back) if rolled_back else dict(record))
    counts = rec.counts_of(name, record)
    trip = dict(rec.trip_of(record) or {})
    end = {"reset": format_time(now), "how": how, "by": by, "guidance": guidance, "rolled_back": rolled_back}
    run = {
        **trip,
        "failed": counts.failed,
        "infra": counts.infra,
        **{key: value for key, value in end.items() if value is not None},
        "attempts": rec.list_of(record, "attempts"),
        "tests": [
            {"test_name": test, "files_touched": rec.list_of(rec.test_of(record, test), "files_touched")}
            for test in rollback_bases.tests_to_reset(record)
        ],
    }
    gone = ("current_trip", *(("justifications", "scope_violations") if rolled_back else ()))
    run |= {key: record[key] for key in gone[1:] if record.get(key)}
    runs = [*rec.list_of(record, "history"), run]
    fresh = {
        **{key: value for key, value in record.items() if key not in gone},
        "status": ACTIVE,
        "total_failed_attempts": 0,
        "infra_errors": 0,
        "tests": [_afresh(each, record, went_back) for each in rec.list_of(record, "tests")],
        "attempts": [],
        "history": runs[-RUNS:],
    }
    older = tuple(each for each in runs[:-RUNS] if isinstance(each, MAPPINGS))
    whose = f"{how} by {by}" if by else how
    said = f"slice {name} is ACTIVE again ({whose}){f': {short(guidance)}' if guidance else ''}"
    return Outcome(fresh, (Event("slice", name, "reset", said),), older)


def _went_back(
    record: Mapping[str, Any], rolled_back: Mapping[str, Any], went_back: rollback_bases.WentBack | None
) -> Slice:
    """A slice that was reset before, and whose work tree followed later."""
    runs = rec.list_of(record, "history")
    if runs and isinstance(runs[-1], MAPPINGS):
        runs[-1] = {**runs[-1], "rolled_back": dict(rolled_back)}
    tests = [_afresh(each, record, went_back) for each in rec.list_of(record, "tests")]
    return {**record, "tests": tests, **({"history": runs} if runs else {})}


def is_untouched(record: Mapping[str, Any]) -> bool:
    """Whether there is nothing to reset."""
    standing = rec.trip_of(record) or rec.list_of(record, "attempts") or rec.status_of(record) != ACTIVE
    counts = rec.counts_of("", record)
    return not standing and not counts.failed and not counts.infra


def _afresh(test: Any, slice_: Mapping[str, Any], went_back: rollback_bases.WentBack | None) -> Any:
    """A test as the next one to attempt it finds it; after a rollback it begins where that went."""
    if not isinstance(test, MAPPINGS):
        return test
    zero = {"attempt_count": 0, "files_touched": [], "description": "", "last_error": "", "open": False}
    kept = {key: value for key, value in test.items() if key != "strategy"}
    if went_back is None or not went_back.base.tag or text_of(test.get("test_name")) not in went_back.tests:
        return {**kept, **zero}
    kept.pop("checkpoint", None)
    fields = went_back.base.fields
    if went_back.base == rollback_bases.base_of(slice_):
        fields.pop("checkpoint", None)  # it is written beside the slice
    return {**kept, **zero, **fields}
