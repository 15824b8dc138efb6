"""The number of rounds that freezes a claim is a setting."""

import pytest

from tests.scopes.claims.run import Claims


@pytest.mark.parametrize("rules", ["disputes: {circuit_breaker_rounds: 5}", "params: {circuit_breaker_rounds: 5}"])
def test_raised_number_of_rounds_warns(lab: Claims, rules: str) -> None:
    lab.write_rules(f"{rules}\n")
    lab.add()
    ran = lab.round("A")
    assert "circuit_breaker_rounds is 5: raising it is discouraged" in ran.err
    assert lab.codes("A", "A", "A", "A") == [0, 0, 0, 3]
    assert "circuit_breaker_rounds is 5 (default: 3)" in lab.run("status").out


def test_raised_number_in_the_rule_warns(lab: Claims) -> None:
    condition = "streak(rounds, per(claim), same(objection), changed=false) >= 4"
    lab.write_rules(f"rules: [{{name: gossip_loop, condition: '{condition}'}}]\n")
    lab.add()
    assert "circuit_breaker_rounds is 4: raising it is discouraged" in lab.round("A").err
    assert lab.codes("A", "A", "A") == [0, 0, 3]


def test_fewer_rounds_do_not_warn(lab: Claims) -> None:
    lab.write_rules("disputes: {circuit_breaker_rounds: 2}\n")
    lab.add()
    assert lab.round("A").err == ""
    assert lab.round("A").code == 3


WRONG = [
    "disputes: {circuit_breaker_rounds: 1}", "disputes: {circuit_breaker_rounds: three}",
    "disputes: {circuit_breaker_rounds: 2.5}", "disputes: {circuit_breaker_rounds: true}",
    "params: {circuit_breaker_rounds: 1}", "disputes: {matching: exactly}", "disputes: {objections: same}",
    "disputes: {last_stage: ''}",
    "disputes: {rounds: 3}", "disputes: [3]",
    "rules: [{name: gossip_loop, params: {circuit_breaker_rounds: 0}}]",
]  # fmt: skip


@pytest.mark.parametrize("rules", WRONG)
def test_setting_out_of_range_is_an_error_with_position(lab: Claims, rules: str) -> None:
    lab.add()
    before = lab.text
    lab.write_rules(f"{rules}\n")
    ran = lab.round("A")
    assert ran.code == 4
    assert "rules.yaml:1:" in ran.err
    assert lab.text == before


def test_disabled_or_observing_rule_warns_and_freezes_nothing(lab: Claims) -> None:
    lab.write_rules("rules: [{name: gossip_loop, enabled: false}]\n")
    lab.add()
    assert "gossip_loop is disabled" in lab.round("A").err
    assert lab.codes("A", "A", "A") == [0] * 3
    lab.write_rules("rules: [{name: gossip_loop, mode: observe}]\n")
    ran = lab.round("A")
    assert (ran.code, "gossip_loop only observes" in ran.err) == (0, True)
    lab.write_rules("# as shipped\n")
    assert lab.codes("A") == [3]


def test_custom_rule_can_freeze_a_claim(lab: Claims) -> None:
    rule = "{name: endless, condition: 'count(rounds, per(claim)) >= 4', action: FREEZE, description: no end in sight}"
    lab.write_rules(f"rules: [{rule}]\n")
    lab.add()
    assert lab.codes("A", "B", "C", "D") == [0, 0, 0, 3]
    assert (lab.at()["dispute_reason"], lab.disputes()[0]["rule"]) == ("D", "endless")
