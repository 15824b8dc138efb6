"""A claim in dispute: it is frozen, changes by hand are noticed, and all other claims continue."""

import subprocess
from pathlib import Path

import pytest

from tests.cli.run import BIN
from tests.scopes.claims.run import HARNESS, Claims, frozen_part, json_of
from tests.tools import needs

WAYS_OUT = (
    "liza claim resolve C-001 --new-data REF",
    "liza claim resolve C-001 --drop -m WHY",
    "liza claim resolve C-001 --override STATUS -m WHY --by NAME",
)
REFUSED = {
    "round": ("round", "C-001", "--objection", "x", "--response", "y", "--evidence", "new.csv"),
    "edit": ("edit", "C-001", "--text", "another"),
    "promote": ("promote", "C-001"),
    "kill": ("kill", "C-001", "-m", "drop it"),
}


@pytest.mark.parametrize("words", REFUSED.values(), ids=REFUSED)
def test_change_of_frozen_claim_is_refused_with_ways_out(lab: Claims, words: tuple[str, ...]) -> None:
    lab.dispute()
    before = lab.text
    ran = lab.claim(*words)
    assert ran.code == 3
    assert HARNESS in ran.err
    assert all(way in ran.err for way in WAYS_OUT)
    assert lab.text == before
    answer = json_of(lab.claim(*words, "--json"))
    assert (answer["status"], tuple(answer["ways_out"])) == ("disputed", WAYS_OUT)


def test_concurrent_rounds_make_one_dispute(lab: Claims) -> None:
    lab.add()
    lab.add("C-002")
    pairs = [("C-001", "A"), ("C-002", "1"), ("C-001", "A"), ("C-002", "2"), ("C-001", "A"), ("C-001", "A")]
    running = [
        subprocess.Popen(
            [BIN / "liza", "claim", "round", name, "--objection", objection, "--response", "no", "--root", lab.root],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for name, objection in pairs
    ]
    codes = [process.wait() for process in running]
    assert sorted(code for (name, _), code in zip(pairs, codes, strict=True) if name == "C-001") == [0, 0, 3, 3]
    assert {code for (name, _), code in zip(pairs, codes, strict=True) if name == "C-002"} == {0}
    assert [len(lab.at(name)["rounds"]) for name in ("C-001", "C-002")] == [3, 2]
    assert (len(lab.disputes()), lab.actions.count("claim_disputed")) == (1, 1)


def test_freeze_is_announced_and_stops_no_other_claim(lab: Claims) -> None:
    lab.add("C-002")
    lab.dispute()
    (entry,) = [detail for action, detail in lab.logged if action == "claim_disputed"]
    assert entry.startswith("claim C-001 is DISPUTED: The same objection for 3 rounds without a state change")
    (alert,) = lab.alerts.read_text().splitlines()
    assert "  tripped    claim C-001 is DISPUTED" in alert
    assert "C-001 \\[DISPUTED\\]" not in lab.run("claim", "ledger").out
    assert "## C-001 [DISPUTED]\n" in lab.run("claim", "ledger").out
    assert "stopped: claim C-001 is DISPUTED" in lab.run("status").out
    assert lab.run("status").code == 0
    assert not lab.checkpoint.exists()
    assert lab.codes("A", "B", name="C-002") == [0, 0]
    assert lab.claim("promote", "C-002").code == 0


def test_dependent_claim_is_reviewed_but_not_promoted(lab: Claims) -> None:
    lab.add()
    lab.add("C-002", "--depends-on", "C-001")
    lab.add("C-003", "--depends-on", "C-002")
    lab.dispute()
    for name, path in (("C-002", ""), ("C-003", " through C-002")):
        ran = lab.claim("promote", name)
        assert ran.code == 3
        assert f"claim {name} cannot be promoted while C-001, on which it depends{path}, is DISPUTED" in ran.err
        assert "liza claim show C-001" in ran.err
    assert lab.codes("too vague", name="C-002") == [0]
    assert lab.claim("edit", "C-002", "--confidence", "0.3").code == 0
    assert lab.claim("resolve", "C-001", "--new-data", "gc.tsv").code == 0
    assert lab.claim("promote", "C-003").code == 0


def test_claim_can_be_promoted_after_dropping_dependency(lab: Claims) -> None:
    lab.add()
    lab.add("C-002", "--depends-on", "C-001")
    lab.dispute()
    assert lab.claim("edit", "C-002", "--depends-on", "").code == 0
    assert lab.claim("promote", "C-002").code == 0


def test_circular_dependencies_do_not_block_promotion(lab: Claims) -> None:
    lab.add("C-001")
    lab.add("C-002", "--depends-on", "C-001")
    lab.claim("edit", "C-001", "--depends-on", "C-002")
    assert lab.claim("promote", "C-001").code == 0


# --- by hand --------------------------------------------------------------------------------------------------------

CHANGES = {
    "text": ("\n    text: the text of C-001", "\n    text: a kinder text"),
    "confidence": ("    confidence: 0.7\n    stage", "    confidence: 0.8\n    stage"),
    "evidence": ("    evidence:\n      - a.csv\n    created", "    evidence:\n      - b.csv\n    created"),
    "rounds": ("      - round: 2\n", "      - round: 2\n        tests: [gc_harness]\n"),
    "dispute_reason": (f"    dispute_reason: {HARNESS}", "    dispute_reason: Please run a harness"),
    "researcher_position": ("    researcher_position: no to", "    researcher_position: gladly, no to"),
    "the status": ("    status: DISPUTED", "    status: ACCEPTED"),
    "dispute_cycle": ("    dispute_cycle: 3", "    dispute_cycle: 7"),
    "disputed_at": ("    disputed_at: 2025", "    disputed_at: 2024"),
    "depends_on": ("    depends_on:\n      - C-002\n", ""),
    "stage": ("    stage: S2", "    stage: S3"),
    "created": ("    created: 2025-01-18T12:02:00Z\n", ""),
    "baseline": ("    baseline:\n", "    baseline:\n      note: x\n"),
    "history": ("      - event: edited\n", "      - event: promoted\n"),
}
ADDED = {
    "a word": "verdict: fine", "a list": "also_disputed: [{objection: x}]", "a number for a key": "7: seven",
    "details that a rule reads": "details: {changed: true}",
}  # fmt: skip


@pytest.mark.parametrize("field", CHANGES)
def test_change_of_frozen_claim_by_hand_is_reported(lab: Claims, field: str) -> None:
    lab.add("C-002")
    lab.add("C-001", "--confidence", "0.6", "--evidence", "a.csv", "--stage", "S2", "--depends-on", "C-002")
    assert lab.claim("edit", "C-001", "--confidence", "0.7").code == 0
    assert lab.codes(*[f"{HARNESS} --cycle 3"] * 3) == [0, 0, 3]
    old, new = CHANGES[field]
    whole = lab.text
    lab.edit(old, new)
    message = f"claim C-001 is frozen, and {field} was changed"
    ran = lab.run("validate")
    assert (ran.code, message in ran.out) == (1, True), ran.out
    assert WAYS_OUT[0] in ran.out
    assert message in lab.run("status").out
    assert json_of(lab.run("status", "--json"))["concerns"]
    shown = lab.run("claim", "show", "C-001")
    assert (shown.code, f"{field} was changed" in shown.out, "[FREEZE VIOLATED]" in shown.out) == (3, True, True)
    assert lab.stage("close", "S5").code == 3
    assert lab.claim("promote", "C-001").code == 3
    assert message not in whole
    lab.write(whole)
    assert lab.run("validate").code == 0


@pytest.mark.parametrize("field", ADDED.values(), ids=ADDED)
def test_added_field_breaks_the_freeze(lab: Claims, field: str) -> None:
    lab.dispute()
    whole = lab.text
    lab.edit("    status: DISPUTED\n", f"    status: DISPUTED\n    {field}\n")
    name = field.partition(":")[0]
    (message,) = json_of(lab.claim("show", "C-001", "--json"))["violated"]
    assert message.split()[0] == name
    assert lab.run("validate").code == 1
    lab.write(whole)
    assert lab.run("validate").code == 0


def test_older_dispute_with_fewer_digests_is_valid(lab: Claims) -> None:
    """Disputes of older releases have digests of fewer fields; a field without a digest is not a change."""
    lab.add("C-001", "--stage", "S2", "--confidence", "0.7")
    lab.dispute()
    newer = ("created", "baseline", "dispute_cycle", "disputed_at", "stage", "history")
    head, _, digests = lab.text.partition("        frozen:\n")
    kept = [line for line in digests.splitlines(True) if line.strip().partition(":")[0] not in newer]
    lab.write(f"{head}        frozen:\n{''.join(kept)}")
    assert lab.run("validate").code == 0
    lab.run("analyze")
    assert lab.run("validate").code == 0
    lab.edit("    confidence: 0.7\n    stage", "    confidence: 0.8\n    stage")
    assert json_of(lab.claim("show", "C-001", "--json"))["violated"] == ["confidence was changed"]


def test_change_by_hand_is_recorded_when_dispute_ends(lab: Claims) -> None:
    lab.dispute()
    lab.edit("\n    text: the text of C-001", "\n    text: a kinder text")
    assert lab.claim("resolve", "C-001", "--drop", "-m", "given up").code == 0
    assert lab.disputes()[0]["violated"] == ["text was changed"]


def test_dispute_bookkeeping_is_not_frozen(lab: Claims) -> None:
    lab.dispute()
    lab.stage("advance", "S3")
    lab.stage("data", "gc.tsv")
    lab.claim("reexamine", "C-001", "--trigger", "new_data", "--unresolved", "-m", "not that", "--by", "ann")
    lab.edit("    previous_status: OPEN", "    previous_status: OPEN    # unchanged\n    remark: null")
    assert lab.run("validate").code == 0
    assert "by hand" not in lab.run("status").out


def test_reformatting_the_file_breaks_no_freeze(lab: Claims) -> None:
    needs("jq")
    lab.add("C-001", "--confidence", "1.0", "--evidence", "a.csv")
    lab.dispute()
    lab.edit("status: DISPUTED\n    text: ", "status: DISPUTED  # see there\n    text:    ")
    assert lab.run("validate").code == 0
    lab.edit("  # stays as it is", "")  # yq would move it to an invalid place
    subprocess.run([BIN / "yq", "-Y", "-i", ".remarks = 1", str(lab.state)], check=True)
    assert lab.run("validate").code == 0
    assert lab.at()["status"] == "DISPUTED"


def test_status_without_reason_does_not_unfreeze(lab: Claims) -> None:
    lab.dispute()
    for word in ("OPEN", "KILLED", "ACCEPTED", "DISPTED"):
        lab.write(lab.text.replace("    status: DISPUTED", f"    status: {word}"))
        assert lab.codes("A") == [3]
        assert lab.claim("promote", "C-001").code == 3
        assert lab.stage("close", "S5").code == 3
        lab.run("analyze")
        assert lab.at()["status"] == word  # a person's status is reported, not overwritten
        lab.write(lab.text.replace(f"    status: {word}", "    status: DISPUTED"))
    assert len(lab.disputes()) == 1


def test_stale_copy_is_disputed_again(lab: Claims) -> None:
    lab.add()
    lab.codes("A", "A")
    lab.round("A")
    stale = lab.text.split("    dispute_reason:")[0].replace("status: DISPUTED", "status: OPEN")
    lab.write(stale)
    ran = lab.claim("promote", "C-001")
    assert (ran.code, "so it cannot be promoted" in ran.err) == (3, True)
    assert lab.at()["status"] == "DISPUTED"
    assert len(lab.disputes()) == 1


def test_status_disputed_by_hand_freezes(lab: Claims) -> None:
    lab.add("C-001", "--confidence", "0.7")
    lab.edit("status: OPEN", "status: disputed\n    dispute_reason: I am not convinced")
    assert lab.codes("A") == [3]
    assert lab.stage("close", "S5").code == 3
    lab.run("analyze")
    assert lab.disputes()[0]["rule"] == "by hand"
    lab.edit("confidence: 0.7", "confidence: 0.9")
    assert "confidence was changed" in lab.run("validate").out
    lab.edit("confidence: 0.9", "confidence: 0.7")
    assert lab.claim("resolve", "C-001", "--new-data", "x").code == 0
    assert lab.at()["status"] == "OPEN"


def test_hand_resolution_without_rationale_is_ignored(lab: Claims) -> None:
    lab.dispute()
    lab.edit("        rule: gossip_loop", "        rule: gossip_loop\n        resolved_at: 2025-01-18T13:00:00Z")
    lab.edit("    status: DISPUTED", "    status: OPEN")
    assert "its dispute was resolved without a rationale" in lab.run("validate").out
    assert lab.codes("A") == [3]


def test_override_by_hand_with_rationale_is_recognised(lab: Claims) -> None:
    lab.dispute()
    before = frozen_part(lab.at())
    lab.edit("    status: DISPUTED", "    status: ACCEPTED\n    human_override_rationale: ruled out by design")
    assert "ruled out by design" in lab.run("analyze").out
    (dispute,) = lab.disputes()
    assert (dispute["resolution"], dispute["rationale"], dispute["outcome"], dispute["resolved_by"]) == (
        "human_override", "ruled out by design", "ACCEPTED", "hand",
    )  # fmt: skip
    assert dispute["rounds"] == before["rounds"]
    assert (lab.at()["status"], lab.at()["rounds"]) == ("ACCEPTED", [])
    assert "claim_resolved" in lab.actions
    assert lab.stage("close", "S5").code == 0


def test_hand_resolution_in_history_is_completed_and_logged(lab: Claims) -> None:
    lab.dispute()
    decided = "resolved_at: 2025-01-18T13:00:00Z\n        rationale: withdrawn\n        resolved_by: ann"
    lab.edit("        rule: gossip_loop", f"        rule: gossip_loop\n        {decided}")
    lab.edit("    status: DISPUTED", "    status: KILLED")
    lab.run("analyze")
    (dispute,) = lab.disputes()
    assert (dispute["rationale"], dispute["resolved_by"], dispute["outcome"]) == ("withdrawn", "ann", "KILLED")
    assert (len(dispute["rounds"]), lab.at()["rounds"], "dispute_reason" in lab.at()) == (3, [], False)
    assert lab.actions.count("claim_resolved") == 1
    before = lab.text.partition("circuit_breaker:")[0]
    lab.run("analyze")
    assert lab.text.partition("circuit_breaker:")[0] == before


def test_old_override_rationale_does_not_end_a_later_dispute(lab: Claims) -> None:
    lab.dispute()
    assert lab.claim("resolve", "C-001", "--override", "OPEN", "-m", "go on", "--by", "ann").code == 0
    lab.dispute()
    lab.edit("    status: DISPUTED", "    status: OPEN")
    lab.run("analyze")
    assert "resolved_at" not in lab.disputes()[1]
    assert lab.codes("A") == [3]


def test_imported_override_rationale_does_not_end_a_dispute(lab: Claims, tmp_path: Path) -> None:
    ledger = tmp_path / "LEDGER.md"
    ledger.write_text("## C-001 [ACCEPTED]\n- **Text:** x\n- **Human override rationale:** decided elsewhere\n")
    assert lab.claim("import", str(ledger)).code == 0
    lab.dispute()
    lab.edit("    status: DISPUTED", "    status: ACCEPTED")
    assert lab.stage("close", "S5").code == 3
    assert "resolved_at" not in lab.disputes()[0]
    lab.edit("human_override_rationale: decided elsewhere", "human_override_rationale: decided again")
    assert lab.stage("close", "S5").code == 0
    assert lab.disputes()[0]["rationale"] == "decided again"


def test_hand_resolution_is_logged_without_dispute_fields(lab: Claims) -> None:
    lab.dispute()
    decided = "resolved_at: 2025-01-18T13:00:00Z\n        rationale: withdrawn"
    lab.edit("        rule: gossip_loop", f"        rule: gossip_loop\n        {decided}")
    lab.edit("    status: DISPUTED", "    status: KILLED")
    lab.write("".join(line for line in lab.text.splitlines(True) if not line.startswith("    disputed_at:")))
    lab.run("analyze")
    assert (lab.actions.count("claim_resolved"), len(lab.disputes()[0]["rounds"])) == (1, 3)
    lab.run("analyze")
    assert lab.actions.count("claim_resolved") == 1


def test_forged_previous_status_is_not_restored(lab: Claims) -> None:
    lab.dispute()
    lab.edit("    previous_status: OPEN", "    previous_status: ACCEPTED")
    assert "claim C-001 is frozen, and previous_status was changed by hand" in lab.run("validate").out
    assert lab.claim("resolve", "C-001", "--new-data", "x").code == 0
    assert (lab.at()["status"], lab.disputes()[0]["violated"]) == ("OPEN", ["previous_status was changed"])


def test_every_change_leaves_a_backup(lab: Claims, tmp_path: Path) -> None:
    lab.dispute()
    kept = sorted((lab.folder / "backups").iterdir())
    assert kept
    assert "status: DISPUTED" not in kept[-1].read_text()
