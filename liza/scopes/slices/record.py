"""Slices on the blackboard: a test that is started, the attempts at it, each in one change under the lock."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from liza.model import format_time
from liza.rules.evaluate import RuleSet
from liza.scopes.change import Outcome, change
from liza.scopes.inbox import or_wait
from liza.scopes.payload import dump
from liza.scopes.records import Event
from liza.scopes.slices import derived as rec
from liza.scopes.slices import evaluate, scope_lock, states, texts
from liza.scopes.slices.names import checked_slice, checked_test
from liza.scopes.slices.rollback_bases import WentBack
from liza.scopes.slices.states import Attempt, Checkpoint
from liza.store.board import Board
from liza.store.document import Document
from liza.text import text_of, value_text
from liza.toolerrors import results


class Recorded(NamedTuple):
    """A slice after something was done to it, or as it is now."""

    name: str
    status: str
    reason: str
    record: Mapping[str, Any]
    counts: rec.Counts
    events: tuple[Event, ...] = ()
    warnings: tuple[str, ...] = ()
    refused: bool = False  # what was to be recorded just now
    repeated: bool = False  # a report was read before, and nothing was recorded

    @property
    def is_stopped(self) -> bool:
        return self.status != rec.ACTIVE

    def did(self, kind: str) -> bool:
        """Whether that happened to it just now."""
        return any(event.kind == kind for event in self.events)


def start(
    board: Board, name: str, test: str, strategy: str, checkpoint: Checkpoint | None, rules: RuleSet, now: datetime,
    files: Sequence[str] = (),
) -> Recorded:  # fmt: skip
    """Begin to work on a test; the first time, with where the slice began."""
    checked_slice(name)
    checked_test(test)
    judge = evaluate.judge_of(rules, now)
    before: list[Mapping[str, Any]] = []

    def after(document: Document, _: Mapping[str, Any] | None) -> Outcome:
        before[:] = [evaluate.understood(document, name) or states.new(name)]
        return states.started(name, before[0], test, strategy, checkpoint, judge, now, files)

    def fields() -> Mapping[str, Any]:
        return {"slice": name, "test": test, "strategy": strategy, "base": dump(checkpoint), "files": list(files)}

    outcome = or_wait(board, "start", fields, format_time(now), lambda: _change(board, name, after, now))
    return _told(board, name, outcome, rules, now, _repeats(before[0], [strategy]))


def record(
    board: Board, name: str, attempts: Sequence[Attempt], rules: RuleSet, now: datetime,
    reports: Sequence[str] = (), *, once: bool = False, without_start: bool = False,
) -> Recorded:  # fmt: skip
    """Put what came of one run of tests on the blackboard, and judge the slice at once.

    With `once` nothing is recorded where one of the reports was read before; that is decided under the lock.
    """
    checked_slice(name)
    for each in attempts:
        if each.test is not None:
            checked_test(each.test)
    judge = evaluate.judge_of(rules, now)
    before: list[Mapping[str, Any]] = []

    def after(document: Document, _: Mapping[str, Any] | None) -> Outcome:
        before[:] = [evaluate.understood(document, name) or states.new(name)]
        if once and read_before(before[0], reports):
            return Outcome(dict(before[0]))
        return states.recorded(name, before[0], attempts, judge, now, reports, without_start)

    def fields() -> Mapping[str, Any]:
        how = {"reports": list(reports), "once": once, "without_start": without_start}
        return {"slice": name, "attempts": dump(attempts), **how}

    outcome = or_wait(board, "attempts", fields, format_time(now), lambda: _change(board, name, after, now))
    if once and read_before(before[0], reports):
        return told(name, outcome, rules, now)._replace(repeated=True)
    tried = [each.strategy for each in attempts if each.result == results.FAILED]
    done = _told(board, name, outcome, rules, now, _repeats(before[0], tried))
    last = rec.records_of(outcome.record, "attempts")[-len(attempts) :] if attempts else []
    return done._replace(refused=any(each.get("result") == rec.REFUSED for each in last))


def read_before(record: Mapping[str, Any], reports: Sequence[str]) -> bool:
    return not set(reports).isdisjoint(text_of(each) for each in rec.list_of(record, "reports_read"))


def arch_stop(board: Board, name: str, why: str, by: str | None, rules: RuleSet, now: datetime) -> Recorded:
    """Stop a slice because its work needs another architecture; one that nobody has begun, too."""
    checked_slice(name)

    def after(document: Document, _: Mapping[str, Any] | None) -> Outcome:
        record = evaluate.understood(document, name) or states.new(name)
        return states.arch_stopped(name, record, why, by, now)

    def fields() -> Mapping[str, Any]:
        return {"slice": name, "why": why, "by": by}

    outcome = or_wait(board, "arch_stop", fields, format_time(now), lambda: _change(board, name, after, now))
    return _told(board, name, outcome, rules, now)


def reset(
    board: Board, name: str, guidance: str | None, by: str, rolled_back: Mapping[str, Any] | None, rules: RuleSet,
    now: datetime, went_back: WentBack | None = None,
) -> Recorded:  # fmt: skip
    """Set all counters of a slice to 0; its finished attempts are in its history afterwards."""

    def after(document: Document, record: Mapping[str, Any] | None) -> Outcome:
        if record is None:
            raise evaluate.unknown(document, name)
        evaluate.understood(document, name, of_status=False)  # a reset mends a status that is not known
        return states.reset(name, record, "reset", guidance, by, now, rolled_back, went_back)

    return told(name, _change(board, name, after, now), rules, now)


def justify(
    board: Board, name: str, file: str, test: str, reason: str, relationship: str, now: datetime
) -> Mapping[str, Any]:
    """Record why a file outside the scope has to be changed."""
    checked_slice(name)

    def after(document: Document, _: Mapping[str, Any] | None) -> Outcome:
        record = evaluate.understood(document, name, of_status=False) or states.new(name)
        said = f"slice {name} may change {value_text(file, 200)}: {reason}"
        changed = scope_lock.justified(record, file, test, reason, relationship, now)
        return Outcome(changed, (Event("slice", name, "justified", said),))

    def fields() -> Mapping[str, Any]:
        return {"slice": name, "file": file, "test": test, "reason": reason, "relationship": relationship}

    return or_wait(board, "justification", fields, format_time(now), lambda: _change(board, name, after, now)).record


def violate(board: Board, name: str, files: Sequence[str], now: datetime) -> Mapping[str, Any]:
    """Record which changed files are outside the scope and not justified; none takes back what was recorded before."""

    def after(document: Document, record: Mapping[str, Any] | None) -> Outcome:
        if record is None:
            raise evaluate.unknown(document, name)
        known = {each.get("file") for each in rec.records_of(record, "scope_violations")}
        new = [file for file in files if file not in known]
        said = f"slice {name} changed files outside its scope: {', '.join(value_text(file) for file in new[:10])}"
        events = (Event("slice", name, "scope_violated", said),) if new else ()
        return Outcome(scope_lock.violated(record, files, now), events)

    return _change(board, name, after, now).record


def find(board: Board, name: str) -> Mapping[str, Any]:
    """The slice by that name, as it stands."""
    document = board.read()
    record = evaluate.understood(document, name, of_status=False)
    if record is None:
        raise evaluate.unknown(document, name)
    return record


def look(board: Board, name: str, rules: RuleSet, now: datetime) -> Recorded:
    """A slice as it is now, with what the rules say of what others wrote into it."""
    document = board.read()
    record = evaluate.understood(document, name)
    if record is None:
        raise evaluate.unknown(document, name)
    return judged(name, record, rules, now)


def judged(name: str, record: Mapping[str, Any], rules: RuleSet, now: datetime) -> Recorded:
    """A slice that was read before, as the next one to write it would find it."""
    return told(name, states.settled(name, record, evaluate.judge_of(rules, now), now), rules, now)


def _told(
    board: Board, name: str, outcome: Outcome, rules: RuleSet, now: datetime, warnings: Sequence[str] = ()
) -> Recorded:
    """With the paperwork of a trip, which comes after the slice is stopped and keeps nothing from being said."""
    wrong: list[str] = []
    if rec.trip_of(outcome.record) is not None:
        from liza.scopes.slices.diagnostic_reports import write_missing

        wrong = write_missing(board.paths, name, outcome.record)
    return told(name, outcome, rules, now, [*wrong, *warnings])


def told(name: str, outcome: Outcome, rules: RuleSet, now: datetime, warnings: Sequence[str] = ()) -> Recorded:
    record = outcome.record
    alerts = [text for _, text in evaluate.alerts(name, record, rules, now)]
    status = rec.status_of(record)
    return Recorded(
        name=name,
        status=status,
        reason=evaluate.reason(record) if status != rec.ACTIVE else "",
        record=record,
        counts=rec.counts_of(name, record),
        events=outcome.events,
        warnings=(*warnings, *alerts),
    )


def _repeats(record: Mapping[str, Any], strategies: Sequence[str]) -> list[str]:
    """What was tried before without success should not be tried again."""
    found = ((each, texts.repeated(each, record)) for each in dict.fromkeys(strategies) if each.strip())
    return [
        f"this strategy was tried before and failed: {texts.short(earlier, 200)}"
        for _, earlier in found
        if earlier is not None
    ]


def _change(
    board: Board, name: str, after: Callable[[Document, Mapping[str, Any] | None], Outcome], now: datetime
) -> Outcome:
    return change(board, evaluate.SCOPE, name, after, now, evaluate.archive)
