"""The condition language, and the tree that each condition is parsed to."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.model import parse_duration
from liza.rules.language import STREAMS, parse
from liza.rules.syntax_tree import (
    Aggregate,
    All,
    Any_,
    BadCondition,
    Comparison,
    Distinct,
    Field,
    Filter,
    Grouping,
    Metric,
    Node,
    Not,
    Param,
)
from tests.rules.boards import holds


def field(*paths: str) -> Field:
    return Field(tuple(tuple(path.split(".")) for path in paths))


def at_least(threshold: float, aggregate: Aggregate | Metric) -> Comparison:
    return Comparison((aggregate,), ">=", float(threshold))


def assert_tree(text: str, expected: Node) -> None:
    # Compared as text: the nodes are named tuples, and Any_((x,)) == All((x,)).
    assert repr(parse(text)) == repr(expected)


def one_filter(text: str) -> Filter:
    tree = parse(f"count({text}) >= 1")
    assert isinstance(tree, Comparison)
    (aggregate,) = tree.terms
    assert isinstance(aggregate, Aggregate)
    (found,) = aggregate.filters
    return found


def test_protocol_condition_is_parsed() -> None:
    grouping = Grouping(field("error_pattern"), 0.7)
    filters = (Filter(field("type"), "=", "retry_loop"),)
    expected = at_least(3, Aggregate("count", filters=filters, grouping=grouping))
    assert_tree("count(type=retry_loop, similar(error_pattern)) >= 3", expected)


@pytest.mark.parametrize("kind", ["count", "streak", "share"])
def test_aggregate_without_arguments_covers_all_anomalies(kind: str) -> None:
    assert_tree(f"{kind}() >= 1", at_least(1, Aggregate(kind)))


def test_sum_takes_its_field_first() -> None:
    filters = (Filter(field("model"), "=", "a"),)
    expected = Aggregate("sum", stream="usage", filters=filters, per=(field("session"),), summed=field("tokens"))
    assert_tree("sum(tokens, usage, per(session), model=a) >= 5", at_least(5, expected))
    assert_tree("sum(details.minutes) >= 5", at_least(5, Aggregate("sum", summed=field("details.minutes"))))


@pytest.mark.parametrize("stream", STREAMS)
def test_stream_is_the_first_argument(stream: str) -> None:
    assert_tree(f"count({stream}) >= 1", at_least(1, Aggregate("count", stream=stream)))


def test_where_takes_several_filters() -> None:
    where = (Filter(field("result"), "!=", "infra"), Filter(field("n"), ">", 2))
    filters = (Filter(field("result"), "=", "failed"),)
    expected = at_least(3, Aggregate("streak", stream="attempts", where=where, filters=filters))
    assert_tree("streak(attempts where result != infra and n > 2, result=failed) >= 3", expected)


def test_metric_takes_a_path() -> None:
    assert_tree(
        "metric(sprint.metrics.tasks_blocked) >= 2", at_least(2, Metric(("sprint", "metrics", "tasks_blocked")))
    )


def test_aggregates_can_be_added() -> None:
    tree = parse("count(type=a) + count(type=b) + metric(x) >= 3")
    assert isinstance(tree, Comparison)
    assert [type(term) for term in tree.terms] == [Aggregate, Aggregate, Metric]


@pytest.mark.parametrize("operator", [">=", ">", "=", "<", "<="])
@pytest.mark.parametrize(("text", "number"), [("3", 3.0), ("0.5", 0.5), ("-1", -1.0)])
def test_comparison_with_a_number(operator: str, text: str, number: float) -> None:
    assert_tree(f"count() {operator} {text}", Comparison((Aggregate("count"),), operator, number))


def test_comparison_with_a_param() -> None:
    assert_tree("count() >= $rounds", Comparison((Aggregate("count"),), ">=", Param("rounds")))
    expected = Aggregate("count", distinct=Distinct(field("task"), ">=", Param("tasks")))
    assert_tree("count(distinct(task) >= $tasks) >= 1", at_least(1, expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = b", Filter(field("a"), "=", "b")),
        ("a == b", Filter(field("a"), "=", "b")),
        ("a != b", Filter(field("a"), "!=", "b")),
        ("a < 3", Filter(field("a"), "<", 3)),
        ("a <= 3.5", Filter(field("a"), "<=", 3.5)),
        ("a > -3", Filter(field("a"), ">", -3)),
        ("a >= 3", Filter(field("a"), ">=", 3)),
        ("a = true", Filter(field("a"), "=", True)),
        ("a = false", Filter(field("a"), "=", False)),
        ("a = null", Filter(field("a"), "=", None)),
        ("a = 'it is'", Filter(field("a"), "=", "it is")),
        ("a = 'true'", Filter(field("a"), "=", "true")),
        ('a = "say \\"hi\\" \\\\ "', Filter(field("a"), "=", 'say "hi" \\ ')),
        ("a = code-reviewer-1", Filter(field("a"), "=", "code-reviewer-1")),
        ("a = specs/data-model.md", Filter(field("a"), "=", "specs/data-model.md")),
        ("a IN [b, 'c d', 3, true]", Filter(field("a"), "in", ("b", "c d", 3, True))),
        ("a NOT IN [b]", Filter(field("a"), "not in", ("b",))),
        ("exists(a)", Filter(field("a"), "exists", None)),
        ("age(a) > 30m", Filter(field("a"), ">", 1800.0, age=True)),
        ("a.b.c = d", Filter(field("a.b.c"), "=", "d")),
        ("a|b.c = d", Filter(field("a", "b.c"), "=", "d")),
        ("age = 3", Filter(field("age"), "=", 3)),  # a field may have the name of a word of the language
        ("exists = 3", Filter(field("exists"), "=", 3)),
        ("in = 3", Filter(field("in"), "=", 3)),
    ],
)
def test_every_kind_of_filter(text: str, expected: Filter) -> None:
    assert repr(one_filter(text)) == repr(expected)


def test_regular_expression_is_kept_verbatim() -> None:
    assert one_filter(r'a =~ "time ?out|\brefused\b"').value.pattern == r"time ?out|\brefused\b"


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?=a)b", "(?<!a)b", "a*+", "(", "a{2000}"])
def test_non_linear_regular_expression_is_refused(pattern: str) -> None:
    with pytest.raises(BadCondition) as refused:
        parse(f'count(a =~ "{pattern}") >= 1')
    assert (refused.value.offset, "RE2" in str(refused.value.hint)) == (11, True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("same(a)", Aggregate("count", grouping=Grouping(field("a"), None))),
        ("similar(a|b)", Aggregate("count", grouping=Grouping(field("a", "b"), 0.7))),
        ("similar(a, 0.8)", Aggregate("count", grouping=Grouping(field("a"), 0.8, letters=True))),
        ("similar(a, 1)", Aggregate("count", grouping=Grouping(field("a"), 1.0, letters=True))),
        ("per(slice, test)", Aggregate("count", per=(field("slice"), field("test")))),
        ("distinct(task) >= 2", Aggregate("count", distinct=Distinct(field("task"), ">=", 2.0))),
        ("within(2h)", Aggregate("count", within=7200.0)),
    ],
)
def test_every_kind_of_argument(text: str, expected: Aggregate) -> None:
    assert_tree(f"count({text}) >= 1", at_least(1, expected))


def test_arguments_come_in_any_order() -> None:
    one = parse("count(rounds, same(a), x=1, per(b), within(1h), distinct(t) >= 2) >= 1")
    other = parse("count(rounds, distinct(t) >= 2, within(1h), per(b), x=1, same(a)) >= 1")
    assert one == other


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("250ms", 0.25), ("45s", 45.0), ("30m", 1800.0), ("2h", 7200.0), ("1.5h", 5400.0), ("7d", 604800.0)],
)
def test_durations_are_parsed(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds
    assert_tree(f"count(within({text})) >= 1", at_least(1, Aggregate("count", within=seconds)))


@pytest.mark.parametrize("text", ["", "2", "h", "2 h", "2w", "-2h", "2h30m", "2hours", "1e3s", "h2", "2.h"])
def test_invalid_durations_are_refused(text: str) -> None:
    assert parse_duration(text) is None


A, B, C = (at_least(1, Metric((name,))) for name in "abc")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A OR B AND C", Any_((A, All((B, C))))),
        ("A AND B OR C", Any_((All((A, B)), C))),
        ("(A OR B) AND C", All((Any_((A, B)), C))),
        ("A AND (B OR C)", All((A, Any_((B, C))))),
        ("A AND B AND C", All((A, B, C))),
        ("NOT A AND B", All((Not(A), B))),
        ("NOT (A AND B)", Not(All((A, B)))),
        ("NOT NOT A", Not(Not(A))),
        ("((A))", A),
        ("A and B or not C", Any_((All((A, B)), Not(C)))),
    ],
)
def test_operator_precedence(text: str, expected: Node) -> None:
    for name in "ABC":
        text = re.sub(rf"\b{name}\b", f"metric({name.lower()}) >= 1", text)
    assert_tree(text, expected)


@pytest.mark.parametrize("text", ["count(a=1)>=3", "count ( a = 1 ) >= 3", "\n\tcount(\n  a = 1\n) >= 3\n"])
def test_white_space_and_line_breaks_are_ignored(text: str) -> None:
    assert_tree(text, at_least(3, Aggregate("count", filters=(Filter(field("a"), "=", 1),))))


Truth = tuple[str, bool]


def _joined(parts: tuple[Truth, str, Truth]) -> Truth:
    (left, one), word, (right, other) = parts
    return f"({left} {word} {right})", (one and other) if word == "AND" else (one or other)


TRUTHS = st.recursive(
    st.sampled_from([("metric(config.yes) >= 1", True), ("metric(config.no) >= 1", False)]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(_joined),
        inner.map(lambda truth: (f"NOT {truth[0]}", not truth[1])),
    ),
    max_leaves=8,
)


@given(TRUTHS)
def test_parenthesised_logic_is_evaluated(truth: Truth) -> None:
    text, expected = truth
    assert holds(text, config={"yes": 1, "no": 0}) is expected


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(["AND", "OR"])), min_size=1, max_size=6))
def test_and_binds_before_or_without_parentheses(parts: list[tuple[bool, str]]) -> None:
    text = " ".join(f"metric(config.{'yes' if truth else 'no'}) >= 1 {word}" for truth, word in parts)
    python = " ".join(f"{truth} {word.lower()}" for truth, word in parts)
    last = parts[-1][1]
    expected = bool(eval(python.removesuffix(last.lower())))  # Python binds them in the same way
    assert holds(text.removesuffix(last), config={"yes": 1, "no": 0}) is expected
