"""How slices look on a terminal and in JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from liza.cli import envelope, show
from liza.scopes.records import list_of, mappings_of
from liza.scopes.slices.fields import ACTIVE, ARCH_STOP, PER_SLICE, PER_TEST, STOPPED, named_tests, open_trip
from liza.scopes.slices.record import SliceResult
from liza.scopes.slices.states import Attempt
from liza.text import cut, plural, printable
from liza.toolerrors import results

_COLOURS = {ACTIVE: "green", STOPPED: "red", ARCH_STOP: "red"}


def print_result(command: str, done: SliceResult, as_json: bool, said: Sequence[str] = (), **more: Any) -> int:
    """Print the slice; the exit code is 3 while it is stopped."""
    code = 3 if done.is_stopped else 0
    if as_json:
        envelope.write(command, "stopped" if code else "ok", done.warnings, **facts(done), **more)
        return code
    for line in (*said, *lines_of(done)):
        click.echo(line)
    show.warnings(done.warnings)
    return code


def facts(done: SliceResult) -> dict[str, Any]:
    """A slice as --json shows it, with the fields that the protocol names."""
    record = done.record
    trip = open_trip(record)
    return {
        "slice_id": done.name,
        "slice_status": done.status,
        "reason": done.reason,
        "total_failed_attempts": done.counts.failed,
        "infra_errors": done.counts.infra,
        "limits": {"test": PER_TEST, "slice": PER_SLICE},
        "checkpoint_tag": record.get("checkpoint_tag") or "",
        "checkpoint": record.get("checkpoint"),
        "tests": [
            {**{key: value for key, value in test.items() if key != "strategy"}, "attempt_count": streak(done, name)}
            for name, test in named_tests(record)
        ],
        "attempts": list_of(record, "attempts"),
        "trip": None if trip is None else dict(trip),
        "scope_violations": list_of(record, "scope_violations"),
        "justifications": list_of(record, "justifications"),
        "resets": len(list_of(record, "history")),
    }


def said(done: SliceResult, attempt: Attempt) -> str:
    about = f"test {show.short(attempt.test, 200)}" if attempt.test is not None else "the tests"
    if done.refused:
        return f"{about}: refused and not counted, because the slice is stopped"
    if attempt.result == results.INFRA:
        return f"{about}: could not be run; this does not count as an attempt"
    if attempt.result == results.PASSED:
        return f"{about}: passed, {in_a_row(done, attempt.test)}"
    if attempt.test is None:
        return f"{about}: failed, which counts for the slice: nothing shows which test it was"
    return f"{about}: failed, {in_a_row(done, attempt.test)}"


def streak(done: SliceResult, test: str) -> int:
    return done.counts.streaks.get(test, 0)


def in_a_row(done: SliceResult, test: str | None) -> str:
    return f"{streak(done, test or '')} of {PER_TEST} failures in a row"


def lines_of(done: SliceResult) -> list[str]:
    """Its state, and what to do about it."""
    name = show.short(done.name, 120)
    status = click.style(done.status, fg=_COLOURS[done.status], bold=done.is_stopped)
    total = f"{done.counts.failed} of {PER_SLICE} failures"
    infra = f", {plural(done.counts.infra, 'infrastructure error')}" if done.counts.infra else ""
    if not done.is_stopped:
        outside = [f"  not allowed, and not justified: {show.short(each, 200)}" for each in violations(done)]
        return [f"slice {name}: {status}, {total}{infra}", *outside]
    lines = [f"slice {name}: {status}: {show.short(done.reason, 400)}"]
    for report in mappings_of(open_trip(done.record) or {}, "reports"):
        is_complete = report.get("complete") is True
        state = " (complete)" if is_complete else " (missing)" if report.get("missing") else ""
        lines.append(f"  report: {show.short(report.get('file'), 200)}{state}")
        lines += [] if is_complete else [f"    the agent fills it in: {ask(done.name, report)}"]
    lines += [f"  not allowed: {show.short(each, 200)}" for each in violations(done)]
    lines.append(f"  a person decides: liza attempt reset --slice {quoted(done.name)} -m 'guidance' [--rollback]")
    return lines


def violations(done: SliceResult) -> list[str]:
    return [str(each.get("file")) for each in mappings_of(done.record, "scope_violations")]


def ask(name: str, report: Mapping[str, Any]) -> str:
    """The command by which an agent fills in a report."""
    return f"liza attempt diagnose --slice {quoted(name)} --test {quoted(str(report.get('test')))} --from FILE"


def quoted(word: str) -> str:
    """A word as a shell takes it, on one printable line."""
    import shlex

    return shlex.quote(printable(cut(word, 120)))
