"""Claims as people write them: lists and mappings, numeric ids, missing or odd fields."""

import pytest

from tests.scopes.claims.run import Claims, json_of

FORMS = {
    "a mapping": "claims:\n  C-001:   # the main one\n    text: x\n    owner:   ann  # stays\n",
    "a list": "claims:\n  - id: C-001   # the main one\n    text: x\n    owner:   ann  # stays\n",
    "a list at the margin": "claims:\n- claim_id: C-001\n  text: x\n  owner:   ann  # stays\n",
    "one line": "claims: {C-001: {text: x, owner:   ann}}\n",
    "a list on one line": "claims: [{id: C-001, text: x, owner:   ann}]\n",
    "a record on one line": "claims:\n  - {name: C-001, text: x,   owner:   ann}\n",
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_dispute_works_in_every_yaml_form(lab: Claims, text: str) -> None:
    lab.write(f"version: 1\n{text}remarks:   kept   # as they are\n")
    assert lab.codes("A", "A", "A") == [0, 0, 3]
    assert lab.claim("resolve", "C-001", "--new-data", "y").code == 0
    assert lab.codes("A", "A", "A") == [0, 0, 3]
    assert lab.claim("resolve", "C-001", "--drop", "-m", "z").code == 0
    assert "owner:   ann" in lab.text
    assert ("# stays" in lab.text) == ("# stays" in text)
    assert lab.text.endswith("remarks:   kept   # as they are\n")
    assert lab.run("validate").code == 0
    answer = json_of(lab.run("claim", "show", "C-001", "--json"))
    assert (answer["claim_status"], len(answer["record"]["history"])) == ("KILLED", 2)


@pytest.mark.parametrize("text", ["claims:\n  7: {text: x}\n", "claims:\n  - id: 7\n    text: x\n"])
def test_id_may_be_a_number(lab: Claims, text: str) -> None:
    lab.write(f"version: 1\n{text}")
    assert lab.codes("A", "A", "A", name="7") == [0, 0, 3]
    assert lab.claim("add", "8", "--text", "y", "--depends-on", "7").code == 0
    assert lab.claim("promote", "8").code == 3
    assert lab.run("validate").code == 0
    assert lab.claim("resolve", "7", "--drop", "-m", "z").code == 0
    assert lab.claim("promote", "8").code == 0


def test_claim_without_fields_can_be_reviewed(lab: Claims) -> None:
    lab.write("version: 1\nclaims:\n  C-001: {}\n")
    assert lab.codes("A", "A --text now --confidence high", "A", "A", "A") == [0, 0, 0, 0, 3]
    assert lab.at()["previous_status"] == "OPEN"


@pytest.mark.parametrize("status", ["PROVISIONAL", "under review", "open", "weird-1", "ACCEPTED"])
def test_own_status_is_kept_and_restored(lab: Claims, status: str) -> None:
    lab.write(f"version: 1\nclaims:\n  C-001: {{status: {status}, text: x}}\n")
    assert lab.codes("A", "A", "A") == [0, 0, 3]
    assert lab.at()["previous_status"] == status
    lab.claim("resolve", "C-001", "--new-data", "y")
    assert lab.at()["status"] == status


def test_misspelt_status_is_a_warning(lab: Claims) -> None:
    lab.write("version: 1\nclaims:\n  C-001: {status: DISPUTD, text: x}\n")
    ran = lab.run("validate")
    assert (ran.code, "did you mean DISPUTED?" in ran.out) == (0, True)


UNREADABLE = {
    "rounds": "rounds: three", "history": "history: {a: 1}", "reexamine": "reexamine: 1", "status": "status: [OPEN]",
}  # fmt: skip


@pytest.mark.parametrize("field", UNREADABLE)
def test_unreadable_claim_is_located_and_unchanged(lab: Claims, field: str) -> None:
    lab.write(f"version: 1\nclaims:\n  C-001:\n    text: x\n    {UNREADABLE[field]}\n  C-002: {{text: y}}\n")
    before = lab.text
    ran = lab.round("A")
    assert (ran.code, "state.yaml:5:5" in ran.err, field in ran.err) == (4, True, True)
    assert lab.claim("show", "C-001").code == 4
    assert lab.text == before
    listed = lab.run("claim", "list")
    assert (listed.code, "C-001 cannot be evaluated" in listed.out, "C-002" in listed.out) == (4, True, True)
    assert "claim C-001 cannot be evaluated" in lab.run("status").out
    ran = lab.run("validate")
    assert (ran.code, "state.yaml:5:5" in ran.out) == (1, True)
    assert lab.codes("A", "A", "A", name="C-002") == [0, 0, 3]


FAULTS = {
    "no id": ("- {text: x}", "this claim has no name"),
    "the same id twice": ("- {id: a, text: x}\n- {id: a, text: y}", "the claim 'a' appears twice"),
    "a round that is none": ("- {id: a, text: x, rounds: [yes]}", "expected a record with fields"),
    "an objection that is a mapping": (
        "- {id: a, text: x, rounds: [{objection: {b: c}}]}",
        "objection: expected a string, got a mapping",
    ),
    "objections that are no list": ("- {id: a, text: x, rounds: [{objections: b}]}", "objections: expected a list"),
    "no text": ("- {id: a}", "has no text"),
    "an unknown dependency": ("- {id: aa1, text: x, depends_on: aa2}", "which is not a claim here"),
}


@pytest.mark.parametrize(("text", "message"), FAULTS.values(), ids=FAULTS)
def test_validate_reports_odd_claims(lab: Claims, text: str, message: str) -> None:
    lab.write(f"version: 1\nclaims:\n{text}\n")
    ran = lab.run("validate")
    assert message in ran.out, ran.out
    assert "state.yaml:3" in ran.out or "state.yaml:4" in ran.out
    assert lab.run("claim", "list").code in (0, 4)
    assert lab.run("claim", "ledger").code == 0
    assert lab.run("analyze").code == 0


ROUNDS = {
    "texts in a list": "- {objection: [A, B], response: [x, y]}\n" * 3,
    "objections that are plain texts": "- {objections: [A, B]}\n" * 3,
    "text instead of objection": "- {objections: [{text: A, response: x}]}\n" * 3,
    "numbers": "- {objection: 42, response: 0}\n" * 3,
    "an id alone": "- {objection_id: O-1, response: x}\n" * 3,
    "notes between the rounds": "- {objection: A}\n- just a note\n- null\n- {objection: a}\n- {objection: A.}\n",
    "rounds without a number and a time": "- {objection: A}\n" * 3,
    "the same references each time": "- {objection: A, evidence: {ref: a}, tests: [{t: 1}]}\n" * 4,
}


@pytest.mark.parametrize("rounds", ROUNDS.values(), ids=ROUNDS)
def test_rounds_are_understood_in_many_forms(lab: Claims, rounds: str) -> None:
    lines = "".join(f"      {line}\n" for line in rounds.splitlines())
    lab.write(f"version: 1\nclaims:\n  C-001:\n    text: x\n    rounds:\n{lines}")
    lab.run("analyze")
    assert lab.at()["status"] == "DISPUTED"
    assert lab.run("claim", "show", "C-001").code == 3
    assert lab.claim("resolve", "C-001", "--new-data", "y").code == 0


QUIET = {
    "another result of the same test": "".join(f"- {{objection: A, tests: [{{t: {n}}}]}}\n" for n in range(4)),
    "another confidence each time": "".join(f"- {{objection: A, confidence: 0.{n}}}\n" for n in range(4)),
    "a confidence that comes late": "- {objection: A}\n- {objection: A}\n- {objection: A, confidence: 0.5}\n",
    "no objection at the end": "- {objection: A}\n" * 2 + "- {response: fine}\n",
    "an empty objection": "- {objection: ' '}\n" * 4,
    "an objection that is a mapping": "- {objection: {a: b}}\n" * 4,
}


@pytest.mark.parametrize("rounds", QUIET.values(), ids=QUIET)
def test_rounds_without_gossip_loop_are_left_alone(lab: Claims, rounds: str) -> None:
    lines = "".join(f"      {line}\n" for line in rounds.splitlines())
    lab.write(f"version: 1\nclaims:\n  C-001:\n    text: x\n    rounds:\n{lines}")
    before = lab.text
    lab.run("analyze")
    assert lab.text.startswith(before)


def test_unchanged_confidence_is_not_a_change(lab: Claims) -> None:
    rounds = "      - {objection: A, confidence: 0.6, text: x}\n" * 3
    lab.write(f"version: 1\nclaims:\n  C-001:\n    text: x\n    confidence: 0.6\n    rounds:\n{rounds}")
    lab.run("analyze")
    assert lab.at()["status"] == "DISPUTED"


@pytest.mark.parametrize("name", ["", " ", " C-1", "a\nb", "\x1b[2J", "x" * 101, "--drop"])
def test_invalid_id_is_refused(lab: Claims, name: str) -> None:
    before = lab.text
    assert lab.run("claim", "add", "--text", "x", "--", name).code == 1
    assert lab.text == before


@pytest.mark.parametrize(
    "words", ["round --objection a --response b --reviewer", "edit --stage", "round --objection a --response b --test"]
)
def test_blank_option_value_is_refused(lab: Claims, words: str) -> None:
    lab.add()
    before = lab.text
    verb, *options = words.split()
    ran = lab.claim(verb, "C-001", *options, " ")
    assert (ran.code, f"{options[-1]} is empty" in ran.err) == (2, True)
    assert lab.text == before


def test_id_may_contain_shell_characters(lab: Claims) -> None:
    name = "it's; | $(a) `b` #1 / [x]"
    lab.add(name)
    assert lab.codes("A", "A", "A", name=name) == [0, 0, 3]
    assert "claim resolve 'it'\"'\"'s; | $(a) `b` #1 / [x]' --drop" in lab.run("claim", "show", name).out
    assert lab.claim("resolve", name, "--drop", "-m", "x").code == 0


def test_adding_again_changes_nothing_and_other_text_is_refused(lab: Claims) -> None:
    lab.add()
    before = lab.text
    assert lab.claim("add", "C-001", "--text", "the text of C-001").code == 0
    ran = lab.claim("add", "C-001", "--text", "something else")
    assert (ran.code, "liza claim edit C-001" in ran.err) == (1, True)
    assert lab.text == before
    assert lab.claim("add", "C-002", "--text", "x", "--depends-on", "C-9").code == 1


# --- unwritable claims ----------------------------------------------------------------------------------------------

ROUNDS_OF_A = "rounds: [{objection: A}, {objection: A}, {objection: A}]"
SHARED = f"""\
version: 1
base: &shared
  text: x
  {ROUNDS_OF_A}
claims:
  C-001: *shared
loops:
  nightly: {{status: CLOSED, iterations: [{{files_changed: 0}}, {{files_changed: 0}}, {{files_changed: 0}}]}}
"""
DETAILS = "reporter: r, type: retry_loop, details: {count: 3, error_pattern: x}"
RETRIES = "".join(f"- {{timestamp: 2025-01-18T1{n}:00:00Z, task: t{n}, {DETAILS}}}\n" for n in range(3))


def test_unwritable_claim_is_degraded_and_loops_are_evaluated(lab: Claims) -> None:
    lab.write(f"{SHARED}anomalies: []\n")
    ran = lab.run("analyze")
    assert (ran.code, "claims could not be evaluated" in ran.err, "hint: " in ran.err) == (4, True, True)
    assert "nightly: {status: OPEN" in lab.text
    assert "C-001: *shared\n" in lab.text
    assert lab.round("A").code == 4  # it waits in the inbox
    assert lab.stage("close", "S5").code == 1


def test_unwritable_claim_does_not_hide_a_halt(lab: Claims) -> None:
    lab.write(f"{SHARED}anomalies:\n{RETRIES}")
    ran = lab.run("analyze", "--now", "2025-01-18T20:00:00Z")
    assert (ran.code, "claims could not be evaluated" in ran.out) == (3, True)
    assert lab.checkpoint.exists()


@pytest.mark.parametrize("copy", ["  - {id: C-001, text: a copy}\n", "  - {claim_id: C-001, status: KILLED}\n"])
def test_duplicate_id_does_not_replace_the_frozen_claim(lab: Claims, copy: str) -> None:
    rounds = "[{objection: A}, {objection: A}, {objection: A}]"
    lab.write(f"{lab.text}claims:\n{copy}  - {{id: C-001, text: x, rounds: {rounds}}}\n")
    lab.run("analyze")
    before = lab.text
    for words in ("promote C-001", "resolve C-001 --drop -m x", "show C-001", "round C-001 --objection A --response B"):
        ran = lab.claim(*words.split())
        assert (ran.code, "there are 2 claims with the id C-001" in ran.err) == (4, True)
        assert "give one of them another id" in ran.err
    assert lab.run("gate", "--claim", "C-001").code == 2
    assert lab.stage("close", "S5").code == 3
    assert lab.text == before


def test_hint_quotes_an_id_of_several_words(lab: Claims) -> None:
    lab.add("gc bias")
    ran = lab.claim("resolve", "gc bias", "--drop", "-m", "x")
    assert "see: liza claim show 'gc bias'" in ran.err


def test_unreadable_claims_are_not_listed_as_none(lab: Claims) -> None:
    lab.write(f"{lab.text}claims: {{C-001: 5}}\n")
    ran = lab.run("claim", "list")
    assert (ran.code, ran.out) == (4, "! claim C-001 cannot be evaluated: not a record\n")
