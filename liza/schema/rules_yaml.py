"""What belongs into `rules.yaml` and the packs: the rules, and the blocks that set up the protocols.

    stagnation: {threshold, action, signals, escalation, notifications}
    circuit_breaker: {max_loops_no_progress, stagnation_threshold, ..., projects}
    disputes: {circuit_breaker_rounds, objections, matching, last_stage}
    limits: {file_bytes, alias_bytes, values, records, text, own_rules_seconds}

Only what the file itself holds is checked; what the environment and the options make of it is for the protocol.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from liza.model import MAPPINGS, Fault, Path, parse_duration
from liza.schema import kinds
from liza.schema.actions import Action
from liza.schema.budgets import BUDGETS, PRICES, set_budgets
from liza.schema.kinds import OneOf
from liza.schema.rules_form import PATTERNS, ROUNDS_PARAM, SAME, value_at
from liza.schema.severities import SEVERITIES
from liza.schema.teams import BLOCK as TEAM_BLOCK
from liza.schema.walker import Each, Faults, Named, Shape, Table, unexpected
from liza.text import value_text


class Limit(NamedTuple):
    """A kind: a number in a range; with `off`, 0 or false turns the limit off."""

    default: int
    least: int
    most: int
    off: bool = False
    fractions: bool = False  # loops are counted, percent and seconds are not

    def __call__(self, value: Any) -> str | None:
        if self.off and (value is False or (type(value) is int and value == 0)):
            return None
        is_number = type(value) is int or (self.fractions and type(value) is float)
        if is_number and self.least <= value <= self.most:
            return None
        kind = "number" if self.fractions else "whole number"
        return f"a {kind} from {self.least} to {self.most}" + (", or 0 to turn it off" if self.off else "")


LIMITS = {
    "max_loops_no_progress": Limit(10, 3, 50),
    "stagnation_threshold": Limit(3, 1, 10, fractions=True),
    "cooldown_seconds": Limit(300, 60, 3600, off=True, fractions=True),
    "absolute_max_loops": Limit(20, 10, 100),
    "warning_threshold": Limit(8, 5, 15),
    "critical_threshold": Limit(15, 10, 30),
}
AUTO_PROBE = "auto_probe"  # a flag: after the cooldown a stagnant loop tries one iteration by itself
# These grow, each beyond the one before.
LEVELS = ("warning_threshold", "critical_threshold", "absolute_max_loops")
PROJECTS: dict[str, dict[str, int]] = {
    "critical_feature": {"max_loops_no_progress": 15, "stagnation_threshold": 2},
    "research_task": {"max_loops_no_progress": 20, "stagnation_threshold": 5},
    "simple_script": {"max_loops_no_progress": 3, "stagnation_threshold": 10},
    "documentation": {"max_loops_no_progress": 5, "stagnation_threshold": 5},
    "debugging": {"max_loops_no_progress": 8, "stagnation_threshold": 2},
}
THRESHOLD = Limit(3, 1, 50)
TASK_TIMEOUT = Limit(5, 1, 100, off=True)
ON_STAGNATION = ("pause", "alert", "abort", "escalate")
# The signals of loops: their rules are in rules/packs/loops.yaml, what they count in scopes/loops/derived.py.
# Each can be turned off by its name; the other rules of that pack have a number in rules.yaml instead.
SIGNALS = (
    "no_file_changes", "repeated_errors", "tests_keep_failing", "completion_without_evidence", "repeated_done",
    "test_only_loops", "progress_stagnation",
)  # fmt: skip
MODELS = ("haiku", "sonnet", "opus")
# What a file of the blackboard may come to, and the seconds that custom rules may take. Only the last can be set below
# its default: `store.read_limits` looks here only once a default is passed.
FILE_LIMITS = {
    "file_bytes": Limit(10_000_000, 10_000_000, 10**12),
    "alias_bytes": Limit(10_000_000, 10_000_000, 10**12),
    "values": Limit(500_000, 500_000, 10**9),
    "records": Limit(20_000, 20_000, 10**9),
    "text": Limit(2_000_000, 2_000_000, 10**9),
    "own_rules_seconds": Limit(1, 0, 600, fractions=True),
}
ON_HALT = ("wait", "block", "end")  # what a client's hook does with a call while agents are halted
KEEP_RUNS = {"days": Limit(30, 1, 3650), "megabytes": Limit(1000, 1, 1_000_000)}  # folders of `liza run`
KEEP_STEPS = {"days": Limit(14, 1, 3650), "megabytes": Limit(200, 1, 1_000_000)}
TOOLS = ("edits", "waits")  # names of tools that change files, and of those that only wait

ROUNDS = Limit(3, 2, 100)  # of one objection without a state change
MATCHING = ("similar", "same")  # how the words of objections are compared; the first is the default
OBJECTIONS = ("similar", "exact")  # by what an objection is the same: also by similar words and answers, or not
LAST_STAGE = "S5"


# --- the tables -----------------------------------------------------------------------------------------------------


def window(value: Any) -> str | None:
    if isinstance(value, str):
        word, _, count = value.partition(" ")
        is_count = word == "last" and count.isdecimal() and len(count) < 10 and int(count) > 0
        if value in ("current_sprint", "all") or is_count or parse_duration(value):
            return None
    return "current_sprint, all, a duration like 24h, or last 50"


def rule_name(value: Any) -> str | None:
    is_name = isinstance(value, str) and value.replace("-", "_").isidentifier()
    return None if is_name else "a word like retry_cluster"


def models(value: Any) -> str | None:
    fits = value and kinds.texts(value) is None
    return None if fits else "a list of names, the weakest first"


def _params(params: Mapping[str, Any], path: Path) -> Faults:
    for name, value in params.items():
        if (wanted := kinds.number(value)) is not None:
            yield unexpected((*path, str(name)), wanted, value)
        elif name == ROUNDS_PARAM and value < ROUNDS.least:
            yield unexpected((*path, name), f"at least {ROUNDS.least}", value)


def _levels(block: Mapping[str, Any], path: Path) -> Faults:
    """Levels must grow, in the block and in each project; those that a project does not set are the block's."""
    yield from _unordered(block, path, {})
    projects = block.get("projects")
    for name, own in projects.items() if isinstance(projects, MAPPINGS) else ():
        if isinstance(own, MAPPINGS):
            yield from _unordered(own, (*path, "projects", name), block)


def _unordered(block: Mapping[str, Any], path: Path, base: Mapping[str, Any]) -> Faults:
    given = {name: block[name] for name in LEVELS if block.get(name) is not None}
    others = {name: base[name] for name in LEVELS if base.get(name) is not None}
    levels = {**{name: LIMITS[name].default for name in LEVELS}, **others, **given}
    if any(LIMITS[name](value) is not None for name, value in levels.items()):
        return
    for lower, upper in pairwise(LEVELS):
        if levels[lower] >= levels[upper] and (lower in given or upper in given):
            message = f"{lower} ({levels[lower]}) must be below {upper} ({levels[upper]})"
            yield Fault((*path, lower if lower in given else upper), message)


PARAMS = Table(check=_params)
BLOCKS: dict[str, Shape] = {
    "stagnation": Table(
        {
            "threshold": THRESHOLD,
            "action": OneOf(ON_STAGNATION),
            "signals": Table(
                {**dict.fromkeys(SIGNALS, kinds.flag), "task_timeout_iterations": TASK_TIMEOUT}, closed=True
            ),
            "escalation": Table({"enabled": kinds.flag, "model_progression": models}, closed=True),
            "notifications": kinds.mapping,  # the same targets as `notify`; liza.notify reads both
        },
        closed=True,
    ),
    "circuit_breaker": Table(
        {**LIMITS, AUTO_PROBE: kinds.flag, "projects": Named(Table(LIMITS, closed=True))}, closed=True, check=_levels
    ),
    "disputes": Table(
        {ROUNDS_PARAM: ROUNDS, "objections": OneOf(OBJECTIONS), "matching": OneOf(MATCHING), "last_stage": kinds.label},
        closed=True,
    ),
    "limits": Table(FILE_LIMITS, closed=True),
    "keep_runs": Table(KEEP_RUNS, closed=True),
    "keep_steps": Table(KEEP_STEPS, closed=True),
    "tools": Table(dict.fromkeys(TOOLS, kinds.texts), closed=True),
    "budgets": BUDGETS,
    "prices": PRICES,
    "transcripts": Table({"follow": kinds.flag}, closed=True),
    "team": TEAM_BLOCK,
}
LOOP_BLOCKS = ("stagnation", "circuit_breaker")  # of loops
RULE = Table(
    {
        "name": rule_name,
        "description": kinds.text,
        "condition": kinds.text,
        "summary": kinds.text,
        "severity": OneOf(tuple(SEVERITIES), "a severity"),
        "action": OneOf(tuple(Action), "an action"),
        "mode": OneOf(("act", "observe")),
        "rearm": OneOf(("fresh", "any_new", "threshold")),
        "window": window,
        "params": PARAMS,
        "enabled": kinds.flag,
    },
    required=("name",),
    closed=True,
    nulls=False,
)
_FIELDS: dict[str, Shape] = {
    "window": window,
    "rules": Each(RULE),
    "params": PARAMS,
    "matching": OneOf(("similar", "exact")),
    "profile": kinds.string,
    "notify": kinds.mapping,
    "alarms": kinds.flag,
    "protocol": kinds.string,
    "fixed": kinds.sequence,
    "optional": kinds.flag,
    "on_degraded": OneOf(("report", "halt")),
    "on_halt": OneOf(ON_HALT),
    "start_daemon": kinds.flag,
}


def _given_once(file: Mapping[str, Any], path: Path) -> Faults:
    for theirs, ours in SAME.items():
        if value_at(file, theirs) is not None and value_at(file, ours) is not None:
            yield Fault(
                (*path, *theirs), f"{'.'.join(theirs)} means the same as {'.'.join(ours)}", "remove one of them"
            )


FILE = Table(
    {
        **_FIELDS,
        **BLOCKS,
        PATTERNS: Table({"window": window, "patterns": Each(RULE)}, closed=True),
        ROUNDS_PARAM: ROUNDS,
    },
    closed=True,
    check=_given_once,
)


# --- what differs from the defaults ---------------------------------------------------------------------------------

_DEFAULTS: dict[str, Mapping[str, Any]] = {
    "stagnation": {
        "threshold": THRESHOLD.default,
        "signals": {**dict.fromkeys(SIGNALS, True), "task_timeout_iterations": TASK_TIMEOUT.default},
    },
    "circuit_breaker": {**{name: limit.default for name, limit in LIMITS.items()}, AUTO_PROBE: False},
    "disputes": {
        ROUNDS_PARAM: ROUNDS.default,
        "objections": OBJECTIONS[0],
        "matching": MATCHING[0],
        "last_stage": LAST_STAGE,
    },
    "limits": {name: limit.default for name, limit in FILE_LIMITS.items()},
    "transcripts": {"follow": True},
}


def changed_settings(blocks: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """How the blocks differ from the defaults, so that a loosened setting is never hidden."""
    for key, defaults in _DEFAULTS.items():
        yield from _changed(blocks.get(key) or {}, defaults, key)
    for kind, names in (blocks.get("tools") or {}).items():
        if names:
            yield f"tools.{kind} adds {value_text(', '.join(names), 120)} to the defaults"
    yield from set_budgets(blocks)
    projects = (blocks.get("circuit_breaker") or {}).get("projects") or {}
    for name, own in projects.items():
        defaults = {**_DEFAULTS["circuit_breaker"], **PROJECTS.get(name, {})}
        yield from _changed(own, defaults, f"circuit_breaker.projects.{value_text(name)}")


def _changed(block: Mapping[str, Any], defaults: Mapping[str, Any], path: str) -> Iterator[str]:
    for name, default in defaults.items():
        value = block.get(name)
        if isinstance(default, Mapping):
            yield from _changed(value or {}, default, f"{path}.{name}")
        elif value not in (None, default):
            yield f"{path}.{name} is {_shown(value)} (default: {_shown(default)})"


def _shown(value: Any) -> str:
    return ("off", "on")[value] if isinstance(value, bool) else value_text(value)
