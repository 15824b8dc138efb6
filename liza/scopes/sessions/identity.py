"""When two calls, or two results, are the same.

Left out is what differs from one run of the same thing to the next: ids, times, durations, addresses, numbers of
attempts, and paths of temporary files. Other counts stay, because they show progress: `3 failed` after
`5 failed` is another result.
"""

import hashlib
import json
import re
from typing import Any

from liza.toolerrors.findings import without_escapes

LONGEST = 1 << 20  # characters of a text that are compared, half of them from its end

_VOLATILE = re.compile(
    r"""(?P<uuid>\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b)
      | (?P<time>\b\d{4}-\d\d-\d\d(?:[T\ ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?
          | \b\d\d:\d\d:\d\d(?:[.,]\d+)?
          | \b1[5-9]\d{8}(?:\d{3})?(?:\.\d+)?\b)
      | (?P<temporary>/(?:private/)?(?:tmp|var/tmp|var/folders|dev/shm)/[\w.@+~%/-]+)
      | (?P<address>\b0x[0-9a-fA-F]{4,}\b)
      | (?P<hash>\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{6,64}\b)
      | (?P<id>\b(?:[a-z]{2,10}[_-])?(?=[A-Za-z]*\d+[A-Za-z]+\d)[A-Za-z0-9]{12,64}\b)
      | (?P<duration>\b(?:\d+h\ ?)?(?:\d+m\ ?)?\d+(?:\.\d+)?\ ?(?:ms|[mµun]s|s|secs?|seconds?|min(?:ute)?s?)\b)
      | (?P<attempt>\b(?:[Aa]ttempt|[Rr]etry|[Tt]ry|[Ss]tep|[Tt]urn|[Rr]ound|[Ii]teration)\ \#?\d+
          (?:\ ?(?:/|of)\ ?\d+)?)
      | (?P<process>\b(?:pid|process|PID)[\ =:]\ ?\d+)
    """,
    re.VERBOSE,
)
# Inputs in which an agent says why it makes a call. A tool that has no other text is one for notes.
_REMARKS = frozenset({"description", "explanation", "thought", "reasoning", "task_progress"})
_BLANKS = re.compile(r"\s+")


def call_identity(tool: str, given: Any) -> str:
    """The digest of a call: its tool, and its input with sorted keys, without what an agent only remarks about it."""
    if isinstance(given, dict) and not _REMARKS.isdisjoint(given):
        rest = {key: value for key, value in given.items() if key not in _REMARKS}
        given = rest if any(isinstance(value, str) and value for value in rest.values()) else given
    text = given if isinstance(given, str) else json.dumps(given, sort_keys=True, ensure_ascii=False, default=str)
    return _digest(f"{tool}\n{without_volatile(text)}")


def result_identity(result: str) -> str:
    """The digest of a result."""
    return _digest(without_volatile(result))


def without_volatile(text: str) -> str:
    """The text without what differs from one run to the next; white space is folded."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}"
    if "\x1b" in text:
        text = without_escapes(text)
    return _BLANKS.sub(" ", _VOLATILE.sub(lambda found: f"<{found.lastgroup}>", text)).strip()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
