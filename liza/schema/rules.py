"""The blocks of `rules.yaml` that set up the protocols: which keys there are, and what may stand behind each.

    stagnation: {threshold, action, signals, escalation, notifications}
    circuit_breaker: {max_loops_no_progress, stagnation_threshold, ..., projects}
    disputes: {circuit_breaker_rounds, objections, matching, last_stage}
    limits: {file_bytes, alias_bytes, values, records, text, own_rules_seconds}

Only what one block says by itself is checked here; what the environment and the options make of it is worked out by
the protocol.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from liza.model import Fault
from liza.text import closest_match, value_text

Path = tuple[str | int, ...]


class Limit(NamedTuple):
    """A number and the range that it must be in; `off` is what turns it off, where that is possible."""

    default: int
    least: int
    most: int
    off: bool = False
    fractions: bool = False  # loops are counted, percent and seconds are not

    def fault(self, value: Any) -> str | None:
        """What is expected instead of this value; None if it will do."""
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
ACTIONS = ("pause", "alert", "abort", "escalate")
# Each can be turned off by its name; how many iterations a task may take has a number instead.
SIGNALS = (
    "no_file_changes", "repeated_errors", "tests_keep_failing", "completion_without_evidence", "repeated_done",
    "test_only_loops", "progress_stagnation",
)  # fmt: skip
MODELS = ("haiku", "sonnet", "opus")
_STAGNATION = ("threshold", "action", "signals", "escalation", "notifications")

LOOP_BLOCKS = ("stagnation", "circuit_breaker")  # of loops
BLOCKS = (*LOOP_BLOCKS, "disputes", "limits")

# What a file of the blackboard may come to, and the seconds that own rules may take. Only the last can be set below its
# default: `blackboard.limits` looks here only once a default is passed.
FILE_LIMITS = {
    "file_bytes": Limit(10_000_000, 10_000_000, 10**12),
    "alias_bytes": Limit(10_000_000, 10_000_000, 10**12),
    "values": Limit(500_000, 500_000, 10**9),
    "records": Limit(20_000, 20_000, 10**9),
    "text": Limit(2_000_000, 2_000_000, 10**9),
    "own_rules_seconds": Limit(3, 0, 600, fractions=True),
}

ROUNDS = Limit(3, 2, 100)  # of one objection without a state change
MATCHING = ("similar", "same")  # how the words of objections are compared; the first is the default
OBJECTIONS = ("similar", "exact")  # by what an objection is the same: also by similar words and answers, or not
LAST_STAGE = "S5"


def check_block(key: str, block: Mapping[str, Any]) -> Iterator[Fault]:
    """All that is wrong with a block."""
    checks = {
        "stagnation": _stagnation,
        "circuit_breaker": _circuit_breaker,
        "disputes": _disputes,
        "limits": _reading,
    }
    yield from checks[key](block)


def _circuit_breaker(block: Mapping[str, Any]) -> Iterator[Fault]:
    path: Path = ("circuit_breaker",)
    yield from _limits(block, path, (*LIMITS, AUTO_PROBE, "projects"), {})
    if block.get(AUTO_PROBE) is not None and (wanted := _flag(block[AUTO_PROBE])) is not None:
        yield Fault((*path, AUTO_PROBE), f"{AUTO_PROBE}: expected {wanted}, got {value_text(block[AUTO_PROBE])}")
    projects = block.get("projects")
    if projects is not None and not isinstance(projects, Mapping):
        yield Fault((*path, "projects"), f"projects is {value_text(projects)}, expected is a mapping of project types")
        return
    for name, own in (projects or {}).items():
        where = (*path, "projects", name)
        if not isinstance(own, Mapping):
            yield Fault(where, f"the project {value_text(name)} is {value_text(own)}, expected is a mapping")
        else:
            yield from _limits(own, where, tuple(LIMITS), block)


def _limits(block: Mapping[str, Any], path: Path, known: tuple[str, ...], base: Mapping[str, Any]) -> Iterator[Fault]:
    """What is wrong with limits; those that are not given here are those of `base`, or as shipped."""
    yield from _unknown(block, path, known)
    for name, limit in LIMITS.items():
        if block.get(name) is not None and (wanted := limit.fault(block[name])) is not None:
            yield Fault((*path, name), f"{name} is {value_text(block[name])}, expected is {wanted}")
    given = {name: block[name] for name in LEVELS if block.get(name) is not None}
    others = {name: base[name] for name in LEVELS if base.get(name) is not None}
    levels = {**{name: LIMITS[name].default for name in LEVELS}, **others, **given}
    if any(LIMITS[name].fault(value) is not None for name, value in levels.items()):
        return
    for lower, upper in pairwise(LEVELS):
        if levels[lower] >= levels[upper] and (lower in given or upper in given):
            said = f"{lower} ({levels[lower]}) must be below {upper} ({levels[upper]})"
            yield Fault((*path, lower if lower in given else upper), said)


def _stagnation(block: Mapping[str, Any]) -> Iterator[Fault]:
    path: Path = ("stagnation",)
    yield from _unknown(block, path, _STAGNATION)
    if block.get("threshold") is not None and (wanted := THRESHOLD.fault(block["threshold"])) is not None:
        yield Fault((*path, "threshold"), f"threshold is {value_text(block['threshold'])}, expected is {wanted}")
    if block.get("action") is not None and block["action"] not in ACTIONS:
        meant = closest_match(block["action"], ACTIONS)
        hint = f"did you mean {meant}?" if meant else f"one of: {', '.join(ACTIONS)}"
        yield Fault((*path, "action"), f"action is {value_text(block['action'])}, which is not known", hint)
    yield from _signals(block.get("signals"), (*path, "signals"))
    yield from _mapping(block.get("escalation"), (*path, "escalation"), {"enabled": _flag, "model_progression": _names})
    yield from _mapping(block.get("notifications"), (*path, "notifications"), {"desktop": _flag, "webhook": _text})


def _reading(block: Mapping[str, Any]) -> Iterator[Fault]:
    yield from _mapping(block, ("limits",), {name: limit.fault for name, limit in FILE_LIMITS.items()})


def _disputes(block: Mapping[str, Any]) -> Iterator[Fault]:
    kinds = {"circuit_breaker_rounds": _rounds, "objections": _objections, "matching": _matching, "last_stage": _name}
    yield from _mapping(block, ("disputes",), kinds)


def _rounds(value: Any) -> str | None:
    return ROUNDS.fault(value) if type(value) is int else f"a whole number from {ROUNDS.least} to {ROUNDS.most}"


def _name(value: Any) -> str | None:
    return None if type(value) is int else _text(value)


def _objections(value: Any) -> str | None:
    return None if value in OBJECTIONS else f"one of: {', '.join(OBJECTIONS)}"


def _matching(value: Any) -> str | None:
    return None if value in MATCHING else f"one of: {', '.join(MATCHING)}"


def _signals(signals: Any, path: Path) -> Iterator[Fault]:
    kinds: dict[str, Any] = dict.fromkeys(SIGNALS, _flag)
    yield from _mapping(signals, path, {**kinds, "task_timeout_iterations": TASK_TIMEOUT.fault})


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else "true or false"


def _text(value: Any) -> str | None:
    return None if isinstance(value, str) and value.strip() else "a text"


def _names(value: Any) -> str | None:
    fine = isinstance(value, list) and value and all(isinstance(each, str) and each.strip() for each in value)
    return None if fine else "a list of names, the weakest first"


def _mapping(value: Any, path: Path, kinds: Mapping[str, Any]) -> Iterator[Fault]:
    if value is None:
        return
    if not isinstance(value, Mapping):
        yield Fault(path, f"{path[-1]} is {value_text(value)}, expected is a mapping")
        return
    yield from _unknown(value, path, tuple(kinds))
    for name, kind in kinds.items():
        if value.get(name) is not None and (wanted := kind(value[name])) is not None:
            yield Fault((*path, name), f"{name} is {value_text(value[name])}, expected is {wanted}")


def _unknown(block: Mapping[str, Any], path: Path, known: tuple[str, ...]) -> Iterator[Fault]:
    for name in block:
        if name not in known:
            meant = closest_match(name, known)
            hint = f"did you mean {meant}?" if meant else f"known are: {', '.join(known)}"
            yield Fault((*path, name), f"the key {value_text(name)} is not known", hint)


def changed_settings(blocks: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """How the blocks differ from what is shipped: nobody should have to find that out."""
    stagnation, breaker = (blocks.get(key) or {} for key in LOOP_BLOCKS)
    if stagnation.get("threshold") not in (None, THRESHOLD.default):
        yield f"stagnation.threshold is {stagnation['threshold']}, shipped is {THRESHOLD.default}"
    signals = stagnation.get("signals") or {}
    for name in SIGNALS:
        if signals.get(name) is False:
            yield f"the signal {name} is turned off"
    timeout = signals.get("task_timeout_iterations")
    if timeout is not None and timeout != TASK_TIMEOUT.default:
        yield f"task_timeout_iterations is {timeout or 'off'}, shipped is {TASK_TIMEOUT.default}"
    for name, limit in LIMITS.items():
        if breaker.get(name) not in (None, limit.default):
            yield f"circuit_breaker.{name} is {breaker[name] or 'off'}, shipped is {limit.default}"
    if breaker.get(AUTO_PROBE):
        yield f"circuit_breaker.{AUTO_PROBE} is on, shipped is off"
    for project, own in (breaker.get("projects") or {}).items():
        shipped = PROJECTS.get(project, {})
        for name, value in own.items():
            if value is not None and value != shipped.get(name, LIMITS[name].default):
                was = shipped.get(name, LIMITS[name].default)
                yield f"circuit_breaker.projects.{value_text(project)}.{name} is {value or 'off'}, shipped is {was}"
    yield from _changed_disputes(blocks.get("disputes") or {})
    for name, value in (blocks.get("limits") or {}).items():
        if value is not None and value != FILE_LIMITS[name].default:
            yield f"limits.{name} is {value}, shipped is {FILE_LIMITS[name].default}"


def _changed_disputes(block: Mapping[str, Any]) -> Iterator[str]:
    rounds, stage = block.get("circuit_breaker_rounds"), block.get("last_stage")
    if rounds not in (None, ROUNDS.default):
        yield f"disputes.circuit_breaker_rounds is {rounds}, shipped is {ROUNDS.default}"
    if block.get("objections") not in (None, OBJECTIONS[0]):
        yield f"disputes.objections is '{block['objections']}', shipped is '{OBJECTIONS[0]}'"
    if block.get("matching") not in (None, MATCHING[0]):
        yield f"disputes.matching is '{block['matching']}', shipped is '{MATCHING[0]}'"
    if stage not in (None, LAST_STAGE):
        yield f"disputes.last_stage is {value_text(stage)}, shipped is '{LAST_STAGE}'"
