"""How well real error texts are kept apart and brought together, on a list grouped by hand."""

import os
from collections.abc import Iterable, Sequence
from itertools import chain, combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.rules.similar import Grouper, similar_groups
from liza.store.parser import load

with open(os.path.join(os.path.dirname(__file__), "error_texts.yaml"), encoding="utf-8") as file:
    EVERYTHING: dict[str, list[str]] = load(file.read())
GROUPS = {name: texts for name, texts in EVERYTHING.items() if " / " not in name}
TRUTH = {text: name for name, texts in GROUPS.items() for text in texts}
FOUND = similar_groups(TRUTH, 0.7)

# The values now, rounded down a little: worse fails, better may raise them.
# Precision counts for more: a wrong join can trip the breaker, a wrong split only delays it.
PRECISION = 0.99
RECALL = 0.81


def test_corpus_is_large_and_groups_are_disjoint() -> None:
    assert len(GROUPS) >= 60
    assert len(TRUTH) >= 250
    assert len(TRUTH) == sum(map(len, GROUPS.values()))


def _pairs(groups: dict[str, str] | dict[str, int]) -> set[tuple[str, str]]:
    return {(one, other) for one, other in combinations(TRUTH, 2) if groups[one] == groups[other]}


def test_precision_of_similar_groups() -> None:
    found = _pairs(FOUND)
    assert len(found & _pairs(TRUTH)) / len(found) >= PRECISION


def test_recall_of_similar_groups() -> None:
    true = _pairs(TRUTH)
    assert len(true & _pairs(FOUND)) / len(true) >= RECALL


# For each tool two errors that look alike, in two texts each; of two tools the second was kept aside.
_NAMED = [name for name in EVERYTHING if name not in GROUPS]
TOOLS = list(zip(_NAMED[::2], _NAMED[1::2], strict=True))
RIGHT_PAIRS, RIGHT_ASIDE = 0.94, 0.84


def _right_pairs(tools: Sequence[tuple[str, str]]) -> list[bool]:
    """Two texts of one error are together by themselves, two of two errors are apart beside all the others."""
    texts = [text for name, some in EVERYTHING.items() if name in GROUPS or (name in chain(*tools)) for text in some]
    beside_all = similar_groups(texts, 0.7)
    right = []
    for names in tools:
        right += [len(set(similar_groups(EVERYTHING[name], 0.7).values())) == 1 for name in names]
        pairs = zip(*(EVERYTHING[name] for name in names), strict=True)
        right += [beside_all[one] != beside_all[other] for one, other in pairs]
    return right


def test_pairs_of_each_tool_are_complete() -> None:
    assert all(len(EVERYTHING[name]) == 2 for name in _NAMED)
    assert all(one.split(" / ")[0] == other.split(" / ")[0] for one, other in TOOLS)
    assert 4 * len(TOOLS) >= 300


@pytest.mark.parametrize(("tools", "share"), [(TOOLS[::2], RIGHT_PAIRS), (TOOLS[1::2], RIGHT_ASIDE)])
def test_most_pairs_are_right(tools: Sequence[tuple[str, str]], share: float) -> None:
    right = _right_pairs(tools)
    assert sum(right) / len(right) >= share


def test_no_pair_of_two_errors_is_together() -> None:
    everything = similar_groups([text for texts in EVERYTHING.values() for text in texts], 0.7)
    for names in TOOLS:
        for one, other in zip(*(EVERYTHING[name] for name in names), strict=True):
            assert everything[one] != everything[other]


# Groups of the list that look alike. They stay apart even beside all the other texts, which could only join them.
LOOK_ALIKES = (
    ("rustc mismatched types", "rustc use after move"),
    ("rustc use after move", "rustc borrow of moved value"),
    ("rustc mutable borrow", "rustc immutable borrow"),
    ("tsc assignment", "tsc argument"),
    ("tsc missing property", "tsc missing module"),
    ("go unused import", "go unused variable"),
    ("row count assertion", "total assertion"),
    ("jest undefined property", "jest null property"),
    ("go test panic", "go nil pointer"),
    ("cargo test panic", "cargo test equality"),
    ("http 404", "http 500"),
    ("http 404", "http 503"),
    ("http 500", "http 503"),
    ("rate limit of tokens", "rate limit of requests"),
    ("read timeout", "write timeout"),
    ("dns", "dns, for now"),
    ("tls expired", "tls authority"),
    ("port 80", "port 443"),
    ("postgres duplicate", "postgres foreign key"),
    ("postgres relation", "postgres column"),
    ("oracle table", "oracle logon"),
    ("sqlite column", "sqlite table"),
    ("docker step, exit 1", "docker step, exit 137"),
    ("k8s scheduling, cpu", "k8s scheduling, memory"),
    ("k8s readiness", "k8s liveness"),
    ("exit code 1", "exit code 137"),
    ("no such file", "permission denied"),
    ("disk full", "too many files"),
    ("heap of java", "metaspace of java"),
    ("mypy assignment", "mypy return"),
    ("mypy annotation", "mypy return annotation"),
    ("eslint unused", "eslint unused value"),
    ("eslint unused", "eslint undefined"),
    ("ruff unused import", "ruff unused variable"),
    ("refresh token rejected", "refresh token accepted"),
    ("valid rows dropped", "invalid rows dropped"),
    ("valid rows dropped", "invalid rows kept"),
    ("file left open", "file left closed"),
    ("flaky in ci", "flaky locally"),
    ("json parsing", "json property name"),
    ("invalid rows dropped", "invalid rows kept"),
    ("make error 1", "make error 2"),
)


@pytest.mark.parametrize(("one", "other"), LOOK_ALIKES)
def test_look_alike_errors_stay_apart(one: str, other: str) -> None:
    assert [pair for pair in product(GROUPS[one], GROUPS[other]) if FOUND[pair[0]] == FOUND[pair[1]]] == []


# Groups whose texts differ in what masking should ignore: names, places, numbers, endings, a typo.
WHOLE = (
    "rustc use after move",
    "rustc mutable borrow",
    "pytest fixture",
    "none attribute",
    "jest undefined property",
    "jest snapshot",
    "go test panic",
    "go data race",
    "cargo test panic",
    "junit equality",
    "http 404",
    "rate limit",
    "rate limit of tokens",
    "read timeout",
    "tls expired",
    "address in use",
    "postgres duplicate",
    "postgres relation",
    "postgres deadlock",
    "mysql table",
    "mongo selection",
    "npm missing package",
    "npm missing script",
    "cargo versions",
    "docker daemon",
    "k8s scheduling, cpu",
    "index lock",
    "permission denied",
    "too many files",
    "mypy annotation",
    "eslint unused",
    "ruff unused import",
    "ruff line length",
    "refresh token rejected",
    "file left open",
    "migration order",
    "spec contradicts",
    "review loop",
    "merge blocked",
    "missing secret",
    "json parsing",
    "context window",
    "lock of the board",
)


@pytest.mark.parametrize("name", WHOLE)
def test_same_error_with_other_details_is_together(name: str) -> None:
    assert len({FOUND[text] for text in GROUPS[name]}) == 1


def _together(texts: Iterable[str]) -> set[frozenset[str]]:
    """The pairs that are together when the texts are added in this order."""
    grouper = Grouper()
    numbers = {text: grouper.add(text) for text in texts}
    groups = {text: grouper.group(number) for text, number in numbers.items()}
    return {frozenset(pair) for pair in combinations(groups, 2) if groups[pair[0]] == groups[pair[1]]}


# Neighbours in the list are the most likely to be joined.
_NEIGHBOURS = st.integers(0, len(TRUTH) - 25).map(lambda start: list(TRUTH)[start : start + 25])


@given(_NEIGHBOURS.flatmap(st.permutations))
def test_grouping_is_independent_of_order(texts: list[str]) -> None:
    assert _together(texts) == _together(sorted(texts))


@given(_NEIGHBOURS.flatmap(st.permutations), st.integers(0, 25))
def test_added_errors_never_split_groups(texts: list[str], known: int) -> None:
    assert _together(texts[:known]) <= _together(texts)
