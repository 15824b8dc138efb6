"""The effect of a blackboard's own rules.yaml on the shipped rules, all of which is listed."""

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from liza.errors import Unreadable
from liza.model import Reason
from liza.rules.conditions import Condition
from liza.rules.evaluate import RuleSet, evaluate
from liza.rules.load import load
from liza.scopes.rules_file import read_rules
from tests.rules.boards import NOW, SYSTEMIC, anomaly, names, progress, rule, snapshot, source

PACK = [each.rule.name for each in read_rules(None).rules]


class Own:
    """The rules.yaml of a blackboard, written and read."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "rules.yaml"

    def __call__(self, text: str | bytes) -> RuleSet:
        self.file.write_bytes(text if isinstance(text, bytes) else dedent(text).encode())
        return read_rules(str(self.file))


@pytest.fixture
def own(tmp_path: Path) -> Own:
    return Own(tmp_path)


def compiled(ruleset: RuleSet, name: str) -> Any:
    (found,) = [each for each in ruleset.rules if each.rule.name == name]
    return found


def threshold(ruleset: RuleSet, name: str) -> float:
    return float(compiled(ruleset, name).condition.threshold)


# --- overriding, adding, disabling ------------------------------------------------------------------------------------


def test_missing_file_means_shipped_rules(tmp_path: Path) -> None:
    ruleset = read_rules(str(tmp_path / "rules.yaml"))
    assert [each.rule for each in ruleset.rules] == [each.rule for each in read_rules(None).rules]


@pytest.mark.parametrize(
    "text",
    [b"", b"\n", b"# only a comment\n", b"\n  # window: all\n\n# rules:\n", b"---\n# nothing\n",
     b"\xef\xbb\xbf# a note\n", b"rules:\n", b"rules: []\n", b"window:\nparams:\n"],
)  # fmt: skip
def test_empty_file_changes_nothing(own: Own, text: bytes) -> None:
    ruleset = own(text)
    assert [each.rule for each in ruleset.rules] == [each.rule for each in read_rules(None).rules]
    assert (ruleset.window, ruleset.exact, ruleset.changes, ruleset.disabled) == ("current_sprint", False, (), ())


def test_override_keeps_unnamed_fields(own: Own) -> None:
    ruleset = own(
        """
        rules:
          - name: retry_cluster
            condition: count(type=retry_loop, similar(error_pattern)) >= 5
        """
    )
    shipped, changed = compiled(SYSTEMIC, "retry_cluster").rule, compiled(ruleset, "retry_cluster").rule
    assert threshold(ruleset, "retry_cluster") == 5
    assert (changed.severity, changed.action, changed.description) == (
        shipped.severity,
        shipped.action,
        shipped.description,
    )
    assert [each.rule.name for each in ruleset.rules] == PACK


def test_new_name_adds_rule_after_shipped_ones(own: Own) -> None:
    ruleset = own(
        """
        rules:
          - name: many_questions
            condition: count(type=system_ambiguity) >= 1
            severity: VISION_FLAW
        """
    )
    assert [each.rule.name for each in ruleset.rules] == [*PACK, "many_questions"]
    (match,) = evaluate(ruleset, snapshot(anomaly("system_ambiguity")), NOW).matches
    assert (match.rule.severity, match.rule.action, match.rule.mode, match.rule.rearm) == (
        "VISION_FLAW",
        "CHECKPOINT",
        "act",
        "fresh",
    )


def test_disabled_rule_does_not_fire_and_is_listed(own: Own) -> None:
    ruleset = own("rules: [{name: external_service_outage, enabled: false}]\n")
    records = [anomaly("external_blocker", blocker_service="x") for _ in range(5)]
    verdict = evaluate(ruleset, snapshot(*records), NOW)
    assert names(verdict) == []
    assert progress(verdict, "external_service_outage").reason is Reason.DISABLED
    assert [each.name for each in ruleset.disabled] == ["external_service_outage"]


def test_file_sets_window_and_matching(own: Own) -> None:
    ruleset = own("window: last 7\nmatching: exact\n")
    assert (ruleset.window, ruleset.exact) == ("last 7", True)
    assert own("matching: similar\n").exact is False
    assert own("rules: [{name: retry_cluster, window: 24h}]\n").rules[0].rule.window == "24h"


def test_exact_matching_takes_effect(own: Own) -> None:
    records = [anomaly("external_blocker", blocker_service=name) for name in ("api", "API")]
    assert names(evaluate(own("window: all\n"), snapshot(*records), NOW)) == ["external_service_outage"]
    assert names(evaluate(own("matching: exact\n"), snapshot(*records), NOW)) == []


def test_blocks_of_other_modules_are_accepted(own: Own) -> None:
    own("notify: {webhook: x}\nstagnation: {threshold: 5}\ncircuit_breaker: {cooldown_seconds: 600}\nprofile: strict\n")


# --- params -----------------------------------------------------------------------------------------------------------

WITH_PARAMS = rule("count(distinct(task) >= $tasks) >= $n", "shipped", params={"n": 3, "tasks": 2})


def test_rule_has_its_own_params() -> None:
    assert threshold(load([source({"rules": [WITH_PARAMS]})]), "shipped") == 3


def test_file_param_changes_shipped_param() -> None:
    assert threshold(load([source({"rules": [WITH_PARAMS]})], source({"params": {"n": 7}})), "shipped") == 7


def test_file_param_fills_missing_rule_param() -> None:
    given = {"params": {"n": 7}, "rules": [rule("count() >= $n")]}
    assert threshold(load([], source(given)), "own") == 7


def test_rule_param_beats_file_param() -> None:
    given = {"params": {"n": 7}, "rules": [rule("count() >= $n", params={"n": 2})]}
    assert threshold(load([], source(given)), "own") == 2


def test_overridden_param_keeps_the_others() -> None:
    changed = source({"rules": [{"name": "shipped", "params": {"n": 9}}]})
    assert threshold(load([source({"rules": [WITH_PARAMS]})], changed), "shipped") == 9


def test_missing_param_is_an_error_with_suggestion(own: Own) -> None:
    text = """
        window: all
        rules:
          - name: own
            condition: count() >= $rouds
            severity: SPEC_FLAW
            params: {rounds: 3}
        """
    with pytest.raises(Unreadable) as caught:
        own(text)
    (problem,) = caught.value.problems
    assert "the param $rouds has no value" in problem.message
    assert problem.line == 5
    assert problem.hint is not None
    assert "rounds" in problem.hint


@pytest.mark.parametrize("value", ["three", True, None, [3], ".nan", ".inf"])
def test_param_must_be_a_number(own: Own, value: object) -> None:
    text = str(value).lower() if isinstance(value, bool) or value is None else value
    with pytest.raises(Unreadable):
        own(f"rules: [{{name: own, condition: 'count() >= $n', severity: SPEC_FLAW, params: {{n: {text}}}}}]\n")


# --- loosened rules are listed ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rules: [{name: retry_cluster, enabled: false}]", ["retry_cluster", "disabled"]),
        ("rules: [{name: retry_cluster, mode: observe}]", ["retry_cluster", "mode", "observe"]),
        ("rules: [{name: retry_cluster, action: ALERT}]", ["retry_cluster", "action", "ALERT", "CHECKPOINT"]),
        ("rules: [{name: retry_cluster, severity: SPEC_FLAW}]", ["severity", "SPEC_FLAW", "ARCHITECTURE_FLAW"]),
        ("rules: [{name: retry_cluster, window: last 3}]", ["retry_cluster", "window", "last 3"]),
        ("rules: [{name: retry_cluster, condition: count() >= 99}]", ["condition", "count() >= 99", "similar("]),
        ("window: last 1", ["window", "last 1", "current_sprint"]),
        ("matching: exact", ["exact"]),
    ],
)
def test_every_loosened_shipped_rule_is_listed(own: Own, text: str, words: list[str]) -> None:
    changes = " ".join(own(text + "\n").changes)
    assert [word for word in words if word not in changes] == []


def test_changed_param_of_shipped_rule_is_listed() -> None:
    pack = source({"rules": [WITH_PARAMS]}, "pack.yaml")
    for given in ({"params": {"n": 99}}, {"rules": [{"name": "shipped", "params": {"n": 99, "tasks": 2}}]}):
        changes = " ".join(load([pack], source(given)).changes)
        assert "99" in changes


def test_values_equal_to_shipped_are_not_a_change(own: Own) -> None:
    text = """
        window: current_sprint
        matching: similar
        rules:
          - name: retry_cluster
            condition: count(type=retry_loop, similar(error_pattern)) >= 3
            action: CHECKPOINT
            mode: act
            rearm: fresh
            enabled: true
        """
    assert own(text).changes == ()


def test_custom_rule_loosens_nothing(own: Own) -> None:
    assert own("rules: [{name: own, condition: count() >= 9, severity: SPEC_FLAW}]\n").changes == ()


# --- unreadable files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [b"rules: [\n", b"rules:\n  - name: a\n   condition: b\n", b"a: b: c\n", b"\xff\xfe", b"rules: \0\n", b"{",
     b"- a\n", b"5\n", b"window: all\nwindow: 24h\n", b"a: 1\n---\nb: 2\n"],
)  # fmt: skip
def test_non_mapping_file_is_unreadable(own: Own, text: bytes) -> None:
    with pytest.raises(Unreadable) as caught:
        own(text)
    assert caught.value.file == str(own.file)
    assert caught.value.exit_code == 4


@pytest.mark.parametrize("text", [b"- a\n", b"5\n"])
def test_broken_rules_file_does_not_suggest_init(own: Own, text: bytes) -> None:
    with pytest.raises(Unreadable) as caught:
        own(text)
    assert "liza init" not in (caught.value.hint or "")


def test_non_regular_rules_file_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("folder", "dangling"):
        with pytest.raises(Unreadable):
            read_rules(str(tmp_path / name))


# --- one protocol alone ---------------------------------------------------------------------------------------------

_OWN = {
    "nothing": "# all defaults\n",
    "blocks": "circuit_breaker: {absolute_max_loops: 40}\nmatching: exact\nparams: {threshold: 4}\n",
    "a rule of another pack": "rules: [{name: retry_cluster, enabled: false}]\n",
    "a rule of its own": "rules: [{name: mine, condition: 'count(iterations, per(loop)) >= 2', action: OPEN}]\n",
}


@pytest.mark.parametrize("own", _OWN)
@pytest.mark.parametrize("protocol", ["loops", "disputes", "attempts"])
def test_protocol_rules_equal_the_full_rules(tmp_path: Path, own: str, protocol: str) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(_OWN[own])

    def scope_of(rules: RuleSet) -> object:
        scoped = [(rule, condition.tree, _numbers(condition)) for rule, condition in rules.scoped.get(protocol, ())]
        return scoped, rules.blocks, rules.exact, rules.disabled, rules.notify

    assert scope_of(read_rules(str(file), protocol=protocol)) == scope_of(read_rules(str(file)))


def _numbers(condition: Condition) -> list[float]:
    return [condition.number(each.threshold) for each in condition.comparisons]


# --- the protocols' own blocks ----------------------------------------------------------------------------------------

PROTOCOL = """
    circuit_breaker_rules:
      window: 24h
      patterns:
        - name: debt_accumulation
          description: "Multiple trade-offs creating debt"
          condition: count(type=trade_off, debt_created=true) >= 4
          severity: SCOPE_FLAW
        - name: own
          condition: count(type=retry_loop, same(error_pattern)) >= 2
          severity: SPEC_FLAW
    circuit_breaker_rounds: 4
    """


def test_blocks_as_the_protocols_write_them_are_accepted(own: Own) -> None:
    ruleset = own(PROTOCOL)
    assert (ruleset.window, threshold(ruleset, "debt_accumulation"), threshold(ruleset, "own")) == ("24h", 4, 2)
    assert ruleset.blocks["disputes"] == {"circuit_breaker_rounds": 4}
    assert compiled(ruleset, "own").rule.action == "CHECKPOINT"
    assert len(ruleset.changes) == 3  # nothing of it is hidden


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("circuit_breaker_rules: {window: all}\nwindow: all\n", [(1, 1)]),
        ("rules: [{name: a}]\ncircuit_breaker_rules:\n  patterns: [{name: b}]\n", [(3, 3)]),
        ("circuit_breaker_rounds: 3\ndisputes: {circuit_breaker_rounds: 3}\n", [(1, 1)]),
        ("circuit_breaker_rules:\n  paterns: []\n", [(2, 3)]),
        ("circuit_breaker_rules:\n  patterns:\n    - name: retry_cluster\n      sevrity: X\n", [(4, 7)]),
        ("circuit_breaker_rules:\n  patterns:\n    - name: a\n      condition: count( >= 1\n", [(3, 7), (4, 25)]),
    ],
)
def test_faults_in_these_blocks_have_their_place(own: Own, text: str, where: list[tuple[int, int]]) -> None:
    with pytest.raises(Unreadable) as caught:
        own(text)
    found = {(each.line, each.column) for each in caught.value.problems}
    assert found >= set(where[:1])
    assert all(line for line, _ in found)
