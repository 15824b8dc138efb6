"""Faults in slices written by hand: each with its position, its level and a fix."""

import pytest

from liza.model import Problem
from liza.schema.snapshot import locate_faults
from liza.scopes.engine import faults
from liza.scopes.rules_file import read_rules
from liza.store.document import parse
from tests.scopes.slices.run import Slices

RULES = read_rules(None)


def problems(text: str) -> list[Problem]:
    document = parse(f"slices:\n{text}".encode(), "state.yaml")
    return list(locate_faults(document, faults(document.data, RULES)))


def messages(text: str) -> list[str]:
    return [f"{each.line}:{each.column} {each.level}: {each.message}" for each in problems(text)]


def test_slices_written_by_liza_are_valid(slices: Slices) -> None:
    slices.does("start a", "fail a", "infra a", "pass a")
    slices.attempt("justify", "--slice", "S-1", "--file", "x", "--test", "a", "--reason", "r", "--relationship", "t")
    slices.attempt("reset", "--slice", "S-1", "-m", "again")
    slices.does("fail c", "fail c", "fail c", "fail c")
    document = parse(slices.state.read_bytes(), "state.yaml")
    assert list(faults(document.data, RULES)) == []
    assert slices.run("validate").code == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("    status: STOPED", "3:5 error: status: expected ACTIVE, STOPPED or ARCH_STOP, got 'STOPED'"),
        ("    attempts: 3", "3:5 error: attempts: expected a list, got 3"),
        ("    tests:\n      - attempt_count: 0", "4:9 error: test_name is missing: expected a name"),
        (
            "    tests:\n      - test_name: a\n        attempt_count: many",
            "5:9 error: attempt_count: expected a whole number, 0 or more, got 'many'",
        ),
        (
            "    attempts:\n      - test: a\n        result: fail",
            "5:9 error: result: expected a result, got 'fail'",
        ),
        ("    attempts:\n      - test: a", "4:9 error: result is missing: expected a result"),
        ("    attempts:\n      - oops", "4:9 error: expected a record with fields, got 'oops'"),
        (
            "    attempts:\n      - result: failed",
            "4:9 warning: an attempt without a test counts for the slice alone",
        ),
        (
            "    total_failed_attempts: 2\n    attempts:\n      - {test: a, result: failed}",
            "3:5 warning: total_failed_attempts is 2, but the attempts have 1",
        ),
        (
            "    tests:\n      - test_name: a\n        attempt_count: 2",
            "5:9 warning: attempt_count is 2, but the attempts have 0",
        ),
        (
            "    status: ACTIVE\n    current_trip: {reason: x}",
            "4:5 warning: the status is ACTIVE but the trip is open: reset by hand; the next command completes it",
        ),
        ("    files_in_scope: src", "3:5 error: files_in_scope: expected a list of strings, got 'src'"),
        (
            "    justifications:\n      - {file: x, failing_test: a, relationship: r, reason: ''}",
            "4:9 error: reason: expected a non-empty string, got ''",
        ),
    ],
)  # fmt: skip
def test_fault_has_position_and_level(text: str, expected: str) -> None:
    assert messages(f"  S-1:\n{text}\n") == [expected]


def test_slice_in_a_list_needs_its_own_name() -> None:
    assert messages("  - status: ACTIVE\n") == ["2:5 error: this slice has no name"]
    assert messages("  - slice_id: S-1\n  - id: S-1\n") == ["3:5 error: the slice 'S-1' appears twice"]


def test_misspelt_value_gets_a_suggestion() -> None:
    assert [each.hint for each in problems("  S-1: {status: STOPED}\n")] == ["did you mean STOPPED?"]
    assert [each.hint for each in problems("  S-1: {attempts: [{result: passd, test: a}]}\n")] == [
        "did you mean passed?"
    ]


@pytest.mark.parametrize("text", ["  3\n", "  [1, 2]\n", "  S-1: 3\n", "  words\n"])
def test_non_records_are_left_to_the_schema(text: str) -> None:
    assert problems(text) == []
