"""`liza claim` and `liza stage` as programs: the whole protocol, on a terminal, concurrently, and in error."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from liza.cli.terminal import width_of
from tests.cli.run import liza, new_board, on_a_terminal
from tests.cli.test_untrusted_text import NASTY, harmless
from tests.store.oracle import libyaml_value

HARNESS = "You must run confounder harness for GC content bias"
IMPOSSIBLE = "Dataset lacks GC annotation — test is impossible with available data"
ROUND = ("claim", "round", "C-001", "--cycle", "4", "--objection", HARNESS, "--response", IMPOSSIBLE)


def claims(folder: Path) -> dict[str, Any]:
    found = libyaml_value((folder / ".liza" / "state.yaml").read_bytes())["claims"]
    assert isinstance(found, dict)
    return found


def disputed(folder: Path) -> None:
    new_board(folder)
    assert liza(folder, "claim", "add", "C-001", "--text", "GC content explains the effect").code == 0
    assert [liza(folder, *ROUND).code for _ in range(3)] == [0, 0, 3]


def test_protocol_from_deadlock_to_end_of_pipeline(tmp_path: Path) -> None:
    new_board(tmp_path)
    steps: list[tuple[int, tuple[str, ...]]] = [
        (0, ("stage", "advance", "S2")),
        (0, ("claim", "add", "C-001", "--text", "GC content explains the effect", "--confidence", "0.7")),
        (0, ("claim", "add", "C-002", "--text", "The shift is tissue specific", "--depends-on", "C-001")),
        (0, ROUND), (0, ROUND), (3, ROUND), (3, ROUND),
        (0, ("claim", "round", "C-002", "--objection", "too vague", "--response", "narrowed", "--text", "In liver.")),
        (3, ("claim", "promote", "C-002")),
        (0, ("claim", "summary", "--cycle", "4")),
        (0, ("stage", "advance", "S5")),
        (3, ("claim", "reexamine", "C-001", "--trigger", "stage_transition", "--unresolved", "-m", "no", "--by", "R3")),
        (3, ("stage", "close", "S5")), (2, ("gate", "--stage", "S5")), (2, ("gate", "--claim", "C-001")),
        (0, ("claim", "resolve", "C-001", "--new-data", "data/gc_annotation.tsv")),
        (0, ("claim", "round", "C-001", "--objection", HARNESS, "--response", "done", "--test", "gc_harness=passed")),
        (0, ("claim", "promote", "C-001")), (0, ("claim", "promote", "C-002")),
        (0, ("gate", "--stage", "S5")), (0, ("stage", "close", "S5")), (0, ("claim", "ledger")), (0, ("validate",)),
    ]  # fmt: skip
    for code, words in steps:
        ran = liza(tmp_path, *words)
        assert ran.code == code, (words, ran.out, ran.err)
    first, second = claims(tmp_path).values()
    assert (first["status"], second["status"]) == ("ACCEPTED", "ACCEPTED")
    (dispute,) = [each for each in first["history"] if each["event"] == "disputed"]
    assert (dispute["dispute_reason"], dispute["researcher_position"]) == (HARNESS, IMPOSSIBLE)
    assert (dispute["dispute_cycle"], dispute["resolution"]) == (4, "new_data")
    assert not (tmp_path / ".liza" / "CHECKPOINT").exists()
    log = libyaml_value((tmp_path / ".liza" / "log.yaml").read_bytes())
    assert [entry["action"] for entry in log] == [
        "stage_advanced", "claim_added", "claim_added", "claim_disputed", "stage_advanced", "claim_marked",
        "claim_reexamined", "claim_resolved", "claim_promoted", "claim_promoted", "stage_closed",
    ]  # fmt: skip


def test_positions_are_shown_side_by_side_on_terminal(tmp_path: Path) -> None:
    disputed(tmp_path)
    wide = on_a_terminal(tmp_path, "claim", "show", "C-001", COLUMNS="100")
    assert wide.code == 3
    text = re.sub(r"\x1b\[\d*m", "", wide.out)
    assert re.search("the reviewer objects +│ the researcher answers\n", text)
    left, right = zip(*(line.split(" │ ") for line in text.splitlines() if " │ " in line), strict=True)
    assert " ".join(" ".join(left[1:]).split()) == HARNESS
    assert " ".join(" ".join(right[1:]).split()) == IMPOSSIBLE
    assert all(len(line) <= 100 for line in text.splitlines())
    narrow = re.sub(r"\x1b\[\d*m", "", on_a_terminal(tmp_path, "claim", "show", "C-001", COLUMNS="50").out)
    assert "│" not in narrow
    assert narrow.index("the reviewer objects") < narrow.index("the researcher answers")


def test_wide_and_combining_letters_keep_columns(tmp_path: Path) -> None:
    new_board(tmp_path)
    liza(tmp_path, "claim", "add", "C-001", "--text", "数据 e\u0301té")
    texts = ("--objection", "对照组缺失 " * 12, "--response", "e\u0301" * 60)
    for _ in range(3):
        liza(tmp_path, "claim", "round", "C-001", *texts)
    lines = on_a_terminal(tmp_path, "claim", "show", "C-001", COLUMNS="80").out.splitlines()
    bars = {width_of(line.partition("│")[0]) for line in lines if "│" in line}
    assert len(bars) == 1


def test_untrusted_text_is_escaped_on_terminal(tmp_path: Path) -> None:
    new_board(tmp_path)
    texts = ("--objection", f"no {NASTY}", "--response", f"yes {NASTY}", "--reviewer", NASTY, "--objection-id", NASTY)
    liza(tmp_path, "claim", "add", "C-001", "--text", NASTY, "--evidence", NASTY, "--stage", NASTY)
    for _ in range(2):
        liza(tmp_path, "claim", "round", "C-001", *texts)
    assert harmless(on_a_terminal(tmp_path, "claim", "round", "C-001", *texts).out)
    assert claims(tmp_path)["C-001"]["dispute_reason"] == f"no {NASTY}"
    for words in (("claim", "show", "C-001"), ("claim", "promote", "C-001"), ("stage", "close", "S5"), ("status",)):
        result = on_a_terminal(tmp_path, *words)
        assert harmless(result.out), ascii(result.out)
    assert liza(tmp_path, "claim", "show", "C-001", "--json").out.isascii()


def test_invalid_utf8_stays_visible(tmp_path: Path) -> None:
    new_board(tmp_path)
    assert liza(tmp_path, "claim", "add", "C-001", "--text", b"caf\xe9").code == 0
    assert claims(tmp_path)["C-001"]["text"] == "caf\\xe9"


def test_text_comes_from_file_or_stdin(tmp_path: Path) -> None:
    new_board(tmp_path)
    (tmp_path / "text.txt").write_text("two\nlines\n")
    assert liza(tmp_path, "claim", "add", "C-001", "--text", "@text.txt").code == 0
    assert liza(tmp_path, "claim", "add", "C-002", "--text", "-", stdin="| piped |\n").code == 0
    assert [each["text"] for each in claims(tmp_path).values()] == ["two\nlines", "| piped |"]
    result = liza(tmp_path, "claim", "add", "C-003", "--text", "@nowhere.txt")
    assert (result.code, "nowhere.txt" in result.err, "standard input" in result.hint()) == (2, True, True)
    assert liza(tmp_path, "claim", "add", "C-003", "--text", "-").code == 2


WRONG: list[tuple[tuple[str, ...], str]] = [
    (("claim", "round", "C-001"), "or --test"),
    (("claim", "round", "C-001", "--objection", "a"), "in pairs"),
    (("claim", "round", "C-001", "--objection", "a", "--response", "b", "--response", "c"), "in pairs"),
    (("claim", "round", "C-001", "--objection", " ", "--response", "b"), "--objection is empty"),
    (("claim", "round", "C-001", "--objection", "a", "--response", ""), "--response is empty"),
    (("claim", "round", "C-001", "--objection", "a", "--response", "b", "--evidence", ""), "--evidence is empty"),
    (("claim", "round", "C-001", "--objection", "a", "--response", "b", "--test", " "), "--test is empty"),
    (("claim", "round", "C-001", *("--objection", "a", "--response", "b") * 2, "--objection-id", "x"), "got 2 and 1"),
    (("claim", "round", "C-001", "--objection", "a", "--response", "b", "--cycle", "four"), "--cycle"),
    (("claim", "round", "C-001", "--objection", "a", "--response", "b", "--confidence", "nan"), "--confidence"),
    (("claim", "add", "C-009"), "--text"),
    (("claim", "edit", "C-001"), "nothing to change"),
    (("claim", "kill", "C-001"), "missing -m"),
    (("claim", "promot", "C-001"), "promot"),
    (("stage", "close"), "STAGE"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "message"), WRONG, ids=[" ".join(words)[:70] for words, _ in WRONG])
def test_invalid_claim_command_is_refused_with_hint(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    state = new_board(tmp_path, "version: 1\nclaims:\n  C-001: {text: x}\n")
    before = state.read_text()
    result = liza(tmp_path, *words)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.hint()
    assert state.read_text() == before


def test_claim_list_and_ledger_can_be_piped(tmp_path: Path) -> None:
    disputed(tmp_path)
    listed = liza(tmp_path, "claim", "list")
    assert (listed.code, "\x1b" in listed.out) == (3, False)
    assert listed.out.startswith("C-001  DISPUTED  3 rounds  You must run")
    assert json.loads(liza(tmp_path, "claim", "list", "--json").out)["claims"][0]["claim_status"] == "DISPUTED"
    assert liza(tmp_path, "claim", "ledger").out.endswith("- **Rounds:** 3\n")
