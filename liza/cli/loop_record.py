"""`liza loop record`: from the words of a command line to one iteration, and what is printed about it.

Without click, whose import takes longer than the command itself: agents' hooks call it after every iteration.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from liza.cli.options import moment
from liza.cli.streams import read_text, warn
from liza.cli.terminal import echo, style
from liza.errors import WrongUsage
from liza.rules.evaluate import RuleSet
from liza.schema.actions import Action
from liza.schema.loop_statuses import HALF_OPEN, OPEN, OUTCOMES
from liza.scopes.inbox import record_or_queue
from liza.scopes.loops import evaluate
from liza.scopes.loops.derived import stagnant_streak
from liza.scopes.loops.fields import iteration_count, number_or_none, numbered_iterations
from liza.scopes.loops.files_changed import record_measured
from liza.scopes.loops.record import Iteration, LoopResult
from liza.scopes.loops.settings import Settings
from liza.scopes.loops.states import STAGNATION
from liza.store.board import Board
from liza.store.paths import Paths
from liza.text import number_text, of_text, plural, printable, value_text

Options = Mapping[str, Any]


def run(root: str | None, name: str, options: Options, as_json: bool) -> int:
    """Record one iteration of a loop; 3 if the loop is open afterwards."""
    board = Board.find(root)
    rules, settings = in_force(board.paths, {"project": options.get("project")})
    at = moment(options.get("now"))
    trees = options.get("workdir") or ()
    done = record_or_queue(record_measured(board, name, _iteration(options), trees, rules, settings, at))
    return print_result("loop record", done, settings, as_json)


def in_force(paths: Paths, options: Options | None = None) -> tuple[RuleSet, Settings]:
    """The rules and the numbers for loops. What turns them off is reported each time."""
    rules, settings = evaluate.load_rules(paths, options)
    for note in settings.notes:
        warn(note)
    if settings.disabled:
        warn(evaluate.DISABLED, "unset CIRCUIT_BREAKER_DISABLED")
    return rules, settings


def _iteration(options: Options) -> Iteration:
    return Iteration(
        task=options.get("task"),
        progress=_number(options, "progress", 0, 100),
        files_changed=_whole(options, "files_changed"),
        error=_error(options),
        claims_done=bool(options.get("claims_done")),
        evidence=_evidence(options.get("evidence") or ()),
        test_only=True if options.get("test_only") else None,
        outcome=_outcome(options),
        model=options.get("model"),
        tokens=_whole(options, "tokens"),
        duration=_number(options, "duration", 0, 1e9),
    )


def _number(options: Options, name: str, least: float, most: float) -> float | None:
    text = options.get(name)
    if text is None:
        return None
    try:
        number = float(text.strip().removesuffix("%")) if name == "progress" else float(text)
    except ValueError:
        number = -1.0
    if not least <= number <= most:
        option = f"--{name.replace('_', '-')}"
        raise WrongUsage(f"{option}: expected a number from {least:g} to {most:g}, got {value_text(text)}")
    return int(number) if number.is_integer() else number


def _whole(options: Options, name: str) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    if not text.isdecimal() or len(text) > 12:
        option = f"--{name.replace('_', '-')}"
        raise WrongUsage(f"{option}: expected a whole number, 0 or more, got {value_text(text)}")
    return int(text)


def _outcome(options: Options) -> str:
    """What is printed; an error is counted by its words, whatever the command made of it."""
    outcome = options.get("outcome")
    if outcome is not None and outcome not in OUTCOMES:
        raise WrongUsage(f"--outcome: expected one of {', '.join(OUTCOMES)}, got {value_text(outcome)}")
    return outcome or "ok"


def _evidence(words: Sequence[str]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for word in words:
        name, _, result = word.partition("=")
        if not name.strip() or result not in ("pass", "fail"):
            raise WrongUsage(
                f"--evidence {value_text(word)} is not NAME=pass or NAME=fail", hint="for example: tests=pass"
            )
        found[name.strip()] = found.get(name.strip(), True) and result == "pass"
    return found


def _error(options: Options) -> Any:
    """The error of the iteration: as it was given, or found in the output that is named."""
    from liza.toolerrors.errors import primary_error

    text, file = options.get("error"), options.get("output")
    if text is not None and file is not None:
        raise WrongUsage("give either --error or --output, not both")
    hint = "name a file with the output of the iteration"
    text = read_text("-", hint) if text == "-" else text
    output = None if file is None else read_text(file, hint)
    return primary_error(text, output, options.get("outcome") or "ok")


# --- printing -------------------------------------------------------------------------------------------------------


def print_result(command: str, done: LoopResult, settings: Settings, as_json: bool) -> int:
    """Print the loop; the exit code is 3 while it is open."""
    code = 3 if done.status == OPEN and not settings.disabled else 0
    if as_json:
        from liza.cli import envelope

        envelope.write(
            command,
            "open" if code else "ok",
            loop=done.name,
            loop_status=done.status,
            reason=done.reason,
            loop_count=iteration_count(done.loop),
            consecutive_no_progress_loops=stagnant_streak(done.loop, settings),
            progress=[
                {"iteration": number, "progress": None if each is None else envelope.number(each)}
                for number, each in progress_of(done.loop)
            ],
            signals=[
                {
                    "rule": each.rule,
                    "count": envelope.number(each.value),
                    "threshold": envelope.number(each.threshold),
                    "matched": each.matched,
                    "action": each.action,
                }
                for each in done.signals
            ],
            completed=done.completed,
        )
        return code
    lines = lines_of(done, settings)
    if command in ("loop reset", "loop probe") and done.notes:  # they say the new state, too
        lines = [printable(note) for note in done.notes]
    for line in lines:
        echo(line)
    if settings.debug:
        for each in done.signals:
            print(f"  {each.rule}: {of_text(each.value, each.threshold)}", file=sys.stderr)
    return code


def progress_of(loop: Mapping[str, Any]) -> list[tuple[int, float | None]]:
    """The number and percentage of each iteration since the last reset, as far as they are on the blackboard."""
    return [(number, number_or_none(each.get("progress"))) for number, each in numbered_iterations(loop)]


def near_tripping(done: LoopResult) -> list[evaluate.Signal]:
    """The rules that are at least half-way to opening the loop; `warnings` has the stagnation count."""
    near = [each for each in done.signals if each.action == Action.OPEN and 2 * each.value >= each.threshold]
    return [each for each in near if each.rule != STAGNATION]


def warnings(done: LoopResult, settings: Settings) -> list[str]:
    """What people should know about a loop that is not open."""
    found = [printable(each.text) for each in done.signals if each.warns]
    count = stagnant_streak(done.loop, settings)
    if count and done.status != OPEN and not done.completed:
        gain = f"progress rose by less than {number_text(settings.stagnation_threshold)} points"
        found.append(f"Stagnation count: {of_text(count, settings.max_loops_no_progress)} ({gain})")
    return found


def lines_of(done: LoopResult, settings: Settings) -> list[str]:
    name = printable(done.name)
    count = iteration_count(done.loop)
    if done.status == OPEN:
        why = printable(done.reason or "no reason recorded")
        lines = [f"loop {name}: {style('OPEN', fg='red', bold=True)} after {plural(count, 'iteration')}: {why}"]
        return [*lines, f"  {done.how_to_continue}"]
    lines = [f"loop {name}: {done.status}, iteration {count}" + (", completed" if done.completed else "")]
    if done.status == HALF_OPEN:
        lines = [f"loop {name}: HALF_OPEN: one more iteration is allowed ({printable(done.reason)})"]
    lines += [f"  {printable(note)}" for note in done.notes]
    # What is still far off would only hide what is not.
    near = near_tripping(done)
    lines += [f"  ! {each}" for each in warnings(done, settings)]
    progress = ", ".join(f"{each.rule} {of_text(each.value, each.threshold)}" for each in near)
    return lines + ([f"  {progress}"] if progress else [])
