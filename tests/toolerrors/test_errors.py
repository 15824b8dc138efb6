"""The errors found in outputs of many tools, and line by line where a single line decides."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

import liza
from liza.toolerrors.errors import LONGEST, MOST, Error, errors_of, primary_error
from tests.toolerrors.samples import SAMPLES


def test_errors_of_every_sample() -> None:
    found = {name: errors_of(sample.text) for name, sample in SAMPLES.items()}
    assert {name: each for name, each in found.items() if each != SAMPLES[name].errors} == {}


def test_there_are_many_samples_of_both_kinds() -> None:
    quiet = [name for name in SAMPLES if name.startswith("ok-")]
    assert len(SAMPLES) >= 250
    assert len(quiet) >= 30
    assert [name for name in quiet if SAMPLES[name].errors] == []
    assert [name for name in SAMPLES if name not in quiet and not SAMPLES[name].errors] == []


SOURCES = sorted(
    os.path.join(folder, name)
    for folder, _, names in os.walk(os.path.dirname(liza.__file__))
    for name in names
    if name.endswith((".py", ".yaml"))
)


def as_tools_print(path: str) -> Iterator[str]:
    """A file unchanged, with line numbers, and as grep prints it."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    yield text
    yield "".join(f"{number:6}\t{line}\n" for number, line in enumerate(text.splitlines(), 1))
    yield "".join(f"{path}:{number}:{line}\n" for number, line in enumerate(text.splitlines(), 1))


def test_source_code_contains_no_errors() -> None:
    assert [(path, found) for path in SOURCES for text in as_tools_print(path) if (found := errors_of(text))] == []
    assert len(SOURCES) > 100


def signatures(output: str) -> list[str]:
    return [error.signature for error in errors_of(output)]


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"result","is_error": false, "result":"done"}',
        '  "is_error": false,',
        "added error handling",
        "Added error handling: it works now.",
        "0 errors",
        "no errors found",
        "errors: 0",
        "Errors: none",
        "Error handling improved",
        "Error: none",
        "error: null,",
        "Failures: 0",
        "+TypeError: x is not a function",
        "-npm ERR! code E404",
        "> TypeError: x is not a function",
        "- TypeError: x is not a function",
        'The test failed with "TypeError: x is not a function".',
        "It was TypeError: x is not a function, now fixed.",
        'raise ValueError("Error: x")',
        "class FooError(Exception): pass",
        "} catch (Error e) {",
        "except TypeError: pass",
        "    ValueError: If the number is negative.",
        "throw new Error('x');",
        "src/a.py:3:    raise ValueError('error: x')",
        'src/a.go:3:\treturn errors.New("error: x")',
        "src/a.c-17-error: label",
        "tests/test_errors.py::test_error PASSED",
        "ok 3 - throws Error: when empty",
        "--- PASS: TestError (0.00s)",
        "2024-05-06 07:08:09 INFO Error: count is 0",
        "[INFO] error: nothing",
        'level=info msg="error: nothing"',
        '{"level":"info","msg":"TypeError: x"}',
        "main.c:3:5: warning: unused variable 'error'",
        "shop.py:3: note: error is a name",
        "Finished with 0 failed, 12 passed in 3.1s",
        "the server is abandoned, not killed",
        "Exit code 0",
        "exit status 0",
        "npm warn deprecated error@1.0.0",
        "    at TypeError.toString (a.js:1:2)",
    ],
)
def test_lines_that_are_not_errors(line: str) -> None:
    assert errors_of(line) == ()
    assert errors_of(f"Building\n{line}\nAll is well.\n") == ()


def test_error_shown_in_a_diff_does_not_count() -> None:
    hunk = "@@ -1,2 +1,2 @@\n src/a.ts(3,5): error TS2322: old\n-a\n+b\n"
    fenced = "```diff\n src/a.ts(3,5): error TS2322: old\n-a\n+b\n```\n"
    for diff in (hunk, fenced):
        assert errors_of(diff) == ()
        assert signatures(f"{diff}src/a.ts(3,5): error TS2322: new\n") == ["src/a.ts(3,5): error TS2322: new"]


@pytest.mark.parametrize(
    "line",
    [
        "FAILED t.py::x",
        "FAILED t.py::x - assert 1 == 2",
        "error[E0308]: mismatched types",
        "src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.",
        "src/a.ts:3:5 - error TS2322: Type 'string' is not assignable to type 'number'.",
        "npm ERR! code ERESOLVE",
        "npm error code ERESOLVE",
        "panic: runtime error: index out of range [3] with length 3",
        "./x.go:3:5: undefined: y",
        "--- FAIL: TestX (0.00s)",
        "Foo.java:3: error: cannot find symbol",
        'Exception in thread "main" java.lang.IllegalStateException: no',
        "make: *** [Makefile:3: all] Error 2",
        "bash: line 3: foo: command not found",
        "zsh: command not found: foo",
        "cp: cannot stat 'a': No such file or directory",
        "Segmentation fault (core dumped)",
        "Killed",
        "fatal: not a git repository (or any of the parent directories): .git",
        "TypeError: undefined is not a function",
        "Uncaught TypeError: undefined is not a function",
        "Error: Cannot find module 'express'",
        "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x'",
        "a.py:3:5: E501 line too long (121 > 100 characters)",
        "test result: FAILED. 0 passed; 1 failed",
        "ERROR: Could not find a version that satisfies the requirement leftpad",
        "curl: (22) The requested URL returned error: 404",
        'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
        "2 failed, 3 passed in 0.12s",
    ],
)
def test_lines_that_are_errors_by_themselves(line: str) -> None:
    assert signatures(line) == [line]
    assert signatures(f"Building\n{line}\nStopped.\n") == [line]


@pytest.mark.parametrize(
    ("output", "signature"),
    [
        ("\x1b[31m\x1b[1mTypeError\x1b[0m: x is \x1b[4mno\x1b[24m function", "TypeError: x is no function"),
        ("2024-05-06T07:08:09.123Z TypeError: no function", "TypeError: no function"),
        ("[07:08:09] TypeError: no function", "TypeError: no function"),
        ("web-1  | TypeError: no function", "TypeError: no function"),
        ("#7 1.482 TypeError: no function", "TypeError: no function"),
        ("##[error]TypeError: no function", "TypeError: no function"),
        ("(node:17) TypeError: no function", "TypeError: no function"),
        ("TypeError: a\tb", "TypeError: a b"),
        ("TypeError: a\x00\x07b \u202egnol", "TypeError: ab gnol"),
        ("::error file=src/a.js,line=3,col=5::no function", "no function"),
        ("downloading 10%\rdownloading 100%\rTypeError: no function\r\n", "TypeError: no function"),
    ],
)
def test_text_before_an_error_is_not_part_of_it(output: str, signature: str) -> None:
    assert signatures(output) == [signature]


@pytest.mark.slow
def test_signature_is_cut_and_long_output_read_to_its_end() -> None:
    assert signatures("TypeError: " + "x" * 9_000) == ["TypeError: " + "x" * (LONGEST - 11)]
    assert signatures("fine\n" * 2_000_000 + "TypeError: no function\n") == ["TypeError: no function"]
    assert signatures("TypeError: no function\n" + "fine\n" * 2_000_000) == ["TypeError: no function"]


def test_repeated_error_counts_once_and_their_number_is_bounded() -> None:
    assert signatures("error: no\n" * 50_000) == ["error: no"]
    assert len(errors_of("".join(f"error: no {n}\n" for n in range(10_000)))) == MOST


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("src/auth.js:42: TypeError: x is no function", Error("TypeError: x is no function", "src/auth.js:42")),
        ("src/auth.js:42:13: Uncaught TypeError: x", Error("TypeError: x", "src/auth.js:42")),
        ("file:///x/a.mjs:3: SyntaxError: Unexpected token", Error("SyntaxError: Unexpected token", "/x/a.mjs:3")),
        (r"C:\x\a.py:10: app.errors.ConfigError: boom", Error("app.errors.ConfigError: boom", r"C:\x\a.py:10")),
        ("bin/run:3: KeyboardInterrupt", Error("KeyboardInterrupt", "bin/run:3")),
    ],
)
def test_exception_behind_its_place_keeps_the_file(line: str, error: Error) -> None:
    assert errors_of(line) == (error,)
    assert primary_error(line, None, "ok") == error


def test_error_given_in_own_words_keeps_its_file() -> None:
    assert primary_error("src/a.tmpl:3:7: unbalanced block", None, "ok") == Error(
        "src/a.tmpl:3:7: unbalanced block", "src/a.tmpl:3"
    )
    assert primary_error("12:30: nothing works", None, "ok") == Error("12:30: nothing works")


# --- the primary error ------------------------------------------------------------------------------------------------


def test_compiler_error_precedes_make_and_npm() -> None:
    output = "npm ERR! code ELIFECYCLE\nmake: *** [Makefile:3: all] Error 2\na.c:3:5: error: no such thing\n"
    assert signatures(output)[0] == "a.c:3:5: error: no such thing"


def test_failure_count_is_reported_only_without_other_errors() -> None:
    assert signatures("FAILED (failures=1)\n") == ["FAILED (failures=1)"]
    assert signatures("1 failed, 2 passed in 0.1s\nTypeError: no\n") == ["TypeError: no"]


def test_failing_test_precedes_what_tests_print() -> None:
    output = "Error: printed by a test\nTypeError: printed, too\n--- FAIL: TestX (0.00s)\n    x_test.go:3: no\n"
    assert signatures(output)[0] == "--- FAIL: TestX (0.00s) - no"


def test_api_error_precedes_everything() -> None:
    output = "FAILED t.py::x - assert 1\nTypeError: no\nAPI Error: 529 overloaded\n"
    assert signatures(output)[0] == "API Error: 529 overloaded"


def test_chained_exceptions_give_the_last_or_the_root_cause() -> None:
    assert SAMPLES["python-chained"].errors[0].signature == "config.ConfigError: database_url is not set"
    assert SAMPLES["java-cause"].errors[0].signature.startswith("java.io.FileNotFoundException: ")


def test_error_ignored_by_make_does_not_count() -> None:
    assert (
        signatures("rm: cannot remove 'a': No such file or directory\nmake: [Makefile:2: all] Error 1 (ignored)\n")
        == []
    )


def test_tests_failing_with_the_same_error_are_listed_separately() -> None:
    output = " FAIL  a.test.ts > one\n FAIL  a.test.ts > two\nTypeError: no\n ❯ a.ts:3:5\n"
    assert errors_of(output) == (
        Error("FAIL  a.test.ts > one - TypeError: no", "a.ts:3", "a.test.ts > one"),
        Error("FAIL  a.test.ts > two - TypeError: no", "a.ts:3", "a.test.ts > two"),
    )


# --- streams of agents ------------------------------------------------------------------------------------------------


def _run(number: int, command: str, answer: str, bad: bool = False) -> str:
    call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": answer, "is_error": bad}
    objects = (
        {"type": "assistant", "message": {"role": "assistant", "content": [call]}},
        {"type": "user", "message": {"role": "user", "content": [result]}},
    )
    return "".join(f"{json.dumps(each)}\n" for each in objects)


def test_last_run_of_a_command_decides() -> None:
    fails, passes = _run(1, "make", "a.c:3:5: error: no\n", bad=True), _run(2, "make", "ok\n")
    assert signatures(fails) == ["a.c:3:5: error: no"]
    assert signatures(fails + passes) == []
    assert signatures(passes + fails) == ["a.c:3:5: error: no"]


def test_last_command_comes_first() -> None:
    output = _run(1, "make", "a.c:3:5: error: one\n", bad=True) + _run(
        2, "tsc", "b.ts(3,5): error TS1: two\n", bad=True
    )
    assert signatures(output) == ["b.ts(3,5): error TS1: two", "a.c:3:5: error: one"]


def test_agents_own_words_count_only_without_commands() -> None:
    words = json.dumps({"type": "result", "is_error": False, "result": "The last run:\nTypeError: no\n"}) + "\n"
    assert signatures(words) == ["TypeError: no"]
    assert signatures(_run(1, "make", "ok\n") + words) == []


def test_texts_of_an_object_are_read_in_order() -> None:
    texts = {"stdout": "error: one", "stderr": "error: two", "output": "error: three", "log": "error: four"}
    assert signatures(json.dumps(texts)) == ["error: one", "error: two", "error: three", "error: four"]


@pytest.mark.parametrize("cut", [1, 3, 17])
def test_truncated_line_of_json_is_read_as_far_as_it_goes(cut: int) -> None:
    line = _run(1, "make", "fine\n" * 100 + "a.c:3:5: error: no\n" + "fine\n" * 100)
    assert signatures(line[: -cut - 1]) == ["a.c:3:5: error: no"]


def test_error_at_the_start_of_a_truncated_text() -> None:
    assert signatures('{"stdout": "a.c:3:5: error: no\\nfine\\nfi') == ["a.c:3:5: error: no"]


@pytest.mark.parametrize("lines", [200_000, 2_000_000])
@pytest.mark.slow
def test_megabytes_of_json_on_one_line(lines: int) -> None:
    line = json.dumps({"stdout": "fine\n" * lines + "a.c:3:5: error: no\n"})
    assert errors_of(line) == (Error("a.c:3:5: error: no", "a.c:3"),)


@pytest.mark.parametrize(
    "value",
    [
        {"error": None}, {"error": ""}, {"error": False}, {"errors": []}, {"error": {}}, {"is_error": False},
        {"err": {}}, {"success": True, "message": "0 errors"}, {"errorCount": 3}, [], {}, [[]], {"error": 0},
        {"level": "info", "error": "TypeError: x"}, {"type": "error"}, {"message": 3},
        {"status": "passed", "fullName": "Error: x", "failureMessages": []},
    ],
)  # fmt: skip
def test_json_values_without_an_error(value: object) -> None:
    assert errors_of(json.dumps(value)) == ()
    assert errors_of(json.dumps(value, indent=2)) == ()


# --- costs ------------------------------------------------------------------------------------------------------------


def _imported(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_modules_are_imported_only_when_needed() -> None:
    interface = "from liza.toolerrors.errors import errors_of"
    loaded = {name for name in _imported(interface) if name.startswith("liza.toolerrors")}
    assert loaded == {"liza.toolerrors", "liza.toolerrors.errors"}
    plain = _imported(f"{interface}\nerrors_of('TypeError: x')")
    assert "liza.toolerrors.plain_text" in plain
    assert not plain & {"json", "liza.toolerrors.streams", "subprocess", "inspect", "rapidfuzz"}


def test_patterns_are_compiled_only_for_lines_that_may_match() -> None:
    count = "from liza.toolerrors.errors import errors_of\nfrom liza.toolerrors import findings\n"
    count += "errors_of({!r})\nprint(findings.compiled.cache_info().currsize)"
    numbers = []
    for output in ("all is well\n" * 10, "TypeError: undefined is not a function"):
        done = subprocess.run([sys.executable, "-c", count.format(output)], capture_output=True, text=True, check=True)
        numbers.append(int(done.stdout))
    assert numbers[0] == 0
    assert 0 < numbers[1] <= 12
