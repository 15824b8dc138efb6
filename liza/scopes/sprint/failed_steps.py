"""The steps of a trip or a decision: one that fails does not prevent the later ones."""

from collections.abc import Callable
from typing import TypeVar

from liza.errors import LizaError

T = TypeVar("T")


def attempt(failed: list[LizaError], step: Callable[[], T]) -> T | None:
    """Do a step of several; why it failed is kept for later."""
    try:
        return step()
    except LizaError as error:
        failed.append(error)
        return None


def caught(step: Callable[[], object]) -> LizaError | None:
    """Do a step; why it failed, or None."""
    failed: list[LizaError] = []
    attempt(failed, step)
    return failed[0] if failed else None
