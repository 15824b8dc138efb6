"""What sessions used, in words."""

from collections.abc import Iterable

from liza.scopes.scope import Spent
from liza.text import one_line, some_of

_MODELS = 5  # that are named


def spent_text(used: Spent) -> str:
    """The cost, `$1.20`, with a `+` where some tokens have no price; the tokens where nothing has one."""
    if used.cost is not None:
        return f"${used.cost:,.2f}{'+' if used.unpriced else ''}"
    return tokens_text(used.tokens) if used.tokens else ""


def tokens_text(tokens: int) -> str:
    """A number of tokens: `950 tokens`, `120k tokens`, `1.2M tokens`."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if tokens >= size:
            return f"{tokens / size:.3g}{unit} tokens"
    return f"{tokens} tokens"


def unpriced_text(found: Iterable[Spent]) -> str:
    """The models whose tokens are in no cost, and how that is fixed; empty where there are none."""
    models = list(dict.fromkeys(one_line(model, 60) for used in found for model in used.unpriced))
    if not models:
        return ""
    return (
        f"no price, so only its tokens are counted: {some_of(models, _MODELS)}; to fix: set prices in .liza/rules.yaml"
    )
