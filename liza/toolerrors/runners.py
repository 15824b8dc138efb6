"""Failing tests as their runners print them: the test and the failure.

Every reader takes the lines and the number of one that may begin a failure, and returns the errors and the next line to
read; None if it does not apply. A reader is entered in `readers.py`.
"""

import re

from liza.toolerrors.findings import LINE, ROOT, TEST, Found, Lines, Read, compiled, continued, in_frames
from liza.toolerrors.traces import exception

_FAR = 300  # lines between a test's name and its error, at most
_NEAR = 60
_DEEP = 12  # suites in each other


def _first(lines: Lines, start: int, stop: int) -> tuple[str, int]:
    """The first line that is not empty, and its number."""
    for i in range(start, min(stop, len(lines))):
        if lines[i].strip():
            return continued(lines, i), i
    return "", start


def _until(lines: Lines, start: int, pattern: str) -> int:
    """The number of the next line that fits, not too far away."""
    stop = min(start + _NEAR, len(lines))
    return next((i for i in range(start, stop) if compiled(pattern).match(lines[i][:LINE])), stop)


# --- JavaScript -------------------------------------------------------------------------------------------------------


def jest(lines: Lines, at: int) -> Read:
    """`● suite › name` and the message below; `● Console` is the output of a test."""
    found = compiled(r"\s*● (?P<test>\S.*)$").match(lines[at][:LINE])
    if found is None or found["test"] in ("Console", "Console:"):
        return None
    message, here = _first(lines, at + 1, at + 6)
    stop = _until(lines, at + 1, r"\s*● |Test Suites: ")
    where = in_frames(lines, here, stop)
    test = found["test"] if found["test"] != "Test suite failed to run" else None  # then it is the file that fails
    return [Found(TEST, f"{lines[at].strip()} - {message}", where, test)], stop


def vitest(lines: Lines, at: int) -> Read:
    """` FAIL  src/a.test.ts > suite > name` and the message below."""
    header = r" ?(?:FAIL|×)  (?:\|\w+\| )?(?P<test>\S+ (?:>|\[) .+)$"
    found = compiled(header).match(lines[at][:LINE])
    if found is None:
        return None
    start = _until(lines, at + 1, rf"(?!{header})")  # several tests may have one error
    message, here = _first(lines, start, start + 4)
    where = in_frames(lines, here, _until(lines, here + 1, rf"⎯|{header}"))
    headers = ((line, compiled(header).match(line[:LINE])) for line in lines[at:start])
    return [Found(TEST, f"{line.strip()} - {message}", where, each["test"]) for line, each in headers if each], here + 1


def mocha(lines: Lines, at: int) -> Read:
    """The list below `2 failing`: a number, the test over several lines with a colon at its end, the message."""
    if not compiled(r"\s+[1-9]\d* failing$").match(lines[at]):
        return None
    failures: list[Found] = []
    number = r"\s{1,4}\d+\) (?P<test>\S.*)$"
    here = _until(lines, at + 1, number)
    while here < len(lines) and (found := compiled(number).match(lines[here][:LINE])):
        test, here = found["test"], here + 1
        for line in lines[here : here + _DEEP]:
            if test.endswith(":") or not line.strip():
                break
            test, here = f"{test} {line.strip()}", here + 1
        message, here = _first(lines, here, here + 4)
        stop = _until(lines, here + 1, number)
        failures.append(Found(TEST, f"{test.rstrip(':')} - {message}", in_frames(lines, here, stop), test.rstrip(":")))
        here = stop
    return (failures, here) if failures else None


def tap(lines: Lines, at: int) -> Read:
    """`not ok 1 - name` and the YAML below, of node --test and others."""
    found = compiled(r"\s*not ok \d+ (?:- )?(?P<test>\S.*?)(?P<todo> # (?:TODO|SKIP).*)?$").match(lines[at][:LINE])
    if found is None or found["todo"]:
        return None
    stop = _until(lines, at + 1, r"\s*\.\.\.$|\s*(?:not )?ok \d")
    message = where = None
    for i in range(at + 1, stop):
        key, _, value = lines[i].strip().partition(": ")
        if key == "error" and message is None:
            message = _first(lines, i + 1, stop)[0] if value.startswith("|") else value.strip("'\"")
        elif key == "location":
            where = compiled(r"'?(?P<file>[^\s:']+):(?P<line>\d+)").match(value)
        elif key == "failureType" and "subtestsFailed" in value:
            return [], stop
    file = f"{where['file']}:{where['line']}" if where else None
    return [Found(TEST, f"{lines[at].strip()} - {message}" if message else lines[at], file, found["test"])], stop


# --- Go, Rust, Java ---------------------------------------------------------------------------------------------------

_GO_MESSAGE = r"\s+(?P<file>\S+\.go):(?P<line>\d+): ?(?P<text>.*)$"


def go_test(lines: Lines, at: int) -> Read:
    """`--- FAIL: TestX (0.00s)` and its first message, before it with -v; not for a parent of subtests."""
    found = compiled(r"\s*--- FAIL: (?P<test>\S+)(?: \([\d.]+s\))?$").match(lines[at][:LINE])
    if found is None:
        return None
    below = lines[at + 1] if at + 1 < len(lines) else ""
    if below.lstrip().startswith("--- ") and f" {found['test']}/" in below:
        return [], at + 1
    if below.startswith("panic: "):
        text = f"{lines[at].strip()} - {below.removesuffix(' [recovered]')}"
        return [Found(TEST, text, in_frames(lines, at + 2), found["test"])], at + 3
    message = compiled(_GO_MESSAGE).match(below[:LINE]) or _message_before(lines, at, found["test"])
    if message is None:
        return [Found(TEST, lines[at].strip(), None, found["test"])], at + 1
    text = message["text"] or _testify_error(lines, at + 2)
    return [Found(TEST, f"{lines[at].strip()} - {text}", f"{message['file']}:{message['line']}", found["test"])], at + 2


def _message_before(lines: Lines, at: int, test: str) -> re.Match[str] | None:
    message = None
    for i in range(at - 1, max(at - _FAR, -1), -1):
        if lines[i].startswith(("=== RUN", "=== CONT", "=== NAME")):
            if lines[i].split()[-1] == test:
                return message
            message = None
        else:
            message = compiled(_GO_MESSAGE).match(lines[i][:LINE]) or message
    return None


def _testify_error(lines: Lines, start: int) -> str:
    for line in lines[start : start + 8]:
        key, _, text = line.strip().partition(":")
        if key == "Error":
            return text.strip()
    return ""


def rust_panic(lines: Lines, at: int) -> Read:
    """`thread 'tests::adds' panicked at src/lib.rs:10:5:` and its message, often on the next line."""
    found = compiled(
        r"thread '(?P<test>[^']*)'(?: \(\d+\))? panicked at (?:'.*', )?(?P<file>[^\s:]+):(?P<line>\d+):\d+(?::.*)?$"
    ).match(lines[at][:LINE])
    if found is None:
        return None
    text = continued(lines, at)
    test = found["test"] if "::" in found["test"] or _is_captured(lines, at, found["test"]) else None
    return [Found(TEST if test else ROOT, text, f"{found['file']}:{found['line']}", test)], at + 1


def _is_captured(lines: Lines, at: int, test: str) -> bool:
    return any(line == f"---- {test} stdout ----" for line in lines[max(at - 4, 0) : at])


def surefire(lines: Lines, at: int) -> Read:
    """Maven's `[ERROR] shop.CartTest.addsUp -- Time elapsed: 0.1 s <<< FAILURE!` above an exception."""
    found = compiled(r"\[ERROR\] (?!Tests run)(?P<test>\S+) .*<<< (?:FAILURE|ERROR)!$").match(lines[at][:LINE])
    return _with_exception(lines, at, found["test"]) if found else None


def gradle(lines: Lines, at: int) -> Read:
    """Gradle's `CartTest > addsUp() FAILED` above an exception."""
    found = compiled(r"(?P<test>[\w.$]+ > \S.*?) FAILED$").match(lines[at][:LINE])
    return _with_exception(lines, at, found["test"]) if found else None


def _with_exception(lines: Lines, at: int, test: str) -> Read:
    below = [line.strip() if i == 0 else line for i, line in enumerate(lines[at + 1 : at + _NEAR])]
    read = exception(below, 0) if below else None
    if read is None:
        return [Found(TEST, test, None, test)], at + 1
    (first, *causes), length = read
    return [Found(TEST, f"{test} - {first.text}", first.file, test), *causes], at + 1 + length
