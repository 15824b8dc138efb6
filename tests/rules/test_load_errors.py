"""All errors in a rules file are reported at once, each at its own position."""

from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.errors import Unreadable
from liza.model import Problem
from liza.rules.load import BadRules, load
from liza.schema import rules_yaml as schema
from liza.scopes.rules_file import read_rules
from tests.rules.boards import source


def problems(folder: Path, text: str) -> tuple[Problem, ...]:
    """All problems of this rules.yaml."""
    file = folder / "rules.yaml"
    file.write_bytes(text.encode())
    with pytest.raises(Unreadable) as caught:
        read_rules(str(file))
    first, *_ = caught.value.problems
    assert (caught.value.message, caught.value.line, caught.value.column) == (first.message, first.line, first.column)
    assert {problem.file for problem in caught.value.problems} == {str(file)}
    return caught.value.problems


def split_marker(text: str) -> tuple[str, int, int]:
    """A text without its `^`, and the line and column of the marker."""
    line = text.count("\n", 0, text.index("^")) + 1
    column = text.index("^") - text.rfind("\n", 0, text.index("^"))
    return text.replace("^", "", 1), line, column


HEAD = "# own\nrules:\n  - name: own\n    severity: SPEC_FLAW\n"
STYLES = {
    "plain": "    condition: count() >= ^three\n",
    "plain, at its first character": "    condition: ^cuont() >= 3\n",
    "plain, after more space": "    condition:    count() >= ^three\n",
    "plain on two lines": "    condition: count() >= 1\n      AND count() >= ^three\n",
    "plain on the next line": "    condition:\n      count() >= ^three\n",
    "in double quotes": '    condition: "count() >= ^three"\n',
    "in double quotes, at its first character": '    condition: "^cuont() >= 3"\n',
    "in single quotes": "    condition: 'count() >= ^three'\n",
    "in a literal block": "    condition: |\n      count() >= 1 AND\n      count() >= ^three\n",
    "in a literal block, at its first character": "    condition: |\n      ^cuont() >= 1\n",
    "in a literal block with deeper lines": "    condition: |\n      count() >= 1 AND\n        count() >= ^three\n",
    "in a literal block with a comment": "    condition: |-  # note: this\n      count() >= ^three\n",
    "in a folded block": "    condition: >\n      count() >= 1 AND\n      count() >= ^three\n",
    "in a folded block that is stripped": "    condition: >-\n      count() >= 1\n      AND count() >= ^three\n",
    "behind letters that are not ASCII": "    condition: count(a='größe', b=^) >= 3\n",
    "with a comment behind": "    condition: count() >= ^three  # condition: count() >= 1\n",
    "before other keys": "    condition: count() >= ^three\n    description: too many\n",
    "at the end, which is missing": "    condition: count()^\n",
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_condition_error_points_into_the_condition(tmp_path: Path, style: str, newline: str) -> None:
    text, line, column = split_marker(HEAD + STYLES[style])
    (problem,) = problems(tmp_path, text.replace("\n", newline))
    assert (problem.line, problem.column) == (line, column)
    assert problem.message.startswith("rule own: expected ")


@pytest.mark.parametrize("head", ["", "\n", "# a note\n", "window: all\n", "---\n", "window: all\n\n# a note\n"])
def test_position_is_right_after_any_header(tmp_path: Path, head: str) -> None:
    body = "rules:\n  - name: own\n    severity: SPEC_FLAW\n    condition: count() >= ^three\n"
    text, line, column = split_marker(head + body)
    (problem,) = problems(tmp_path, text)
    assert (problem.line, problem.column) == (line, column)


def test_position_is_right_when_condition_comes_first(tmp_path: Path) -> None:
    text, line, column = split_marker("# x\nrules:\n- condition: count() >= ^x\n  name: own\n  severity: SPEC_FLAW\n")
    (problem,) = problems(tmp_path, text)
    assert (problem.line, problem.column) == (line, column)


def test_position_is_right_in_flow_style(tmp_path: Path) -> None:
    body = "rules:\n  - {name: own, severity: SPEC_FLAW, condition: count() >= ^three}\n"
    text, line, column = split_marker("# own\n" + body)
    (problem,) = problems(tmp_path, text)
    assert (problem.line, problem.column) == (line, column)


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("conditon: count() >= 1", "unknown key 'conditon'", "did you mean condition?"),
        ("banana: 1", "unknown key 'banana'", "known: name, "),
        ("1: 2", "unknown key 1", "known: name, "),
        ("severity: SPEC_FLOW", "severity: expected ", "did you mean SPEC_FLAW?"),
        ("severity: spec_flaw", "severity: expected ", "did you mean SPEC_FLAW?"),
        ("severity: BAD", "severity: expected ", "one of: VISION_FLAW, SCOPE_FLAW, "),
        ("severity: [SPEC_FLAW]", "severity: expected ", "one of: VISION_FLAW"),
        ("action: CHECKPIONT", "action: expected ", "did you mean CHECKPOINT?"),
        ("mode: watch", "mode: expected act or observe", None),
        ("rearm: anynew", "rearm: expected ", "did you mean any_new?"),
        ("enabled: 'no'", "enabled: expected ", None),
        ("enabled: no", "enabled: expected ", None),
        ("window: last", "window: expected ", None),
        ("window: last 0", "window: expected ", None),
        ("window: last ²", "window: expected ", None),
        ("window: 24", "window: expected ", None),
        ("window: 0h", "window: expected ", None),
        ("window: this week", "window: expected ", None),
        ("condition: ''", "condition: expected ", None),
        ("condition: 3", "condition: expected ", None),
        ("condition:", "condition: expected ", None),
        ("description: {a: b}", "description: expected ", None),
        ("params: 3", "params: expected ", None),
        ("params: {n: many}", "n: expected ", None),
        ("params: {n: true}", "n: expected ", None),
        ("condition: NOT count(same(a)) >= 1", "NOT cannot be applied to a grouped", None),
        ("condition: count(same(a)) + count(same(b)) >= 1", "must have the same grouping", None),
    ],
)
def test_each_rule_error_is_reported(tmp_path: Path, line: str, message: str, hint: str | None) -> None:
    (problem,) = problems(tmp_path, f"# own\nrules:\n  - name: retry_cluster\n    {line}\n")
    assert message in problem.message
    assert "retry_cluster" in problem.message
    assert problem.line == 4
    assert (problem.hint or "").startswith(hint or "")
    assert hint is None or problem.hint is not None


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("wndow: all", "unknown key 'wndow'", "did you mean window?"),
        ("banana: 1", "unknown key 'banana'", "known: window, rules, "),
        ("window: forever", "window: expected ", ""),
        ("window: [all]", "window: expected ", ""),
        ("rules: {name: own}", "rules: expected ", ""),
        ("params: [n]", "params: expected ", ""),
        ("params: {n: many}", "params: n: expected ", ""),
        ("budgets: {session: {costs: 5}}", "budgets.session: unknown key 'costs'", "did you mean cost?"),
        ("budgets: {day: {cost: 0}}", "budgets.day: cost: expected ", ""),
        ("prices: {my-model: {input: 3}}", "prices.my-model: output is missing: expected ", ""),
        ("prices: {5: {input: 3, output: -1}}", "prices.5: output: expected ", ""),
        ("disputes: {objections: 3}", "disputes: objections: expected ", ""),
        ("matching: fuzzy", "matching: expected similar or exact", ""),
        ("matching: exat", "matching: expected ", "did you mean exact?"),
        ("notify: always", "notify: expected ", ""),
        ("profile: 5", "profile: expected ", ""),
        ("rules: [retry_cluster]", "expected a record with fields, got 'retry_cluster'", ""),
        ("rules: [{enabled: false}]", "name is missing: expected ", ""),
        ("rules: [{name: two words}]", "name: expected ", ""),
        ("rules: [{name: retry_cluster}, {name: retry_cluster}]", "the rule retry_cluster is already in this file", ""),
        ("rules: [{name: own}]", "the rule 'own' has no condition and no severity", ""),
        ("rules: [{name: own, severity: SPEC_FLAW}]", "the rule 'own' has no condition", ""),
        ("rules: [{name: own, condition: count() >= 1}]", "the rule 'own' has no severity", "SPEC_FLAW"),
        ("rules: [{name: retry_clustr, enabled: false}]", "the rule 'retry_clustr' has no condition", "retry_cluster"),
    ],
)
def test_each_file_error_is_reported(tmp_path: Path, text: str, message: str, hint: str) -> None:
    (problem,) = problems(tmp_path, f"# own\n{text}\n")
    assert message in problem.message
    assert problem.line == 2
    assert hint in (problem.hint or "")


def test_all_errors_are_reported_in_file_order(tmp_path: Path) -> None:
    text = """\
        wndow: all
        rules:
          - name: retry_cluster
            conditon: count() >= 4
            severity: SPEC_FLOW
          - name: own
            condition: cuont() >= 4
            severity: SPEC_FLOW
            action: STOPP
          - name: bad name
            mode: watch
          - name: retry_cluster
            mode: watch
          - just a word
          - name: last
            condition: count(same(a)) >= 1 AND count(same(b)) >= $n
            severity: SPEC_FLAW
        params: {x: many}
        """
    lines = [problem.line or 0 for problem in problems(tmp_path, dedent(text))]
    assert lines == sorted(lines)
    assert set(lines) == {1, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18}


def test_condition_error_is_reported_beside_others(tmp_path: Path) -> None:
    text = "# own\nrules:\n  - name: own\n    condition: cuont() >= 1\n    severity: SPEC_FLOW\n"
    assert [problem.line for problem in problems(tmp_path, text)] == [4, 5]


def test_untrusted_text_in_errors_is_printable(tmp_path: Path) -> None:
    text = '# own\n"ke\\e[31my\\n": 1\nrules:\n  - name: "own\\e[2J"\n  - name: own\n    severity: "\\e]0;x\\a"\n'
    for problem in problems(tmp_path, text):
        assert problem.message.isprintable()
        assert (problem.hint or "").isprintable()


_WORDS = ("", "own", "retry_cluster", "all", "last 3", "last x", "exact", "SPEC_FLAW", "count() >= $n", "24h", "act")
_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 99), st.floats(), st.sampled_from(_WORDS), st.text(max_size=8)
)
VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=4,
)
RULE = st.dictionaries(st.one_of(st.sampled_from([*schema.RULE.fields, "x"]), st.integers()), VALUES)
FILES = st.dictionaries(st.one_of(st.sampled_from([*schema.FILE.fields, "x"]), st.none()), VALUES, max_size=4)


@given(FILES, st.lists(st.one_of(RULE, VALUES), max_size=4))
def test_any_file_gives_rules_or_problems(data: dict[str, object], given_rules: list[object]) -> None:
    try:
        load([], source({**data, "rules": given_rules}))
    except BadRules as error:
        found = error.problems
    else:
        return
    assert found
    assert all(problem.message for problem in found)
