"""What the commands about claims and stages take, and what they work with."""

import math
from typing import Any

from liza.cli.group import Call
from liza.errors import WrongUsage
from liza.scopes.claims import change
from liza.scopes.claims.change import Context
from liza.text import value_text


def context_of(call: Call) -> Context:
    """The blackboard, the rules in force on it, and the time."""
    return change.context_of(call.board, call.at)


def confidence_of(text: str | None) -> Any:
    """A number as one; a word as it is."""
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isfinite(number):
        return int(number) if number.is_integer() and "." not in text else number
    if not text.strip() or not text.isprintable() or len(text) > 40 or text.strip().lower() in ("nan", "inf", "-inf"):
        raise WrongUsage(f"--confidence: expected a number or a word, got {value_text(text)}", hint="like 0.7, or high")
    return text.strip()
