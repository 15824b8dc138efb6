"""Re-examining a disputed claim: what allows it, who may do it, and what it changes."""

from datetime import timedelta

import pytest

from tests.scopes.claims.run import HARNESS, Claims, frozen_part


def test_next_stage_marks_all_disputed_claims(lab: Claims) -> None:
    lab.stage("advance", "S2")
    lab.dispute("C-001")
    lab.dispute("C-002")
    lab.add("C-003")
    assert "reexamine" not in lab.at("C-001")
    ran = lab.stage("advance", "S3")
    assert ran.code == 0
    for name in ("C-001", "C-002"):
        (mark,) = lab.at(name)["reexamine"]
        assert (mark["trigger"], mark["detail"]) == ("stage_transition", "in stage S3 (was: S2)")
        assert f"claim {name} is due for re-examination" in ran.out
        assert lab.at(name)["status"] == "DISPUTED"
    assert "reexamine" not in lab.at("C-003")
    assert "re-examine: in stage S3" in lab.run("claim", "list").out
    assert lab.stage("advance", "S3").out == "nothing to do: already recorded\n"
    assert len(lab.at("C-001")["reexamine"]) == 1


def test_stage_changed_by_hand_marks_disputed_claims(lab: Claims) -> None:
    lab.stage("advance", "S2")
    lab.dispute()
    lab.edit("status: ACTIVE", "status: PASSED")
    lab.edit("stages:\n", "stages:\n  S3: {status: active}\n")
    lab.run("analyze")
    assert lab.at()["reexamine"][0]["detail"] == "in stage S3 (was: S2)"
    before = lab.text
    lab.run("analyze")
    assert lab.text.partition("circuit_breaker:")[0] == before.partition("circuit_breaker:")[0]


def test_dispute_keeps_the_stage_in_which_it_began(lab: Claims) -> None:
    lab.stage("advance", "S2")
    lab.dispute()
    assert "liza claim reexamine C-001 --trigger stage_transition" in lab.stage("advance", "S3").out
    assert lab.stage("advance", "S4").code == 0
    (dispute,) = lab.disputes()
    assert (dispute["stage"], dispute["seen_in_stage"]) == ("S2", "S4")
    assert lab.at()["reexamine"][0]["detail"] == "in stage S4 (was: S3)"
    assert "liza claim reexamine C-001 --trigger stage_transition" in lab.claim("show", "C-001").out
    assert lab.run("validate").code == 0


def test_closing_a_stage_is_not_a_transition(lab: Claims) -> None:
    lab.stage("advance", "S2")
    lab.dispute()
    assert lab.stage("close", "S2").code == 0
    lab.run("analyze")
    assert "reexamine" not in lab.at()


def test_new_data_marks_all_or_named_claims(lab: Claims) -> None:
    lab.stage("advance", "S2")
    lab.dispute("C-001")
    lab.dispute("C-002")
    assert lab.stage("data", "gc.tsv", "--for", "C-002").code == 0
    assert "reexamine" not in lab.at("C-001")
    assert lab.at("C-002")["reexamine"][0]["detail"] == "gc.tsv"
    lab.stage("data", "tool v2")
    assert [[each["detail"] for each in lab.at(name)["reexamine"]] for name in ("C-001", "C-002")] == [
        ["tool v2"], ["gc.tsv", "tool v2"],
    ]  # fmt: skip
    assert "stage_data" in lab.actions
    lab.add("C-003")
    assert lab.stage("data", "x", "--for", "C-003").code == 1
    assert lab.stage("data", "x", "--for", "C-9").code == 1
    assert lab.stage("data", " ").code == 2


def cause_trigger(lab: Claims, trigger: str, time: int) -> None:
    """Cause a trigger; an audit needs only its author."""
    if trigger == "stage_transition":
        assert lab.stage("advance", f"S{2 + time}").code == 0
    elif trigger == "new_data":
        assert lab.stage("data", f"gc-{time}.tsv").code == 0


@pytest.mark.parametrize("trigger", ["stage_transition", "new_data", "cross_model_audit"])
def test_reexamination_unfreezes_only_when_resolved(lab: Claims, trigger: str) -> None:
    lab.stage("advance", "S2")
    lab.dispute()
    before = frozen_part(lab.at())
    words = ("reexamine", "C-001", "--trigger", trigger, "--by", "R3", "-m")
    cause_trigger(lab, trigger, 1)
    assert lab.claim(*words, "still no annotation", "--unresolved").code == 3
    assert frozen_part(lab.at()) == before
    assert "reexamine" not in lab.at()
    cause_trigger(lab, trigger, 2)
    assert lab.claim(*words, "it does not apply", "--resolved").code == 0
    assert (lab.at()["status"], lab.at()["rounds"]) == ("OPEN", [])
    (dispute,) = lab.disputes()
    assert [(each["outcome"], each["note"]) for each in dispute["reexaminations"]] == [
        ("unresolved", "still no annotation"),
        ("resolved", "it does not apply"),
    ]
    assert (dispute["resolution"], dispute["rationale"], dispute["resolved_by"], dispute["trigger"]) == (
        "reexamined", "it does not apply", "R3", trigger,
    )  # fmt: skip
    assert lab.actions.count("claim_reexamined") == 2
    assert lab.actions.count("claim_resolved") == 1
    assert lab.codes(HARNESS) == [0]


@pytest.mark.parametrize("outcome", ["--resolved", "--unresolved", ""])
@pytest.mark.parametrize(("trigger", "other"), [("stage_transition", "new_data"), ("new_data", "stage_transition")])
def test_absent_trigger_allows_no_reexamination(lab: Claims, trigger: str, other: str, outcome: str) -> None:
    """A trigger from before the dispute, or another trigger, does not count."""
    lab.stage("advance", "S2")
    cause_trigger(lab, trigger, 0)
    lab.dispute()
    cause_trigger(lab, other, 1)
    before = lab.text
    words = ("reexamine", "C-001", "--trigger", trigger, "-m", "fine", "--by", "R3", *outcome.split())
    ran = lab.claim(*words)
    assert (ran.code, "hint: " in ran.err, lab.text) == (1, True, before)
    cause_trigger(lab, trigger, 2)
    assert lab.claim(*words).code == (0 if outcome == "--resolved" else 3)


def test_trigger_allows_one_reexamination(lab: Claims) -> None:
    lab.dispute()
    lab.stage("data", "gc.tsv")
    words = ("reexamine", "C-001", "--trigger", "new_data", "-m", "x", "--by", "R3")
    assert [lab.claim(*words, each).code for each in ("--unresolved", "--resolved")] == [3, 1]


def test_trigger_written_by_hand_is_ignored(lab: Claims) -> None:
    lab.dispute()
    mark = "{trigger: new_data, detail: x, timestamp: 2025-01-18T13:00:00Z}"
    lab.edit("    status: DISPUTED\n", f"    status: DISPUTED\n    reexamine: [{mark}]\n")
    words = ("reexamine", "C-001", "--trigger", "new_data", "--resolved", "-m", "x", "--by", "R3")
    assert lab.claim(*words).code == 1
    assert lab.run("validate").code == 1
    assert lab.at()["status"] == "DISPUTED"


def test_mark_from_before_the_dispute_is_ignored(lab: Claims) -> None:
    lab.add()
    lab.edit("    status: OPEN\n", "    status: OPEN\n    reexamine: [{trigger: new_data, detail: x}]\n")
    lab.dispute()
    words = ("reexamine", "C-001", "--trigger", "new_data", "--resolved", "-m", "x", "--by", "R3")
    assert lab.claim(*words).code == 1
    assert lab.run("validate").code == 0


@pytest.mark.parametrize(
    ("by", "code"),
    {
        "Rev": 1,
        "rev.": 1,
        "Res": 1,
        "R3": 0,
        "R2": 0,
        "researcher": 1,
        "the reviewer": 1,
        "R3 and Rev": 1,
        "Revlon": 0,
    }.items(),
)
def test_audit_is_by_neither_party(lab: Claims, by: str, code: int) -> None:
    lab.add()
    for _ in range(3):
        lab.round(HARNESS, words="--reviewer Rev --researcher Res")
    words = ("reexamine", "C-001", "--trigger", "cross_model_audit", "-m", "fine", "--by", by)
    assert [lab.claim(*words, each).code for each in ("--unresolved", "--resolved")] == [code or 3, code]


@pytest.mark.parametrize(("by", "code"), {"R2": 1, "r2": 1, "Researcher": 1, "R3": 0}.items())
def test_default_parties_are_those_of_the_protocol(lab: Claims, by: str, code: int) -> None:
    lab.dispute()
    words = ("reexamine", "C-001", "--trigger", "cross_model_audit", "--resolved", "-m", "fine", "--by", by)
    assert lab.claim(*words).code == code


BY_DATA = {
    "resolved": (("resolve", "C-001", "--new-data", "gc.tsv"),),
    "re-examined": (("reexamine", "C-001", "--trigger", "new_data", "--resolved", "-m", "x", "--by", "R3"),),
}


@pytest.mark.parametrize("review", ["", "--test gc_harness=passed"])
@pytest.mark.parametrize("way", BY_DATA)
def test_after_new_data_promotion_needs_a_review(lab: Claims, way: str, review: str) -> None:
    lab.dispute()
    lab.stage("data", "gc.tsv")
    for words in BY_DATA[way]:
        assert lab.claim(*words).code == 0
    before = lab.text
    ran = lab.claim("promote", "C-001")
    assert (ran.code, "liza claim round C-001" in ran.err, lab.text) == (1, True, before)
    assert lab.round(HARNESS, words=review).code == 0
    assert lab.claim("promote", "C-001").code == 0


def test_round_made_before_the_new_data_is_not_a_review(lab: Claims) -> None:
    """A round that waited in the inbox is entered under the time at which it was made."""
    lab.dispute()
    made = lab.now - timedelta(minutes=2)
    assert lab.claim("resolve", "C-001", "--new-data", "gc.tsv").code == 0
    resolved, lab.now = lab.now, made
    assert lab.round(HARNESS).code == 0
    lab.now = resolved
    assert lab.claim("promote", "C-001").code == 1
    assert lab.round(HARNESS).code == 0
    assert lab.claim("promote", "C-001").code == 0


@pytest.mark.parametrize(
    "words",
    [("resolve", "C-001", "--override", "OPEN", "-m", "x", "--by", "ann"),
     ("reexamine", "C-001", "--trigger", "cross_model_audit", "--resolved", "-m", "x", "--by", "R3")],
)  # fmt: skip
def test_decision_without_new_data_allows_promotion(lab: Claims, words: tuple[str, ...]) -> None:
    lab.dispute()
    assert lab.claim(*words).code == 0
    assert lab.claim("promote", "C-001").code == 0


def test_reexamination_without_outcome_becomes_due(lab: Claims) -> None:
    lab.dispute()
    words = ("reexamine", "C-001", "--trigger", "cross_model_audit", "--by", "ann", "-m", "R3 shall look at it")
    assert lab.claim(*words).code == 3
    assert lab.at()["reexamine"][0]["detail"] == "R3 shall look at it"


@pytest.mark.parametrize(
    "words",
    [
        ("--trigger", "boredom", "--resolved", "-m", "x", "--by", "y"),
        ("--trigger", "new_data", "--resolved", "--by", "y"),
        ("--trigger", "new_data", "--resolved", "-m", " ", "--by", "y"),
        ("--trigger", "new_data", "--resolved", "-m", "x"),
        ("--resolved", "-m", "x", "--by", "y"),
    ],
)
def test_reexamination_needs_trigger_note_and_author(lab: Claims, words: tuple[str, ...]) -> None:
    lab.dispute()
    before = lab.text
    assert lab.claim("reexamine", "C-001", *words).code == 2
    assert lab.text == before


def test_undisputed_claim_is_not_reexamined(lab: Claims) -> None:
    lab.add()
    ran = lab.claim("reexamine", "C-001", "--trigger", "new_data", "--resolved", "-m", "x", "--by", "y")
    assert (ran.code, "not in dispute" in ran.err) == (1, True)


@pytest.mark.parametrize("data", [False, True], ids=["alone", "with data entered after it"])
def test_stage_changed_by_hand_in_dispute_is_not_a_trigger(lab: Claims, data: bool) -> None:
    """The last stage seen by the dispute decides whether one was entered; no later mark hides it."""
    lab.stage("advance", "S2")
    lab.dispute()
    lab.edit("stage: S2", "stage: S1")
    if data:
        lab.stage("data", "gc.tsv")
    lab.claim("show", "C-001")
    words = ("reexamine", "C-001", "--trigger", "stage_transition", "--resolved", "-m", "fine", "--by", "R3")
    assert (lab.claim(*words).code, lab.at()["status"]) == (1, "DISPUTED")
    assert "FREEZE VIOLATED" in lab.claim("show", "C-001").out


def test_mark_by_hand_stays_visible_after_new_data(lab: Claims) -> None:
    lab.dispute()
    lab.edit(
        "    status: DISPUTED\n", "    status: DISPUTED\n    reexamine: [{trigger: stage_transition, detail: x}]\n"
    )
    lab.stage("data", "gc.tsv")
    words = ("reexamine", "C-001", "--trigger", "stage_transition", "--resolved", "-m", "fine", "--by", "R3")
    assert (lab.claim(*words).code, lab.at()["status"]) == (1, "DISPUTED")


def test_test_run_alone_allows_promotion_after_new_data(lab: Claims) -> None:
    lab.dispute()
    lab.claim("resolve", "C-001", "--new-data", "gc.tsv")
    assert lab.claim("promote", "C-001").code == 1
    assert lab.claim("round", "C-001", "--test", "harness=passed").code == 0
    assert lab.claim("promote", "C-001").code == 0
