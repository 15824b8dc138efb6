"""Fields, filters and groups: each sentence of the rules documentation as a small blackboard."""

import pytest

from liza.rules.evaluate import evaluate
from liza.rules.load import BadRules
from tests.rules.boards import NOW, anomaly, groups, holds, matches, rules, snapshot, unusable, verdict_of

# --- fields -----------------------------------------------------------------------------------------------------------


def test_field_is_read_from_record() -> None:
    assert holds("count(a=1) >= 1", {"a": 1})


def test_field_is_read_from_details() -> None:
    assert holds("count(a=1) >= 1", {"details": {"a": 1}})


def test_record_comes_before_its_details() -> None:
    assert not holds("count(a=1) >= 1", {"a": 2, "details": {"a": 1}})


def test_path_is_followed_in_record_and_details() -> None:
    assert holds("count(a.b.c=1) >= 1", {"a": {"b": {"c": 1}}})
    assert holds("count(a.b=1) >= 1", {"details": {"a": {"b": 1}}})
    assert holds("count(details.a=1) >= 1", {"details": {"a": 1}})
    assert not holds("count(a.b=1) >= 1", {"a": 1})


def test_half_present_path_falls_back_to_details() -> None:
    assert holds("count(a.b=1) >= 1", {"a": {"x": 0}, "details": {"a": {"b": 1}}})


@pytest.mark.parametrize(
    "fields",
    [{"a": 1, "b": 2}, {"b": 1}, {"a": None, "b": 1}, {"details": {"b": 1}}, {"a": 1, "details": {"b": 2}}],
)
def test_first_present_alternative_counts(fields: dict[str, object]) -> None:
    assert holds("count(a|b=1) >= 1", fields)
    assert not holds("count(a|b=2) >= 1", fields)


def test_non_mapping_details_hide_nothing() -> None:
    for details in (None, "text", 5, ["a"]):
        assert holds("count(a=1) >= 1", {"a": 1, "details": details})
        assert not holds("count(b=1) >= 1", {"a": 1, "details": details})


# --- filters ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "passing", "failing"),
    [
        ("a = b", "b", "c"),
        ("a != b", "c", "b"),
        ("a = 3", 3, 4),
        ("a = 3", 3.0, 3.5),
        ("a < 3", 2, 3),
        ("a <= 3", 3, 4),
        ("a > 3", 4, 3),
        ("a >= 3", 3, 2),
        ("a >= 2.5", 2.5, 2.4),
        ("a = true", True, False),
        ("a != true", False, True),
        ("a > b", "c", "b"),
        ("a IN [b, c]", "c", "d"),
        ("a IN [1, 2]", 2, 3),
        ("a NOT IN [b, c]", "d", "c"),
        ("a =~ 'time ?out'", "a timeout happened", "refused"),
        ("a =~ '^x'", "x1", "1x"),
        ("exists(a)", "", None),
        ("a = null", None, 0),
        ("a != null", 0, None),
        ("a = b", ["x", "b"], ["x", "y"]),
        ("a IN [b, c]", ["x", "b"], ["x", "y"]),
        ("age(a) > 30m", "2025-01-18T17:29:59Z", "2025-01-18T17:30:00Z"),
        ("age(a) >= 30m", "2025-01-18T17:30:00Z", "2025-01-18T17:30:01Z"),
        ("age(a) < 30m", "2025-01-18T17:30:01Z", "2025-01-18T17:30:00Z"),
        ("age(a) < 30m", "2025-01-18T18:45:00+01:00", "2025-01-18T17:45:00+01:00"),
        ("age(a) < 30m", "2025-01-18T17:45:00", "2025-01-18T16:45:00"),
    ],
)
def test_filter_selects_records(text: str, passing: object, failing: object) -> None:
    assert groups(f"count({text}) >= 1", {"a": failing}, {"a": passing}) == {None: [1]}


@pytest.mark.parametrize("text", ["a = b", "a < 3", "a IN [b]", "a =~ '.*'", "exists(a)", "age(a) > 1s", "age(a) < 9d"])
def test_record_without_field_fails_filter(text: str) -> None:
    assert not holds(f"count({text}) >= 1", {"c": 1}, {"a": None}, {"details": {"a": None}})


@pytest.mark.parametrize("text", ["a != b", "a NOT IN [b, c]", "a = null"])
def test_record_without_field_passes_negative_filter(text: str) -> None:
    assert holds(f"count({text}) >= 2", {"c": 1}, {"a": None})


def test_all_filters_must_pass() -> None:
    records = ({"a": 1}, {"a": 1, "b": 2}, {"b": 2})
    assert groups("count(a=1, b=2) >= 1", *records) == {None: [1]}


@pytest.mark.parametrize("first", ["", "exists(type), "])
@pytest.mark.parametrize(
    ("text", "kind"),
    [("type = 3", 3), ("type IN [3, 4]", 3), ("type = a", ["a", "b"]), ("type IN [a, c]", ["b", "a"])],
)
def test_position_of_type_filter_makes_no_difference(first: str, text: str, kind: object) -> None:
    assert holds(f"count({first}{text}) >= 1", {"type": kind})


# --- wrong types ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value", "note"),
    [
        ("a = true", "true", "a: expected true or false, got 'true'"),
        ("a = true", "yes", "a: expected true or false, got 'yes'"),
        ("a = true", 1, "a: expected true or false, got 1"),
        ("a = 1", True, "a: expected a number, got true"),
        ("a = 3", "3", "a: expected a number, got '3'"),
        ("a >= 3", "3", "a: expected a number, got '3'"),
        ("a != 3", "3", "a: expected a number, got '3'"),
        ("a = b", {"b": 1}, "a: expected a string, got a mapping"),
        ("a = b", 5, "a: expected a string, got 5"),
        ("a =~ '5'", 5, "got 5"),
        ("a IN [5, 6]", "5", "got '5'"),
        ("age(a) > 1h", "yesterday", "got 'yesterday'"),
        ("age(a) > 1h", 1737200000, "got 1737200000"),
    ],
)
def test_wrong_type_fails_filter_and_is_unusable(text: str, value: object, note: str) -> None:
    verdict = verdict_of(f"count({text}) >= 1", {"a": value})
    assert not verdict.matches
    assert note in unusable(verdict).get(0, "nothing was shown")


def test_unusable_note_is_printable_and_short() -> None:
    why = unusable(verdict_of("count(a=true) >= 1", {"a": "\x1b[31m" + "x" * 1000}))[0]
    assert why.isprintable()
    assert len(why) < 200


def test_record_failing_another_filter_is_not_unusable() -> None:
    verdict = verdict_of("count(type=trade_off, debt_created=true) >= 1", anomaly("workaround", debt_created="true"))
    assert not verdict.unusable


def test_mapping_cannot_be_grouped_and_is_unusable() -> None:
    verdict = verdict_of("count(same(a)) >= 1", {"a": {"b": 1}}, {"a": "b"})
    assert [record.key for match in verdict.matches for record in match.evidence] == [1]
    assert unusable(verdict) == {0: "a: expected a string, got a mapping"}


def test_true_and_one_are_different_values() -> None:
    verdict = verdict_of("count(a=true) + count(a=1) >= 2", {"a": True})
    assert not verdict.matches


# --- groups -----------------------------------------------------------------------------------------------------------


def test_each_satisfying_group_is_one_match() -> None:
    records = [{"a": text} for text in ("x", "y", "z", "y", "x", "x")]
    assert groups("count(same(a)) >= 2", *records) == {"x": [0, 4, 5], "y": [1, 3]}


def test_groups_are_ordered_by_size_then_name() -> None:
    records = [{"a": text} for text in ("b", "c", "a", "c", "a", "b", "c")]
    assert [match.key for match in matches("count(same(a)) >= 2", *records)] == ["c", "a", "b"]


@pytest.mark.parametrize("grouping", ["same(a)", "similar(a)", "per(a)"])
@pytest.mark.parametrize("absent", [{}, {"a": None}, {"details": {}}, {"a": []}])
def test_absent_never_equals_absent(grouping: str, absent: dict[str, object]) -> None:
    assert not holds(f"count({grouping}) >= 1", absent, absent, absent)


@pytest.mark.parametrize("grouping", ["same(a)", "similar(a)"])
def test_blank_text_counts_as_absent(grouping: str) -> None:
    assert not holds(f"count({grouping}) >= 1", {"a": ""}, {"a": "  "}, {"a": "\n"})


@pytest.mark.parametrize("grouping", ["same(a)", "similar(a)", "per(a)"])
def test_list_value_belongs_to_each_of_its_groups(grouping: str) -> None:
    found = groups(f"count({grouping}) >= 2", {"a": ["north", "south"]}, {"a": "north"}, {"a": ["south", "south"]})
    assert found == {"north": [0, 1], "south": [0, 2]}


def test_number_groups_with_equal_text() -> None:
    assert groups("count(same(a)) >= 2", {"a": 5}, {"a": "5"}) == {"5": [0, 1]}


def test_per_groups_by_several_fields() -> None:
    records = ({"s": "x", "t": 1}, {"s": "x", "t": 2}, {"s": "x", "t": 1}, {"s": "y", "t": 1}, {"s": "y"})
    assert groups("count(per(s, t)) >= 2", *records) == {"x / 1": [0, 2]}


def test_per_and_same_group_together() -> None:
    records = ({"s": "x", "a": "k"}, {"s": "y", "a": "k"}, {"s": "x", "a": "K"}, {"s": "x", "a": "l"})
    assert [[r.key for r in m.evidence] for m in matches("count(per(s), same(a)) >= 2", *records)] == [[0, 2]]


def test_group_key_is_its_most_common_text() -> None:
    (match,) = matches("count(same(a)) >= 3", {"a": "Api."}, {"a": "API"}, {"a": "API"})
    assert (match.key, match.fields) == ("API", ("a",))


def test_grouped_counts_are_compared_per_group() -> None:
    records = ({"t": 1, "a": "x"}, {"t": 2, "a": "y"}, {"t": 1, "a": "y"}, {"t": 1, "a": "x"}, {"t": 2, "a": "z"})
    assert groups("count(t=1, same(a)) >= 1 AND count(t=2, same(a)) >= 1", *records) == {"y": [1, 2]}
    assert groups("count(t=1, same(a)) + count(t=2, same(a)) >= 2", *records) == {"x": [0, 3], "y": [1, 2]}


def test_group_missing_in_first_count_keeps_its_key() -> None:
    assert groups("count(t=1, same(a)) + count(t=2, same(a)) >= 2", {"t": 2, "a": "x"}, {"t": 2, "a": "x"}) == {
        "x": [0, 1]
    }


def test_similar_groups_span_the_union_of_counts() -> None:
    # Neither count alone has the text that joins the two others.
    texts = ("broken by a connection", "broken by a conection", "broken by a conecton")
    records = [{"t": kind, "a": text} for kind, text in zip((1, 2, 1), texts, strict=True)]
    found = matches("count(t=1, similar(a, 0.75)) + count(t=2, similar(a, 0.75)) >= 3", *records)
    assert [[record.key for record in match.evidence] for match in found] == [[0, 1, 2]]


def test_grouped_counts_of_two_streams_share_grouping() -> None:
    condition = "count(same(task)) >= 1 AND count(log, action=retry, same(task)) >= 1"
    log = ({"action": "retry", "task": "t2"}, {"action": "retry", "task": "t3"})
    assert [match.key for match in matches(condition, {"task": "t1"}, {"task": "t2"}, log=log)] == ["t2"]


SAME, NOT = "must have the same grouping", "NOT cannot be applied to a grouped"


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("count(same(a)) >= 1 AND count(same(b)) >= 1", SAME),
        ("count(same(a)) + count(similar(a)) >= 1", SAME),
        ("count(similar(a)) >= 1 OR count(similar(a, 0.8)) >= 1", SAME),
        ("count(per(a)) >= 1 AND count(per(b)) >= 1", SAME),
        ("count(per(a), same(b)) >= 1 AND count(per(a)) >= 1", SAME),
        ("NOT count(same(a)) >= 2", NOT),
        ("NOT count(per(a)) >= 2", NOT),
        ("count() >= 1 AND NOT (count() >= 9 OR count(similar(a)) >= 2)", NOT),
        ("NOT NOT count(same(a)) >= 2", NOT),
        ("NOT count() + count(same(a)) >= 2", NOT),
    ],
)
def test_condition_with_such_groupings_is_an_error(condition: str, message: str) -> None:
    with pytest.raises(BadRules) as caught:
        rules(condition)
    assert message in caught.value.problems[0].message


def test_ungrouped_count_applies_to_every_group() -> None:
    records = ({"a": "x"}, {"a": "x"}, {"a": "y"}, {"a": "y"}, {"b": 1})
    assert list(groups("count(same(a)) >= 2 AND count(b=1) >= 1", *records)) == ["x", "y"]
    assert groups("count(same(a)) >= 2 AND count(b=1) >= 2", *records) == {}


def test_ungrouped_count_under_or_matches_alone() -> None:
    assert holds("count(t=1, same(a)) >= 3 OR count(t=2) >= 1", {"t": 2})


def test_not_over_ungrouped_count_beside_grouped_one() -> None:
    condition = "count(same(a)) >= 2 AND NOT count(done=true) >= 1"
    assert groups(condition, {"a": "x"}, {"a": "x"}) == {"x": [0, 1]}
    assert not holds(condition, {"a": "x"}, {"a": "x"}, {"done": True})


def test_evidence_is_only_what_satisfied_the_condition() -> None:
    records = ({"t": 1}, {"t": 2}, {"t": 2})
    assert groups("count(t=1) >= 3 OR count(t=2) >= 2", *records) == {None: [1, 2]}


def test_match_value_is_from_the_satisfied_comparison() -> None:
    (match,) = matches("count(t=1) >= 3 OR count(t=2) >= 2", {"t": 1}, {"t": 2}, {"t": 2})
    assert (match.value, match.threshold) == (2, 2)


def test_record_in_two_counts_is_one_evidence() -> None:
    assert groups("count(a=1) + count(b=2) >= 2", {"a": 1, "b": 2}) == {None: [0]}


def test_evaluate_is_repeatable_and_changes_nothing() -> None:
    ruleset, board = rules("count(similar(a)) >= 2"), snapshot({"a": "x y"}, {"a": "x z"}, {"a": "x y"})
    before = repr(board)
    assert evaluate(ruleset, board, NOW) == evaluate(ruleset, board, NOW)
    assert repr(board) == before
