"""The limit of a provider, and until when it holds."""

import pytest

from liza.scopes.sessions.rate_limits import limited_until
from liza.scopes.sessions.step_window import StepWindow

NOW = "2026-01-01T10:00:00Z"


@pytest.mark.parametrize(
    ("text", "reset"),
    [
        ("Claude AI usage limit reached|1767265200", "2026-01-01T11:00:00Z"),
        ("You've hit your session limit · resets 3pm (Europe/Berlin)", "2026-01-01T14:00:00Z"),
        ("You've hit your weekly limit, resets 9am", "2026-01-02T09:00:00Z"),
        ("API Error: 429 rate_limit_error, retry-after: 90", "2026-01-01T10:01:30Z"),
        ("Error code: 429 - please try again in 20 minutes", "2026-01-01T10:20:00Z"),
        ("API Error: 529 overloaded_error", "2026-01-01T10:15:00Z"),
        ("usage limit reached, resets in 900 days", "2026-01-01T10:15:00Z"),
        ("usage limit reached, resets 3pm (No/Where)", "2026-01-01T15:00:00Z"),
    ],
)
def test_limit_and_its_reset(text: str, reset: str) -> None:
    assert limited_until(text, NOW) == reset


@pytest.mark.parametrize(
    "text", ["curl: (22) The requested URL returned error 429", "took 529 ms", "limit reached", ""]
)
def test_other_failure_is_not_a_limit(text: str) -> None:
    assert limited_until(text, NOW) is None


def step(time: str) -> dict[str, str]:
    return {"time": time, "session": "s", "tool": "Bash", "call": "a", "answer": "b", "outcome": "ok"}


@pytest.mark.parametrize("note", ["turn", "end"])
def test_session_at_work_has_a_newest_step(note: str) -> None:
    window = StepWindow("s")
    window.add(step(NOW))
    assert window.records()[-1].get("newest") is True
    assert window.records(is_halted=True)[-1].get("newest") is None
    window.add({"time": NOW, "session": "s", "note": note})
    assert window.records()[-1].get("newest") is None
    window.add(step("2026-01-01T10:00:01Z"))
    assert [record.get("newest") for record in window.records()] == [None, True]
