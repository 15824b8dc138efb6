"""Errors in a condition have a position, what was expected, and a suggestion."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from liza.rules.language import parse
from liza.rules.syntax_tree import BadCondition

AGGREGATE = "expected count(...), streak(...), share(...), sum(...) or metric(...)"
COMPARISON = "expected a comparison (>= > = < <=)"
FIELD = "expected the name of a field"


def failure(marked: str) -> BadCondition:
    """The error of a condition, which must be at the `^`."""
    with pytest.raises(BadCondition) as caught:
        parse(marked.replace("^", "", 1))
    assert caught.value.offset == marked.index("^")
    return caught.value


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("^", f"{AGGREGATE}, the condition ends"),
        ("  ^", f"{AGGREGATE}, the condition ends"),
        ("^3 >= count()", f"{AGGREGATE}, found '3'"),
        ("NOT^", f"{AGGREGATE}, the condition ends"),
        ("count() >= 1 AND ^OR count() >= 1", f"{AGGREGATE}, found 'OR'"),
        ("count() + ^3 >= 1", f"{AGGREGATE}, found '3'"),
        ("count ^>= 3", "expected '(', found '>='"),
        ("count()^", f"{COMPARISON}, the condition ends"),
        ("count() ^3", f"{COMPARISON}, found '3'"),
        ("count() ^!= 3", f"{COMPARISON}, found '!='"),
        ("count() >= ^three", "expected a number or $param, found 'three'"),
        ("count() >= ^2h", "expected a number or $param, found '2h'"),
        ("count() >= 3 ^count() >= 1", "expected AND, OR or the end of the condition, found 'count'"),
        ("count() >= 3^)", "expected AND, OR or the end of the condition, found ')'"),
        ("(count() >= 1^", "expected ')', the condition ends"),
        ("count(a=1 ^b=2) >= 3", "expected ',' or ')', found 'b'"),
        ("count(a=1^", "expected ',' or ')', the condition ends"),
        ("count(a=1, ^) >= 3", f"{FIELD}, found ')'"),
        ("count(^=1) >= 3", f"{FIELD}, found '='"),
        ("count(a|^=1) >= 3", f"{FIELD}, found '='"),
        ("count(^'a'=1) >= 3", "expected the name of a field, found \"'a'\""),
        ("count(tasks where ^, a=1) >= 1", f"{FIELD}, found ','"),
        ("count(tasks where a=1 and ^) >= 1", f"{FIELD}, found ')'"),
        ("count(a=1, tasks^) >= 1", "expected a comparison (= != < <= > >= =~), IN or NOT IN, found ')'"),
        ("count(a=^) >= 3", "expected a value, found ')'"),
        ("count(a=^$n) >= 3", "expected a value, found '$n'"),
        ("count(a=^30m) >= 3", "expected a value, found '30m'"),
        ("count(a IN ^b) >= 3", "expected '[', found 'b'"),
        ("count(a IN [^]) >= 3", "expected a value, found ']'"),
        ("count(a IN [b ^c]) >= 3", "expected ']', found 'c'"),
        ("count(a NOT ^b) >= 3", "expected 'in', found 'b'"),
        ("count(a =~ ^b) >= 3", "expected a regular expression in quotes"),
        ('count(a =~ ^"(b") >= 3', "unsupported regular expression"),
        ("count(exists(^)) >= 1", f"{FIELD}, found ')'"),
        ("count(exists(a^, b)) >= 1", "expected ')', found ','"),
        ("count(age(a)^) >= 1", f"{COMPARISON}, found ')'"),
        ("count(age(a) > ^30) >= 1", "expected a duration like 30m or 2h, found '30'"),
        ("count(within(^90)) >= 1", "expected a duration like 30m or 2h, found '90'"),
        ("count(same(a^, 0.8)) >= 1", "expected ')', found ','"),
        ("count(similar(a, ^0)) >= 1", "expected a similarity between 0 and 1, found '0'"),
        ("count(similar(a, ^1.5)) >= 1", "expected a similarity between 0 and 1, found '1.5'"),
        ("count(similar(a, ^b)) >= 1", "expected a similarity between 0 and 1, found 'b'"),
        ("count(per(^)) >= 1", f"{FIELD}, found ')'"),
        ("count(distinct(a)^) >= 1", f"{COMPARISON}, found ')'"),
        ("count(distinct(a) >= ^b) >= 1", "expected a number or $param, found 'b'"),
        ("count(same(a), ^same(b)) >= 1", "a second same(...) in one count(...)"),
        ("count(same(a), ^similar(b)) >= 1", "a second similar(...) in one count(...)"),
        ("count(within(1h), ^within(2h)) >= 1", "a second within(...) in one count(...)"),
        ("metric(^) >= 1", "expected a path like sprint.metrics.tasks_blocked, found ')'"),
        ("metric(a ^b) >= 1", "expected ')', found 'b'"),
        ("sum(^)", f"{FIELD}, found ')'"),
        ("sum(a^", "expected ',' or ')', the condition ends"),
        ("sum(a, ^) >= 1", f"{FIELD}, found ')'"),
        ("sum(^'a') >= 1", "expected the name of a field, found \"'a'\""),
        ("sum(a, same(b), ^same(c)) >= 1", "a second same(...) in one sum(...)"),
        ("count() >= 3 ^# three", "unexpected '#'"),
        ("count() >= 3^;", "unexpected ';'"),
        ("count(a=^ü) >= 1", "unexpected 'ü'"),
    ],
)
def test_error_has_position_and_expectation(marked: str, message: str) -> None:
    assert message in failure(marked).message


@pytest.mark.parametrize(
    ("marked", "meant"),
    [
        ("^cuont(type=a) >= 3", "count"),
        ("^Count(type=a) >= 3", "count"),
        ("^strek(type=a) >= 3", "streak"),
        ("count() + ^shares() >= 3", "share"),
        ("^metrics(a) >= 3", "metric"),
        ("^summ(a) >= 3", "sum"),
        ("sum(tokens, ^usages) >= 3", "usage"),
        ("sum(tokens, usage ^wher a=1) >= 3", "where"),
        ("count(^anomalys) >= 3", "anomalies"),
        ("count(^Tasks where a=1) >= 3", "tasks"),
        ("count(^attempt, a=1) >= 3", "attempts"),
        ("count(^simlar(a)) >= 3", "similar"),
        ("count(^saem(a)) >= 3", "same"),
        ("count(^distinkt(a) >= 2) >= 3", "distinct"),
        ("count(^withn(2h)) >= 3", "within"),
        ("count(^exist(a)) >= 3", "exists"),
        ("count() >= 1 ^ADN count() >= 1", "AND"),
        ("count(tasks ^wher status=BLOCKED) >= 1", "where"),
        ("count(type ^INN [a, b]) >= 1", "IN"),
    ],
)
def test_error_suggests_the_likely_word(marked: str, meant: str) -> None:
    assert failure(marked).hint == f"did you mean {meant}?"


@pytest.mark.parametrize(
    "marked", ["sum(usage, ^tokens) >= 3", "sum(stream^=usage, tokens) >= 3", "sum(tokens ^usage) >= 3"]
)
def test_sum_with_its_field_elsewhere_gets_an_example(marked: str) -> None:
    assert "sum(tokens, usage" in str(failure(marked).hint)


@pytest.mark.parametrize("marked", ["^banana(type=a) >= 3", "count(^banana) >= 3", "count(^banana(x)) >= 3"])
def test_unlike_word_gets_no_suggestion(marked: str) -> None:
    assert failure(marked).hint is None


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ('count(a=^"b) >= 1', "quote"),
        ("count(a=^'b) >= 1", "quote"),
        ("count(within(^30min)) >= 1", "a duration like 30m or 2h"),
        ("count() >= ^3x", "a number or $param"),
    ],
)
def test_invalid_token_gets_expectation(marked: str, expected: str) -> None:
    assert expected in failure(marked).message


# --- every text parses or is a BadCondition ---------------------------------------------------------------------------

HOSTILE = {
    "hundreds of parentheses": "(" * 2000 + "count() >= 1" + ")" * 2000,
    "hundreds of NOT": "NOT " * 5000 + "count() >= 1",
    "an integer of thousands of digits": f"count(a={'9' * 5000}) >= 1",
    "a repetition beyond counting": 'count(a =~ "b{99999999999999999999}") >= 1',
    "a regular expression nested a thousand deep": f'count(a =~ "{"(" * 2000}{")" * 2000}") >= 1',
    "a regular expression that Python warns of": 'count(a =~ "[[b]") >= 1',
}


VALID = (
    "count(type=retry_loop, similar(error_pattern)) >= 3",
    "count(type=trade_off, debt_created=true) + count(type=debt_created) >= 3",
    "count(type IN [workaround, trade_off, 'scope deviation'], similar(root_cause|what, 0.8)) >= 2",
    "streak(attempts where result != infra and exists(test), per(slice, test), result=failed) >= $n",
    'NOT (metric(sprint.metrics.tasks_blocked) >= 2 OR share(log, action =~ "fail|err") > 0.5) AND count(tasks) <= 9',
    "sum(tokens|cost, usage where model = a, per(session), within(1h), tokens > 0) + metric(a.b) >= $n",
    "count(same(details.spec_ref), distinct(task) >= 2, within(1.5h), age(created) > 30m, x NOT IN [1, -2.5]) = 2",
)
PIECES = st.sampled_from(
    [
        "count", "streak", "share", "sum", "metric", "same", "similar", "per", "distinct", "within", "exists", "age",
        "where",
        "and", "AND", "OR", "NOT", "IN", "in", "(", ")", "[", "]", ",", "|", "+", "-", "=", "==", "!=", ">=", "<=", ">",
        "<", "=~", "a", "a.b", "tasks", "log", "true", "null", "3", "-1", "0.7", "2h", "30m", "$n", '"x"', "'y'", '"(',
        '"\\', "'", " ", "\n", ".", "$", "#", "ü", "٣", "²", "\u2028", "\0", "~", "1e9", "3x",
    ]
)  # fmt: skip


def refusal(text: str) -> BadCondition | None:
    try:
        parse(text)
    except BadCondition as error:
        return error
    return None


def check(text: str) -> None:
    """Fails with any exception other than BadCondition."""
    error = refusal(text)
    assert error is None or (0 <= error.offset <= len(text) and error.message)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_condition_parses_or_is_refused(name: str) -> None:
    check(HOSTILE[name])


@settings(max_examples=2 * settings().max_examples)
@given(st.lists(PIECES, max_size=25), st.sampled_from(["", " "]))
def test_any_language_words_parse_or_are_refused(pieces: list[str], between: str) -> None:
    check(between.join(pieces))


@given(st.text(max_size=40))
def test_any_text_parses_or_is_refused(text: str) -> None:
    check(text)


@settings(max_examples=2 * settings().max_examples)
@given(st.sampled_from(VALID), st.data())
def test_mutated_condition_parses_or_is_refused(text: str, data: st.DataObject) -> None:
    parse(text)
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(start + 12, len(text))))
        put = data.draw(st.one_of(PIECES, st.just(""), st.just(text[start:end] * 2)))
        text = text[:start] + put + text[end:]
    check(text)


@given(st.sampled_from(VALID), st.integers(0, 200))
def test_truncated_condition_parses_or_is_refused(text: str, length: int) -> None:
    check(text[:length])
