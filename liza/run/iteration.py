"""One iteration: run the command; measure, read and keep the result."""

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from liza.git import snapshot
from liza.git.own_output import exclude_files, output_files
from liza.git.patch import patch
from liza.run import completion_checks, done_markers
from liza.run.agent_output import Answer, answer_of
from liza.run.completion_checks import Evidence
from liza.run.context import Tried
from liza.run.interrupts import Interrupts
from liza.run.job import Job, Session, json_of
from liza.run.plan import Plan
from liza.run.process import Limits, Outlet, Ran, run
from liza.scopes.loops.fields import COMPLETE
from liza.scopes.loops.record import Iteration
from liza.store.files import open_fd
from liza.store.locate import FOLDER
from liza.toolerrors.errors import Error, errors_of

_LONGEST = 500  # characters of an error
_LISTED = 30  # errors and faults that the next iterations read
_CHECK_TIME = 3600.0  # seconds for --verify and --test without a time limit


class Done(NamedTuple):
    """All that is known of a finished iteration."""

    number: int
    started: datetime
    ran: Ran
    answer: Answer
    iteration: Iteration
    errors: tuple[Error, ...]
    plan: Plan | None
    progress_from: str | None  # plan, file or output
    evidence: Evidence
    paths: frozenset[str] | None  # that changed
    unkept: tuple[str, ...] = ()  # files that could not be written, and why

    @property
    def claims_complete(self) -> bool:
        return self.iteration.claims_done or (self.iteration.progress or 0.0) >= COMPLETE

    def tried(self) -> Tried:
        each = self.iteration
        errors = tuple(f"{error.file}: {error.signature}" if error.file else error.signature for error in self.errors)
        return Tried(
            self.number, each.model, each.outcome, each.files_changed, each.progress, each.claims_done,
            dict(each.evidence), errors[:_LISTED], self.evidence.faults[:_LISTED], self.ran.note,
        )  # fmt: skip


class Workplace(NamedTuple):
    """What an iteration needs: the job, the session, what stops it, and where its output goes."""

    job: Job
    session: Session
    environment: Mapping[str, str]
    interrupts: Interrupts
    outlet: Outlet
    boxes: int  # the most that the plan has had


def iterate(place: Workplace, number: int, model: str | None) -> Done:
    """Run the command once. However it ends, this returns what to record."""
    job, session = place.job, place.session
    folder = session.iteration(number)
    roots = job.workdirs or (job.cwd,)
    before = snapshot.snapshot(roots, work_only=True)
    own = output_files()
    reported = _read_progress_file(place)
    started = datetime.now(UTC)
    ran = run(
        job.command_line(number, model, session.context_file),
        cwd=job.cwd,
        env={**place.environment, **_variables(place, number, model)},
        log=os.path.join(folder, "output.log"),
        limits=job.limits,
        interrupts=place.interrupts,
        outlet=place.outlet,
    )
    after = snapshot.snapshot(roots, work_only=True)
    paths = exclude_files(snapshot.changed(before, after), own | output_files())
    done = _read_result(place, number, model, started, ran, paths, (reported, _read_progress_file(place)))
    return done._replace(unkept=_write_files(folder, done, patch(before, after, paths)))


def _variables(place: Workplace, number: int, model: str | None) -> dict[str, str]:
    added = {
        "LIZA_LOOP": place.job.loop,
        "LIZA_ITERATION": str(number),
        "LIZA_CONTEXT_FILE": place.session.context_file,
        "LIZA_PROGRESS_FILE": _progress_file(place),
    }
    return added if model is None else {**added, "LIZA_MODEL": model}


def _progress_file(place: Workplace) -> str:
    """The session's own, or one that a person named, but not that of an outer run."""
    given = place.environment.get("LIZA_PROGRESS_FILE")
    if not given or f"/{FOLDER}/runs/" in given:
        return place.session.progress_file
    return os.path.join(place.job.cwd, given)


# --- reading the result ---------------------------------------------------------------------------------------------


class _Reported(NamedTuple):
    """The number in the progress file, and which version of the file it is from."""

    percent: float | None = None
    version: tuple[int, int, int] | None = None


def _read_progress_file(place: Workplace) -> _Reported:
    with suppress(OSError), open(_progress_file(place), "rb", opener=open_fd) as file:
        version = os.fstat(file.fileno())
        percent = done_markers.progress_of_file(file.read(10_000).decode(errors="replace"))
        return _Reported(percent, (version.st_mtime_ns, version.st_ino, version.st_size))
    return _Reported()


def _read_result(
    place: Workplace, number: int, model: str | None, started: datetime, ran: Ran, paths: frozenset[str] | None,
    reported: tuple[_Reported, _Reported],
) -> Done:  # fmt: skip
    job = place.job
    answer = answer_of(ran.output)
    outcome = "error" if ran.outcome == "ok" and answer.failure else ran.outcome
    plan = completion_checks.read_plan(job.plan, job.optional_sections)
    plan = plan.since(place.boxes) if plan is not None else None
    progress, source = _progress(plan, answer, reported)
    claims = done_markers.claims_done(answer.words) and outcome == "ok"
    claims_complete = claims or _is_all(progress)
    found = _evidence(place, number, plan, claims_complete and outcome == "ok", bool(paths), ran.stopped)
    # A percentage of 100 completes where no evidence was asked for; the word alone never does.
    is_enough = _is_all(progress) and not job.has_evidence
    errors = _errors(ran, answer)
    score = done_markers.score(progress, source == "plan", claims, found.results, outcome)
    # The changes of an iteration that was cut short are unknown.
    files = None if paths is None or (ran.stopped and not paths) else len(paths)
    iteration = Iteration(
        task=job.task,
        progress=_whole(progress),
        files_changed=files,
        error=errors[0] if errors else None,
        claims_done=claims,
        evidence=found.results,
        test_only=done_markers.is_test_only(_relative(paths, place), answer.commands),
        outcome=outcome,
        model=model,
        tokens=answer.tokens,
        duration=round(ran.seconds, 2),
        completion=_whole(score.completion),
        confidence=score.confidence,
        errors=len(errors),
        session=place.session.name,
        unproven=claims_complete and (found.is_cut or not (found.results or is_enough)),
    )
    return Done(number, started, ran, answer, iteration, errors, plan, source, found, paths)


def _progress(
    plan: Plan | None, answer: Answer, reported: tuple[_Reported, _Reported]
) -> tuple[float | None, str | None]:
    """The progress and its source: the plan, the progress file if this iteration wrote it, the output, or what the file
    said before. `reported` is the file before and after the iteration."""
    if plan is not None and plan.progress is not None:
        return plan.progress, "plan"
    before, after = reported
    printed = done_markers.progress_in(answer.words)
    if after.percent is not None and (printed is None or after.version != before.version):
        return after.percent, "file"
    return printed, None if printed is None else "output"


def _is_all(progress: float | None) -> bool:
    return progress is not None and progress >= COMPLETE


def _whole(number: float | None) -> float | None:
    return None if number is None else int(number) if float(number).is_integer() else round(number, 2)


def _relative(paths: frozenset[str] | None, place: Workplace) -> list[str] | None:
    """Paths below the working tree: a checkout inside a folder called tests does not make its files tests."""
    roots = [os.path.realpath(root) for root in place.job.workdirs or (place.job.cwd,)]
    return None if paths is None else [os.path.relpath(path, roots[0]) for path in sorted(paths)]


def _errors(ran: Ran, answer: Answer) -> tuple[Error, ...]:
    """The reason of its failure, then the other errors in its output."""
    if ran.stopped:
        return ()
    found = errors_of(ran.output)
    if answer.failure is not None:
        failure = Error(" ".join(answer.failure.split())[:_LONGEST] or "an error without a message", None)
        return (failure, *(each for each in found if each.signature != failure.signature))
    if ran.outcome in ("timeout", "crash"):
        return (Error(f"the agent's command: {ran.note}", None), *found)
    if ran.outcome == "error" and not found:
        return (Error(ran.note or f"the agent's command ended with exit code {ran.code}", None),)
    return found


def _evidence(
    place: Workplace, number: int, plan: Plan | None, claims_complete: bool, changed: bool, stopped: bool
) -> Evidence:
    """Make the checks: the tests after every change, all others when the work is claimed to be done."""
    job = place.job
    if stopped:
        return Evidence(is_cut=True)

    def command(name: str, text: str) -> Ran:
        return run(
            ["/bin/sh", "-c", text],
            cwd=job.cwd,
            env={**place.environment, **_variables(place, number, None)},
            log=os.path.join(place.session.iteration(number), f"{name}.log"),
            limits=Limits(job.limits.total or _CHECK_TIME),
            interrupts=place.interrupts,
            outlet=Outlet(tick=place.outlet.tick),
        )

    found = Evidence()
    if job.test and (changed or claims_complete):
        found = found.joined(completion_checks.of_command("tests", job.test, command))
    if claims_complete:
        found = found.joined(completion_checks.of_files(job.require, job.cwd))
        if job.plan is not None:
            found = found.joined(completion_checks.of_plan(plan, job.plan))
        if job.verify and all(found.results.values()):  # what takes longest comes last
            found = found.joined(completion_checks.of_command("verify", job.verify, command))
    return found


# --- keeping it -----------------------------------------------------------------------------------------------------


def _write_files(folder: str, done: Done, changes: bytes) -> tuple[str, ...]:
    """Write the files about the iteration; returns those that failed, which must not lose the record."""
    pieces = {
        "changes.patch": changes,
        "errors.json": json_of(_errors_kept(done)),
        "metrics.json": json_of(_metrics(done)),
        "completion_signals.json": json_of(_completion_signals(done)),
    }
    found: list[str] = []
    for name, raw in pieces.items():
        try:
            with open(os.path.join(folder, name), "wb", opener=open_fd) as file:
                file.write(raw)
        except OSError as error:
            found.append(f"{name} could not be written: {error.strerror}")
    return tuple(found)


def _errors_kept(done: Done) -> dict[str, Any]:
    errors = [{"signature": each.signature, "file": each.file} for each in done.errors]
    return {"iteration": done.number, "errors": errors}


def _metrics(done: Done) -> dict[str, Any]:
    iteration, ran = done.iteration, done.ran
    return {
        "iteration": done.number,
        "started": done.started,
        "seconds": round(ran.seconds, 3),
        "outcome": iteration.outcome,
        "exit_code": ran.code,
        "note": ran.note,
        "model": iteration.model,
        "files_changed": iteration.files_changed,
        "progress": iteration.progress,
        "progress_from": done.progress_from,
        "tokens": iteration.tokens,
        "cost_usd": done.answer.cost,
        "output_bytes": ran.size,
        "errors": iteration.errors,
        "test_only": iteration.test_only,
    }


def _completion_signals(done: Done) -> dict[str, Any]:
    iteration, plan = done.iteration, done.plan
    return {
        "iteration": done.number,
        "claims_done": iteration.claims_done,
        "completion": iteration.completion,
        "confidence": iteration.confidence,
        "evidence": {name: "pass" if passed else "fail" for name, passed in iteration.evidence.items()},
        "unproven": iteration.unproven,
        "faults": done.evidence.faults,
        "plan": None if plan is None else {"done": plan.done, "total": plan.total, "open": plan.open},
    }
