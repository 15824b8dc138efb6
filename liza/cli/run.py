"""`liza run`."""

import gc
import hashlib
import os
import shlex
import shutil
import sys
from datetime import UTC, datetime
from typing import Any

import click

from liza.cli import loop_record, run_terminal
from liza.cli.group import common, root_of
from liza.cli.options import person
from liza.errors import LockTimeout, Refused, WrongUsage
from liza.model import Problem, parse_duration
from liza.run.interrupts import Interrupts
from liza.run.job import Job, Session, begin, json_of, resumed
from liza.run.loop import run_loop
from liza.run.process import Limits
from liza.run.state import RunState
from liza.schema.rules_yaml import ON_STAGNATION
from liza.scopes.change import path_prefix
from liza.scopes.loops.fields import LOOPS
from liza.scopes.records import check_name
from liza.store.board import Board
from liza.store.files import make_folders
from liza.store.lock import Lock
from liza.text import printable, shell_quoted, value_text

CHOSEN = (
    "stagnation_threshold",
    "on_stagnation",
    "project",
)  # how the loop is evaluated


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.argument("words", metavar="-- COMMAND...", nargs=-1, type=click.UNPROCESSED)
@click.option("--loop", metavar="NAME", help="The loop on the blackboard; default: the task, else the program's name.")
@click.option("--task", metavar="ID", help="The task that is worked on.")
@click.option("--max", "maximum", metavar="N", help="Stop after this many iterations.")
@click.option("--timeout", metavar="TIME", help="End an iteration after this long: 30m, 2h, or seconds.")
@click.option("--idle-timeout", metavar="TIME", help="End an iteration that has printed nothing for this long.")
@click.option("--plan", metavar="FILE", help="A Markdown plan: its ticked boxes are the progress.")
@click.option("--optional-sections", metavar="HEADING", multiple=True, help="Headings whose boxes may stay open.")
@click.option("--verify", metavar="CMD", help="Accept completion only if this shell command succeeds.")
@click.option("--require", metavar="FILE", multiple=True, help="Accept completion only if this file exists.")
@click.option(
    "--test",
    metavar="CMD",
    help="Run this shell command after every change; if it fails, that is evidence against completion.",
)
@click.option("--stagnation-threshold", metavar="N", help="How many iterations without progress stop the loop.")
@click.option("--on-stagnation", metavar="ACTION", help=f"What to do then: {', '.join(ON_STAGNATION)}.")
@click.option("--project", metavar="TYPE", help="The type of project, whose limits apply; default: $PROJECT_TYPE.")
@click.option("--model", metavar="NAME", help="The model to begin with; {model} in the command.")
@click.option("--workdir", metavar="DIR", multiple=True, help="A git worktree to measure; default: this folder's.")
@click.option("--resume", metavar="RUN", help="Resume an earlier run: its name in .liza/runs/.")
@click.option("--accept", metavar="CODE", help="With --resume: run the command in session.json although it was edited.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per iteration, not the output.")
@common
@click.pass_context
def command(ctx: click.Context, /, words: tuple[str, ...], as_json: bool, **options: Any) -> int:
    """Run an agent in a loop until it is done or stuck.

    Each iteration is recorded on the blackboard and evaluated; a loop without progress is stopped. In the command,
    {iteration}, {model} and {context_file} are filled in. It may print a line `Progress: N%`, or write a number into
    $LIZA_PROGRESS_FILE. Completion is accepted only with evidence: --verify, --require, --plan or --test.

    Exit codes: 0 completed, 1 stopped before that, 3 the loop is open or CHECKPOINT exists, 130 interrupted.

    \b
    Examples:
      liza run --plan PLAN.md --verify "make test" -- claude -p "$(cat PROMPT.md)"
      liza run --max 10 --on-stagnation escalate -- agent --model {model} --context {context_file}
      liza run --resume 20260117-140500
    """
    board = Board.find(root_of(ctx))
    facts: dict[str, Any] | None = None
    if options["resume"] is not None:
        session = resumed(board.paths, options["resume"])
        facts = session.facts()
        job = _changed(Job.load(facts["job"]), words, options)
        _require_own(session, facts, job, options["accept"])
    else:
        session = None
        job = _job(words, options)
    rules, settings = loop_record.in_force(board.paths, {name: getattr(job, name) for name in CHOSEN})
    _check(job)
    with _alone(board, job.loop), Interrupts() as interrupts:
        gc.enable()  # unlike other commands this one runs for long
        session = session or begin(board.paths, datetime.now(UTC))
        view = run_terminal.view(as_json, settings, board.paths, interrupts)
        run = RunState(board, rules, settings, job, session, interrupts, person(None))
        if facts is not None:
            run.resume(facts)
        if root := root_of(ctx):
            os.environ["LIZA_ROOT"] = os.path.abspath(root)  # the agent's own calls of liza mean the same blackboard
        try:
            return run_loop(run, view).code
        finally:
            view.ended(run)


# --- what is asked for ----------------------------------------------------------------------------------------------


def _job(words: tuple[str, ...], options: dict[str, Any]) -> Job:
    if not words:
        hint = 'for example: liza run --max 5 -- claude -p "$(cat PROMPT.md)"'
        raise WrongUsage("no command to run", hint=hint)
    loop = options["loop"] or options["task"] or os.path.basename(words[0]) or "run"
    return _with_options(Job(loop, words, os.getcwd()), options)


def _changed(job: Job, words: tuple[str, ...], options: dict[str, Any]) -> Job:
    """The job of a session that is resumed: options given again replace its own."""
    if options["loop"] not in (None, job.loop):
        raise WrongUsage(f"--loop is {value_text(options['loop'])}, but the run's is {value_text(job.loop)}")
    job = _with_options(job, options)
    return job._replace(command=words) if words else job


def _require_own(session: Session, facts: dict[str, Any], job: Job, accepted: str | None) -> None:
    """Agents can write session.json: what liza did not write is run after a person has seen it, and not before."""
    if session.is_as_written(facts):
        return
    code = hashlib.sha256(json_of(facts["job"])).hexdigest()[:12]
    if accepted == code:
        return
    path = os.path.join(session.folder, "session.json")
    runs = {"command": shlex.join(job.command), "in": job.cwd, "verify": job.verify, "test": job.test}
    seen = [f"{name}: {printable(text)}" for name, text in runs.items() if text]
    if sys.stdin.isatty() and sys.stderr.isatty() and accepted is None:
        click.echo(f"{path} was changed since liza wrote it. It would run:", err=True)
        click.echo("".join(f"  {line}\n" for line in seen), nl=False, err=True)
        if click.confirm("Run this?", default=False, err=True):
            return
        raise Refused("nothing was run", hint="start a new run: liza run ... -- COMMAND", file=path)
    hint = f"to run it anyway: liza run --resume {shlex.quote(session.name)} --accept {code}"
    message = "changed since liza wrote it; nothing was run"
    problems = [Problem(message, path), *(Problem(f"it would run {line}", path) for line in seen)]
    problems[-1] = problems[-1]._replace(hint=hint)
    raise Refused(message, hint=hint, file=path, problems=problems)


def _with_options(job: Job, options: dict[str, Any]) -> Job:
    given: dict[str, Any] = {name: options[name] for name in ("verify", "test", "task", "model") if options[name]}
    given |= {name: options[name] for name in CHOSEN if options[name] is not None}
    if options["maximum"] is not None:
        given["maximum"] = _count(options["maximum"])
    if options["plan"]:
        given["plan"] = os.path.abspath(options["plan"])
    if options["require"]:
        given["require"] = tuple(os.path.abspath(path) for path in options["require"])
    if options["workdir"]:
        given["workdirs"] = tuple(os.path.abspath(path) for path in options["workdir"])
    if options["optional_sections"]:
        sections = [name.strip() for text in options["optional_sections"] for name in text.split(",")]
        given["optional_sections"] = tuple(name for name in sections if name)
    total, idle = (_seconds(options, name) for name in ("timeout", "idle_timeout"))
    limits = Limits(total or job.limits.total, idle or job.limits.idle)
    return job._replace(**given, limits=limits)


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= len(text) <= 9 or int(text) < 1:
        raise WrongUsage(f"--max: expected a whole number of at least 1, got {value_text(text)}", hint="like --max 10")
    return int(text)


def _seconds(options: dict[str, Any], name: str) -> float | None:
    text = options[name]
    if text is None:
        return None
    seconds = parse_duration(f"{text}s" if text.replace(".", "", 1).isdecimal() else text)
    if not seconds or seconds > 1e9:
        option = f"--{name.replace('_', '-')}"
        raise WrongUsage(
            f"{option}: expected seconds or a duration, got {value_text(text)}", hint="like 90s, 30m or 2h"
        )
    return seconds


def _check(job: Job) -> None:
    """What would make every iteration fail in the same way is reported before the first."""
    check_name(LOOPS, job.loop)
    if not os.path.isdir(job.cwd):
        raise Refused(f"the folder of the run is gone: {job.cwd}", hint="create it again, or start a new run")
    for folder in job.workdirs:
        if not os.path.isdir(folder):
            raise Refused(f"--workdir names {folder}, which is not a folder", hint="name a git worktree")
    if job.plan is not None and os.path.isdir(job.plan):
        raise Refused("--plan names a folder", hint="name a Markdown file", file=job.plan)
    program = job.command[0]
    path = os.path.join(job.cwd, program) if "/" in program else program
    if "{" not in program and shutil.which(path) is None:
        raise Refused(f"command not found: {value_text(program)}", hint="check its spelling and PATH, or give its path")


def _alone(board: Board, loop: str) -> Lock:
    """One run a loop: two would take each other's iterations for their own."""
    path = f"{path_prefix(board.paths, LOOPS, loop)}.lock"
    try:
        make_folders(board.paths.runs, os.path.dirname(path))
    except OSError as error:
        hint = f"look at it with: ls -la {shell_quoted(board.paths.runs)}"
        raise Refused(f"runs cannot be kept: {error.strerror}", hint=hint, file=board.paths.runs) from None
    return _Alone(path, loop)


class _Alone(Lock):
    def __init__(self, path: str, loop: str) -> None:
        super().__init__(path, timeout=0.0)
        self.loop = loop

    def __enter__(self) -> "Lock":
        try:
            return super().__enter__()
        except LockTimeout as error:
            who = "another process" if error.holder is None else f"process {error.holder}"
            hint = "give this one a name of its own: --loop NAME"
            raise Refused(f"loop {value_text(self.loop)} is being run by {who}", hint=hint) from None
