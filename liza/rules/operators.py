"""The comparison operators of conditions. Another one also needs its sign in the parser, language.py."""

from collections.abc import Callable
from typing import Any

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": lambda a, b: a >= b,
    ">": lambda a, b: a > b,
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
}
