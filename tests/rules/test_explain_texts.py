"""`compare` is correct about two texts: that they are together, or what keeps them apart."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from liza.rules.compare import compare, similarity
from liza.rules.explain import Explanation, explain
from liza.rules.fields import grouper_of
from liza.rules.normalize import same_word, template
from liza.rules.same import same_key
from liza.rules.similar import similar_groups
from liza.rules.syntax_tree import Grouping
from tests.rules.boards import NOW, snapshot
from tests.rules.explained import FIELD, RETRIES, SAME, SIMILAR, explained, one_rule, retry

_FRAMES = (
    "cannot {} the nested row", "the {} went away during {}", "HTTP {} from the gateway", "{}: connection to {} lost",
    "{}", "{} {}", "disk {} is full at line {}", "exit code {} after {} tries", "no {} in sight today",
    "lost * {} here",
)  # fmt: skip
_PARTS = (
    "serialize", "serializer", "serialise", "serialised", "retrieve", "retreive", "retrieves", "drop", "dropped",
    "drops", "opened", "closed", "alpha", "beta", "gamma", "delta", "omega", "getUser", "setOrder", "DATABASE_URL",
    "API_TOKEN", "404", "500", "ValueError", "KeyError", "E0308", "ECONNREFUSED", "7", "30 s", "/tmp/x", "task-12",
    "", "the", "*", "'quoted'", "ab",
)  # fmt: skip
SENTENCES = st.builds(str.format, st.sampled_from(_FRAMES), st.sampled_from(_PARTS), st.sampled_from(_PARTS))
ONE_PLACE = st.builds("cannot {} the nested row".format, st.sampled_from(_PARTS))
TEXTS = st.one_of(SENTENCES, ONE_PLACE, st.text("ab 1/:*'$\x00é", max_size=10))
PAIRS = st.one_of(
    st.tuples(TEXTS, TEXTS),
    st.tuples(ONE_PLACE, ONE_PLACE),
    st.builds(
        lambda frame, one, other: (frame.format(one, "x"), frame.format(other, "x")),
        st.sampled_from(_FRAMES),
        st.sampled_from(_PARTS),
        st.sampled_from(_PARTS),
    ),
    TEXTS.map(lambda text: (text, f" {text.upper()}.")),
)
CROWD = st.one_of(st.lists(ONE_PLACE, max_size=10), st.lists(TEXTS, max_size=10))


@given(PAIRS, CROWD)
def test_compare_agrees_with_similar_groups(pair: tuple[str, str], among: list[str]) -> None:
    one, other = pair
    groups = similar_groups({one, other, *among}, 0.7)
    assert compare(one, other, SIMILAR, among).together is (groups[one] == groups[other])


@example(("the link drops on boot", "the link dropped on boot"), [], 0.95)
@given(PAIRS, CROWD, st.sampled_from([0.3, 0.8, 0.81, 0.95, 1.0]))
def test_compare_agrees_at_any_similarity(pair: tuple[str, str], among: list[str], least: float) -> None:
    one, other = pair
    groups = similar_groups({one, other, *among}, least)
    found = compare(one, other, Grouping(FIELD, least), among)
    assert found.together is (groups[one] == groups[other])
    assert found.why


@given(PAIRS, CROWD, st.sampled_from([0.3, 0.7, 1.0]))
def test_compare_agrees_letter_by_letter(pair: tuple[str, str], among: list[str], least: float) -> None:
    one, other = pair
    grouping = Grouping(FIELD, least, letters=True)
    grouper = grouper_of(grouping)
    numbers = dict(zip([one, other, *among], grouper.add_all([one, other, *among]), strict=True))
    found = compare(one, other, grouping, among)
    assert found.together is (grouper.group(numbers[one]) == grouper.group(numbers[other]))
    assert f"{least:g} is enough" in found.why or "grouped through other texts" in found.why


@given(PAIRS)
def test_same_grouping_compares_by_same_key(pair: tuple[str, str]) -> None:
    one, other = pair
    assert compare(one, other, SAME).together is (same_key(one) == same_key(other))


@given(PAIRS, CROWD)
def test_compare_is_symmetric(pair: tuple[str, str], among: list[str]) -> None:
    one, other = pair
    there, back = compare(one, other, SIMILAR, among), compare(other, one, SIMILAR, among)
    assert (there.one, there.other, there.together) == (back.other, back.one, back.together)
    assert there.similarity == pytest.approx(back.similarity)
    assert 0 <= there.similarity <= 1
    assert similarity(one, one, SIMILAR) == 1


@given(PAIRS, CROWD)
def test_compare_reason_is_consistent_with_templates(pair: tuple[str, str], among: list[str]) -> None:
    one, other = pair
    found = compare(one, other, SIMILAR, among)
    (words, identity, _), (other_words, other_identity, _) = template(one), template(other)
    identities_differ = not found.together and identity != other_identity
    assert ("that identify the error differ" in found.why) is identities_differ
    if "both are" in found.why:
        assert (words, identity) == (other_words, other_identity)
    if "they are one word" in found.why:
        pairs = [(a, b) for a, b in zip(words, other_words, strict=True) if a != b]
        assert pairs
        assert all(same_word(a, b) for a, b in pairs)
    if lengths := re.fullmatch(r"(\d+) words? against (\d+), .*", found.why):
        assert [int(lengths[1]), int(lengths[2])] == [len(words), len(other_words)]
        assert len(words) != len(other_words)
    if counted := re.search(r"(\d+) words differ", found.why):
        assert int(counted[1]) == sum(a != b for a, b in zip(words, other_words, strict=True)) > 1
    if seen := re.search(r"(\d+) variants? at this position, (\d+) would", found.why):
        assert 2 <= int(seen[1]) < int(seen[2])
    if "is a wildcard" in found.why:
        assert found.together
        assert not compare(one, other, SIMILAR).together


@given(PAIRS, CROWD)
def test_more_texts_never_separate_a_pair(pair: tuple[str, str], among: list[str]) -> None:
    one, other = pair
    alone = compare(one, other, SIMILAR)
    assert compare(one, other, SIMILAR, among).together or not alone.together


WHY: dict[str, tuple[str, str, bool, str]] = {
    "only volatile parts differ": ("timeout after 30 s", "timeout after 5 s", True, "both are: timeout"),
    "another status": ("HTTP 502 from the API", "HTTP 503 from the API", False, "502 / 503"),
    "another class": ("ValueError: bad input", "KeyError: bad input", False, "valueerror / keyerror"),
    "a code and none": ("error E0308 in the crate", "error in the crate", False, "e0308 / none"),
    "an ending": ("cannot serialize the row", "cannot serializer the row", True, "both are: not serialize row"),
    "a typo": ("cannot retrieve the row", "cannot retreive the row", True, "retrieve / retreive"),
    "a word more": ("lost the lease today", "lost the lease again today", False, "3 words against 4"),
    "two words": ("valve opened at dawn", "valve closed at dusk", False, "2 words differ"),
    "one word": ("disk alpha went away", "disk beta went away", False, "alpha / beta (2 variants"),
    "one value": ("login failed user=ann on it", "login failed user=bob on it", False, "ann / bob (2 variants"),
    "one word of two": ("disk alpha", "disk beta", False, "a text this short has too few other words"),
}  # fmt: skip


@pytest.mark.parametrize("name", WHY)
def test_compare_reason_names_the_difference(name: str) -> None:
    one, other, together, why = WHY[name]
    found = compare(one, other, SIMILAR)
    assert (found.together, why in found.why) == (together, True), found.why


def test_two_code_names_are_not_called_same_word() -> None:
    found = compare("cannot find getUser in here", "cannot find setOrder in here", SIMILAR)
    assert found.together
    assert "one word" not in found.why


def test_five_words_in_one_place_join_texts() -> None:
    around = [f"disk {word} went away" for word in ("gamma", "delta", "omega")]
    pair = ("disk alpha went away", "disk beta went away")
    assert "2 variants at this position, 5 would" in compare(*pair, SIMILAR).why
    assert "4 variants at this position, 5 would" in compare(*pair, SIMILAR, around[:2]).why
    found = compare(*pair, SIMILAR, around)
    assert found.together
    assert "is a wildcard" in found.why


def test_chain_of_word_forms_is_not_a_wildcard() -> None:
    one, between, other = (f"cannot {word} row now" for word in ("serialize", "serialise", "serialised"))
    found = compare(one, other, SIMILAR, [between])
    assert found.together
    assert "anything" not in found.why


def test_reason_shows_words_as_written() -> None:
    found = compare("valve closed during boot", "valve opened during boot", SIMILAR)
    assert not found.together
    assert "closed / opened" in found.why


def test_reason_at_high_similarity() -> None:
    found = compare("the link drops on boot", "the link dropped on boot", Grouping(FIELD, 0.9))
    assert not found.together
    assert "drops / dropped" in found.why


def test_huge_text_is_compared_by_its_beginning() -> None:
    found = compare("timeout " + "x" * (1 << 20), "timeout " + "y" * (1 << 20), SIMILAR)
    assert found.together
    assert len(found.why) < 1000


def test_texts_of_only_masked_parts_are_explained() -> None:
    found = compare("/tmp/a", "/tmp/ab", SIMILAR)
    assert not found.together
    assert "/tmp/a / /tmp/ab" in found.why
    assert compare("/tmp/a", " /TMP/a", SIMILAR).together


# --- near misses ----------------------------------------------------------------------------------------------------


def near(found: Explanation) -> list[tuple[set[str], str]]:
    return [({each.one, each.other}, each.why) for each in found.near]


def test_near_misses_name_what_separates_them() -> None:
    texts = (
        "HTTP 502 from the API",
        "HTTP 503 from the API",
        "disk alpha went away",
        "disk beta went away",
        "quite else",
    )
    found = explained(RETRIES, *map(retry, texts))
    (first, why), (second, reason) = near(found)
    assert (first, second) == (set(texts[:2]), set(texts[2:4]))
    assert "502" in why
    assert "alpha" in reason
    assert [each.similarity for each in found.near] == sorted((each.similarity for each in found.near), reverse=True)


@given(st.lists(TEXTS.filter(str.strip), max_size=10), st.sampled_from([None, 0.7, 0.9]))
def test_near_misses_are_in_different_groups(texts: list[str], least: float | None) -> None:
    given_ = [retry(text) for text in texts]
    number = f", {least}" if least else ""
    found = explained(f"count(type=retry_loop, similar(error_pattern{number})) >= 3", *given_)
    grouper = grouper_of(Grouping(FIELD, least or 0.7, bool(least)))
    numbers = dict(zip(texts, grouper.add_all(texts), strict=True))
    groups = {text: grouper.group(number) for text, number in numbers.items()}
    assert len(found.groups) == len(set(groups.values()))
    for each in found.near:
        assert not each.together
        assert groups[each.one] != groups[each.other]
        assert each.similarity >= 0.5


def test_equal_texts_of_other_tasks_do_not_hide_near_misses() -> None:
    condition = "count(type=retry_loop, similar(error_pattern), per(task)) >= 2"
    given_ = [retry(f"HTTP {code} from it", task=task) for code in (502, 503) for task in ("task-1", "task-2")]
    assert [texts for texts, _ in near(explained(condition, *given_))] == [{"HTTP 502 from it", "HTTP 503 from it"}]


@pytest.mark.parametrize(
    "condition", ["count(type=retry_loop, same(error_pattern)) >= 3", "count(type=retry_loop) >= 3"]
)
def test_rule_without_similar_has_no_near_misses(condition: str) -> None:
    assert explained(condition, retry("HTTP 502 from it"), retry("HTTP 503 from it")).near == ()


def test_exact_matching_has_no_near_misses() -> None:
    exact = one_rule(RETRIES)._replace(exact=True)
    found = explain(exact, "own", snapshot(retry("timeout after 3 s"), retry("timeout after 4 s")), NOW)
    assert (len(found.groups), found.near) == (2, ())
