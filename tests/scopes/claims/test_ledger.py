"""The claim ledger, importing one, and the summary of a cycle: disputes are visible, and text stays text."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.scopes.claims import import_ledger, ledger
from liza.store.document import parse
from tests.scopes.claims.run import HARNESS, IMPOSSIBLE, Claims, json_of
from tests.scopes.sprint.test_untrusted import TEXTS


def ledger_of(lab: Claims) -> str:
    return lab.run("claim", "ledger").out


def test_ledger_lists_disputes_first_and_tags_claims(lab: Claims) -> None:
    lab.stage("advance", "S3")
    lab.add("C-001", "--confidence", "0.7", "--stage", "S2", "--evidence", "a.csv", "--evidence", "b, c; d.csv")
    lab.add("C-002", "--depends-on", "C-001")
    lab.add("C-003")
    lab.dispute()
    lab.claim("kill", "C-003", "-m", "wrong")
    text = ledger_of(lab)
    assert text.startswith(
        "# Claim Ledger\n\nClaims: 1 DISPUTED, 1 OPEN, 1 KILLED. Stage: S3.\n\n**In dispute: C-001.**"
    )
    assert re.findall(r"^## .*$", text, re.MULTILINE) == ["## C-001 [DISPUTED]", "## C-002", "## C-003 [KILLED]"]
    for line in (
        "- **Text:** the text of C-001", "- **Confidence:** 0.7", "- **Stage:** S2", "- **Evidence:** a.csv",
        f"- **Dispute reason:** {HARNESS}", f"- **Researcher position:** no to {HARNESS}",
        "- **Previous status:** OPEN", "- **Depends on:** C-001", "- **Rounds:** 3",
    ):  # fmt: skip
        assert f"\n{line}\n" in text


def test_ledger_json_has_all_fields_verbatim(lab: Claims) -> None:
    lab.dispute()
    answer = json_of(lab.run("claim", "ledger", "--json"))
    (claim,) = answer["claims"]
    assert answer["disputed"] == ["C-001"]
    assert (claim["id"], claim["tags"], claim["dispute_reason"]) == ("C-001", ["DISPUTED"], HARNESS)


def test_resolved_dispute_stays_in_the_ledger(lab: Claims) -> None:
    lab.dispute()
    lab.claim("resolve", "C-001", "--override", "ACCEPTED", "-m", "ruled out by design", "--by", "ann")
    text = ledger_of(lab)
    assert "## C-001 [ACCEPTED]" in text
    assert "human override by ann: ruled out by design" in text
    assert "- **Human override rationale:** ruled out by design" in text


# --- untrusted text -------------------------------------------------------------------------------------------------


def structure(text: str) -> list[str]:
    """The lines that are markup: headings and fields."""
    return [
        line.split(":")[0] for line in text.splitlines() if re.match(r"#|- \*\*|\*\*|\s*(```|~~~|---|===|<|1\.)", line)
    ]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_any_text_is_kept_and_stays_text_in_ledger(lab: Claims, text: str) -> None:
    text_ = f"same {text} objection"
    piped = text_.encode()
    lab.claim("add", "C-001", "--text", "-", stdin=piped)
    for _ in range(3):
        lab.claim("round", "C-001", "--objection", "-", "--response", f"no {text}", stdin=piped)
    claim = lab.at()
    assert (claim["text"], claim["dispute_reason"]) == (text_, text_)
    assert claim["researcher_position"] == f"no {text}".rstrip("\n")
    shown = ledger_of(lab)
    assert structure(shown) == [
        "# Claim Ledger", "**In dispute", "## C-001 [DISPUTED]", "- **Status", "- **Text", "- **Dispute reason",
        "- **Researcher position", "- **Dispute cycle", "- **Disputed at", "- **Previous status", "- **Rounds",
    ]  # fmt: skip
    assert not re.search(r"(?<!\\)<(script|img|!--|http)|(?<!\\)\]\(|(?<!\\)\*\*bold|(?<!\\)`", shown)
    for words, code in ((("show", "C-001"), 3), (("list",), 3), (("summary", "--cycle", "1"), 0)):
        assert lab.run("claim", *words).code == code  # `run` checks for control characters


def test_megabyte_line_is_kept_whole_and_shown_short(lab: Claims, tmp_path: Path) -> None:
    text = "You must " + "x" * 1_000_000
    (tmp_path / "objection.txt").write_text(f"{text}\n")
    lab.add()
    words = ("--objection", f"@{tmp_path}/objection.txt", "--response", "no")
    codes = [lab.claim("round", "C-001", *words) for _ in range(3)]
    assert [ran.code for ran in codes] == [0, 0, 3]
    assert len(codes[-1].out) < 2_000
    assert parse(lab.state.read_bytes(), "state.yaml").data["claims"]["C-001"]["dispute_reason"] == text
    assert all(len(entry) < 1_000 for _, entry in lab.logged)
    assert len(lab.run("claim", "show", "C-001").out) < 50_000
    assert "more characters" in ledger_of(lab)
    assert len(ledger_of(lab)) < 50_000
    assert len(lab.round("x").err) < 2_000


# --- importing a ledger ---------------------------------------------------------------------------------------------

LEDGER = """\
# Our claims

Prose before any claim.

## C-001

- **Text:** GC content explains the effect
  in both cohorts
- **Confidence:** 0.7
- **Stage:** S2
- **Evidence:** a.csv; b.csv
- **Owner:** ann

## C002: Batch 7 is an outlier [ACCEPTED]

* **Depends on**: C-001, CLAIM-3
some prose in between

### CLAIM-3 [DISPUTED] [HOT]

- Text: The shift is tissue specific
- **Dispute reason:** no control group
- **Researcher position:** there is none
- **Dispute cycle:** 4
- **Status:** 17 apples

## Remarks

Nothing here.

## C-001

- **Text:** once more
"""


def test_import_leaves_ledger_unchanged_and_reports_each_line(lab: Claims, tmp_path: Path) -> None:
    file = tmp_path / "LEDGER.md"
    file.write_text(LEDGER)
    before = (file.read_bytes(), file.stat().st_mtime_ns)
    ran = lab.claim("import", str(file))
    assert ran.code == 0
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before
    assert list(lab.claims) == ["C-001", "C002", "CLAIM-3"]
    first, second, third = lab.claims.values()
    assert (first["text"], first["confidence"], first["stage"]) == (
        "GC content explains the effect\nin both cohorts", 0.7, "S2",
    )  # fmt: skip
    assert first["evidence"] == ["a.csv", "b.csv"]
    assert (second["text"], second["status"]) == ("Batch 7 is an outlier", "ACCEPTED")
    assert second["depends_on"] == ["C-001", "CLAIM-3"]
    assert (third["status"], third["dispute_reason"], third["dispute_cycle"]) == ("DISPUTED", "no control group", 4)
    text_ = {int(number): text for number, text in re.findall(r"LEDGER\.md:(\d+): (.*)", ran.err)}
    assert {3, 12, 17, 19, 25, 27, 29, 31, 33} == set(text_)
    assert "unknown field 'Owner'" in text_[12]
    assert "'17 apples' is not a status" in text_[25]
    assert "already in line 5" in text_[31]
    assert "3 claims added" in ran.out
    assert "in dispute, and frozen: CLAIM-3" in ran.out


@pytest.mark.parametrize(
    "heading",
    ["## C-001: GC content", "## C-001 — GC content", "### C-001 - GC content", "## **C-001** - GC content",
     "## `C-001`: GC content", "## [C-001](notes.md): GC content", "## Claim C-001: GC content", "##C-001: GC content",
     "## C-001: GC content ##"],
)  # fmt: skip
def test_ledger_accepts_decorated_ids_and_trailing_titles(
    heading: str,
) -> None:
    assert import_ledger.read_ledger(f"{heading}\n", "LEDGER.md").claims == {
        "C-001": {"status": None, "text": "GC content"}
    }
    found = import_ledger.read_ledger(f"{heading} [ACCEPTED]\n\n- **Text:** GC content explains it\n", "LEDGER.md")
    assert found.claims == {"C-001": {"status": "ACCEPTED", "text": "GC content explains it"}}
    assert found.problems == ()


@pytest.mark.parametrize("block", ["```md\n{}\n```", "~~~\n{}\n~~~", "<!-- for later\n{}\n-->"])
def test_claims_in_code_or_comments_are_reported_not_imported(block: str) -> None:
    inside = "## C-009\n- **Text:** not meant\n\n- **Confidence:** 1"
    text = f"## C-001\n{block.format(inside)}\n- **Text:** GC content\n"
    found = import_ledger.read_ledger(text, "LEDGER.md")
    assert found.claims == {"C-001": {"status": None, "text": "GC content"}}
    assert [problem.line for problem in found.problems] == [2, 3, 4, 6, 7]


def test_ledger_keeps_dispute_with_edited_status(lab: Claims, tmp_path: Path) -> None:
    lab.dispute()
    lab.edit("    status: DISPUTED", "    status: ACCEPTED")
    (tmp_path / "LEDGER.md").write_text(ledger_of(lab))
    other = Claims(tmp_path / "other")
    ran = other.claim("import", str(tmp_path / "LEDGER.md"))
    assert "its tag is DISPUTED: the tag counts" in ran.err
    assert other.at()["status"] == "DISPUTED"


@pytest.mark.parametrize("name", ["C-001: a", "C-001 - a", "claim 7: b - c", "#1"])
def test_own_id_survives_the_ledger(name: str) -> None:
    page = ledger.ledger_markdown([(name, {"text": "x"})], None)
    assert list(import_ledger.read_ledger(page, "LEDGER.md").claims) == [name]


def test_imported_dispute_is_frozen(lab: Claims, tmp_path: Path) -> None:
    (tmp_path / "LEDGER.md").write_text(LEDGER)
    lab.claim("import", str(tmp_path / "LEDGER.md"))
    assert lab.codes("A", name="CLAIM-3") == [3]
    assert lab.stage("close", "S5").code == 3
    lab.edit("text: The shift", "text: A shift")
    assert "text was changed" in lab.run("validate").out
    assert lab.claim("resolve", "CLAIM-3", "--new-data", "x").code == 0


def test_import_keeps_existing_claims(lab: Claims, tmp_path: Path) -> None:
    lab.dispute()
    before = lab.at()
    (tmp_path / "LEDGER.md").write_text(LEDGER)
    ran = lab.claim("import", str(tmp_path / "LEDGER.md"))
    assert "unchanged: C-001" in ran.out
    assert lab.at() == before
    text = lab.text
    assert lab.claim("import", str(tmp_path / "LEDGER.md")).code == 0
    assert lab.text == text


@pytest.mark.parametrize("text", ["", "# Nothing\n", "just prose\n", "\x00\x01\n", "## C-001\n\nno fields\n"])
def test_file_without_claims_is_refused(lab: Claims, tmp_path: Path, text: str) -> None:
    (tmp_path / "LEDGER.md").write_text(text)
    before = lab.text
    assert lab.claim("import", str(tmp_path / "LEDGER.md")).code in (1, 2)
    assert lab.text == before
    ran = lab.claim("import", str(tmp_path / "nowhere.md"))
    assert (ran.code, "nowhere.md: cannot be read" in ran.err) == (1, True)


def test_exported_ledger_is_imported_unchanged(lab: Claims, tmp_path: Path) -> None:
    lab.add("C-001", "--confidence", "0.7", "--evidence", "b, c; d.csv", "--evidence", "e_f*.csv")
    lab.add("gc bias", "--depends-on", "C-001", "--stage", "S2")
    lab.claim("round", "C-001", "--objection", HARNESS, "--response", IMPOSSIBLE, "--cycle", "4")
    lab.claim("round", "C-001", "--objection", HARNESS, "--response", IMPOSSIBLE)
    lab.claim("round", "C-001", "--objection", HARNESS, "--response", IMPOSSIBLE)
    (tmp_path / "LEDGER.md").write_text(ledger_of(lab))
    other = Claims(tmp_path / "other")
    ran = other.claim("import", str(tmp_path / "LEDGER.md"))
    assert ran.code == 0
    names = ("status", "text", "confidence", "stage", "evidence", "depends_on", "dispute_reason", "researcher_position",
             "dispute_cycle", "disputed_at", "previous_status")  # fmt: skip
    for name in ("C-001", "gc bias"):
        assert {key: other.at(name).get(key) for key in names} == {key: lab.at(name).get(key) for key in names}


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=40)
LINES = st.lists(WORDS.map(str.strip).filter(lambda text: text.isprintable() and text), min_size=1, max_size=3)
CLAIM = st.fixed_dictionaries(
    {"text": LINES.map("\n".join)},
    optional={"evidence": st.lists(LINES.map(" ".join), min_size=1, max_size=3), "stage": LINES.map(" ".join)},
)


def normal(value: Any) -> Any:
    """Without white space, which Markdown does not keep."""
    if isinstance(value, list):
        return [normal(each) for each in value]
    return [" ".join(line.split()) for line in value.splitlines()] if isinstance(value, str) else value


@given(st.dictionaries(st.sampled_from(["C-001", "C002", "CLAIM-3"]), CLAIM, min_size=1))
def test_any_text_survives_the_ledger(claims: dict[str, dict[str, Any]]) -> None:
    found = import_ledger.read_ledger(ledger.ledger_markdown(list(claims.items()), None), "LEDGER.md")
    text_ = {
        name: {key: normal(value) for key, value in each.items() if key != "status"}
        for name, each in found.claims.items()
    }
    assert text_ == {name: {key: normal(value) for key, value in each.items()} for name, each in claims.items()}
    assert all("Rounds" in problem.message for problem in found.problems)


@given(st.text(max_size=300))
def test_any_file_is_read_or_refused(text: str) -> None:
    found = import_ledger.read_ledger(text, "LEDGER.md")
    assert all(each["text"].strip() for each in found.claims.values())
    assert all(problem.line is not None and "\n" not in problem.message for problem in found.problems)


# --- the summary of a cycle -----------------------------------------------------------------------------------------


def test_summary_starts_with_disputes_of_the_cycle(lab: Claims) -> None:
    for name in ("C-001", "C-002", "C-003", "C-004"):
        lab.add(name)
    lab.codes("A --cycle 3", "A --cycle 3", "A --cycle 3", name="C-004")
    lab.codes("B --cycle 4", "B --cycle 4 --evidence x.csv", name="C-002")
    lab.codes("A --cycle 4", "A --cycle 4", "A --cycle 4", name="C-001")
    lab.claim("promote", "C-003", "-m", "replicated", "--by", "ann")
    text = lab.run("claim", "summary", "--cycle", "4").out
    assert re.findall(r"^#.*$", text, re.MULTILINE) == ["# Cycle 4", "## Disputes", "## Reviewed", "## Decided"]
    assert text.index("- **C-001 [DISPUTED]** since this cycle") < text.index("- **C-004 [DISPUTED]** since cycle 3")
    assert "- **C-001**: 3 rounds, no state change" in text
    assert "- **C-002**: 2 rounds, state change (evidence)" in text
    assert "- **C-003**: promoted to ACCEPTED by ann: replicated" in text
    assert lab.run("claim", "summary").out == text  # the last one
    answer = json_of(lab.run("claim", "summary", "--cycle", "3", "--json"))
    assert [(each["claim"], each["new"]) for each in answer["disputes"]] == [("C-004", True), ("C-001", False)]
    assert answer["reviewed"] == [{"claim": "C-004", "rounds": 3, "changes": []}]


def test_resolved_dispute_is_in_the_summary_of_its_cycle(lab: Claims) -> None:
    lab.add()
    lab.codes("A --cycle 1", "A --cycle 2 --test t", "A --cycle 2", "A --cycle 2", "A --cycle 2")
    lab.claim("resolve", "C-001", "--drop", "-m", "given up", "--by", "ann")
    text = lab.run("claim", "summary", "--cycle", "2").out
    assert "dropped by ann: given up" in text
    assert "- **C-001**: 4 rounds, state change (test)" in text
    assert "None." in lab.run("claim", "summary", "--cycle", "7").out


def test_unnamed_cycles_are_counted(lab: Claims) -> None:
    """A cycle is over when a claim that it reviewed gets its next objection; a test alone belongs to the last one."""
    lab.add("C-001")
    lab.add("C-002")
    assert lab.run("claim", "summary").code == 1
    assert lab.codes("A", "A") == [0, 0]
    assert lab.round("B", name="C-002").code == 0
    assert lab.claim("round", "C-002", "--test", "t=passed").code == 0
    assert lab.codes("A") == [3]
    cycles = {name: [each["cycle"] for each in lab.at(name)["rounds"]] for name in lab.claims}
    assert cycles == {"C-001": [1, 2, 3], "C-002": [2, 2]}
    assert lab.at()["dispute_cycle"] == 3
    (dispute,) = json_of(lab.run("claim", "summary", "--json"))["disputes"]
    assert (dispute["new"], dispute["since_cycle"]) == (True, 3)
    assert lab.round("B", words="--cycle 9", name="C-002").code == 0
    assert lab.round("B", name="C-002").code == 0
    assert [each["cycle"] for each in lab.at("C-002")["rounds"][-2:]] == [9, 9], "who names cycles names the next one"


def test_rounds_by_others_without_a_cycle_count_as_one_each(lab: Claims) -> None:
    rounds = "".join("      - {objection: A, response: b}\n" for _ in range(3))
    lab.write(f"version: 1\nclaims:\n  C-001:\n    status: OPEN\n    text: x\n    rounds:\n{rounds}")
    lab.run("analyze")
    assert lab.at()["dispute_cycle"] == 3
    summary = json_of(lab.run("claim", "summary", "--json"))
    assert (summary["cycle"], [each["rounds"] for each in summary["reviewed"]]) == (3, [1])
    assert [each["new"] for each in summary["disputes"]] == [True]
