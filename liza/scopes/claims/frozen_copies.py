"""A copy of each claim as it was frozen, kept beside the blackboard.

Deleting a claim in dispute must not delete the argument: both positions stay readable, and who overrides the dispute
gets the whole claim back.
"""

import json
from contextlib import suppress
from typing import Any

from liza.model import MAPPINGS
from liza.scopes.change import path_prefix
from liza.scopes.claims.fields import CLAIMS, open_dispute
from liza.store.files import open_fd
from liza.store.paths import Paths

LARGEST = 1 << 24  # bytes of such a file that are read


def find_copy(paths: Paths, name: str, since: str) -> dict[str, Any] | None:
    """The claim as it was when that dispute began; None without such a copy."""
    try:
        with open(f"{path_prefix(paths, CLAIMS, name)}.jsonl", "rb", opener=open_fd) as file:
            lines = file.read(LARGEST).splitlines()
    except OSError:
        return None
    for line in reversed(lines):
        with suppress(ValueError, RecursionError):  # a line that is not whole, or that another program wrote
            claim = json.loads(line)
            if isinstance(claim, MAPPINGS) and not list(CLAIMS.unusable_fields(claim)):
                found = open_dispute(claim)
                if found is not None and found[1].get("timestamp") == since:
                    return dict(claim)
    return None
