"""Where a slice, or a test of it, began in git."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from liza.model import format_time

REFS = "refs/liza"


class Base(NamedTuple):
    """Where a slice, or a test of it, began in git. The field names are also those of the inbox."""

    commit: str  # "" before the first commit
    branch: str | None  # None where HEAD is detached
    dirty: bool
    work_tree: str
    ref: str | None = None  # keeps the commit, and changes that were not committed

    def fields(self, now: datetime) -> dict[str, Any]:
        values = {"branch": self.branch, "dirty": self.dirty, "ref": self.ref, "work_tree": self.work_tree}
        return {"taken": format_time(now), **values}


class RecordedBase(NamedTuple):
    tag: str  # the commit; "" before the first one, or where it is unknown
    about: Mapping[str, Any]  # the `checkpoint` beside it: branch, dirty, ref, work_tree

    @property
    def fields(self) -> dict[str, Any]:
        return {"checkpoint_tag": self.tag, **({"checkpoint": dict(self.about)} if self.about else {})}
