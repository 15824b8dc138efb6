"""The JSON that every command prints with --json: one object, the same outer fields everywhere."""

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from liza.errors import LizaError

if TYPE_CHECKING:
    from liza.model import Problem

SCHEMA = 1


def write(command: str, status: str, problems: Iterable[dict[str, Any]] = (), **fields: Any) -> None:
    """Print the envelope with the command's own fields behind the common ones."""
    document = {"schema": SCHEMA, "command": command, "status": status, "problems": list(problems), **fields}
    json.dump(document, sys.stdout, ensure_ascii=True, default=str)
    sys.stdout.write("\n")


def problem_of(source: "LizaError | Problem") -> dict[str, Any]:
    """What is wrong, where, and what mends it."""
    names = ("file", "line", "column", "message", "hint", "level")
    return {name: getattr(source, name) for name in names if hasattr(source, name)}
