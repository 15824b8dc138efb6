"""The blocks `budgets:` and `prices:` of rules.yaml: what a session, the sprint and a day may use; what tokens cost.

    budgets: {session: {cost: 5}, sprint: {hours: 40}, day: {tokens: 2000000}, zone: Europe/Berlin}
    prices: {my-model: {input: 1, output: 4, cache_read: 0.1}}

Each number of a budget is a param of the rules in `rules/packs/budgets.yaml`, and 80 % of it that of their warnings.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from liza.schema import kinds
from liza.schema.walker import Named, Table
from liza.text import number_text, value_text

SPANS = ("session", "sprint", "day")
WARN_AT = 0.8
UNPRICED = "unpriced_tokens"  # the param of the alarm about models without a price, set beside a budget in dollars


def _amount(value: Any) -> str | None:
    return None if kinds.number(value) is None and value > 0 else "a number above 0"


def _price(value: Any) -> str | None:
    return None if kinds.number(value) is None and value >= 0 else "US dollars per million tokens, 0 or more"


def _zone(value: Any) -> str | None:
    from zoneinfo import ZoneInfo

    try:
        return None if isinstance(value, str) and ZoneInfo(value) else "a time zone like Europe/Berlin"
    except (KeyError, ValueError, OSError):  # not found, or a path
        return "a time zone like Europe/Berlin"


_BUDGET = Table({"cost": _amount, "tokens": _amount, "steps": _amount, "hours": _amount}, closed=True)
BUDGETS = Table({**dict.fromkeys(SPANS, _BUDGET), "zone": _zone}, closed=True)
_KINDS = ("input", "output", "cache_read", "cache_write")
PRICES = Named(Table(dict.fromkeys(_KINDS, _price), required=_KINDS[:2], closed=True))


def budgets_in(blocks: Mapping[str, Any]) -> Iterator[tuple[str, str, float]]:
    """The budgets that are set: span, measure, and number."""
    budgets = blocks.get("budgets") or {}
    for span in SPANS:
        for measure, number in (budgets.get(span) or {}).items():
            if number is not None:
                yield span, measure, number


def budget_params(blocks: Mapping[str, Any]) -> dict[str, float]:
    """The params of the rules about budgets; those of a budget that is not set have no value, so its rules are off."""
    found: dict[str, float] = {}
    for span, measure, number in budgets_in(blocks):
        found |= {f"{span}_{measure}": number, f"{span}_{measure}_warning": number * WARN_AT}
        found |= {UNPRICED: 1} if measure == "cost" else {}
    return found


def set_budgets(blocks: Mapping[str, Any]) -> Iterator[str]:
    """What is set, one message each: agents can write the file, too."""
    for span, measure, number in budgets_in(blocks):
        yield f"budgets.{span}.{measure} is {number_text(number)} (default: off)"
    for model in blocks.get("prices") or {}:
        yield f"prices.{value_text(model)} is set"
