"""The three ways out of a dispute: each needs its reason, is logged, and is kept in the claim's history."""

import re

import pytest

from tests.scopes.claims.run import HARNESS, Claims, frozen_part, json_of

WAYS = {
    "new data": (("--new-data", "gc.tsv"), "OPEN", "new_data", "gc.tsv"),
    "new data, with a reason": (("--new-data", "gc.tsv", "-m", "annotated"), "OPEN", "new_data", "annotated"),
    "a drop": (("--drop", "-m", "untestable"), "KILLED", "dropped", "untestable"),
    "an override": (("--override", "accepted", "-m", "ok", "--by", "ann"), "ACCEPTED", "human_override", "ok"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "status", "how", "why"), WAYS.values(), ids=WAYS)
def test_way_out_is_kept_in_history_and_log(
    lab: Claims, words: tuple[str, ...], status: str, how: str, why: str
) -> None:
    lab.add("C-001", "--confidence", "0.7")
    lab.dispute()
    before = frozen_part(lab.at())
    ran = lab.claim("resolve", "C-001", *words)
    assert (ran.code, ran.err) == (0, "")
    claim = lab.at()
    (dispute,) = lab.disputes()
    assert claim["status"] == status
    assert (dispute["resolution"], dispute["rationale"], dispute["outcome"]) == (how, why, status)
    assert dispute["resolved_at"] == f"{lab.now:%Y-%m-%dT%H:%M:%SZ}"
    assert dispute["resolved_by"]
    for name in ("rounds", "dispute_reason", "researcher_position"):
        assert dispute[name] == before[name]
        assert not claim.get(name)
    assert (claim["text"], claim["confidence"]) == (before["text"], before["confidence"])
    assert claim.get("human_override_rationale") == ("ok" if how == "human_override" else None)
    (logged,) = [detail for action, detail in lab.logged if action == "claim_resolved"]
    assert why in logged
    assert "resolved" in [line.split()[1] for line in lab.alerts.read_text().splitlines()]
    assert lab.run("validate").code == 0


def test_new_data_restores_status_and_restarts_counting(lab: Claims) -> None:
    lab.add()
    lab.edit("status: OPEN", "status: PROVISIONAL")
    lab.dispute()
    lab.claim("resolve", "C-001", "--new-data", "gc.tsv")
    assert lab.at()["status"] == "PROVISIONAL"
    assert lab.codes(HARNESS, HARNESS) == [0, 0]
    assert [each["round"] for each in lab.at()["rounds"]] == [4, 5]
    assert lab.run("analyze").code == 0
    assert lab.at()["status"] == "PROVISIONAL"


def test_second_dispute_is_kept_beside_the_first(lab: Claims) -> None:
    lab.dispute()
    lab.claim("resolve", "C-001", "--new-data", "gc.tsv")
    lab.dispute(objection="the harness was run on the wrong cohort")
    first, second = lab.disputes()
    assert first["dispute_reason"] == HARNESS
    assert (first["resolution"], "resolution" in second) == ("new_data", False)
    lab.claim("resolve", "C-001", "--override", "ACCEPTED", "-m", "seen by two", "--by", "bea")
    first, second = lab.disputes()
    assert (first["resolution"], second["resolution"]) == ("new_data", "human_override")
    assert second["dispute_reason"] == "the harness was run on the wrong cohort"
    assert [len(each["rounds"]) for each in (first, second)] == [3, 3]
    assert lab.actions.count("claim_disputed") == lab.actions.count("claim_resolved") == 2


def test_evidence_of_earlier_dispute_is_not_new(lab: Claims) -> None:
    lab.add()
    assert lab.codes("A --evidence a.csv --test t", "A", "A", "A") == [0, 0, 0, 3]
    lab.claim("resolve", "C-001", "--new-data", "b.csv")
    assert lab.codes("A --evidence a.csv --test t", "A --evidence b.csv", "A", "A", "A") == [0, 0, 0, 0, 3]


EMPTY = [
    ("--drop",), ("--drop", "-m", ""), ("--drop", "-m", " \n "), ("--new-data", ""), ("--new-data", "  "),
    ("--override", "ACCEPTED", "--by", "ann"), ("--override", "ACCEPTED", "-m", "", "--by", "ann"),
    ("--override", "ACCEPTED", "-m", "x"), ("--override", "ACCEPTED", "-m", "x", "--by", " "),
    (), ("-m", "just so"), ("--drop", "--new-data", "x", "-m", "both"),
]  # fmt: skip


@pytest.mark.parametrize("words", EMPTY, ids=" ".join)
def test_incomplete_resolution_is_refused(lab: Claims, words: tuple[str, ...]) -> None:
    lab.dispute()
    before = lab.text
    ran = lab.claim("resolve", "C-001", *words)
    assert ran.code == 2
    assert "hint: " in ran.err
    assert lab.text == before
    assert "claim_resolved" not in lab.actions


@pytest.mark.parametrize("status", ["DISPUTED", "disputed", "ACEPTED", "two words", "", "x" * 50, "\x1b[2J"])
def test_invalid_override_status_is_refused(lab: Claims, status: str) -> None:
    lab.dispute()
    before = lab.text
    assert lab.claim("resolve", "C-001", "--override", status, "-m", "x", "--by", "ann").code == 1
    assert lab.text == before


def test_reason_may_start_with_an_at_sign(lab: Claims) -> None:
    lab.dispute()
    assert lab.claim("resolve", "C-001", "--drop", "-m", "@ann says so").code == 0
    assert lab.disputes()[0]["rationale"] == "@ann says so"


def test_own_status_must_be_on_the_blackboard_already(lab: Claims) -> None:
    lab.dispute()
    lab.add("C-002")
    override = ("resolve", "C-001", "--override", "paper-grade", "-m", "x", "--by", "ann")
    promote = ("promote", "C-002", "--to", "PAPER-GRADE")
    before = lab.text
    assert [lab.claim(*words).code for words in (override, promote)] == [1, 1]
    assert lab.text == before
    lab.add("C-003")
    lab.edit("status: OPEN\n    text: the text of C-003", "status: Paper-Grade\n    text: the text of C-003")
    assert [lab.claim(*words).code for words in (override, promote)] == [0, 0]
    assert [lab.at(name)["status"] for name in ("C-001", "C-002")] == ["PAPER-GRADE"] * 2


def test_list_counts_the_rounds_of_a_resolved_dispute(lab: Claims) -> None:
    lab.dispute()
    lab.claim("resolve", "C-001", "--drop", "-m", "untestable")
    assert re.search(r"C-001\s+KILLED\s+3 rounds", lab.run("claim", "list").out)


def test_repeated_decision_is_accepted_and_another_refused(lab: Claims) -> None:
    lab.dispute()
    drop = ("resolve", "C-001", "--drop", "-m", "untestable")
    assert lab.claim(*drop).code == 0
    before = lab.text
    again = lab.claim(*drop)
    assert (again.code, "already" in again.out) == (0, True)
    other = lab.claim("resolve", "C-001", "--new-data", "gc.tsv")
    assert (other.code, "not in dispute" in other.err) == (1, True)
    assert lab.text == before
    assert lab.actions.count("claim_resolved") == 1


def test_undisputed_claim_cannot_be_resolved(lab: Claims) -> None:
    lab.add()
    assert lab.claim("resolve", "C-001", "--drop", "-m", "x").code == 1
    ran = lab.claim("resolve", "C001", "--drop", "-m", "x")
    assert (ran.code, "did you mean C-001?" in ran.err) == (1, True)


def test_killed_claim_shows_killed_not_dispute_distance(lab: Claims) -> None:
    lab.add()
    lab.codes("A", "A")
    answer = json_of(lab.claim("kill", "C-001", "-m", "given up", "--by", "ann", "--json"))
    assert (answer["claim_status"], answer["near"]) == ("KILLED", [])


def test_killed_claim_is_not_reviewed_edited_or_promoted(lab: Claims) -> None:
    lab.add()
    assert lab.claim("kill", "C-001", "-m", "wrong").code == 0
    before = lab.text
    assert lab.codes("A") == [1]
    assert lab.claim("edit", "C-001", "--text", "x").code == 1
    assert lab.claim("promote", "C-001").code == 1
    assert lab.claim("kill", "C-001", "-m", "wrong").code == 0
    assert lab.text == before
    (entry,) = lab.at()["history"]
    assert (entry["event"], entry["from"], entry["to"], entry["rationale"]) == ("killed", "OPEN", "KILLED", "wrong")
