"""What freezes a claim: the same objection in three rounds without a change, and nothing less."""

import pytest

from tests.scopes.claims.run import HARNESS, IMPOSSIBLE, Claims, json_of


def test_protocol_deadlock_is_disputed_in_third_round(lab: Claims) -> None:
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
    "back to an earlier confidence": (["A", "A --confidence 0.2", "A --confidence 0.5", "A", "A"], [0, 0, 0, 0, 3]),
    "back and forth": (["A --confidence 0.2", *["A --confidence 0.5", "A --confidence 0.2"] * 2], [0, 0, 0, 3, 3]),
    "back to an earlier text": (["A --text other", "A --text 'the text of C-001'", "A", "A"], [0, 0, 0, 3]),
    "a sign makes another confidence": (["A --confidence B+", "A --confidence B-", "A", "A", "A"], [0, 0, 0, 0, 3]),
    "and another text": (["A --text CD4+", "A --text CD4-", "A", "A", "A"], [0, 0, 0, 0, 3]),
    "the same text": (["A --text x", "A --text 'X '", "A --text x", "A"], [0, 0, 0, 3]),
}


@pytest.mark.parametrize(("rounds", "codes"), SEQUENCES.values(), ids=SEQUENCES)
def test_which_rounds_freeze_a_claim(lab: Claims, rounds: list[str], codes: list[int]) -> None:
    lab.add("C-001", "--confidence", "0.5")
    assert lab.codes(*rounds) == codes
    assert (lab.at()["status"] == "DISPUTED") == (codes[-1] == 3)


def test_json_shows_progress_towards_a_dispute(lab: Claims) -> None:
    lab.add()
    lab.codes(HARNESS)
    answer = json_of(lab.round(HARNESS, words="--json"))
    assert (answer["status"], answer["claim_status"], answer["changes"]) == ("ok", "OPEN", [])
    (near,) = answer["near"]
    assert (near["rule"], near["count"], near["threshold"]) == ("gossip_loop", 2, 3)
    answer = json_of(lab.round(HARNESS, words="--json"))
    assert (answer["status"], answer["tripped"], len(answer["ways_out"])) == ("disputed", True, 3)


# --- the same objection ---------------------------------------------------------------------------------------------

IN_OTHER_WORDS = [
    "You must run confounder harness for GC content bias",
    "you must run  confounder\n harness for GC content bias.",
    "  YOU MUST RUN CONFOUNDER HARNESS FOR GC CONTENT BIAS!",
]


def test_spelling_variants_are_the_same_objection(lab: Claims) -> None:
    lab.add()
    assert lab.codes(*IN_OTHER_WORDS) == [0, 0, 3]
    assert [each["objection"] for each in lab.at()["rounds"]] == IN_OTHER_WORDS
    assert lab.at()["dispute_reason"] == IN_OTHER_WORDS[-1]


def test_objection_id_identifies_the_objection(lab: Claims) -> None:
    lab.add()
    objections = ["no control group", "where is the control?", "a control is still missing"]
    assert [lab.round(each, words="--objection-id O-1").code for each in objections] == [0, 0, 3]
    assert lab.at()["dispute_reason"] == objections[-1]


def test_different_ids_are_different_objections(lab: Claims) -> None:
    lab.add()
    assert [lab.round("no control", words=f"--objection-id O-{n}").code for n in range(4)] == [0] * 4


def test_objection_without_id_joins_the_one_it_repeats(lab: Claims) -> None:
    lab.add()
    codes = [lab.round("no control").code, lab.round("no control", words="--objection-id O-1").code]
    assert [*codes, lab.round("No control.").code] == [0, 0, 3]


def test_each_objection_follows_its_own_id(lab: Claims) -> None:
    lab.add()
    pairs = ["--objection", "x", "--response", "1", "--objection", "y", "--response", "2"]
    for ids, code in ((["a", ""], 0), (["b", "a"], 0), (["a", "b"], 3)):
        words = [word for each in ids for word in ("--objection-id", each)]
        assert lab.claim("round", "C-001", *pairs, *words).code == code
    assert lab.at()["dispute_reason"] == "x"
    assert lab.at()["researcher_position"] == "1"


SIMILAR = [
    "Run the harness on dataset-12 before 2025-01-03, it failed after 30 s",
    "Run the harness on dataset-14 before 2025-02-07, it failed after 45 s",
    "Run the harness on dataset-19 before 2025-03-11, it failed after 9 s",
]


def test_similar_objections_are_the_same(lab: Claims) -> None:
    lab.add()
    answers = ("no", "not so", "never")
    assert [answered(lab, each, answer) for each, answer in zip(SIMILAR, answers, strict=True)] == [0, 0, 3]
    assert lab.disputes()[0]["same_by"] == "similar"


@pytest.mark.parametrize("rules", ["{matching: same, objections: exact}", "{objections: exact}"])
def test_similarity_of_objections_and_answers_can_be_disabled(lab: Claims, rules: str) -> None:
    lab.write_rules(f"disputes: {rules}\n")
    lab.add()
    assert lab.codes(*SIMILAR) == [0, 0, 0]
    assert [answered(lab, each, IMPOSSIBLE) for each in EXAMPLE] == [0, 0, 0]
    assert "disputes.objections is 'exact' (default: 'similar')" in lab.run("status").out
    lab.write_rules("disputes: {objections: exact, matching: similar}\n")
    assert [answered(lab, each, "no") for each in SIMILAR] == [0, 0, 3]


# --- the same answer ------------------------------------------------------------------------------------------------

EXAMPLE = [HARNESS, "Without harness, verdict is REJECT", "You must run the confounder harness"]


def answered(lab: Claims, objection: str, answer: str, *words: str) -> int:
    """The exit code of one round."""
    return lab.claim("round", "C-001", "--objection", objection, "--response", answer, *words).code


@pytest.mark.parametrize("words", [("--reviewer", "R2"), ()])
def test_protocol_example_trips(lab: Claims, words: tuple[str, ...]) -> None:
    lab.add()
    assert [answered(lab, each, IMPOSSIBLE, *words) for each in EXAMPLE] == [0, 0, 3]
    (dispute,) = lab.disputes()
    assert (dispute["rule"], dispute["same_by"]) == ("gossip_loop", "response")
    assert (lab.at()["dispute_reason"], lab.at()["researcher_position"]) == (EXAMPLE[-1], IMPOSSIBLE)
    assert [each["objection"] for each in lab.at()["rounds"]] == EXAMPLE
    assert [action for action, _ in lab.logged if action == "claim_disputed"] == ["claim_disputed"]


@pytest.mark.parametrize(
    ("by", "rounds"),
    {
        "id": [("a", "--objection-id O-1"), ("b", "--objection-id O-1"), ("c", "--objection-id o-1")],
        "same": [("No control.", ""), ("no  control", ""), ("no control", "")],
        "response": [("no control", ""), ("no control", ""), ("nothing to compare with", "")],
    }.items(),
)
def test_dispute_records_how_objections_matched(lab: Claims, by: str, rounds: list[tuple[str, str]]) -> None:
    lab.add()
    assert [answered(lab, objection, IMPOSSIBLE, *words.split()) for objection, words in rounds] == [0, 0, 3]
    assert lab.disputes()[0]["same_by"] == by


QUIET = {
    "three objections and three answers": [(objection, f"{answer} is what we have", "") for objection, answer in zip(
        ["no control", "too small", "unreadable plot"], ["this cohort", "one sample per patient", "a vector drawing"],
        strict=True)],
    "a short answer fits everything": [(each, "done", "") for each in ("no control", "too small", "unreadable plot")],
    "another reviewer in between": [(objection, IMPOSSIBLE, f"--reviewer {who}") for objection, who in zip(
        EXAMPLE, ("R2", "R3", "R2"), strict=True)],
    "evidence in between": [(EXAMPLE[0], IMPOSSIBLE, ""), (EXAMPLE[1], IMPOSSIBLE, "--evidence a.csv"),
                            (EXAMPLE[2], IMPOSSIBLE, "")],
    "three ids": [(objection, IMPOSSIBLE, f"--objection-id O-{n}") for n, objection in enumerate(EXAMPLE)],
    "one answer once does not make two objections one": [
        ("no control", IMPOSSIBLE, ""), ("too small", IMPOSSIBLE, ""), ("no control", "see there", "--test t"),
        ("too small", "it is not", ""), ("no control", "there is", ""), ("too small", "not at all", "")],
}  # fmt: skip


@pytest.mark.parametrize("rounds", QUIET.values(), ids=QUIET)
def test_other_objections_and_answers_are_not_a_loop(lab: Claims, rounds: list[tuple[str, str, str]]) -> None:
    lab.add()
    assert {answered(lab, objection, answer, *words.split()) for objection, answer, words in rounds} == {0}


def test_two_objections_at_once_make_one_dispute(lab: Claims) -> None:
    lab.add()
    assert lab.codes("A|B", "B|A", "A|B") == [0, 0, 3]
    claim = lab.at()
    assert (claim["dispute_reason"], claim["researcher_position"]) == ("A", "no to A")
    assert claim["also_disputed"] == [{"objection": "B", "response": "no to B"}]
    assert len(lab.disputes()) == 1
    shown = lab.run("claim", "show", "C-001").out
    assert all(text in shown for text in ("no to A", "no to B"))
    lab.edit("        response: no to B\n    dispute_cycle", "        response: yes\n    dispute_cycle")
    assert "also_disputed was changed by hand" in lab.run("validate").out


# --- state changes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["--text narrower", "--confidence 0.2"])
def test_edit_between_rounds_changes_the_next_round(lab: Claims, words: str) -> None:
    lab.add("C-001", "--confidence", "0.5")
    lab.codes("A", "A")
    assert lab.claim("edit", "C-001", *words.split()).code == 0
    assert lab.codes("A", "A", "A", "A") == [0, 0, 0, 3]


def test_edit_before_first_round_is_not_a_change(lab: Claims) -> None:
    lab.add()
    lab.claim("edit", "C-001", "--text", "one")
    lab.claim("edit", "C-001", "--text", "two", "--confidence", "0.5")
    assert lab.codes("A", "A", "A") == [0, 0, 3]


def test_edit_of_nothing_relevant_is_not_a_change(lab: Claims) -> None:
    lab.add("C-001", "--confidence", "0.5")
    lab.codes("A", "A")
    lab.claim("edit", "C-001", "--stage", "S3")
    lab.claim("edit", "C-001", "--text", "The text  of c-001.", "--confidence", "0.50")
    assert lab.codes("A") == [3]


def test_change_by_hand_between_rounds_counts(lab: Claims) -> None:
    for place, (old, new) in enumerate(
        [("text: the text of C-0", "text: another text of C-0"), ("confidence: 0.5", "confidence: 0.25")]
    ):
        name = f"C-0{place}"
        lab.add(name, "--confidence", "0.5")
        lab.codes("A", "A", name=name)
        before, _, claim = lab.text.partition(f"  {name}:\n")
        lab.write(f"{before}  {name}:\n{claim.replace(old, new, 1)}")
        assert lab.codes("A", "A", "A", "A", name=name) == [0, 0, 0, 3]


def test_evidence_added_by_hand_counts_in_next_round(lab: Claims) -> None:
    lab.add("C-001", "--evidence", "a.csv")
    lab.codes("A", "A --evidence a.csv")
    assert "evidence" not in lab.at()["baseline"] or lab.at()["baseline"]["evidence"] == ["a.csv"]
    lab.edit("    evidence:\n      - a.csv\n    created", "    evidence:\n      - a.csv\n      - b.csv\n    created")
    assert lab.codes("A") == [0]
    assert lab.at()["rounds"][-1]["evidence"] == ["b.csv"]


def test_original_evidence_is_not_new(lab: Claims) -> None:
    lab.add("C-001", "--evidence", "a.csv")
    assert lab.codes(*["A --evidence a.csv"] * 3) == [0, 0, 3]


def test_first_confidence_and_first_text_are_changes(lab: Claims) -> None:
    lab.add()
    assert lab.codes("A --confidence 0.5", "A", "A", "A") == [0, 0, 0, 3]
    lab.write(f"{lab.text}  C-002: {{}}\n")
    assert lab.codes("A --text x", "A", "A", "A", name="C-002") == [0, 0, 0, 3]


def test_round_reports_its_changes(lab: Claims) -> None:
    lab.add("C-001", "--confidence", "0.5")
    answer = json_of(lab.round("A", words="--evidence e --test t --confidence 0.4 --text new --json"))
    assert answer["changes"] == ["confidence", "evidence", "test", "text"]
    assert (lab.at()["text"], lab.at()["confidence"], lab.at()["evidence"]) == ("new", 0.4, ["e"])
    assert "no state change" in lab.round("A").out


DECLARED = """\
claims:
  - id: C-001
    text: x
    confidence: 0.7
    rounds:
      - {objection: A, response: b, changed: true, new_evidence: true}
      - {objection: A, response: b, changed: true, state_change: evidence presented, evidence: []}
      - {objection: A, response: b, details: {changed: true}, evidence: ['', ' '], tests: [], confidence: null}
"""


def test_declared_change_does_not_reset(lab: Claims) -> None:
    lab.write(DECLARED)
    assert "claim C-001 is DISPUTED" in lab.run("analyze").out
    assert lab.at()["status"] == "DISPUTED"


# --- rounds by others, then a command -------------------------------------------------------------------------------

OTHERS = {
    "nothing but objections": "- {objection: A}\n- {objection: A}\n",
    "a confidence in each": "- {objection: A, confidence: 0.7}\n- {objection: A, confidence: 0.7}\n",
    "evidence of the claim": "- {objection: A}\n- {objection: A, response: see a.csv}\n",
}


@pytest.mark.parametrize("rounds", OTHERS.values(), ids=OTHERS)
def test_command_continues_rounds_of_others(lab: Claims, rounds: str) -> None:
    lines = "".join(f"      {line}\n" for line in rounds.splitlines())
    fields = "    text: x\n    confidence: 0.7\n    evidence: [a.csv]\n"
    lab.write(f"version: 1\nclaims:\n  C-001:\n{fields}    rounds:\n{lines}")
    assert lab.codes("A --evidence a.csv") == [3]


def test_command_changes_after_rounds_of_others_count(lab: Claims) -> None:
    lab.write("version: 1\nclaims:\n  C-001:\n    text: x\n    rounds:\n    - {objection: A}\n    - {objection: A}\n")
    assert lab.codes("A --text y", "A", "A", "A") == [0, 0, 0, 3]
