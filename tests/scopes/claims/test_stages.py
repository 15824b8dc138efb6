"""The last stage cannot be closed during a dispute; every other stage can. The gate agrees."""

from pathlib import Path

import pytest

from tests.cli.run import BIN, Result, served
from tests.scopes.claims.run import HARNESS, Claims, json_of

GOSSIP = """\
claims:
  - id: C-001
    text: x
    rounds: [{objection: A, response: b}, {objection: A, response: b}, {objection: A, response: b}]
"""


def gate(lab: Claims, *words: str) -> Result:
    """The gate in a process of its own, because it writes to the streams directly."""
    return served(["gate", *words], lab.root, {"PATH": str(BIN), "HOME": str(lab.root)})


def test_last_stage_is_refused_with_disputes_and_ways_out(lab: Claims) -> None:
    lab.dispute("C-001")
    lab.dispute("C-002", "too small")
    lab.add("C-003")
    before = lab.text
    ran = lab.stage("close", "S5")
    assert (ran.code, lab.text) == (3, before)
    assert "stage S5 cannot be closed, 2 claims in dispute" in ran.err
    for name in ("C-001", "C-002"):
        assert f"{name} is DISPUTED" in ran.err
        assert f"liza claim resolve {name} --drop -m WHY" in ran.err
    assert "C-003" not in ran.err
    answer = json_of(lab.stage("close", "S5", "--json"))
    assert (answer["status"], [each["claim"] for each in answer["claims"]]) == ("disputed", ["C-001", "C-002"])
    assert [len(each["ways_out"]) for each in answer["claims"]] == [3, 3]


def test_last_stage_closes_after_all_disputes(lab: Claims) -> None:
    lab.dispute("C-001")
    lab.dispute("C-002")
    lab.claim("resolve", "C-001", "--drop", "-m", "x")
    assert lab.stage("close", "S5").code == 3
    lab.claim("resolve", "C-002", "--new-data", "y")
    assert lab.stage("close", "S5", "--by", "ann").code == 0
    assert "stage_closed" in lab.actions
    assert "already" in lab.stage("close", "S5").out


def test_other_stages_close_over_a_dispute(lab: Claims) -> None:
    lab.stage("advance", "S4")
    lab.dispute()
    assert lab.stage("close", "S4").code == 0
    assert lab.stage("close", "S3").code == 0


@pytest.mark.parametrize("name", ["s5", "S5.", "Ｓ５"])
def test_other_spelling_of_last_stage_is_refused(lab: Claims, name: str) -> None:
    lab.dispute()
    assert lab.stage("close", name).code == 3


def test_last_stage_name_is_a_setting(lab: Claims) -> None:
    lab.write_rules("disputes: {last_stage: Synthesis}\n")
    lab.dispute()
    assert lab.stage("close", "S5").code == 0
    assert lab.stage("close", "synthesis").code == 3
    assert "disputes.last_stage is 'Synthesis' (default: 'S5')" in lab.run("status").out


def test_last_stage_name_may_be_a_number(lab: Claims) -> None:
    lab.write_rules("disputes: {last_stage: 5}\n")
    lab.dispute()
    assert [lab.stage("close", name).code for name in ("5", "4")] == [3, 0]


def test_last_stage_reads_claims_not_a_summary(lab: Claims) -> None:
    lab.add("C-002")
    lab.codes("A --cycle 9", name="C-002")
    lab.dispute("C-001")
    (lab.root / "SUMMARY.md").write_text("# Cycle 9\n\n## C-002\n\nAll is well.\n")
    assert lab.stage("close", "S5").code == 3
    assert "C-001 [DISPUTED]" in lab.run("claim", "summary", "--cycle", "9").out
    assert "C-001 [DISPUTED]" in lab.run("claim", "summary", "--cycle", "3").out


def test_unchecked_gossip_loop_blocks_last_stage(lab: Claims) -> None:
    lab.write(f"version: 1\n{GOSSIP}")
    assert lab.stage("close", "S5").code == 3
    assert lab.at()["status"] == "DISPUTED"


ODD = {
    "claims that are a number": "claims: 5\n",
    "claims that are no records": "claims: [C-001]\n",
    "a claim that is no record": "claims: {C-001: DISPUTED}\n",
    "rounds that are no list": "claims: {C-001: {rounds: 3}}\n",
    "a status that is no word": "claims: [{id: C-001, status: [OPEN]}]\n",
    "a history that is no list": "claims: [{id: C-001, history: none}]\n",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_last_stage_does_not_close_on_unreadable_claims(lab: Claims, text: str) -> None:
    lab.write(f"version: 1\n{text}")
    assert lab.stage("close", "S5").code == 4
    assert lab.text == f"version: 1\n{text}"
    assert lab.run("validate").code == 1


def test_dispute_of_claim_without_id_counts(lab: Claims) -> None:
    lab.write("version: 1\nclaims:\n  - {text: x, status: DISPUTED}\n")
    ran = lab.stage("close", "S5")
    assert (ran.code, "number 1 is DISPUTED" in ran.err) == (3, True)


def test_last_stage_closed_by_hand_over_dispute_is_reported(lab: Claims) -> None:
    lab.stage("advance", "S5")
    lab.dispute()
    lab.edit("status: ACTIVE", "status: CLOSED")
    message = "stage S5 is closed despite a dispute: C-001 is DISPUTED"
    assert message in lab.run("validate").out
    assert message in lab.run("status").out


def test_gate_agrees_for_last_stage_and_claim(lab: Claims) -> None:
    lab.add("C-002", "--stage", "S5")
    assert [gate(lab, *words).code for words in (("--stage", "S5"), ("--claim", "C-001"))] == [0, 0]
    lab.dispute()
    for words in (("--stage", "S5"), ("--stage", "s5"), ("--claim", "C-001")):
        ran = gate(lab, *words)
        assert ran.code == 2
        assert "C-001 is DISPUTED" in ran.err
        assert "liza claim resolve C-001 --new-data REF" in ran.err
    assert [gate(lab, *words).code for words in (("--stage", "S4"), ("--claim", "C-002"))] == [0, 0]
    lab.claim("resolve", "C-001", "--drop", "-m", "x")
    assert [gate(lab, *words).code for words in (("--stage", "S5"), ("--claim", "C-001"))] == [0, 0]


def test_gate_stops_for_broken_freeze_and_unchecked_loop(lab: Claims) -> None:
    lab.dispute()
    lab.edit("    status: DISPUTED", "    status: ACCEPTED")
    assert gate(lab, "--claim", "C-001").code == 2
    lab.write(f"version: 1\n{GOSSIP}")
    before = lab.text
    assert [gate(lab, *words).code for words in (("--stage", "S5"), ("--claim", "C-001"))] == [2, 2]
    assert lab.text == before


# --- beyond the last stage ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["S6", "s6", "S10", "S5.1", "S5b", "S-6", "Publication"])
@pytest.mark.parametrize("verb", ["advance", "close"])
def test_stage_beyond_the_last_is_refused_over_a_dispute(lab: Claims, verb: str, name: str) -> None:
    lab.stage("advance", "S5")
    lab.dispute()
    before = lab.text
    ran = lab.stage(verb, name)
    assert (ran.code, lab.text) == (3, before)
    assert "liza claim resolve C-001 --drop -m WHY" in ran.err
    answer = json_of(lab.stage(verb, name, "--json"))
    assert (answer["status"], [each["claim"] for each in answer["claims"]]) == ("disputed", ["C-001"])
    assert lab.claim("resolve", "C-001", "--drop", "-m", "x").code == 0
    assert lab.stage(verb, name).code == 0
    assert lab.run("validate").code == 0


def test_last_stage_cannot_be_skipped(lab: Claims) -> None:
    lab.stage("advance", "S4")
    lab.dispute()
    assert [lab.stage("advance", name).code for name in ("S6", "S5", "S6")] == [3, 0, 3]


@pytest.mark.parametrize("verb", ["advance", "close"])
def test_unnumbered_stage_does_not_skip_the_last(lab: Claims, verb: str) -> None:
    """The last stage was never entered, so it is not listed; the listed ones show that stages have numbers."""
    lab.stage("advance", "S4")
    lab.dispute()
    assert lab.stage(verb, "FINAL").code == 3
    assert lab.stage("advance", "S3").code == 0


def test_deleted_dispute_blocks_stages_beyond_the_last(lab: Claims) -> None:
    lab.stage("advance", "S5")
    lab.dispute()
    lab.write(lab.text.split("claims:\n")[0])
    assert lab.stage("advance", "S6").code == 3


def test_unnumbered_stages_are_ordered_by_their_list(lab: Claims) -> None:
    lab.write_rules("disputes: {last_stage: Synthesis}\n")
    lab.write("version: 1\nstages: [{name: Scoping}, {name: Analysis}, {name: Synthesis}, {name: Printing}]\n")
    lab.dispute()
    names = ("Analysis", "Synthesis", "Printing", "Review", "Scoping")
    assert [lab.stage("advance", name).code for name in names] == [0, 0, 3, 3, 0]


def test_going_back_from_last_stage_requires_reentering_it(lab: Claims) -> None:
    """A team may go back for more data; then the last stage must be entered again."""
    lab.stage("advance", "S3")
    lab.stage("advance", "S5")
    lab.dispute()
    assert lab.stage("advance", "S3").code == 0
    rows = json_of(lab.run("stage", "list", "--json"))["stages"]
    assert {each["stage"]: each["status"] for each in rows} == {"S3": "ACTIVE", "S5": "PENDING"}
    assert lab.run("validate").code == 0
    assert lab.stage("advance", "S6").code == 3


@pytest.mark.parametrize(
    "stages", ["S5: {status: passed}", "S5: {status: PASSED}\n  S6: {status: ACTIVE}", "S6: {status: running}"]
)
def test_last_stage_passed_by_hand_over_dispute_is_reported(lab: Claims, stages: str) -> None:
    lab.dispute()
    lab.write(f"{lab.text}stages:\n  {stages}\n")
    assert lab.run("validate").code == 1
    assert "despite a dispute: C-001 is DISPUTED" in lab.run("status").out


def test_gate_stops_beyond_the_last_stage(lab: Claims) -> None:
    lab.stage("advance", "S5")
    lab.dispute()
    assert [gate(lab, "--stage", name).code for name in ("S6", "S4")] == [2, 0]
    lab.claim("resolve", "C-001", "--drop", "-m", "x")
    assert gate(lab, "--stage", "S6").code == 0


# --- stages ---------------------------------------------------------------------------------------------------------


def test_one_stage_is_active_and_earlier_ones_passed(lab: Claims, tmp_path: Path) -> None:
    for name in ("S1", "S2", "S3"):
        assert lab.stage("advance", name).code == 0
    assert lab.run("stage", "list").out.split() == ["S1", "PASSED", "S2", "PASSED", "S3", "ACTIVE"]
    lab.stage("close", "S2")
    lab.stage("advance", "S2")
    answer = json_of(lab.run("stage", "list", "--json"))
    assert {each["stage"]: each["status"] for each in answer["stages"]} == {
        "S1": "PASSED", "S2": "ACTIVE", "S3": "PASSED",
    }  # fmt: skip


FORMS = {
    "a list": "stages:\n  - {name: S1, status: ACTIVE, owner: ann}\n  - name: S2  # next\n",
    "a mapping": "stages:\n  S1: {status: ACTIVE, owner: ann}\n  S2:   {}\n",
    "numbers": "stages:\n  1: {status: ACTIVE}\n  2: {}\n",
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_stages_keep_their_yaml_form(lab: Claims, text: str) -> None:
    lab.write(f"version: 1\n{text}")
    names = ("1", "2") if "  1:" in text else ("S1", "S2")
    assert lab.stage("advance", names[1]).code == 0
    rows = json_of(lab.run("stage", "list", "--json"))["stages"]
    assert [(each["stage"], each["status"]) for each in rows] == [(names[0], "PASSED"), (names[1], "ACTIVE")]
    assert "owner: ann" in lab.text or "1:" in text
    assert lab.stage("data", "x.csv").code == 0
    assert "x.csv" in lab.text


@pytest.mark.parametrize("name", ["", " ", "a\nb", "\x1b[2J", "x" * 200])
def test_invalid_stage_name_is_refused(lab: Claims, name: str) -> None:
    before = lab.text
    assert [lab.stage(verb, name).code for verb in ("advance", "close")] == [1, 1]
    assert lab.text == before


def test_unreadable_stages_block_closing_but_not_reviews(lab: Claims) -> None:
    lab.add()
    lab.write(lab.text + "stages: 5\n")
    assert [lab.stage(verb, "S1").code for verb in ("advance", "close")] == [4, 4]
    assert lab.codes(HARNESS, HARNESS, HARNESS) == [0, 0, 3]
