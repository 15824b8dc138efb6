"""What tokens cost: the shipped table, and the prices of a blackboard's own, by the name of the model."""

import os
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

FILE = os.path.join(os.path.dirname(__file__), "prices.yaml")
Prices = Mapping[str, Mapping[str, float]]  # US dollars per million tokens, by model
# How clients decorate the name of a model: who serves it, the length of its context, the date of its release.
_SERVED_BY = re.compile(r"^.*/|^(?:[a-z]{2,6}\.)?(?:anthropic|openai|google|qwen)\.")
_VARIANT = re.compile(r"\[[^\]]*\]$|@[\w.-]+$|(?:-v\d+)?:[\w.-]+$|-latest$|-20\d\d-?\d\d-?\d\d(?:-v\d+)?$")


@cache
def shipped_prices() -> Prices:
    """The table that comes with liza."""
    from liza.store.parser import load
    from liza.store.versions import read_stable

    prices: Prices = load(read_stable(FILE).raw.decode())["prices"]
    return prices


def price_of(model: str, own: Prices) -> Mapping[str, float] | None:
    """The prices of a model; None for one that is not known. The name as it is beats the name without decorations."""
    for name in dict.fromkeys((model, model.lower(), _plain(model.lower()))):
        for prices in (own, shipped_prices()):
            if name in prices:
                return prices[name]
    return None


def _plain(model: str) -> str:
    """The name without what clients add to it."""
    name = _SERVED_BY.sub("", model)
    while (shorter := _VARIANT.sub("", name)) != name:
        name = shorter
    return name


def cost_of(entry: Mapping[str, Any], own: Prices) -> float | None:
    """The cost of a usage entry from its tokens, in US dollars; None if its model has no price.

    `tokens_in` has all that the model read, so what came from a cache or was written to one is taken out of it first.
    A cache without a price of its own costs as much as input.
    """
    model = entry.get("model")
    price = price_of(model, own) if isinstance(model, str) else None
    if price is None:
        return None
    read, cached, kept, written = (
        _count(entry.get(name)) for name in ("tokens_in", "tokens_cached", "tokens_cache_written", "tokens_out")
    )
    plain = max(read - cached - kept, 0)
    whole = price["input"]
    cost = plain * whole + cached * price.get("cache_read", whole) + kept * price.get("cache_write", whole)
    return (cost + written * price["output"]) / 1e6


def _count(value: Any) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else 0
