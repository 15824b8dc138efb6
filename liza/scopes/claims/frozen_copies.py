"""A copy of each claim as it was frozen, kept beside the blackboard.

Deleting a claim in dispute must not delete the argument: both positions stay readable, and who overrides the dispute
gets the whole claim back.
"""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from liza.errors import Refused
from liza.model import MAPPINGS
from liza.scopes.change import append_archive
from liza.scopes.claims.fields import open_dispute, unusable_fields
from liza.store.files import open_fd
from liza.store.paths import Paths
from liza.text import file_name

LARGEST = 1 << 24  # bytes of such a file that are read


def file_of(paths: Paths, name: str) -> str:
    return os.path.join(paths.runs, "claims", f"{file_name(name)}.jsonl")


def keep_copy(paths: Paths, name: str, claims: Sequence[Mapping[str, Any]]) -> None:
    """Keep a claim as it is frozen. The freeze does not wait for that: without a copy the log has its reason."""
    with suppress(Refused):
        append_archive(paths, file_of(paths, name), "claims", claims)


def find_copy(paths: Paths, name: str, since: str) -> dict[str, Any] | None:
    """The claim as it was when that dispute began; None without such a copy."""
    try:
        with open(file_of(paths, name), "rb", opener=open_fd) as file:
            lines = file.read(LARGEST).splitlines()
    except OSError:
        return None
    for line in reversed(lines):
        with suppress(ValueError, RecursionError):  # a line that is not whole, or that another program wrote
            claim = json.loads(line)
            if isinstance(claim, MAPPINGS) and not list(unusable_fields(claim)):
                found = open_dispute(claim)
                if found is not None and found[1].get("timestamp") == since:
                    return dict(claim)
    return None
