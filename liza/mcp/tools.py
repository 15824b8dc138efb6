"""What the tools do: each takes checked arguments and returns the answer for the agent. No tool resolves anything."""

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from liza.errors import Refused
from liza.mcp import arguments
from liza.mcp.decisions import decisions_about
from liza.run.test_reports import attempt_of
from liza.schema import anomalies
from liza.scopes.anomalies import stamped
from liza.scopes.claims.change import ClaimResult, context_of
from liza.scopes.claims.objections import Objection
from liza.scopes.claims.record import record_round
from liza.scopes.claims.states import Round
from liza.scopes.gate import check_gate
from liza.scopes.history.section import trigger_fields
from liza.scopes.inbox import record_anomaly, record_or_queue
from liza.scopes.records import check_name
from liza.scopes.rules_file import protocol_rules
from liza.scopes.slices import attempt_texts, worktree
from liza.scopes.slices.fields import PER_SLICE, PER_TEST, SLICES
from liza.scopes.slices.record import SliceResult, record_attempts, start_test
from liza.status import Status, read_status
from liza.store.board import Board
from liza.store.locate import current_branch
from liza.text import cut_line, one_line, person_name
from liza.toolerrors import results

_LONG = 300  # characters of a text that others wrote
_FEW = 10

Answer = dict[str, Any]


class Caller(NamedTuple):
    """Who calls a tool, and on which blackboard."""

    board: Board
    client: str  # the name that the client gave itself
    now: datetime

    @property
    def agent(self) -> str:
        return os.environ.get("LIZA_AGENT") or self.client or "agent"

    @property
    def task(self) -> str:
        """As it is found for a session: the variable, else the branch of the working folder."""
        return os.environ.get("LIZA_TASK") or current_branch(os.getcwd()) or ""


def report_anomaly(caller: Caller, given: arguments.Anomaly) -> Answer:
    """Enter one anomaly; the daemon evaluates it at once."""
    task, reporter = given.task or person_name(caller.task)[:100], given.reporter or person_name(caller.agent)[:100]
    if not task:
        raise Refused("no task: name the one it happened on", hint="pass task, or set LIZA_TASK in the environment")
    record = {"type": given.type, "task": task, "reporter": reporter, "details": given.details or None}
    added = record_anomaly(caller.board, stamped({name: value for name, value in record.items() if value is not None}))
    return {
        "recorded": True,
        "file": added.file,
        "line": added.line,
        "waits": None if added.waits is None else one_line(added.waits.message, _LONG),
        "warnings": [one_line(fault.message, _LONG) for fault in added.warnings],
    }


def record_attempt(caller: Caller, given: arguments.Attempt) -> Answer:
    """Enter the result of a test run and evaluate its slice; `started` notes where the slice began."""
    board, now = caller.board, caller.now
    if not given.test and given.result != results.INFRA:
        raise Refused(f"no test: {given.result} needs one", hint="pass test, its exact name")
    rules, broken = protocol_rules(board.paths.rules, "attempts")
    if given.result == "started":
        check_name(SLICES, given.slice)  # before git, whose reference to the base has this name
        here = worktree.arrive(board, given.slice, given.test, None)
        strategy = cut_line(given.strategy, attempt_texts.LINE)
        at = board, given.slice, given.test, strategy, here.checkpoint, rules, now, here.files
        done = record_or_queue(start_test(*at))
    else:
        outcome = results.Outcome(given.result, given.error)
        measured = given.result in (results.FAILED, results.PASSED)
        here = worktree.resume(board, given.slice, given.files, measure=measured)
        attempt = attempt_of(board, given.slice, given.test or None, outcome, given.strategy, here.files)
        done = record_or_queue(record_attempts(board, given.slice, [attempt], rules, now))
    here.leave(done)
    notes = [*here.notes, *done.warnings, *([f"rules.yaml is not used: {broken.message}"] if broken else [])]
    return _slice_facts(done, given.test, notes)


def _slice_facts(done: SliceResult, test: str, notes: list[str]) -> Answer:
    facts = {
        "slice": done.name,
        "status": done.status,
        "may_continue": not done.is_stopped,
        "refused": done.refused,
        "failures_in_a_row": done.counts.streaks.get(test, 0) if test else None,
        "failures_of_slice": done.counts.failed,
        "limits": {"in_a_row": PER_TEST, "slice": PER_SLICE},
        "warnings": [one_line(note, _LONG) for note in notes],
    }
    if done.is_stopped:
        facts |= {"reason": one_line(done.reason, _LONG), "next": "stop: a person decides with liza attempt reset"}
    return facts


def record_review(caller: Caller, given: arguments.GivenRound) -> Answer:
    """Enter one round of review and evaluate the claim."""
    objections = tuple(Objection(each.text, each.response, each.id.strip() or None) for each in given.objections)
    entry = Round(
        objections, tuple(given.evidence), tuple(given.tests), given.confidence, given.text, given.cycle,
        given.reviewer, given.researcher,
    )  # fmt: skip
    done = record_or_queue(record_round(context_of(caller.board, caller.now), given.claim, entry))
    return _claim_facts(done)


def _claim_facts(done: ClaimResult) -> Answer:
    near = [f"{each.rule.name}: {each.value:g} of {each.threshold:g}" for each in done.near]
    facts = {
        "claim": done.name,
        "status": done.status,
        "may_continue": not done.frozen,
        "changed": list(done.changes),
        "near": near,
        "warnings": [one_line(note, _LONG) for note in done.notes],
    }
    if done.frozen:
        facts["next"] = ["stop: this claim is frozen, all others continue", *done.ways_out]
    return facts


def status(caller: Caller, given: arguments.Nothing) -> Answer:
    """The breaker, how near each pattern is, and who is stopped."""
    found = read_status(caller.board, caller.now)
    near = sorted(found.found.verdict.progress, key=lambda each: -each.value / (each.threshold or 1))
    return {
        "state": str(found.state),
        "halted": found.halt is not None,
        "trip": _trip(found),
        "near": [
            {"rule": each.rule.name, "count": each.value, "trips_at": each.threshold, "about": one_line(each.key or "")}
            for each in near[:_FEW]
            if each.value
        ],
        "stopped": [one_line(text, _LONG) for text in found.stopped[:_FEW]],
        "sessions_running": sum(row.state == "running" for row in found.sessions),
        "daemon": str(found.daemon.state),
        "waiting_records": found.waiting.records,
        "problems": [one_line(each.message, _LONG) for each in found.found.snapshot.problems[:_FEW]],
    }


def why_halted(caller: Caller, given: arguments.Work) -> Answer:
    """Whether work may continue; if not, what stops it and who decides."""
    gate = check_gate(caller.board.paths.folder, given.model_dump(), caller.now)
    found = read_status(caller.board, caller.now)
    return {
        "may_continue": bool(gate),
        "why": one_line(gate.why, 1_000) or None,
        "next": one_line(gate.hint, 1_000) or None,
        "trip": _trip(found),
        "report": "liza://report" if found.found.trigger is not None else None,
        "unknown": [one_line(each, _LONG) for each in gate.unknown],
    }


def _trip(found: Status) -> Answer | None:
    trigger: Mapping[str, Any] | None = found.found.trigger
    if trigger is None:
        return None
    return {**trigger_fields(trigger), "message": one_line(trigger.get("message") or "", 1_000)}


def decisions(caller: Caller, given: arguments.About) -> Answer:
    """What people decided before about something like this."""
    return {"decisions": decisions_about(caller.board.paths, caller.board.read().data, given.about, given.limit)}


class Tool(NamedTuple):
    """A tool as clients see it."""

    name: str
    description: str
    takes: type[arguments.Arguments]
    run: Callable[[Caller, Any], Answer]
    only_reads: bool = False


def _types() -> str:
    return "; ".join(f"{name} ({needed})" if needed else name for name, needed, _ in anomalies.rows())


TOOLS = (
    Tool(
        "report_anomaly",
        "Report a problem as soon as you see it: a retry loop, an unclear spec, a workaround, a broken assumption, an "
        f"external service that is down. Types, and the details that each needs: {_types()}.",
        arguments.Anomaly,
        report_anomaly,
    ),
    Tool(
        "record_attempt",
        "Record the start of work on a test, or what came of a run of it. A slice is stopped after three failures of "
        "one test in a row, or seven in all: then stop, and wait for a person.",
        arguments.Attempt,
        record_attempt,
    ),
    Tool(
        "record_round",
        "Record one round of review of a claim: each objection with the answer to it. The same objection in the third "
        "round in which nothing changes freezes the claim.",
        arguments.GivenRound,
        record_review,
    ),
    Tool(
        "status",
        "Show whether agents are halted, how near each pattern is to halting them, and who is stopped.",
        arguments.Nothing,
        status,
        only_reads=True,
    ),
    Tool(
        "why_halted",
        "Ask whether work may continue, for everyone or for one session, claim, slice, loop or stage; if not, what "
        "stops it and who decides. Only a person ends a halt.",
        arguments.Work,
        why_halted,
        only_reads=True,
    ),
    Tool(
        "decisions",
        "Read what people decided before about something like this. Ask before you decide it again.",
        arguments.About,
        decisions,
        only_reads=True,
    ),
)


def caller_of(root: str | None, client: str) -> Caller:
    """Each call looks for the blackboard again: it may be created while the server runs."""
    return Caller(Board.find(root), client, datetime.now(UTC))
