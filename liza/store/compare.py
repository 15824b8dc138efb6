"""Comparing parsed values."""

from collections.abc import Mapping, Sequence
from typing import Any

_SIMPLE = (str, int, bool)


def identical(one: Any, other: Any) -> bool:
    """Equal in value and in type all the way down: unlike `==`, 1 is neither True nor 1.0."""
    if one is other:
        return True
    if type(one) in _SIMPLE:  # nearly all: asking what else it might be takes longer than comparing
        return type(one) is type(other) and bool(one == other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(identical(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(identical, one, other))
    return type(one) is type(other) and (bool(one == other) or one != one)  # NaN is what was meant, too


def common_ends(old: Sequence[Any], new: Sequence[Any]) -> tuple[int, int]:
    """How many items at the start, and how many of the rest at the end, are the same in both."""
    least = min(len(old), len(new))
    head = 0
    while head < least and identical(old[head], new[head]):
        head += 1
    tail = 0
    while tail < least - head and identical(old[-1 - tail], new[-1 - tail]):
        tail += 1
    return head, tail
