"""The words, numbers, texts and signs of a condition, each with its place."""

import re
from typing import NamedTuple


class Token(NamedTuple):
    kind: str
    text: str
    offset: int


_TOKENS = re.compile(
    r"""(?P<space>\s+)
      | (?P<duration>\d+(?:\.\d+)?(?:ms|[smhd])(?![\w.]))
      | (?P<number>-?\d+(?:\.\d+)?(?![\w]))
      | (?P<string>"(?:[^"\\]|\\.)*"|'[^']*')
      | (?P<param>\$[A-Za-z_]\w*)
      | (?P<word>[A-Za-z_][\w\-/]*(?:\.[\w\-/]+)*)
      | (?P<operator>>=|<=|!=|=~|==|[-+=<>()\[\],|])
      | (?P<odd>["'].*|\d[\w.]*|.)
    """,
    re.VERBOSE | re.DOTALL,
)


def tokens(text: str) -> list[Token]:
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKENS.match(text, at)
        assert match is not None  # the last alternative takes any character
        if match.lastgroup != "space":
            found.append(Token(str(match.lastgroup), "=" if match[0] == "==" else match[0], at))
        at = match.end()
    found.append(Token("end", "", len(text)))
    return found
