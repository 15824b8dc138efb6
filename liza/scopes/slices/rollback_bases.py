"""Which bases a rollback of a slice may go back to, and which files are the slice's own.

Pure decisions. A test that has passed keeps its work: a rollback goes back to where the tests that are reset began.
"""

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from liza.git.base import RecordedBase
from liza.model import MAPPINGS, parse_time
from liza.scopes.records import list_of, mappings_of, named_records
from liza.scopes.slices.fields import find_test, named_tests, open_tests
from liza.text import escape_surrogates, text_of


class WentBack(NamedTuple):
    """Where a rollback went, and the tests that begin there now."""

    base: RecordedBase
    tests: tuple[str, ...]


def recorded_base(record: Mapping[str, Any]) -> RecordedBase:
    about, tag = record.get("checkpoint"), record.get("checkpoint_tag")
    return RecordedBase(
        tag if isinstance(tag, str) and tag.strip() else "", about if isinstance(about, MAPPINGS) else {}
    )


def tests_to_reset(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The tests that a reset is about: those in work, else all that were attempted, else those of the last reset."""
    in_work = open_tests(record)
    if in_work:
        return in_work
    tried = [text_of(each["test"]) for each in mappings_of(record, "attempts") if each.get("test") is not None]
    runs = mappings_of(record, "history")
    before = [name for name, _ in named_tests(runs[-1])] if runs and not tried else []
    return tuple(dict.fromkeys(tried or before))


def bases_to_reset(record: Mapping[str, Any]) -> tuple[RecordedBase, ...]:
    """The bases of the tests that are reset, each once. Where one is unknown the slice's is used, which is older."""
    own = recorded_base(record)
    found = [recorded_base(find_test(record, name)) for name in tests_to_reset(record)]
    if not found:
        found = [recorded_base(test) for _, test in named_tests(record)] if not own.tag and not own.about else [own]
    # A test that began on a clean commit has no saved content of its own; on the slice's commit it has the slice's.
    found = [own if not each.tag or (each.tag == own.tag and not each.about) else each for each in found]
    known = [each for each in found if each.tag or each.about]
    return tuple({(each.tag, each.about.get("ref")): each for each in known}.values())


# --- files of a slice------------------------------------------------------------------------------------------------


def own_files(record: Mapping[str, Any]) -> frozenset[str]:
    """All files that a slice touched since its last rollback, relative to the top of the working tree."""
    found: set[str] = set()
    for run in (*mappings_of(record, "history"), record):
        found |= {_path(each) for each in _touched(run)}
        if isinstance(run.get("rolled_back"), MAPPINGS):
            found.clear()  # that work is not in the working tree any more
    return frozenset(found)


def _touched(run: Mapping[str, Any]) -> Iterator[Any]:
    for entry in mappings_of(run, "attempts"):
        yield from list_of(entry, "files")
    for test in mappings_of(run, "tests"):
        yield from list_of(test, "files_touched")


def _path(file: Any) -> str:
    return os.path.normpath(escape_surrogates(text_of(file)))


def files_of_other_slices(section: Any, name: str, record: Mapping[str, Any]) -> frozenset[str]:
    """Files that other slices touched in the same working tree since this one began.

    What git reports for an attempt includes files that others changed meanwhile, so such a file proves nothing.
    """
    about = recorded_base(record).about
    since = parse_time(about.get("taken"))
    found: set[str] = set()
    for _, other, entry in named_records(section, "slice"):
        if other == name or not isinstance(entry, MAPPINGS):
            continue
        place = recorded_base(entry).about.get("work_tree", about.get("work_tree"))
        if place == about.get("work_tree"):
            for run in (*mappings_of(entry, "history"), entry):
                found |= {_path(file) for file in _touched_since(run, since)}
    return frozenset(found)


def _touched_since(run: Mapping[str, Any], since: datetime | None) -> Iterator[Any]:
    entries = mappings_of(run, "attempts")
    for entry in entries:
        at = parse_time(entry.get("timestamp"))
        if at is None or since is None or at >= since:
            yield from list_of(entry, "files")
    listed = {text_of(entry.get("test")) for entry in entries}
    for name, test in named_tests(run):
        if name not in listed:  # another program wrote the test without an attempt, so its time is unknown
            yield from list_of(test, "files_touched")
