"""Any input: it never raises, returns nothing that a terminal would act on, and is quick."""

import json
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from liza.toolerrors.errors import LONGEST, Error, errors_of
from tests.toolerrors.samples import FAILING, SAMPLES


def is_valid(error: Error) -> bool:
    texts = (error.signature, error.file or "x", error.test or "x")
    return all(text.isprintable() and 0 < len(text) <= LONGEST and text == text.strip() for text in texts)


_WORDS = st.sampled_from(
    ["error", "Error: ", "FAILED ", "t.py::x", "Traceback (most recent call last):\n", '  File "a", line 1\n', "\x1b]",
     "E   assert 1\n", "\x1b[31m", "@@ -1,9 +1,9 @@\n", "```diff\n", "● ", "--- FAIL: ", "npm ERR! ", "panic: ", "{",
     "}", '"', "[", "thread 'a' panicked at a:1:2:\n", "    at f (a.js:1:2)\n", "Caused by: ", " --> a.rs:1:2\n", "\n",
     ": ", "not ok 1 - a\n", "___ a ___\n", "  1 failing\n", "  1) a\n", "<<< FAILURE!\n", "[ERROR] ", "INFO ", "\r",
     "\0", "level=error msg=", "\u2028", "\ud800", "API Error: ", "make: *** ", "(ignored)", "a_test.go:1: ",
     "=== RUN   ", "\t", "data: {", "a" * 3_000, "\u202e"]
)  # fmt: skip


@given(st.lists(_WORDS | st.text(max_size=20), max_size=40).map("".join))
def test_any_text_gives_printable_errors(text: str) -> None:
    assert all(map(is_valid, errors_of(text)))


@given(st.sampled_from(list(SAMPLES)), st.data())
def test_any_piece_of_an_output_gives_printable_errors(name: str, data: st.DataObject) -> None:
    text = SAMPLES[name].text
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert all(map(is_valid, errors_of(text[start:end])))


_KEYS = st.sampled_from(
    ["type", "error", "message", "is_error", "result", "content", "level", "severity", "code", "file", "line", "status",
     "err", "fullName", "failureMessages", "stack", "tool_use_id", "id", "name", "input", "role", "text", "Action",
     "Package", "Output", "function", "location", "range", "start", "filename", "ruleId", "call", "crash", "isError",
     "errors", "success", "rendered"]
)  # fmt: skip
_TEXTS = ["error", "tool_result", "tool_use", "result", "TypeError: x\n    at f (a.js:1:2)", "failed", "text"]
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.sampled_from(_TEXTS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=6),
    max_leaves=25,
)


@given(st.lists(_VALUES, max_size=4), st.sampled_from([None, 2]))
def test_any_json_gives_printable_errors(values: list[object], indent: int | None) -> None:
    assert all(map(is_valid, errors_of("\n".join(json.dumps(each, indent=indent) for each in values))))


_FINE = [
    "Building the project", "ok", "", "  Compiling shop v0.1.0", "12 passed in 0.3s", "[INFO] done", "Loading 3 of 7",
    "0 errors", "tests/test_errors.py::test_error PASSED", "import os", "    return total", "# Subtest: fine", "fine",
    "2024-05-06 07:08:09 INFO error handling is on", '{"level":"info","msg":"error: none"}', "ok 1 - Error: is thrown",
    "{}", "[]", "    {}", '  {"a": 1},', '{"type":"system","subtype":"init"}', "src/a.py:3: note", "[1/3] building",
]  # fmt: skip


@given(st.sampled_from(list(FAILING)), *[st.lists(st.sampled_from(_FINE), max_size=5)] * 2)
@example("unittest", ["[INFO] done"], [])
@example("pytest-conftest", [], ["src/a.py:3: note"])
@example("pytest-e-lines", [], ["src/a.py:3: note"])
def test_surrounding_lines_without_errors_change_nothing(name: str, before: list[str], after: list[str]) -> None:
    text = "\n".join([*before, FAILING[name].text.rstrip("\n"), *after])
    assert errors_of(text)[0] == FAILING[name].errors[0]


def test_line_endings_do_not_matter() -> None:
    found = {name: errors_of(each.text.replace("\n", "\r\n")) for name, each in SAMPLES.items()}
    assert {name: each for name, each in found.items() if each != SAMPLES[name].errors} == {}


_PLAIN = [name for name, each in SAMPLES.items() if "{" not in each.text[:1] and '\n{"' not in each.text]


def coloured(text: str) -> str:
    return "\n".join(f"\x1b[1;31m{line}\x1b[0m" for line in text.split("\n"))


def test_colours_do_not_matter() -> None:
    found = {name: errors_of(coloured(SAMPLES[name].text)) for name in _PLAIN}
    assert {name: each for name, each in found.items() if each != SAMPLES[name].errors} == {}


# Slow if a pattern backtracks over a line, or if a reader looks ahead from every line.
HOSTILE: dict[str, Callable[[], str]] = {
    "empty lines": lambda: "\n" * 2_000_000,
    "one line": lambda: "x" * 2_000_000,
    "one line of errors": lambda: "error: " * 300_000,
    "lines of errors": lambda: "error: something is wrong\n" * 80_000,
    "escapes": lambda: "\x1b[31m" * 400_000 + "\x1b]" * 400_000,
    "tracebacks": lambda: 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n' * 30_000,
    "an endless traceback": lambda: (
        "Traceback (most recent call last):\n" + '  File "a.py", line 3, in f\n    f()\n' * 40_000
    ),
    "details of pytest": lambda: "E   assert 1 == 2\n\n" * 100_000,
    "a block of pytest": lambda: "E   assert 1 == 2\n" * 100_000,
    "names of jest": lambda: "● a › b\n" * 200_000,
    "tests of go": lambda: "--- FAIL: TestX (0.00s)\n" * 80_000,
    "hunks": lambda: "@@ -1,9 +1,9 @@\n" * 100_000,
    "fences": lambda: "```diff\n" * 200_000,
    "frames": lambda: "X: TypeError: y\n    at f (a.js:1:2)\n" * 50_000,
    "colons": lambda: ("a: " * 600 + "\n") * 1_000,
    "spaces": lambda: (" " * 1990 + "1:2 error x\n") * 1_000,
    "digits": lambda: ("1" * 1900 + " error: x\n") * 1_000,
    "names": lambda: ("a.b.c.d." * 230 + "Error\n") * 1_000,
    "braces": lambda: "{\n" * 700_000,
    "nested": lambda: "[" * 1_000_000,
    "a deep object": lambda: '{"content":' * 900 + '"error: x"' + "}" * 900,
    "a deep call": lambda: '{"type": "tool_use", "id": "a", "input": ' + "[" * 900 + "]" * 900 + "}",
    "open objects": lambda: '{"a": [\n' * 200_000,
    "cut objects": lambda: '{"a": "b\\nc' + "x" * 300 + "\n" * 5_000,
    "lines of JSON": lambda: '{"level": "info", "msg": "error: none of it"}\n' * 40_000,
    "npm": lambda: "npm ERR! code\n" * 100_000,
    "mocha": lambda: "  1 failing\n" * 100_000,
    "tap": lambda: "not ok 1 - a\n" * 100_000,
    "java": lambda: "java.lang.Error: x\nCaused by: a: b\n" * 50_000,
    "junk": lambda: Random(7).randbytes(400_000).decode("latin-1"),
}


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", HOSTILE)
def test_no_output_takes_long(name: str) -> None:
    assert all(map(is_valid, errors_of(HOSTILE[name]())))
