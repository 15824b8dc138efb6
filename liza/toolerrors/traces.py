"""Exceptions with their traces: tracebacks of Python, stacks and causes of Java and JavaScript, panics of Go."""

from liza.toolerrors.findings import (
    AROUND,
    LINE,
    ROOT,
    TEST,
    Found,
    Lines,
    Read,
    compiled,
    continued,
    in_arrow,
    in_frames,
    is_frame,
    is_users,
    place,
)

_LONG_TRACE = 400  # lines: Python shortens a recursion to fewer
_TRACEBACK = "Traceback (most recent call last):"
_PYTHON_FRAME = r"\s*(?:[|+] *)*File \"(?P<file>[^\"]+)\", line (?P<line>\d+)"
_ABOVE = r"(?P<file>(?!node:)(?:[A-Za-z]:)?[^\s:]+\.\w+):(?P<line>\d+)$"
_CHAINED = ("The above exception was the direct cause", "During handling of the above exception")
_NAME = r"(?:[A-Za-z_$][\w$]*(?:\.|::|/))*(?:[A-Z][\w$]*)?(?:Error|Exception|Failure|Fault|Rejection|Interrupt|Timeout)"
_EXCEPTION = (
    rf"(?:Uncaught |Unhandled \w+:? |Fatal |Exception in thread \"[^\"]*\" |error: Uncaught (?:\(in promise\) )?)?"
    rf"\[?(?P<name>{_NAME})(?: \[\w+\])?: (?P<message>\S.*)"
)
_ALONE = rf"(?:Exception in thread \"[^\"]*\" )?{_NAME}(?: \[\w+\])?:?$"
_INSIDE = rf"\S.*\b{_NAME}(?: \[\w+\])?: \S"
# One blank before the name: what grep shows of a file has none, or an indent.
_PART = r"[^\s:()\[\]'\"<>|,`*]"  # a character of a path
_PLACED = (
    rf"(?P<file>(?:file://|[A-Za-z]:(?=[\\/]))?{_PART}*[./]{_PART}+):(?P<line>\d+)(?::\d+)?: "
    r"(?:Uncaught |Unhandled )?(?=[A-Za-z_$\[])"
)
_CAUSE = r"\s*(?:Caused by|\[cause\]|Suppressed): (?P<text>\S.*)"
_LEAF = r"[\s|+-]*-{4,} \d+ -{4,}"
_GROUP = "ExceptionGroup"
_NO_MESSAGE_ENDS = (";", ",", "{", "(", "\\", " ... ok", " passed")  # code, or the name of a test that passed
_NOTHING = frozenset(
    ("none", "null", "nil", "false", "0", "undefined", "n/a", "ok", "no error", "no errors", "[]", "{}", '""', "''")
)


def is_message(message: str) -> bool:
    """Whether the text after `Error:` is a message, not a value or a piece of code."""
    bare = message.strip().rstrip(".").lower()
    return bool(bare) and bare not in _NOTHING and not bare.endswith(_NO_MESSAGE_ENDS)


def traceback(lines: Lines, at: int) -> Read:
    """A chain of Python tracebacks; each exception with the innermost frame in the user's code."""
    chain: list[Found] = []
    here: int | None = at
    while here is not None:
        read = _one_traceback(lines, here)
        if read is None:
            break
        found, after = read
        chain.extend(found)
        at = after
        here = _next_in_chain(lines, after)
    if not chain:
        return None
    last = len(chain) - 1
    groups = any(_GROUP in each.text for each in chain)
    return [each if groups else each._replace(rank=ROOT if i == last else AROUND) for i, each in enumerate(chain)], at


def _one_traceback(lines: Lines, at: int) -> tuple[list[Found], int] | None:
    indent = lines[at].find("Exception Group " + _TRACEBACK)
    indent = indent if indent >= 0 else lines[at].find(_TRACEBACK)
    if indent < 0 or at + 1 >= len(lines) or compiled(_PYTHON_FRAME).search(lines[at + 1][:LINE]) is None:
        return None
    file = other = None
    for i in range(at + 1, min(at + _LONG_TRACE, len(lines))):
        frame = compiled(_PYTHON_FRAME).search(lines[i][:LINE]) if 'File "' in lines[i] else None
        if frame:
            file, other = (place(frame), other) if is_users(frame["file"]) else (file, place(frame))
        elif (text := lines[i][indent:]) and not text[0].isspace():
            leaves = _leaves(lines, i + 1, file or other) if _GROUP in text else []
            return [*leaves, Found(AROUND if leaves else ROOT, text, file or other)], i + 1
        elif not lines[i].strip():
            break
    # The rest is missing: the frames alone are an error too.
    return [Found(ROOT, _TRACEBACK, file or other)], at + 2


def _leaves(lines: Lines, start: int, file: str | None) -> list[Found]:
    """The exceptions in a group without a traceback of their own; the others are read as they come."""
    return [
        Found(ROOT, line.strip(" |+-"), file)
        for i, line in enumerate(lines[start : start + _LONG_TRACE], start)
        if "|" in line and compiled(_LEAF).match(lines[i - 1]) and "Traceback" not in line
    ]


def _next_in_chain(lines: Lines, after: int) -> int | None:
    for i in range(after, min(after + 4, len(lines))):
        if any(each in lines[i] for each in _CHAINED):
            return next((j for j in range(i + 1, min(i + 4, len(lines))) if _TRACEBACK in lines[j]), None)
    return None


def exception(lines: Lines, at: int) -> Read:
    """A line like `TypeError: ...`, alone or above a stack, with the causes in that stack."""
    bare = lines[at][:LINE]
    framed = at + 1 < len(lines) and is_frame(lines[at + 1])
    found = compiled(_EXCEPTION).match(bare)
    if found is None and not (framed and (compiled(_INSIDE).match(bare) or compiled(_ALONE).match(bare))):
        return None
    if found and not is_message(found["message"]):
        return None
    texts, places, end = _stack(lines, at)
    file = next((each for each in reversed(places) if each), None) or _near(lines, at) or in_frames(lines, at + 1, end)
    outer = [Found(AROUND, text, where) for text, where in zip(texts[:-1], places[:-1], strict=True)]
    return [Found(ROOT, texts[-1], file), *reversed(outer)], end


def placed(lines: Lines, at: int) -> Read:
    """An exception behind the place that raised it: `src/auth.js:42: TypeError: ...`, `test_a.py:3: AssertionError`."""
    found = compiled(_PLACED).match(lines[at][:LINE])
    if found is None:
        return None
    text = lines[at][found.end() :]
    if compiled(_ALONE).match(text[:LINE].rstrip()):
        return [Found(ROOT, text, place(found))], at + 1
    read = exception([text, *lines[at + 1 : at + _LONG_TRACE]], 0)
    if read is None:
        return None
    errors, after = read
    if len(errors) == 1:  # else the place of its cause is the one to look at
        errors = [errors[0]._replace(file=place(found))]
    return errors, at + after


def _stack(lines: Lines, at: int) -> tuple[list[str], list[str | None], int]:
    """An exception and its causes, each with its place, and the line after all of them."""
    first = _first_frame(lines, at + 1)
    texts, starts, end = [continued(lines, at)], [first or at + 1], first or at + 1
    while end < len(lines) and end - at < _LONG_TRACE:
        line = lines[end]
        cause = compiled(_CAUSE).match(line[:LINE]) if ": " in line else None
        if cause and not line.lstrip().startswith("Suppressed"):
            texts.append(cause["text"])
            starts.append(end + 1)
        elif not (cause or is_frame(line) or line.lstrip().startswith("... ")):
            break
        end += 1
    stops = [*(start - 1 for start in starts[1:]), end]
    places = [in_frames(lines, a, b, libraries=False) if b > a else None for a, b in zip(starts, stops, strict=True)]
    return texts, places, end


def _first_frame(lines: Lines, start: int) -> int | None:
    """The first frame of the stack: a message may have several lines, but another exception has its own stack."""
    for i in range(start, min(start + 12, len(lines))):
        if is_frame(lines[i]):
            return i
        if compiled(_EXCEPTION).match(lines[i][:LINE]) or "Traceback (most" in lines[i]:
            break
    return None


def _near(lines: Lines, at: int) -> str | None:
    """A place near an exception: above it for a syntax error, below for a module that was not found."""
    for line in reversed(lines[max(at - 6, 0) : at]):
        if found := compiled(_PYTHON_FRAME).match(line[:LINE]) or compiled(_ABOVE).match(line[:LINE]):
            return place(found)
    if at + 2 < len(lines) and lines[at + 1] == "Require stack:":
        return lines[at + 2].removeprefix("- ")
    return in_arrow(lines, at + 1)


def panic(lines: Lines, at: int) -> Read:
    """A panic of Go, or another fatal error of its runtime, with its goroutine."""
    text = lines[at]
    if not text.startswith(("panic: ", "fatal error: ")):
        return None
    where = in_frames(lines, at + 1)
    end = at + 2 if at + 1 < len(lines) and lines[at + 1].startswith("\tpanic: ") else at + 1
    return [Found(ROOT, text.removesuffix(" [recovered]"), where)], end


_NPM = r"npm (?:ERR!|error)(?:\s+(?P<text>\S.*))?\s*$"
_NPM_DETAIL = (
    r"(?:code|errno|syscall|path|dest|command|network|signal|cwd|workspace|location|node|argv|file|gyp|[Aa]|For|To|Did|Log|"
    r"Lifecycle|This)\b|/|[A-Z]:"
)
_NPM_AROUND = r"(?:code (?:\d+|ELIFECYCLE)$|Lifecycle script|Test failed|command failed)"


def npm(lines: Lines, at: int) -> Read:
    """All lines of one error of npm: the first that is a message, or else the code."""
    texts: list[str] = []
    end = at
    while end < len(lines) and (found := compiled(_NPM).match(lines[end][:LINE])):
        texts.append(found["text"] or "")
        end += 1
    if not texts:
        return None
    around = any(compiled(_NPM_AROUND).match(text) for text in texts)
    main = next((i for i, text in enumerate(texts) if text and not compiled(_NPM_DETAIL).match(text)), None)
    if main is None or around:
        main = next((i for i, text in enumerate(texts) if text.startswith(("code ", "Lifecycle"))), main)
    return ([Found(AROUND if around else ROOT, lines[at + main].strip())] if main is not None else []), end


def unittest(lines: Lines, at: int) -> Read:
    """`FAIL: test_x (m.C.test_x)` above a rule and a traceback."""
    rule = next((i for i in range(at + 1, min(at + 4, len(lines))) if lines[i].startswith("-" * 20)), None)
    if rule is None:
        return None
    found = compiled(r"(?:FAIL|ERROR): (?P<test>\S+ \(.+\)|\S+)(?: \[.*\]| \(.*\))?$").match(lines[at][:LINE])
    if found is None:
        return None
    start = next((i for i in range(rule + 1, min(rule + 6, len(lines))) if "Traceback (most" in lines[i]), None)
    read = traceback(lines, start) if start is not None else None
    if read is None:
        return [Found(TEST, lines[at], None, found["test"])], rule + 1
    last = read[0][-1]
    return [Found(TEST, f"{lines[at]} - {last.text}", last.file, found["test"])], read[1]
