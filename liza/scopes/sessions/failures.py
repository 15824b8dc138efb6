"""What a call that failed says went wrong, in one line that calls with the same trouble have in common."""

import re

from liza.clients.event import Outcome
from liza.clients.secrets import mask

SEARCHED = 1 << 20  # characters of a result in which errors are looked for
LONGEST = 500  # characters of an error
_HEAD, _TOP = 20_000, 1_000  # characters in which the message is looked for, and in which a result says that it failed
_EXIT_CODE = re.compile(r"\AExit code \d+\s*")  # the client's line, not an error that commands have in common
_HEADING = re.compile(r"[^,;()`'\"/]{0,100}:|\W*|(?i:\W*(?:error|failed|failure|exception)\W*)")
_WARNING = re.compile(r"(?i)\bwarning\b|\bdeprecated\b|^traceback ")
# Perhaps after a label: `read_file: Error: no such file`.
_FAILS = re.compile(
    r"(?i)\W{0,5}(?:[^\W\d][\w ']{0,60}: ?){0,3}"
    r"(?:(?:error|failed|failure|fatal|exception)(?:\W*$|:|\W*\d|(?<=failed) to\b)"
    r"|(?:invalid|cannot|can't|could not|couldn't|unable to|no such) )"
)


def error_of(result: str, outcome: Outcome) -> str | None:
    """The error that a failed call shows, or one whose outcome the client does not give."""
    if outcome is Outcome.OK or not result:
        return None
    from liza.toolerrors.errors import errors_of

    head = result if len(result) <= SEARCHED else f"{result[: SEARCHED // 2]}\n{result[-SEARCHED // 2 :]}"
    head = _EXIT_CODE.sub("", head)
    found = errors_of(head)
    if found and not found[0].signature.endswith(":"):
        return mask(found[0].signature)
    if outcome is Outcome.UNKNOWN and not says_failed(head):
        return None
    message = _message(head)
    return mask(message[:LONGEST]) if message is not None else None


def says_failed(result: str) -> bool:
    """Whether a result begins like the message of a failure."""
    return any(map(_FAILS.match, _lines(result, _TOP)[:3]))


def _message(text: str) -> str | None:
    """The first line that says something: no heading or warning, which results have in common, and no bare "Error"."""
    lines = [line for line in _lines(text, _HEAD) if not _HEADING.fullmatch(line)]
    return next((line for line in lines if not _WARNING.search(line)), lines[0] if lines else None)


def _lines(text: str, most: int) -> list[str]:
    return [line for line in map(str.strip, text[:most].splitlines()) if line]
