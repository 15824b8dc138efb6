"""What a failed call says went wrong, and whether one failed whose client does not say so."""

import pytest

from liza.clients.event import Call, Event, Kind, Outcome
from liza.scopes.sessions.failures import error_of
from liza.scopes.sessions.step import steps_of


@pytest.mark.parametrize(
    ("result", "error"),
    [
        ("The result of the command is:\n  read: no such file a.py", "read: no such file a.py"),
        ("ERROR:\nFile already exists at: a.py", "File already exists at: a.py"),
        ("[step 4] OBSERVATION:\nfile is locked", "file is locked"),
        ("WARNING: this tool has no stable interface.\n\nthe lock is held", "the lock is held"),
        ("Error", None),
        ("Exit code 1\n", None),
        ("", None),
    ],
)
def test_error_is_the_line_that_says_something(result: str, error: str | None) -> None:
    assert error_of(result, Outcome.FAILED) == error


@pytest.mark.parametrize(
    "result",
    [
        "Error: no match in a.py",
        "edit: Error: text not found",
        "ERROR:\nNo replacement was performed",
        "Could not find a",
    ],
)
def test_result_that_begins_like_a_failure_is_one_unless_the_client_says_otherwise(result: str) -> None:
    assert error_of(result, Outcome.UNKNOWN)
    assert error_of(result, Outcome.OK) is None


@pytest.mark.parametrize(
    "result",
    ["12 passed", "src/errors.py:12: raise InvalidName(name)", "# Error handling", "Failed tests are shown here"],
)
def test_text_that_only_mentions_an_error_is_no_failure(result: str) -> None:
    given = {"path": "a.py"}
    event = Event("x", "after", Kind.AFTER, "s", calls=(Call(None, "view", given, result, Outcome.UNKNOWN),))
    assert next(steps_of(event, "2026-01-01T00:00:00Z"))["outcome"] == "unknown"


def test_edit_that_says_it_failed_is_none_though_the_client_has_it_as_successful() -> None:
    given = {"path": "a.py", "oldText": "a", "newText": "b"}
    for result, edits in (("ERROR:\nNo replacement was performed", False), ("a.py has been edited", True)):
        event = Event("x", "after", Kind.AFTER, "s", calls=(Call(None, "any", given, result, Outcome.OK),))
        assert next(steps_of(event, "2026-01-01T00:00:00Z"))["edits"] is edits
