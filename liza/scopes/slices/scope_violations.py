"""Changed files outside the scope of a slice, as soon as an attempt has them."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from liza.errors import LizaError
from liza.scopes.records import mappings_of
from liza.scopes.slices import scope_lock
from liza.scopes.slices.files_in_scope import decide_files, find_roots, read_scope
from liza.scopes.transition import Event, Transition
from liza.store.paths import Paths
from liza.text import text_of, value_text


def add_violations(paths: Paths, name: str, done: Transition, files: Sequence[str], now: datetime) -> Transition:
    """With these files of an attempt that are outside the scope and not justified.

    Where the scope cannot be read nothing is added: `liza attempt scope` reports why, and no attempt is kept waiting.
    """
    known = [text_of(each.get("file")) for each in mappings_of(done.record, "scope_violations")]
    new = [file for file in dict.fromkeys(files) if file not in known]
    if not new:
        return done
    ground = find_roots(paths, done.record)
    try:
        scope = read_scope(ground, name, done.record)
    except LizaError:
        return done
    found = decide_files(ground, scope, done.record, new) if scope.is_known else []
    outside = [each.file for each in found if not each.in_scope]
    if not outside:
        return done
    violated = scope_lock.set_violations(done.record, [*known, *outside], now)
    return done._replace(record=violated, events=(*done.events, violation_event(name, outside)))


def set_allowed(
    paths: Paths, name: str, record: Mapping[str, Any], fields: Mapping[str, list[str] | None], now: datetime
) -> Transition:
    """Set these fields about what a slice may change; None removes one. What is allowed now is no violation."""
    kept = {key: value for key, value in record.items() if fields.get(key, ()) is not None}
    changed = {**kept, **{key: value for key, value in fields.items() if value is not None}}
    if known := [text_of(each.get("file")) for each in mappings_of(changed, "scope_violations")]:
        ground = find_roots(paths, changed)
        with suppress(LizaError):  # what cannot be read allows nothing
            found = decide_files(ground, read_scope(ground, name, changed), changed, known)
            changed = scope_lock.set_violations(changed, [each.file for each in found if not each.in_scope], now)
    said = [
        f"{key} {'not set' if value is None else value_text(', '.join(value), 300)}" for key, value in fields.items()
    ]
    return Transition(changed, (Event("slice", name, "scope_set", f"slice {name}: {'; '.join(said)}"),))


def violation_event(name: str, files: Sequence[str]) -> Event:
    listed = ", ".join(value_text(file) for file in files[:10])
    return Event("slice", name, "scope_violated", f"slice {name} changed files that are not allowed: {listed}")
