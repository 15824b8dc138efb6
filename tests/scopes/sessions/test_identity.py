"""When two results are the same: what differs from one run to the next is left out, and what shows progress stays."""

import pytest

from liza.scopes.sessions.identity import call_identity, result_identity


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2 passed in 0.12s", "2 passed in 1.5 s"),
        ("2026-01-01T10:00:00Z failed", "2026-01-02T11:30:59Z failed"),
        ("saved /tmp/a1/out.txt", "saved /tmp/b2/out.txt"),
        ("request 3f2504e0-4f89-41d3-9a0c-0305e82c3301", "request 9b2504e0-4f89-41d3-9a0c-0305e82c33ff"),
        ("object at 0x7f12aa", "object at 0x7f99bb"),
        ("request req_8fK2m9Qx7Lp1", "request req_3aZ7t1Wc9Dd4"),
        ("at 1767600000", "at 1767600020.25"),
        ("real\t0m1.204s", "real\t2m0.1s"),
        ("attempt 1 of 3: refused", "attempt 2 of 3: refused"),
        ("[Step 7] no match", "[Step 12] no match"),
        ("\x1b[31mred\x1b[0m  text", "red text"),
    ],
)
def test_same_result(one: str, other: str) -> None:
    assert result_identity(one) == result_identity(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3 failed", "5 failed"),
        ("line 4: error", "line 5: error"),
        ("HTTP 404", "HTTP 500"),
        ("", "x"),
        ("test_parser2json", "test_parser3json"),
    ],
)
def test_different_result(one: str, other: str) -> None:
    assert result_identity(one) != result_identity(other)


def test_call_is_the_same_whatever_its_description_and_order() -> None:
    one = call_identity("Bash", {"command": "ls", "timeout": 5, "description": "list"})
    assert one == call_identity("Bash", {"timeout": 5, "description": "look around", "command": "ls"})
    assert one != call_identity("Shell", {"command": "ls", "timeout": 5})
    assert one != call_identity("Bash", {"command": "ls -a", "timeout": 5})


def test_remark_of_the_agent_is_no_part_of_a_call() -> None:
    one, other = ({"thought": f"perhaps {n}", "path": "a.py", "lines": 5} for n in "ab")
    assert call_identity("view", one) == call_identity("view", other)


def test_remark_is_the_call_of_a_tool_for_notes() -> None:
    one, other = ({"thought": f"perhaps {n}", "needs_more": True} for n in "ab")
    assert call_identity("think", one) != call_identity("think", other)
