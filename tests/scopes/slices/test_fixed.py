"""Three and seven are fixed by the protocol: no file, silence or setting changes them."""

import pytest

from tests.scopes.slices.run import Slices

CHANGES = {
    "a higher number": "condition: streak(attempts, per(slice, test), result=failed) >= 5",
    "observe only": "mode: observe",
    "alert only": "action: ALERT",
    "off": "enabled: false",
    "only a name": "description: mine",
}


@pytest.mark.parametrize("rule", ["test_trip", "slice_ceiling"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_change_of_a_fixed_rule_is_refused_with_position(slices: Slices, rule: str, change: str) -> None:
    slices.rules.write_text(f"rules:\n  - name: {rule}\n    {change}\n")
    ran = slices.run("rules", "check")
    assert ran.code == 1
    assert f".liza/rules.yaml:2:5: error: the rule {rule} cannot be changed or disabled" in ran.out
    assert "part of its protocol" in ran.out
    assert "remove it from this file" in ran.out


@pytest.mark.parametrize("text", ["rules:\n  - {name: test_trip, enabled: false}\n", "rules: [\n", "\0"])
def test_unreadable_rules_do_not_stop_counting(slices: Slices, text: str) -> None:
    slices.rules.write_text(text)
    ran = slices.attempt("fail", "--slice", "S-1", "--test", "a")
    assert (ran.code, "the shipped rules apply until it is fixed" in ran.err) == (0, True)
    assert slices.does("fail a", "fail a") == [0, 3]
    assert slices.run("gate", "--slice", "S-2").code == 0
    assert slices.run("gate", "--slice", "S-1").code == 2


def test_params_matching_and_window_change_nothing(slices: Slices) -> None:
    slices.rules.write_text("params: {threshold: 9}\nmatching: exact\nwindow: last 1\n")
    assert slices.does("fail a", "fail a", "fail a") == [0, 0, 3]


def test_disabling_loops_does_not_disable_attempts(slices: Slices) -> None:
    slices.env["CIRCUIT_BREAKER_DISABLED"] = "1"
    assert slices.does("fail a", "fail a", "fail a") == [0, 0, 3]


def test_fixed_rules_cannot_be_silenced(slices: Slices) -> None:
    ran = slices.run("silence", "add", "test_trip", "--all", "--for", "2h", "-m", "known")
    assert ran.code == 1
    silence = (
        "{id: s, rule: test_trip, all: true, created: 2025-01-18T11:00:00Z, until: 2025-01-18T20:00:00Z, reason: r}"
    )
    slices.write(f"version: 1\nsilences:\n  - {silence}\n")
    assert slices.does("fail a", "fail a", "fail a") == [0, 0, 3]


def test_only_packs_can_fix_rules(slices: Slices) -> None:
    slices.rules.write_text("fixed: [retry_cluster]\n")
    ran = slices.run("rules", "check")
    assert (ran.code, "the key 'fixed' is only allowed in packs" in ran.out) == (1, True)


def test_custom_rule_may_stop_a_slice_earlier(slices: Slices) -> None:
    condition = "count(attempts, per(slice), result=infra) >= 2"
    slices.rules.write_text(f"rules:\n  - name: no_more_infra\n    condition: {condition}\n    action: STOP\n")
    assert slices.does("infra a", "fail a", "infra a") == [0, 0, 3]
    assert slices.at()["current_trip"]["rules"] == ["no_more_infra"]
    assert slices.reported() == ["a"]


def test_infrastructure_alert_may_be_changed_and_is_listed(slices: Slices) -> None:
    slices.rules.write_text("params: {infra_errors: 4}\n")
    answers = [slices.attempt("infra", "--slice", "S-1", "--json").json for _ in range(4)]
    assert [len(answer["problems"]) for answer in answers] == [0, 0, 0, 1]
    assert "infra_repeats: $infra_errors is 4 (default: 2)" in slices.run("status").out


def test_infrastructure_alert_ends_once_the_test_has_run(slices: Slices) -> None:
    def warned(*words: str) -> bool:
        return bool(slices.attempt(*words, "--json").json["problems"])

    infra = ("infra", "--slice", "S-1", "--test")
    assert [warned(*infra, "a"), warned(*infra, "a")] == [False, True]
    assert warned("pass", "--slice", "S-1", "--test", "b")
    assert not warned("fail", "--slice", "S-1", "--test", "a")
    assert "infrastructure errors: fix" not in slices.run("status").out
    assert [warned(*infra, "a"), warned(*infra, "b")] == [False, True]
