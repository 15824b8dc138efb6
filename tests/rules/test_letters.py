"""`similar(field, 0.7)` is the protocol's second version: Levenshtein similarity of at least 0.7 on the raw text."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.rules.letters import LONGEST, LetterGrouper
from tests.rules.explained import explained, retry


def groups(condition: str, *texts: str) -> list[set[str]]:
    found = explained(condition, *map(retry, texts))
    return sorted(({text for text, _ in group.texts} for group in found.groups), key=min)


def by_letters(least: float, *texts: str) -> list[set[str]]:
    return groups(f"count(type=retry_loop, similar(error_pattern, {least})) >= 3", *texts)


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("abcdefghij", "abcdefgxyz", True),  # three of ten letters: exactly 0.7
        ("abcdefghij", "abcdefwxyz", False),
        ("timeout", "connection timeout", False),
        ("HTTP 404 from the API", "HTTP 500 from the API", True),  # no number says which error it is
        ("cannot open /tmp/a8f3kz", "cannot open /srv/other/place", False),  # and none is left out
        ("Error in it", "eRROR IN IT", False),  # as it is written
        ("a", "a", True),
    ],
)
def test_number_compares_raw_letters(one: str, other: str, together: bool) -> None:
    assert (len(by_letters(0.7, one, other)) == 1) is together


def test_similar_without_number_compares_words() -> None:
    texts = ("HTTP 404 from the API", "HTTP 500 from the API")
    assert len(groups("count(type=retry_loop, similar(error_pattern)) >= 3", *texts)) == 2


def test_text_between_two_others_joins_them() -> None:
    texts = ("aaaaaaaaaa", "aaaaaaabbb", "aaaabbbbbb")
    assert len(by_letters(0.7, texts[0], texts[2])) == 2
    assert by_letters(0.7, *texts) == [set(texts)]


def distance(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        above, row = row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
    return row[-1]


def linked(texts: list[str], least: float) -> set[frozenset[str]]:
    """Single linkage, in the plainest way there is."""
    found = {text: {text} for text in texts}
    for one, other in combinations(texts, 2):
        if 1 - distance(one, other) / max(len(one), len(other)) >= least:
            found[one] |= found[other]
            for text in found[one]:
                found[text] = found[one]
    return {frozenset(group) for group in found.values()}


@given(
    st.lists(st.text("ab1", min_size=1, max_size=10), unique=True, max_size=8), st.sampled_from([0.25, 0.5, 0.75, 1])
)
def test_groups_are_those_of_single_linkage(texts: list[str], least: float) -> None:
    grouper = LetterGrouper(least)
    numbers = dict(zip(texts, grouper.add_all(texts), strict=True))
    together: dict[int, set[str]] = {}
    for text, number in numbers.items():
        together.setdefault(grouper.group(number), set()).add(text)
    assert {frozenset(group) for group in together.values()} == linked(texts, least)


def test_very_long_texts_are_compared_for_equality_only() -> None:
    grouper = LetterGrouper(0.7)
    one, other, same = grouper.add_all(["x" * LONGEST + "1", "x" * LONGEST + "2", "x" * LONGEST + "1"])
    assert grouper.group(one) == grouper.group(same) != grouper.group(other)
    assert grouper.coarse == 2
