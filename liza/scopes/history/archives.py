"""The names of archived reports."""

import re
from collections.abc import Mapping
from typing import Any


def archive_name(trigger: Mapping[str, Any]) -> str:
    """Reports sort by time; the trip id makes the name the same however often the report is written."""
    words = (str(trigger.get(name)) for name in ("timestamp", "pattern", "trip_id"))
    # Any program may have written them: nothing that leads out of the folder stays in the name.
    return "-".join(re.sub(r"[^\w]", "", word)[:60] for word in words) + ".md"


def is_archive(name: str) -> bool:
    """Whether a file among the reports has a name that `archive_name` gave it."""
    return re.fullmatch(r"\w+-\w+-[0-9a-f]{12}\.md", name) is not None
