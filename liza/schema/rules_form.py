"""The same settings as the protocols write them, for those who paste their blocks into `rules.yaml`.

Apart from the tables of `rules_yaml`, which a check without a `rules.yaml` does not load.
"""

from collections.abc import Mapping
from typing import Any

from liza.model import MAPPINGS, Path

PATTERNS = "circuit_breaker_rules"
ROUNDS_PARAM = "circuit_breaker_rounds"
SAME: dict[tuple[str, ...], tuple[str, ...]] = {
    (PATTERNS, "window"): ("window",),
    (PATTERNS, "patterns"): ("rules",),
    (ROUNDS_PARAM,): ("disputes", ROUNDS_PARAM),
}


def value_at(file: Mapping[str, Any], path: Path) -> Any:
    value: Any = file
    for key in path:
        value = value.get(key) if isinstance(value, MAPPINGS) else None
    return value


def in_our_form(file: Mapping[str, Any]) -> dict[str, Any]:
    """A valid file with the protocols' blocks under liza's keys; its rules are where `rules_path` says."""
    found = {key: value for key, value in file.items() if key not in (PATTERNS, ROUNDS_PARAM)}
    if (wanted := value_at(file, (PATTERNS, "window"))) is not None:
        found["window"] = wanted
    if file.get(ROUNDS_PARAM) is not None:
        found["disputes"] = {**(file.get("disputes") or {}), ROUNDS_PARAM: file[ROUNDS_PARAM]}
    return found


def rules_path(file: Mapping[str, Any]) -> Path:
    """Where a file has its list of rules."""
    return (PATTERNS, "patterns") if value_at(file, (PATTERNS, "patterns")) is not None else ("rules",)


def rules_in(file: Mapping[str, Any]) -> Any:
    return value_at(file, rules_path(file))
