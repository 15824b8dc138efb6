"""Failing tests as pytest prints them: verdicts, and their details elsewhere in the output."""

from liza.toolerrors.findings import DETAIL, LINE, ROOT, TEST, Found, Lines, Read, compiled, place
from liza.toolerrors.traces import exception

_FAR = 300  # lines between the heading of a test and its error, at most
_HEADER = r"_{3,} (?:ERROR (?:at \w+ of|collecting) )?(?P<test>\S.*?) _{3,}$"
_BELOW = r"(?P<file>[^\s:]+):(?P<line>\d+)(?:$|: ?(?!in |note\b|warning\b)(?:$|\S))"
_ABOVE = r"(?P<file>[^\s:]+):(?P<line>\d+): in \S"
_VERDICT = (
    r"(?:\[gw\d+\] \[ *\d+%\] )?"
    r"(?P<text>(?:FAILED|ERROR|SUBFAIL\w*)(?:\([^)]*\))? (?P<test>[^\s:]+\.py(?:::.+?)?)(?: - .*)?)\s*$"
)
_BEHIND = r"(?P<text>(?P<test>[^\s:]+\.py::\S.*?) (?:FAILED|ERROR))(?: +\[ *\d+%\])?$"


def verdict(lines: Lines, at: int) -> Read:
    """A line of the summary, `FAILED t.py::x - assert 1 == 2`, or of the progress that -v shows."""
    found = compiled(_VERDICT).match(lines[at][:LINE]) or compiled(_BEHIND).match(lines[at][:LINE])
    return ([Found(TEST, found["text"], None, found["test"])], at + 1) if found else None


def detail(lines: Lines, at: int) -> Read:
    """The lines that begin with `E`, with the place that is printed below, or above in short styles."""
    if not lines[at].startswith("E  ") or lines[at].endswith("%]"):
        return None
    end = next((i for i in range(at, len(lines)) if not lines[i].startswith("E  ")), len(lines))
    stop = next((i for i in range(end, min(end + 6, len(lines))) if lines[i].startswith(("___", "==="))), end + 6)
    below = (compiled(_BELOW).match(line[:LINE]) for line in lines[end:stop] if ":" in line)
    above = (compiled(_ABOVE).match(line[:LINE]) for line in reversed(lines[max(at - 6, 0) : at]) if ": in " in line)
    where = next((each for each in above if each), None) or next((each for each in below if each), None)
    if where is None:  # `pytest | grep ^E` shows these lines alone
        alone = exception([lines[at][1:].strip()], 0)
        return [each._replace(rank=DETAIL) for each in alone[0]] if alone else [], end
    header = next((line for line in reversed(lines[max(at - _FAR, 0) : at]) if line.startswith("___")), "")
    named = compiled(_HEADER).match(header[:LINE])
    return [Found(DETAIL, lines[at][1:].strip(), place(where), named["test"] if named else None)], end


def with_details(found: list[Found]) -> list[Found]:
    """Complete the verdicts with places and reasons from their details, and drop these: each error is listed once."""
    places = {each.file for each in found if each.rank == DETAIL}  # below `E   KeyError: 'a'`: `cart.py:5: KeyError`
    found = [each for each in found if each.rank != ROOT or each.test or each.file not in places]
    verdicts: dict[str, Found] = {}
    for each in found:
        if each.rank == TEST and each.test and ".py" in each.test:
            known = verdicts.get(each.test)
            if known is None or (" - " in each.text and " - " not in known.text):
                verdicts[each.test] = each
    if not verdicts:
        return [each._replace(rank=TEST) if each.rank == DETAIL else each for each in found]
    details = {each.test: each for each in found if each.rank == DETAIL}  # the last is the one that was not caught
    nameless = [each for each in found if each.rank in (DETAIL, ROOT) and not each.test]
    completed = [_completed(each, details, nameless) for each in verdicts.values()]
    reasons = [each.text.partition(" - ")[2] for each in verdicts.values()]
    repeated = {each for each in nameless if any(_is_reason(each, reason) for reason in reasons)}
    return completed + [
        each for each in found if each.rank != DETAIL and each not in repeated and each.test not in verdicts
    ]


def _completed(verdict: Found, details: dict[str | None, Found], nameless: list[Found]) -> Found:
    path, _, name = (verdict.test or "").partition("::")
    head, _, reason = verdict.text.partition(" - ")
    known = details.get(name.replace("::", ".") or path) or next((e for e in nameless if _is_reason(e, reason)), None)
    if known is None:
        return verdict._replace(file=path)
    cut = not reason or (reason.endswith("...") and known.text.startswith(reason[:-3]))
    return verdict._replace(text=f"{head} - {known.text}" if cut else verdict.text, file=known.file or path)


def _is_reason(known: Found, reason: str) -> bool:
    """Whether an exception or an unnamed detail is the reason of a verdict, which may be cut."""
    reason = reason.removesuffix("...")
    return bool(reason) and (known.text.startswith(reason) or known.text.endswith(f": {reason}"))
