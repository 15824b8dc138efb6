"""Which bases a rollback of a slice may go back to, and which files are the slice's own.

Only decisions. A test that has passed keeps its work: what goes back is what the tests that are reset began with.
"""

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from liza.model import MAPPINGS, parse_time
from liza.scopes import records
from liza.scopes.slices import derived as rec
from liza.scopes.slices.texts import written
from liza.text import text_of


class Base(NamedTuple):
    """Where a slice, or a test of it, began in git."""

    tag: str  # "" before the first commit, or where nothing is known
    about: Mapping[str, Any]  # the `checkpoint` beside it: branch, dirty, ref, work_tree

    @property
    def fields(self) -> dict[str, Any]:
        """As it is written beside a test."""
        return {"checkpoint_tag": self.tag, **({"checkpoint": dict(self.about)} if self.about else {})}


class WentBack(NamedTuple):
    """Where a rollback went, and the tests that begin there now."""

    base: Base
    tests: tuple[str, ...]


def base_of(record: Mapping[str, Any]) -> Base:
    """The base that is written in the record of a slice or of a test."""
    about, tag = record.get("checkpoint"), record.get("checkpoint_tag")
    return Base(tag if isinstance(tag, str) and tag.strip() else "", about if isinstance(about, MAPPINGS) else {})


def tests_to_reset(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The tests that a reset is about: those at work, else those of the reset before, else all that were attempted."""
    at_work = rec.open_tests(record)
    if at_work:
        return at_work
    tried = [text_of(each["test"]) for each in rec.records_of(record, "attempts") if each.get("test") is not None]
    runs = rec.records_of(record, "history")
    before = [name for name, _ in rec.tests_of(runs[-1])] if runs and not tried else []
    return tuple(dict.fromkeys(tried or before))


def bases_of(record: Mapping[str, Any]) -> tuple[Base, ...]:
    """The bases of the tests that are reset, each once. One that is unknown makes it the slice's, which is older."""
    own = base_of(record)
    found = [base_of(rec.test_of(record, name)) for name in tests_to_reset(record)]
    if not found:
        found = [base_of(test) for _, test in rec.tests_of(record)] if not own.tag and not own.about else [own]
    # A test that began on a clean commit has no content of its own to go back to; on the slice's, it has the slice's.
    found = [own if not each.tag or (each.tag == own.tag and not each.about) else each for each in found]
    known = [each for each in found if each.tag or each.about]
    return tuple({(each.tag, each.about.get("ref")): each for each in known}.values())


# --- whose files ----------------------------------------------------------------------------------------------------


def files_of(record: Mapping[str, Any]) -> frozenset[str]:
    """All files that a slice touched since it was last rolled back, as named from the top of the work tree."""
    found: set[str] = set()
    for run in (*rec.records_of(record, "history"), record):
        found |= {_path(each) for each in _touched(run)}
        if isinstance(run.get("rolled_back"), MAPPINGS):
            found.clear()  # that work is not in the work tree any more
    return frozenset(found)


def _touched(run: Mapping[str, Any]) -> Iterator[Any]:
    for entry in rec.records_of(run, "attempts"):
        yield from rec.list_of(entry, "files")
    for test in rec.records_of(run, "tests"):
        yield from rec.list_of(test, "files_touched")


def _path(file: Any) -> str:
    return os.path.normpath(written(text_of(file)))


def files_of_others(section: Any, name: str, record: Mapping[str, Any]) -> frozenset[str]:
    """Files that other slices touched in the same work tree since this one began.

    Where git is asked what an attempt touched, it names what others changed meanwhile, too: such a file shows nothing.
    """
    about = base_of(record).about
    since = parse_time(about.get("taken"))
    found: set[str] = set()
    for _, other, entry in records.named(section, "slice"):
        if other == name or not isinstance(entry, MAPPINGS):
            continue
        place = base_of(entry).about.get("work_tree", about.get("work_tree"))
        if place == about.get("work_tree"):
            for run in (*rec.records_of(entry, "history"), entry):
                found |= {_path(file) for file in _touched_since(run, since)}
    return frozenset(found)


def _touched_since(run: Mapping[str, Any], since: datetime | None) -> Iterator[Any]:
    entries = rec.records_of(run, "attempts")
    for entry in entries:
        at = parse_time(entry.get("timestamp"))
        if at is None or since is None or at >= since:
            yield from rec.list_of(entry, "files")
    listed = {text_of(entry.get("test")) for entry in entries}
    for name, test in rec.tests_of(run):
        if name not in listed:  # another program wrote the test and no attempt, so nothing says when
            yield from rec.list_of(test, "files_touched")
