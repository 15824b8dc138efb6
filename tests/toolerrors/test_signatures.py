"""Whether errors of two iterations are the same: by `similar`, as rules do, and by their subject."""

import re
from collections.abc import Callable
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.rules.similar import similar_groups
from liza.toolerrors.errors import Error, errors_of, subject_of
from tests.toolerrors.samples import AGAIN, FAILING, SAMPLES


def alike(one: Error, other: Error) -> bool:
    groups = similar_groups((one.signature, other.signature), 0.7)
    return groups[one.signature] == groups[other.signature]


@pytest.mark.parametrize("name", AGAIN)
def test_error_is_the_same_in_the_next_iteration(name: str) -> None:
    one, other = SAMPLES[name].errors, SAMPLES[AGAIN[name]].errors
    assert alike(one[0], other[0])
    assert subject_of(one[0]) == subject_of(other[0])


# A place in a file, in the many forms that tools print it in.
_PLACES = re.compile(
    r"(?P<before>\.[A-Za-z]{1,5}(?:\(|:|:\[)|\bline )(?P<line>\d+)(?P<between>[:,])?(?P<column>(?(between)\d+|))"
)


def moved(text: str, lines: int, columns: int) -> str:
    def place(found: re.Match[str]) -> str:
        column = str(int(found["column"]) + columns) if found["column"] else ""
        return f"{found['before']}{int(found['line']) + lines}{found['between'] or ''}{column}"

    return _PLACES.sub(place, text)


# `/path/x.py:1` without more is a place, too, but a file without a line is none.
_MOVABLE = [name for name, each in FAILING.items() if _PLACES.search(each.text)]


@given(st.sampled_from(_MOVABLE), st.integers(1, 5_000), st.integers(1, 300))
def test_error_on_another_line_is_the_same(name: str, lines: int, columns: int) -> None:
    before, after = FAILING[name].errors[0], errors_of(moved(FAILING[name].text, lines, columns))[0]
    assert alike(before, after)
    assert subject_of(before) == subject_of(after)


def test_many_samples_have_line_numbers() -> None:
    assert len(_MOVABLE) >= 120


# The errors of each pair look alike; similar() has to keep them apart.
APART = (
    ("http-404", "http-500"),
    ("agent-api-overloaded", "agent-api-500"),
    ("docker-run", "docker-run-80"),
    ("tsc", "tsc-argument"),
    ("tsc", "tsc-module"),
    ("cargo", "rustc"),
    ("mypy", "mypy-other"),
    ("gcc", "gcc-header"),
    ("javac", "java"),
    ("go-build", "go-vet"),
    ("go-panic", "go-nil"),
    ("make-recursive", "make-target"),
    ("npm-404", "npm-eresolve"),
    ("npm-script", "npm-package-json"),
    ("shell-cp", "shell-cat"),
    ("shell-permission", "shell-not-found"),
    ("git-fatal", "git-push"),
    ("node-type-error", "node-not-a-function"),
    ("node-enoent", "node-refused"),
    ("python-traceback", "python-during-handling"),
    ("python-import", "python-errno"),
    ("pytest", "pytest-fixture"),
    ("pytest", "pytest-raises"),
    ("ruff", "ruff-syntax"),
    ("postgres", "mysql"),
)


@pytest.mark.parametrize(("one", "other"), APART)
def test_similar_looking_errors_are_kept_apart(one: str, other: str) -> None:
    assert not alike(SAMPLES[one].errors[0], SAMPLES[other].errors[0])


# What differs here similar() passes over, or may with more errors around; in one loop it is the next error.
NEXT = {
    "the same assertion in another test": (
        "FAILED tests/test_a.py::test_x - assert 1 == 2",
        "FAILED tests/test_b.py::test_y - assert 1 == 2",
    ),
    "another test of the same file": ("FAILED t.py::test_x - KeyError: 'a'", "FAILED t.py::test_y - KeyError: 'a'"),
    "another test of go": (
        "--- FAIL: TestA (0.00s)\n    a_test.go:3: no",
        "--- FAIL: TestB (0.00s)\n    a_test.go:3: no",
    ),
    "another module": ("ModuleNotFoundError: No module named 'yaml'", "ModuleNotFoundError: No module named 'flask'"),
    "another file": ("a.ts(3,5): error TS2322: Type 'a' is no 'b'.", "b.ts(3,5): error TS2322: Type 'a' is no 'b'."),
    "another name": ("./a.go:3:5: undefined: parseConfig", "./a.go:3:5: undefined: newRouter"),
    "another script": ('npm error Missing script: "lint"', 'npm error Missing script: "build"'),
}


@pytest.mark.parametrize(("one", "other"), NEXT.values(), ids=NEXT.keys())
def test_next_error_has_another_subject(one: str, other: str) -> None:
    first, second = errors_of(one)[0], errors_of(other)[0]
    assert subject_of(first) != subject_of(second)


STILL: dict[str, tuple[str, str]] = {
    "other values in the same test": (
        "FAILED t.py::x - AssertionError: assert 'abc' == 'abd'",
        "FAILED t.py::x - AssertionError: assert 'xyz' == 'abd'",
    ),
    "another temporary folder": (
        "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/tmpa8f3kq2x/a.json'",
        "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/tmpzz91k00d/a.json'",
    ),
    "another duration and address": (
        "RuntimeError: gave up after 120 ms on <Queue object at 0x7f3a2c01>",
        "RuntimeError: gave up after 87 ms on <Queue object at 0x7faa9c77>",
    ),
    "another number of the thread": (
        "thread 'main' (17464) panicked at src/main.rs:3:24:\nindex out of bounds: the len is 0 but the index is 3",
        "thread 'main' (99) panicked at src/main.rs:13:2:\nindex out of bounds: the len is 1 but the index is 3",
    ),
    "another request": (
        'API Error: 529 {"error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_011C"}',
        'API Error: 529 {"error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_09ZZ"}',
    ),
}


@pytest.mark.parametrize(("one", "other"), STILL.values(), ids=STILL.keys())
def test_variation_between_runs_makes_no_new_error(one: str, other: str) -> None:
    first, second = errors_of(one)[0], errors_of(other)[0]
    assert alike(first, second)
    assert subject_of(first) == subject_of(second)


_STYLES: dict[str, Callable[[str], bool]] = {
    "pytest": lambda name: (
        name in ("pytest", "pytest-short", "pytest-verbose", "pytest-line", "pytest-native", "actions")
    ),
    "tsc": lambda name: name in ("tsc", "tsc-pretty", "agent-stream-blocks", "npm-lifecycle"),
}


@pytest.mark.parametrize("style", _STYLES)
def test_output_styles_of_a_tool_give_the_same_error(style: str) -> None:
    for one, other in combinations(filter(_STYLES[style], SAMPLES), 2):
        assert alike(SAMPLES[one].errors[0], SAMPLES[other].errors[0])
