"""What several texts have in common, word by word, and where they differ."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

GAP = "…"
_MOST = 40  # words of a text that are compared
_ARTICLES = frozenset(("", "a", "an", "the"))  # a difference that is none
_LEAST = 0.3  # of the shortest text: less in common says nothing


class Shared(NamedTuple):
    """The common words with a gap wherever the texts differ, and for each text what it has in the gaps.

    The words are empty if the texts have too little in common.
    """

    text: str
    varying: Mapping[str, str]


def shared_words(texts: Sequence[str]) -> Shared:
    """The words that all texts have, in order."""
    listed = {text: text.split()[:_MOST] for text in dict.fromkeys(texts)}
    common = next(iter(listed.values()), [])
    for words in listed.values():
        if _places(common, words) is None:
            common = _longest_common(common, words)
    gaps = {text: _gaps(common, words) for text, words in listed.items()}
    letters = sum(len(word) for word in common if any(map(str.isalnum, word)))
    if letters < _LEAST * min(map(len, listed), default=0):
        return Shared("", dict.fromkeys(listed, ""))
    shown, parts = [], []
    for place in range(len(common) + 1):
        form, own = _gap([each[place] for each in gaps.values()])
        shown += [form] if form else []
        shown += common[place : place + 1]
        parts.append(own)
    varying = [" / ".join(filter(None, own)) for own in zip(*parts, strict=True)]
    return Shared(" ".join(shown), dict(zip(gaps, varying, strict=True)))


def _gap(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """A place where texts differ, as it is shown, and what each has there: of `app.py:7:` and `app.py:9:` a number."""
    if _ARTICLES.issuperset(word.lower() for word in words):
        return "", [""] * len(words)
    if not all(word and " " not in word for word in words):
        return GAP, words
    start = _common_start(words)
    end = _common_start([word[start:][::-1] for word in words])
    first = words[0]
    form = first[:start] + GAP + first[len(first) - end :]
    return form, [word[start : len(word) - end] for word in words]


def _common_start(words: Sequence[str]) -> int:
    """How many characters all begin with, without a part of a word or number."""
    low, high = min(words), max(words)
    same = next((at for at, pair in enumerate(zip(low, high, strict=False)) if pair[0] != pair[1]), len(low))
    while same and low[same - 1].isalnum():
        same -= 1
    return same


def _places(common: Sequence[str], words: Sequence[str]) -> list[int] | None:
    """Where the common words are in a text; None if it lacks one of them."""
    places, at = [], 0
    for word in common:
        try:
            at = words.index(word, at) + 1
        except ValueError:
            return None
        places.append(at - 1)
    return places


def _gaps(common: Sequence[str], words: Sequence[str]) -> list[str]:
    """What a text has before, between and behind the common words."""
    places = _places(common, words) or []
    starts, ends = [0, *(place + 1 for place in places)], [*places, len(words)]
    return [" ".join(words[start:end]) for start, end in zip(starts, ends, strict=True)]


def _longest_common(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """The longest sequence of words that both have in this order."""
    rows = [[0] * (len(other) + 1)]
    for word in one:
        above, row = rows[-1], [0]
        for at, its in enumerate(other):
            row.append(above[at] + 1 if word == its else max(above[at + 1], row[at]))
        rows.append(row)
    found, i, j = [], len(one), len(other)
    while i and j:
        if one[i - 1] == other[j - 1]:
            found.append(one[i - 1])
            i, j = i - 1, j - 1
        elif rows[i - 1][j] >= rows[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return found[::-1]
