"""Scopes other than the sprint: the daemon reports each trip when it opens and when it closes."""

from liza.daemon import events
from liza.daemon.notifier import EventKind, Notice


def test_opened_scopes_are_tripped_and_closed_ones_resolved() -> None:
    before = {"a1": "claim c-1 is frozen", "b2": "slice s-1 is stopped"}
    after = {"b2": "slice s-1 is stopped", "c3": "loop l-1 is open"}
    opened, closed = events.of_scopes(before, after)
    assert opened._replace(todo="") == Notice(EventKind.TRIPPED, "loop l-1 is open", "c3")
    assert "liza status" in opened.todo
    assert (closed.kind, closed.trip_id) == (EventKind.RESOLVED, "a1")


def test_scope_that_stays_open_gives_no_event() -> None:
    active = {"a1": "claim c-1 is frozen"}
    assert list(events.of_scopes(active, active)) == []
