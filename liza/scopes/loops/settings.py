"""The settings for loops, and which source wins for each.

An option beats the environment; that beats the file's own values for the chosen project type; these beat the shipped
values of that type; these beat the file's general values; and these beat the defaults.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from liza.errors import Refused, WrongUsage
from liza.rules.evaluate import RuleSet
from liza.schema import rules_yaml as blocks
from liza.schema.rules_yaml import LIMITS, PROJECTS, SIGNALS, TASK_TIMEOUT, THRESHOLD, Limit
from liza.scopes.evaluator import scoped_rules
from liza.text import suggestion, value_text

GENERIC = "generic"  # a project without limits of its own
_TRUE = ("1", "true", "yes", "on")


class Settings(NamedTuple):
    """How loops are evaluated, and what happens to one that is stuck."""

    threshold: int = THRESHOLD.default  # loops, not percent
    action: str = "pause"
    max_loops_no_progress: int = LIMITS["max_loops_no_progress"].default
    stagnation_threshold: float = LIMITS["stagnation_threshold"].default  # percent
    cooldown_seconds: float = LIMITS["cooldown_seconds"].default  # before a probe; 0: at once
    auto_probe: bool = False  # a stagnant loop that has cooled down tries one iteration without a command
    absolute_max_loops: int = LIMITS["absolute_max_loops"].default
    warning_threshold: int = LIMITS["warning_threshold"].default
    critical_threshold: int = LIMITS["critical_threshold"].default
    task_timeout_iterations: int = TASK_TIMEOUT.default  # 0: off
    off: frozenset[str] = frozenset()  # signals that are turned off
    escalation: bool = True
    models: tuple[str, ...] = blocks.MODELS
    notify: Mapping[str, Any] = {}  # the targets for all messages
    notifications: Mapping[str, Any] = {}  # further targets for loops that are stuck
    project: str | None = None
    disabled: bool = False  # loops are recorded and never opened
    debug: bool = False
    notes: tuple[str, ...] = ()  # warnings about them


_DEFAULTS = Settings._field_defaults
_PARAMS = (
    "threshold", "task_timeout_iterations", "max_loops_no_progress", "absolute_max_loops", "warning_threshold",
    "critical_threshold",
)  # fmt: skip


def settings_of(rules: RuleSet, environment: Mapping[str, str], options: Mapping[str, Any] | None = None) -> Settings:
    """The settings in force. A value out of its range is `WrongUsage` as an option, `Refused` elsewhere."""
    given = {name: value for name, value in (options or {}).items() if value is not None}
    stagnation, breaker = (rules.blocks.get(key) or {} for key in blocks.LOOP_BLOCKS)
    project, notes = _project(given.get("project"), environment.get("PROJECT_TYPE"), breaker)
    own: Mapping[str, Any] = (breaker.get("projects") or {}).get(project) or {}
    numbers = {
        name: _first(own.get(name), PROJECTS.get(project or "", {}).get(name), breaker.get(name), limit.default)
        for name, limit in LIMITS.items()
    }
    signals = stagnation.get("signals") or {}
    escalation = stagnation.get("escalation") or {}
    return Settings(
        threshold=_number("stagnation_threshold", "LIZA_STAGNATION_THRESHOLD", THRESHOLD, given, environment)
        or _first(stagnation.get("threshold"), THRESHOLD.default),
        action=_action(given.get("on_stagnation"), environment.get("LIZA_ON_STAGNATION"))
        or _first(stagnation.get("action"), "pause"),
        **numbers,
        auto_probe=_first(breaker.get(blocks.AUTO_PROBE), False),
        task_timeout_iterations=int(_first(signals.get("task_timeout_iterations"), TASK_TIMEOUT.default)),
        off=frozenset(name for name in SIGNALS if signals.get(name) is False),
        escalation=_first(escalation.get("enabled"), True),
        models=tuple(_first(escalation.get("model_progression"), blocks.MODELS)),
        notify=rules.notify,
        notifications=stagnation.get("notifications") or {},
        project=project,
        disabled=_flag("CIRCUIT_BREAKER_DISABLED", environment),
        debug=_flag("DEBUG", environment),
        notes=notes,
    )


def _first(*candidates: Any) -> Any:
    return next((value for value in candidates if value is not None), None)


def _project(option: Any, variable: str | None, breaker: Mapping[str, Any]) -> tuple[str | None, tuple[str, ...]]:
    """The project type, and warnings about it.

    PROJECT_TYPE may hold anything, because other programs use it too: an unknown type there is a warning, not an error.
    """
    chosen = option or (variable or "").strip() or None
    known = tuple(dict.fromkeys([*PROJECTS, *(breaker.get("projects") or {})]))
    if chosen is None or chosen in known:
        return chosen, ()
    if chosen == GENERIC:
        return None, ()
    hint = suggestion(chosen, known)
    if option:
        raise WrongUsage(f"--project: unknown project type {value_text(chosen)}", hint=hint)
    return None, (f"PROJECT_TYPE: unknown project type {value_text(chosen)}, so the default limits apply ({hint})",)


def _number(
    option: str, variable: str, limit: Limit, options: Mapping[str, Any], environment: Mapping[str, str]
) -> int | None:
    text, whose = (options.get(option), f"--{option.replace('_', '-')}")
    if text is None:
        text, whose = environment.get(variable, "").strip() or None, variable
    if text is None:
        return None
    number = int(text) if str(text).isdecimal() and len(str(text)) < 10 else None
    if limit(number) is not None:
        wrong = Refused if whose == variable else WrongUsage
        raise wrong(f"{whose}: expected {limit(number)}, got {value_text(text)}", hint=f"for example: {whose}=3")
    return number


def _action(option: str | None, variable: str | None) -> str | None:
    for chosen, whose in ((option, "--on-stagnation"), ((variable or "").strip() or None, "LIZA_ON_STAGNATION")):
        if chosen is not None:
            if chosen not in blocks.ON_STAGNATION:
                wrong = WrongUsage if chosen is option else Refused
                raise wrong(
                    f"{whose}: unknown action {value_text(chosen)}", hint=suggestion(chosen, blocks.ON_STAGNATION)
                )
            return chosen
    return None


def _flag(variable: str, environment: Mapping[str, str]) -> bool:
    """A switch; any word that does not mean on is off."""
    return environment.get(variable, "").strip().lower() in _TRUE


def rules_for(rules: RuleSet, settings: Settings) -> RuleSet:
    """The rules about loops with the settings as params, without those that are turned off."""
    # A setting that has its default does not override the params of the rules themselves.
    params = {
        name: float(value) for name, value in settings._asdict().items() if value != _DEFAULTS[name] and name in _PARAMS
    }
    if settings.threshold > THRESHOLD.default:
        params["done_in_a_row"] = float(settings.threshold)  # who is more patient is so with claims, too
    off = settings.off | (frozenset() if settings.task_timeout_iterations else {"task_not_progressing"})
    return scoped_rules(rules, "loops", params, off)
