"""What is said of a rule is true: of its groups, of what does not count, of texts that are together or apart."""

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from liza.model import Match, Snapshot
from liza.rules.acknowledged import evidence_text
from liza.rules.evaluate import RuleSet, evaluate
from liza.rules.explain import Explanation, alike, compare, explain
from liza.rules.matching import similar_groups
from liza.rules.sameness import same_key
from liza.rules.tree import Field, Grouping
from liza.rules.windows import stream
from liza.rules.wording import same_word, template
from tests.rules.boards import NOW, Fields, anomaly, rule, rules, snapshot, written

RETRIES = "count(type=retry_loop, similar(error_pattern)) >= 3"
FIELD = Field((("error_pattern",),))
SIMILAR = Grouping(FIELD, 0.7)
SAME = Grouping(FIELD, None)


def retry(text: Any, at: int = 0, task: str = "task-1") -> Fields:
    return anomaly("retry_loop", at, task, error_pattern=text)


def explained(condition: str | Fields, *anomalies: Any, **sections: Any) -> Explanation:
    return explain(rules(condition), "own", snapshot(*anomalies, **sections), NOW)


def reasons(found: Explanation) -> dict[int | str, str]:
    """The place of each record that does not count, and why not."""
    return {each.record.key: each.why for each in found.uncounted}


def evidence(found: Explanation) -> list[list[int | str]]:
    return [[record.key for record in group.outcome.evidence] for group in found.groups]


# --- two texts ------------------------------------------------------------------------------------------------------

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
SAID = st.builds(str.format, st.sampled_from(_FRAMES), st.sampled_from(_PARTS), st.sampled_from(_PARTS))
ONE_PLACE = st.builds("cannot {} the nested row".format, st.sampled_from(_PARTS))
TEXTS = st.one_of(SAID, ONE_PLACE, st.text("ab 1/:*'$\x00é", max_size=10))
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
def test_two_texts_are_said_to_be_together_where_they_are(pair: tuple[str, str], among: list[str]) -> None:
    one, other = pair
    groups = similar_groups({one, other, *among}, 0.7)
    assert compare(one, other, SIMILAR, among).together is (groups[one] == groups[other])


@example(("the link drops on boot", "the link dropped on boot"), [], 0.95)
@given(PAIRS, CROWD, st.sampled_from([0.3, 0.8, 0.81, 0.95, 1.0]))
def test_so_they_are_at_any_similarity(pair: tuple[str, str], among: list[str], similarity: float) -> None:
    one, other = pair
    groups = similar_groups({one, other, *among}, similarity)
    found = compare(one, other, Grouping(FIELD, similarity), among)
    assert found.together is (groups[one] == groups[other])
    assert found.why


@given(PAIRS)
def test_by_same_they_are_together_if_they_are_the_same(pair: tuple[str, str]) -> None:
    one, other = pair
    assert compare(one, other, SAME).together is (same_key(one) == same_key(other))


@given(PAIRS, CROWD)
def test_it_does_not_matter_which_of_two_texts_comes_first(pair: tuple[str, str], among: list[str]) -> None:
    one, other = pair
    there, back = compare(one, other, SIMILAR, among), compare(other, one, SIMILAR, among)
    assert (there.one, there.other, there.together) == (back.other, back.one, back.together)
    assert there.similarity == pytest.approx(back.similarity)
    assert 0 <= there.similarity <= 1
    assert alike(one, one) == 1


@given(PAIRS, CROWD)
def test_the_reason_given_is_one(pair: tuple[str, str], among: list[str]) -> None:
    one, other = pair
    found = compare(one, other, SIMILAR, among)
    (words, identity), (other_words, other_identity) = template(one), template(other)
    identities_differ = not found.together and identity != other_identity
    assert ("which error it is differ" in found.why) is identities_differ
    if "both say" in found.why:
        assert (words, identity) == (other_words, other_identity)
    if "is the same word" in found.why:
        pairs = [(a, b) for a, b in zip(words, other_words, strict=True) if a != b]
        assert pairs
        assert all(same_word(a, b) for a, b in pairs)
    if lengths := re.fullmatch(r"they have (\d+) and (\d+) words that count", found.why):
        assert [int(lengths[1]), int(lengths[2])] == [len(words), len(other_words)]
        assert len(words) != len(other_words)
    if counted := re.search(r"(\d+) words differ", found.why):
        assert int(counted[1]) == sum(a != b for a, b in zip(words, other_words, strict=True)) > 1
    if seen := re.search(r"(\d+) different words are seen there, (\d+) would", found.why):
        assert 2 <= int(seen[1]) < int(seen[2])
    if "may be anything" in found.why:
        assert found.together
        assert not compare(one, other, SIMILAR).together


@given(PAIRS, CROWD)
def test_more_texts_around_never_part_two(pair: tuple[str, str], among: list[str]) -> None:
    one, other = pair
    alone = compare(one, other, SIMILAR)
    assert compare(one, other, SIMILAR, among).together or not alone.together


WHY: dict[str, tuple[str, str, bool, str]] = {
    "only what varies differs": ("timeout after 30 s", "timeout after 5 s", True, "both say: timeout"),
    "another status": ("HTTP 502 from the API", "HTTP 503 from the API", False, "502 / 503"),
    "another class": ("ValueError: bad input", "KeyError: bad input", False, "valueerror / keyerror"),
    "a code and none": ("error E0308 in the crate", "error in the crate", False, "e0308 / none"),
    "an ending": ("cannot serialize the row", "cannot serializer the row", True, "serialize / serializer"),
    "a slip": ("cannot retrieve the row", "cannot retreive the row", True, "retrieve / retreive"),
    "a word more": ("lost the lease today", "lost the lease again today", False, "3 and 4 words"),
    "two words": ("valve opened at dawn", "valve closed at dusk", False, "2 words differ"),
    "one word": ("disk alpha went away", "disk beta went away", False, "alpha / beta; 2 different words"),
    "one word of two": ("disk alpha", "disk beta", False, "a text this short says nothing else"),
}  # fmt: skip


@pytest.mark.parametrize("name", WHY)
def test_the_reason_says_what_differs(name: str) -> None:
    one, other, together, why = WHY[name]
    found = compare(one, other, SIMILAR)
    assert (found.together, why in found.why) == (together, True), found.why


def test_two_names_out_of_code_are_not_called_the_same_word() -> None:
    found = compare("cannot find getUser in here", "cannot find setOrder in here", SIMILAR)
    assert found.together
    assert "same word" not in found.why


def test_five_words_at_a_place_put_together_what_two_do_not() -> None:
    around = [f"disk {word} went away" for word in ("gamma", "delta", "omega")]
    pair = ("disk alpha went away", "disk beta went away")
    assert "2 different words are seen there, 5 would" in compare(*pair, SIMILAR).why
    assert "4 different words are seen there, 5 would" in compare(*pair, SIMILAR, around[:2]).why
    found = compare(*pair, SIMILAR, around)
    assert found.together
    assert "may be anything" in found.why


def test_a_chain_of_forms_of_one_word_is_not_said_to_be_a_place_that_holds_anything() -> None:
    one, between, other = (f"cannot {word} row now" for word in ("serialize", "serialise", "serialised"))
    found = compare(one, other, SIMILAR, [between])
    assert found.together
    assert "anything" not in found.why


def test_words_are_named_as_they_were_written() -> None:
    found = compare("valve closed during boot", "valve opened during boot", SIMILAR)
    assert not found.together
    assert "closed / opened" in found.why


def test_texts_that_only_a_high_similarity_parts_are_explained() -> None:
    found = compare("the link drops on boot", "the link dropped on boot", Grouping(FIELD, 0.9))
    assert not found.together
    assert "drops / dropped" in found.why


def test_a_huge_text_is_compared_by_its_beginning() -> None:
    found = compare("timeout " + "x" * (1 << 20), "timeout " + "y" * (1 << 20), SIMILAR)
    assert found.together
    assert len(found.why) < 1000


# --- groups ---------------------------------------------------------------------------------------------------------

CONDITIONS = [
    "count() >= 1", "count(type=retry_loop) >= 3", "count(type=retry_loop) < 2", RETRIES,
    "count(type=retry_loop, similar(error_pattern)) >= 2", "count(type=retry_loop, same(error_pattern)) >= 2",
    "count(type IN [retry_loop, workaround], similar(error_pattern|what)) >= 2", "count(per(task)) >= 2",
    "count(type=retry_loop, similar(error_pattern), per(task)) >= 2", "count(anomalies where exists(count)) >= 1",
    "count(type != retry_loop, task =~ '1$') >= 1", "count(age(timestamp) > 5h) >= 2",
]  # fmt: skip
SAYINGS = st.sampled_from(
    ["timeout after 3 s", "Timeout after 4 s.", "HTTP 502 from it", "HTTP 503 from it", "valve opened now", "x"]
)
RECORDS = st.lists(
    st.builds(
        lambda kind, at, task, details: anomaly(kind, at, task, **details),
        st.sampled_from(["retry_loop", "workaround", "odd"]),
        st.integers(0, 300),
        st.sampled_from(["task-1", "task-2"]),
        st.fixed_dictionaries({}, optional={"error_pattern": SAYINGS, "what": SAYINGS, "count": st.integers(0, 3)}),
    ),
    max_size=12,
)
WINDOWS = st.sampled_from(["all", "4h", "last 3", "current_sprint"])


def one_rule(condition: str, **fields: Any) -> RuleSet:
    return rules(rule(condition, **fields))


def everything_is_accounted_for(found: Explanation, given_: Snapshot, name: str = "anomalies") -> bool:
    counted = {record.key for group in found.groups for record in group.outcome.evidence}
    left_out = [each.record.key for each in found.uncounted]
    return counted.isdisjoint(left_out) and counted | set(left_out) == {r.key for r in stream(given_, name)}


@given(st.sampled_from(CONDITIONS), RECORDS, WINDOWS)
def test_every_record_is_in_a_group_or_is_said_not_to_count(condition: str, given_: list[Fields], window: str) -> None:
    board = snapshot(*given_)
    found = explain(one_rule(condition, window=window), "own", board, NOW)
    assert everything_is_accounted_for(found, board)
    in_groups = sum(len(group.outcome.evidence) for group in found.groups)
    assert in_groups + len(found.uncounted) == len(given_)
    assert all(group.outcome.value == len(group.outcome.evidence) for group in found.groups)


ODD = {
    "blank": "  ", "empty": "", "an empty list": [], "a list of nothing": [None], "a mapping": {"a": 1},
    "a list of mappings": [{"a": 1}], "a blank in a list": [" "],
}  # fmt: skip


@pytest.mark.parametrize("grouping", ["similar(error_pattern)", "same(error_pattern)"])
@pytest.mark.parametrize("value", ODD.values(), ids=ODD.keys())
def test_a_record_with_nothing_to_compare_is_said_not_to_count(value: Any, grouping: str) -> None:
    board = snapshot(retry(value), retry("timeout after 3 s"))
    found = explain(one_rule(f"count(type=retry_loop, {grouping}) >= 3"), "own", board, NOW)
    assert evidence(found) == [[1]]
    assert everything_is_accounted_for(found, board)


def test_a_group_with_too_few_different_values_does_not_vanish() -> None:
    board = snapshot(*[retry("timeout after 3 s", at) for at in range(3)])
    condition = "count(type=retry_loop, similar(error_pattern), distinct(task) >= 2) >= 3"
    found = explain(one_rule(condition), "own", board, NOW)
    assert everything_is_accounted_for(found, board)


def test_what_is_outside_the_fullest_span_is_said_not_to_count() -> None:
    board = snapshot(retry("x", 0), retry("x", 5), retry("x", 90))
    found = explain(one_rule("count(type=retry_loop, within(10m)) >= 3"), "own", board, NOW)
    assert evidence(found) == [[0, 1]]
    assert everything_is_accounted_for(found, board)


def said_to_match(found: Explanation) -> list[tuple[str | None, list[int | str]]]:
    outcomes = [group.outcome for group in found.groups if group.outcome.satisfied]
    return [(each.key, [record.key for record in each.evidence]) for each in outcomes]


def told(matches: tuple[Match, ...]) -> list[tuple[str | None, list[int | str]]]:
    return [(each.key, [record.key for record in each.evidence]) for each in matches]


@given(st.sampled_from(CONDITIONS), RECORDS, WINDOWS, st.sampled_from(["act", "observe"]), st.booleans())
def test_a_group_is_said_to_match_where_the_judgement_has_a_match(
    condition: str, given_: list[Fields], window: str, mode: str, exact: bool
) -> None:
    ruleset = one_rule(condition, window=window, mode=mode)._replace(exact=exact)
    found = explain(ruleset, "own", snapshot(*given_), NOW)
    verdict = evaluate(ruleset, snapshot(*given_), NOW)
    assert said_to_match(found) == told(verdict.matches if mode == "act" else verdict.observed)
    assert found.verdict == verdict


def resolved(*anomalies: Fields) -> Fields:
    """A breaker that remembers a trip of the rule with these anomalies, and its resolution."""
    text = evidence_text(snapshot(*anomalies).records("anomalies"))
    trip = {"timestamp": "2025-01-18T13:00:00Z", "pattern": "own", "result": "TRIGGERED", "evidence": {"own": text}}
    return {"status": "OK", "history": [{**trip, "resolved_at": "2025-01-18T14:00:00Z"}]}


@pytest.mark.parametrize("rearm", ["fresh", "any_new"])
@pytest.mark.parametrize("new", [0, 1, 3])
def test_what_a_resolution_has_dealt_with_is_not_said_to_match(rearm: str, new: int) -> None:
    old = [retry("timeout after 3 s", at) for at in range(3)]
    given_ = [*old, *(retry("timeout after 3 s", 200 + at) for at in range(new))]
    board = snapshot(*given_, circuit_breaker=resolved(*old))
    ruleset = one_rule(RETRIES, rearm=rearm)
    found = explain(ruleset, "own", board, NOW)
    assert said_to_match(found) == told(evaluate(ruleset, board, NOW).matches)


@given(RECORDS)
def test_the_texts_of_a_group_are_those_that_its_records_have(given_: list[Fields]) -> None:
    for group in explained(RETRIES, *given_).groups:
        texts = [record.get("error_pattern") for record in group.outcome.evidence]
        assert dict(group.texts) == {text: texts.count(text) for text in texts}
        assert list(group.texts) == sorted(group.texts, key=lambda pair: (-pair[1], pair[0]))
        assert group.texts[0][0] == group.outcome.key


def test_a_record_with_several_texts_lends_each_group_only_the_one_that_put_it_there() -> None:
    found = explained(RETRIES, retry(["disk is full", "no such table"]), retry(["disk is full", ["a lock was held"]]))
    texts = {group.outcome.key: dict(group.texts) for group in found.groups}
    assert texts == {
        "disk is full": {"disk is full": 2},
        "no such table": {"no such table": 1},
        "a lock was held": {"a lock was held": 1},
    }


# --- what does not count --------------------------------------------------------------------------------------------


def test_a_record_that_does_not_count_is_told_why() -> None:
    old = retry("timeout after 3 s", 1)
    given_ = [
        {**retry("timeout after 3 s"), "timestamp": "2025-01-17T12:00:00Z"}, old, retry(None), anomaly("workaround"),
        retry("timeout after 3 s", 240),
    ]  # fmt: skip
    board = snapshot(*given_, circuit_breaker=resolved(old))
    found = explain(one_rule(RETRIES, window="current_sprint"), "own", board, NOW)
    assert reasons(found) == {
        0: "before the window",
        1: "a resolution has dealt with it",
        2: "it has no error_pattern",
        3: "type is 'workaround'",
    }
    assert evidence(found) == [[4]]


def test_of_two_counts_the_one_that_nearly_counted_a_record_says_why_not() -> None:
    condition = "count(type=trade_off, debt_created=true) + count(type=debt_created) >= 3"
    found = explained(
        condition, anomaly("trade_off", debt_created=False), anomaly("debt_created"), anomaly("trade_off")
    )
    assert reasons(found) == {0: "debt_created is false", 2: "it has no debt_created"}


AGES = {"too long ago": ("09:00", "< 30m"), "not long ago": ("17:50", "> 30m"), "no time": (None, "> 30m")}


@pytest.mark.parametrize("name", AGES)
def test_the_reason_of_an_age_is_true(name: str) -> None:
    time, asked = AGES[name]
    task = {"id": "a", "since": f"2025-01-18T{time}:00Z" if time else "yesterday"}
    found = explained(f"count(tasks where age(since) {asked}) >= 1", tasks=[task])
    assert ("not as long ago as the rule asks" in reasons(found)[0]) is (name == "not long ago")


def test_a_number_of_the_blackboard_is_shown_although_no_record_is_behind_it() -> None:
    found = explained("metric(sprint.metrics.blocked) >= 2", sprint={"metrics": {"blocked": 1}})
    assert [(group.outcome.value, group.outcome.threshold) for group in found.groups] == [(1, 2)]


def test_other_streams_are_accounted_for_by_their_own_records() -> None:
    board = snapshot(tasks=[{"id": "a", "status": "BLOCKED"}, {"id": "b", "status": "READY"}, "odd"])
    found = explain(one_rule("count(tasks where status=BLOCKED) >= 2"), "own", board, NOW)
    assert everything_is_accounted_for(found, board, "tasks")
    assert reasons(found) == {1: "status is 'READY'"}


# --- texts that nearly met ------------------------------------------------------------------------------------------


def near(found: Explanation) -> list[tuple[set[str], str]]:
    return [({each.one, each.other}, each.why) for each in found.near]


def test_the_texts_that_nearly_met_are_named_with_what_keeps_them_apart() -> None:
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


@given(st.lists(TEXTS.filter(str.strip), max_size=10), st.sampled_from([0.7, 0.9]))
def test_texts_that_nearly_met_are_apart_on_the_blackboard_too(texts: list[str], similarity: float) -> None:
    given_ = [retry(text) for text in texts]
    found = explained(f"count(type=retry_loop, similar(error_pattern, {similarity})) >= 3", *given_)
    groups = similar_groups(texts, similarity)
    assert len(found.groups) == len(set(groups.values()))
    for each in found.near:
        assert not each.together
        assert groups[each.one] != groups[each.other]
        assert each.similarity >= 0.5


def test_equal_texts_of_different_tasks_do_not_hide_what_nearly_met() -> None:
    condition = "count(type=retry_loop, similar(error_pattern), per(task)) >= 2"
    given_ = [retry(f"HTTP {code} from it", task=task) for code in (502, 503) for task in ("task-1", "task-2")]
    assert [texts for texts, _ in near(explained(condition, *given_))] == [{"HTTP 502 from it", "HTTP 503 from it"}]


@pytest.mark.parametrize(
    "condition", ["count(type=retry_loop, same(error_pattern)) >= 3", "count(type=retry_loop) >= 3"]
)
def test_a_rule_that_does_not_look_for_similar_texts_has_none_that_nearly_met(condition: str) -> None:
    assert explained(condition, retry("HTTP 502 from it"), retry("HTTP 503 from it")).near == ()


def test_where_only_equal_texts_are_the_same_none_nearly_met() -> None:
    exact = one_rule(RETRIES)._replace(exact=True)
    found = explain(exact, "own", snapshot(retry("timeout after 3 s"), retry("timeout after 4 s")), NOW)
    assert (len(found.groups), found.near) == (2, ())


# --- odd blackboards ------------------------------------------------------------------------------------------------

WRITTEN = {
    "a huge number": "9" * 5_000, "null": "null", "an empty list": "[]", "an empty mapping": "{}", "a text": "text",
    "a nested list": "[a, [b, {c: d}]]", "a mapping": "{a: b}", "true": "true", "no number": ".nan", "blank": "' '",
    "infinite": "-.inf", "empty": "''", "for terminals": r'"\e[31m\0\u202e"', "a long text": "x " * 10_000 + "y",
}  # fmt: skip
VALUES = st.sampled_from(list(WRITTEN))


@given(st.lists(st.tuples(VALUES, VALUES, VALUES), max_size=5), st.sampled_from(CONDITIONS))
def test_no_value_of_a_record_is_too_odd_to_be_explained(given_: list[tuple[str, str, str]], condition: str) -> None:
    fields = ("task", "error_pattern", "timestamp")
    records = [", ".join(f"{n}: {WRITTEN[v]}" for n, v in zip(fields, each, strict=True)) for each in given_]
    lines = "".join(f"- {{type: retry_loop, {each}}}\n" for each in records)
    found = explain(one_rule(condition), "own", written(f"version: 1\nanomalies:\n{lines}"), NOW)
    assert all(len(why) < 300 for why in [each.why for each in found.uncounted] + [each.why for each in found.near])
    assert len(found.uncounted) <= len(given_)


def test_texts_of_which_nothing_counts_are_said_to_be_that() -> None:
    found = compare("/tmp/a", "/tmp/ab", SIMILAR)
    assert not found.together
    assert "/tmp/a / /tmp/ab" in found.why
    assert compare("/tmp/a", " /TMP/a", SIMILAR).together
