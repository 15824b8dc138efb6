"""Disputes deleted from the blackboard by hand: the log has them, so deleting does not end them."""

import pytest

from tests.scopes.claims.run import HARNESS, Claims, json_of

DROP = ("resolve", "C-001", "--drop", "-m", "it was never ours")
OVERRIDE = ("resolve", "C-001", "--override", "KILLED", "-m", "it was never ours", "--by", "ann")


@pytest.fixture
def before(lab: Claims) -> str:
    """The blackboard before the third round; in the lab C-001 is now in dispute."""
    lab.add("C-002")
    lab.add()
    lab.codes(HARNESS, HARNESS)
    text = lab.text
    assert lab.codes(HARNESS) == [3]
    return text


def without_claim(lab: Claims) -> str:
    """The blackboard without C-001, which is the last claim."""
    return lab.text.split("  C-001:\n")[0]


def test_deleted_disputed_claim_is_reported_and_blocks_last_stage(
    lab: Claims, before: str, capfd: pytest.CaptureFixture[str]
) -> None:
    since = lab.at()["disputed_at"]
    lab.write(without_claim(lab))
    message = f"claim C-001 has been DISPUTED since {since}, and the claim was deleted by hand"
    assert f"stopped: {message}" in lab.run("status").out
    assert message in lab.run("validate").out
    listed = lab.run("claim", "list")
    assert (listed.code, message in listed.out + listed.err) == (3, True)
    assert lab.run("gate", "--claim", "C-001").code == 2
    assert message in capfd.readouterr().err
    assert lab.run("gate", "--stage", "S5").code == 2
    assert "C-001 is DISPUTED, the claim was deleted by hand" in lab.run("stage", "list").out
    closed = lab.stage("close", "S5")
    assert (closed.code, "C-001 is DISPUTED, the claim was deleted by hand" in closed.err) == (3, True)
    assert "liza claim resolve C-001 --override STATUS -m WHY --by NAME" in closed.err
    assert "--drop" not in closed.err
    assert lab.stage("close", "S2").code == 0


def test_deleted_section_keeps_disputes_open(lab: Claims, before: str) -> None:
    lab.write(lab.text.split("claims:\n")[0])
    assert "the claim was deleted by hand" in lab.run("status").out
    assert lab.stage("close", "S5").code == 3


def test_stale_copy_before_the_dispute_keeps_it_open(lab: Claims, before: str) -> None:
    lab.write(before)
    assert "its dispute was taken out by hand" in lab.stage("close", "S5").err
    assert lab.run("gate", "--claim", "C-001").code == 2


@pytest.mark.parametrize("is_deleted", [True, False])
@pytest.mark.parametrize(
    "words",
    ["round C-001 --objection A --response B --evidence new.csv", "edit C-001 --text x", "promote C-001",
     "kill C-001 -m x", "promote C-003", "add C-001 --text x"],
)  # fmt: skip
def test_deleted_dispute_is_frozen_for_every_command(lab: Claims, is_deleted: bool, words: str) -> None:
    lab.add()
    lab.add("C-003", "--depends-on", "C-001")
    early = lab.text
    lab.codes(HARNESS, HARNESS, HARNESS)
    lab.write(early if not is_deleted else early.replace("  C-001:\n", "  C-004:\n"))
    before = lab.text
    refused = lab.claim(*words.split())
    if "C-003" in words:
        assert (refused.code, "while C-001, on which it depends, is DISPUTED" in refused.err) == (3, True)
    elif is_deleted or "add" not in words:
        assert (refused.code, "claim C-001 is frozen" in refused.err) == (3, True)
        assert ("the claim was deleted" if is_deleted else "its dispute was taken out") in refused.err
        assert "liza claim resolve C-001 --override STATUS -m WHY --by NAME" in refused.err
    assert lab.text == before


@pytest.mark.parametrize("is_deleted", [True, False])
def test_deleted_dispute_is_on_every_page(lab: Claims, before: str, is_deleted: bool) -> None:
    since = "cycle 3" if is_deleted else lab.at()["disputed_at"]
    lab.write(without_claim(lab) if is_deleted else before)
    message = "the claim was deleted" if is_deleted else "its dispute was taken out"
    shown = lab.claim("show", "C-001")
    assert (shown.code, "C-001 [DISPUTED] [FREEZE VIOLATED]" in shown.out, message in shown.out) == (3, True, True)
    page = lab.claim("ledger").out
    assert ("## C-001 [DISPUTED] [FREEZE VIOLATED]" in page, f"- **Freeze violated:** {message}" in page) == (
        True,
        True,
    )
    assert json_of(lab.claim("ledger", "--json"))["disputed"] == ["C-001"]
    page = lab.claim("summary", "--cycle", "1").out
    assert (f"- **C-001 [DISPUTED]** since {since}" in page, message in page) == (True, True)


def test_reentered_dispute_does_not_accept_changes(lab: Claims, before: str) -> None:
    """A dispute deleted and entered again by a check does not freeze what was changed in between."""
    whole = lab.text
    lab.edit("\n    text: the text of C-001", "\n    text: a kinder text")
    lab.write(lab.text.partition("    history:\n")[0])
    for when in ("before the check", "after the check"):
        ran = lab.run("validate")
        assert (ran.code, "its dispute was taken out by hand" in ran.out) == (1, True), when
        assert "its dispute was taken out by hand" in lab.run("status").out, when
        assert lab.stage("list").out.count("C-001 is DISPUTED, its dispute was taken out by hand") == 1, when
        lab.run("analyze")
    assert [each["rule"] for each in lab.disputes()] == ["by hand"]
    reentered = lab.text
    lab.write(whole)
    assert lab.run("validate").code == 0  # the original is back
    lab.write(reentered)
    assert lab.claim("resolve", "C-001", "--new-data", "x").code == 3
    assert lab.text == reentered
    assert lab.claim(*OVERRIDE).code == 0
    assert lab.disputes()[0]["violated"] == ["its dispute was taken out"]
    assert lab.run("validate").code == 0
    assert lab.stage("close", "S5").code == 0


def test_forged_resolved_dispute_ends_no_other(lab: Claims, before: str) -> None:
    other = "event: disputed, timestamp: 2030-01-01T00:00:00Z, resolved_at: 2030-01-02T00:00:00Z, rationale: x"
    lab.edit("      - round: 2\n", "      - round: 2\n        tests: [never run]\n")
    lab.write(f"{lab.text.replace('status: DISPUTED', 'status: OPEN')}      - {{{other}}}\n")
    assert lab.claim("promote", "C-001").code == 3
    assert lab.stage("close", "S5").code == 3


NOT_ENOUGH = {
    "new data": ("resolve", "C-001", "--new-data", "x.tsv"),
    "a drop": DROP,
    "an audit": ("reexamine", "C-001", "--trigger", "cross_model_audit", "--resolved", "-m", "fine", "--by", "R3"),
    "a mark": ("reexamine", "C-001", "--trigger", "cross_model_audit", "-m", "look", "--by", "R3"),
    "an override without a reason": ("resolve", "C-001", "--override", "KILLED", "--by", "ann"),
}


@pytest.mark.parametrize("is_deleted", [True, False])
@pytest.mark.parametrize("words", NOT_ENOUGH.values(), ids=NOT_ENOUGH)
def test_only_human_override_ends_a_deleted_dispute(
    lab: Claims, before: str, is_deleted: bool, words: tuple[str, ...]
) -> None:
    lab.write(without_claim(lab) if is_deleted else before)
    deleted = lab.text
    assert lab.claim(*words).code in (2, 3)
    assert (lab.text, "claim_resolved" in lab.actions) == (deleted, False)
    assert lab.stage("close", "S5").code == 3


def test_override_of_deleted_claim_restores_both_positions(lab: Claims, before: str) -> None:
    claim = lab.at()
    lab.write(without_claim(lab))
    record = json_of(lab.claim("show", "C-001", "--json"))["record"]
    assert [record[name] for name in ("text", "dispute_reason", "researcher_position")] == [
        claim["text"], HARNESS, f"no to {HARNESS}",
    ]  # fmt: skip
    assert lab.claim("resolve", "C-001", "--override", "KILLED", "-m", " ", "--by", "ann").code == 2
    assert lab.claim(*OVERRIDE).code == 0
    assert (lab.at()["status"], lab.at()["text"]) == ("KILLED", claim["text"])
    (entry,) = lab.disputes()
    assert (entry["dispute_reason"], entry["researcher_position"]) == (HARNESS, f"no to {HARNESS}")
    assert (entry["rationale"], entry["resolved_by"], entry["rounds"]) == ("it was never ours", "ann", claim["rounds"])
    assert entry["violated"] == ["the claim was deleted"]
    assert lab.claim("show", "C-001").out.count(HARNESS) >= 2
    assert lab.actions.count("claim_resolved") == 1
    assert lab.claim(*OVERRIDE).code == 0  # repeating it changes nothing
    assert lab.actions.count("claim_resolved") == 1
    assert lab.stage("close", "S5").code == 0
    assert lab.run("validate").code == 0


@pytest.mark.parametrize("copy", ["", "{", '{"status": "OPEN"}\n[1]\n', None])
def test_without_a_copy_the_log_is_used(lab: Claims, before: str, copy: str | None) -> None:
    """Older versions kept no copy, and the copy can be deleted with the claim."""
    (file,) = (lab.folder / "runs" / "claims").iterdir()
    file.unlink()
    if copy is None:
        file.mkdir()
    else:
        file.write_text(copy)
    lab.write(without_claim(lab))
    assert HARNESS in json_of(lab.claim("show", "C-001", "--json"))["record"]["dispute_reason"]
    assert lab.claim(*OVERRIDE).code == 0
    assert HARNESS in lab.disputes()[0]["dispute_reason"]
    assert lab.stage("close", "S5").code == 0


def test_claim_is_frozen_even_without_a_copy(lab: Claims) -> None:
    (lab.folder / "runs").write_text("a file instead of a folder")
    lab.dispute()
    assert lab.at()["status"] == "DISPUTED"


@pytest.mark.parametrize("by", ["analyze", "stage", "import"])
def test_every_freeze_keeps_a_copy(lab: Claims, by: str) -> None:
    lab.write(lab.text + LOOP)
    ledger = lab.root / "LEDGER.md"
    ledger.write_text("## C-002 [DISPUTED]\n\n- **Text:** y\n- **Dispute reason:** z\n")
    {
        "analyze": lambda: lab.run("analyze"),
        "stage": lambda: lab.stage("advance", "S2"),
        "import": lambda: lab.claim("import", str(ledger)),
    }[by]()
    for name in ("C-001", "C-002") if by == "import" else ("C-001",):
        text = lab.text
        reason = lab.at(name)["dispute_reason"]
        lab.write(text.split("claims:\n")[0])
        record = json_of(lab.claim("show", name, "--json"))["record"]
        assert (record["status"], record["dispute_reason"]) == ("DISPUTED", reason)
        lab.write(text)


def test_claim_rewritten_after_deletion_is_frozen(lab: Claims, before: str) -> None:
    """Also if its history has the dispute resolved, but without a rationale."""
    over = "{event: disputed, timestamp: 2030-01-01T00:00:00Z, resolved_at: 2030-01-02T00:00:00Z}"
    lab.write(f"{without_claim(lab)}  C-001:\n    text: a kinder text\n    history: [{over}]\n")
    assert lab.stage("close", "S5").code == 3
    assert lab.claim("resolve", "C-001", "--new-data", "x").code == 3
    assert lab.claim(*OVERRIDE).code == 0
    assert lab.disputes()[-1]["dispute_reason"] == HARNESS
    assert lab.stage("close", "S5").code == 0


def test_claim_deleted_after_resolution_is_not_missed(lab: Claims, before: str) -> None:
    assert lab.claim("resolve", "C-001", "--new-data", "x").code == 0
    lab.write(without_claim(lab))
    assert lab.stage("close", "S5").code == 0
    assert lab.run("validate").code == 0


def test_unlogged_decision_on_the_board_counts(lab: Claims, before: str) -> None:
    log = lab.log.read_bytes()
    assert lab.claim("resolve", "C-001", "--new-data", "x").code == 0
    lab.log.write_bytes(log)  # as after a crash between the two
    assert lab.stage("close", "S5").code == 0


def test_torn_log_hides_no_dispute_and_unreadable_one_blocks(lab: Claims, before: str) -> None:
    lab.write(without_claim(lab))
    with lab.log.open("a") as log:
        log.write('- timestamp: 2025-01-18T13:00:00Z\n  agent: "li')
    assert lab.stage("close", "S5").code == 3
    lab.log.unlink()
    lab.log.mkdir()
    assert lab.stage("close", "S5").code == 4


# --- gossip loops not yet entered -----------------------------------------------------------------------------------

LOOP = "claims:\n  C-001:\n    text: x\n    rounds: [{objection: A, cycle: 2}, {objection: a}, {objection: A.}]\n"


def test_hand_written_gossip_loop_is_shown_before_check(
    lab: Claims,
) -> None:
    lab.write(lab.text + LOOP)
    before = lab.text
    assert lab.run("claim", "list").code == 3
    assert lab.run("claim", "show", "C-001").code == 3
    assert "## C-001 [DISPUTED]" in lab.run("claim", "ledger").out
    assert "**C-001 [DISPUTED]** since this cycle" in lab.run("claim", "summary", "--cycle", "2").out
    assert "C-001 is DISPUTED" in lab.run("stage", "list").out
    message = "the next check records (liza analyze): claim C-001 is DISPUTED"
    assert message in lab.run("status").out
    assert message in lab.run("analyze", "--dry-run").out
    (event,) = json_of(lab.run("analyze", "--dry-run", "--json"))["scoped"]
    assert (event["name"], event["kind"]) == ("C-001", "disputed")
    assert lab.text == before
    lab.run("analyze")
    assert "the next check" not in lab.run("status").out
    assert lab.at()["status"] == "DISPUTED"


def test_invalid_claim_is_reported_by_the_ledger(lab: Claims) -> None:
    lab.write(lab.text + "claims: {C-001: {text: x}, C-002: gone}\n")
    for words in (("ledger",), ("summary", "--cycle", "1")):
        assert "claim C-002 is not a record, so it is left out" in lab.run("claim", *words).err
