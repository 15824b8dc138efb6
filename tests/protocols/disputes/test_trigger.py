"""What freezes a claim: the same objection in three rounds in which nothing changes, and nothing less."""

import pytest

from tests.protocols.disputes.run import HARNESS, IMPOSSIBLE, Claims, json_of


def test_the_deadlock_of_the_protocol_ends_in_the_third_round(lab: Claims) -> None:
    lab.add("C-001", "--confidence", "0.7")
    lab.add("C-002")
    words = ("--objection", HARNESS, "--response", IMPOSSIBLE, "--reviewer", "R2", "--cycle", "4")
    assert [lab.claim("round", "C-001", *words).code for _ in range(3)] == [0, 0, 3]
    claim = lab.at()
    assert (claim["status"], claim["previous_status"], claim["dispute_cycle"]) == ("DISPUTED", "OPEN", 4)
    assert (claim["dispute_reason"], claim["researcher_position"]) == (HARNESS, IMPOSSIBLE)
    assert claim["disputed_at"] == f"{lab.now:%Y-%m-%dT%H:%M:%SZ}"
    assert claim["confidence"] == 0.7
    assert [each["round"] for each in claim["rounds"]] == [1, 2, 3]
    assert not lab.checkpoint.exists()
    assert lab.codes("too small", name="C-002") == [0]


SEQUENCES: dict[str, tuple[list[str], list[int]]] = {
    "A A A": (["A", "A", "A"], [0, 0, 3]),
    "A B A A": (["A", "B", "A", "A"], [0, 0, 0, 0]),
    "A B A A A": (["A", "B", "A", "A", "A"], [0, 0, 0, 0, 3]),
    "{A,B} {A} {A,C}": (["A|B", "A", "A|C"], [0, 0, 3]),
    "{A,B} {B} {A,C}": (["A|B", "B", "A|C"], [0, 0, 0]),
    "A A and new evidence": (["A", "A", "A --evidence a.csv"], [0, 0, 0]),
    "A A and a test": (["A", "A", "A --test gc_harness"], [0, 0, 0]),
    "A A and another confidence": (["A", "A", "A --confidence 0.4"], [0, 0, 0]),
    "A A and another text": (["A", "A", "A --text narrower"], [0, 0, 0]),
    "a change counts 0, and then three more": (["A", "A --test t", "A", "A", "A"], [0, 0, 0, 0, 3]),
    "the same evidence again": (["A --evidence a", "A --evidence A", "A --evidence a", "A"], [0, 0, 0, 3]),
    "the same test again": (["A --test t", "A --test t", "A --test t", "A"], [0, 0, 0, 3]),
    "the same confidence": (["A --confidence 0.5", "A --confidence 0.50", "A --confidence .5"], [0, 0, 3]),
    "the same text": (["A --text x", "A --text 'X '", "A --text x", "A"], [0, 0, 0, 3]),
}


@pytest.mark.parametrize(("rounds", "codes"), SEQUENCES.values(), ids=SEQUENCES)
def test_which_rounds_freeze_a_claim(lab: Claims, rounds: list[str], codes: list[int]) -> None:
    lab.add("C-001", "--confidence", "0.5")
    assert lab.codes(*rounds) == codes
    assert (lab.at()["status"] == "DISPUTED") == (codes[-1] == 3)


def test_a_round_that_is_recorded_again_makes_no_second_dispute(lab: Claims) -> None:
    lab.dispute()
    before = lab.text
    assert lab.codes(HARNESS, HARNESS, HARNESS) == [3, 3, 3]
    assert lab.text == before
    assert len(lab.disputes()) == 1
    assert lab.actions.count("claim_disputed") == 1


def test_the_answer_for_programs_says_how_near_it_is(lab: Claims) -> None:
    lab.add()
    lab.codes(HARNESS)
    answer = json_of(lab.round(HARNESS, words="--json"))
    assert (answer["status"], answer["claim_status"], answer["changes"]) == ("ok", "OPEN", [])
    (near,) = answer["near"]
    assert (near["rule"], near["count"], near["threshold"]) == ("gossip_loop", 2, 3)
    answer = json_of(lab.round(HARNESS, words="--json"))
    assert (answer["status"], answer["tripped"], len(answer["ways_out"])) == ("disputed", True, 3)
