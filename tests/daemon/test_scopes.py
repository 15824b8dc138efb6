"""What else than the sprint can be stopped: the daemon tells of each trip when it opens and when it closes."""

from liza.daemon import events
from liza.daemon.notifier import EventKind, Notice


def test_what_has_opened_is_told_as_tripped_and_what_has_closed_as_resolved() -> None:
    before = {"a1": "claim c-1 is frozen", "b2": "slice s-1 is stopped"}
    after = {"b2": "slice s-1 is stopped", "c3": "loop l-1 is open"}
    assert list(events.of_scopes(before, after)) == [
        Notice(EventKind.TRIPPED, "loop l-1 is open", "c3"),
        Notice(EventKind.RESOLVED, "claim c-1 is frozen", "a1"),
    ]


def test_what_stays_open_is_no_news() -> None:
    standing = {"a1": "claim c-1 is frozen"}
    assert list(events.of_scopes(standing, standing)) == []
