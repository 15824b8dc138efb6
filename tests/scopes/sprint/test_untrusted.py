"""Agents' text is untrusted: in the report and on the terminal it is text and nothing else."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.scopes.sprint.cases import board_with
from tests.scopes.sprint.markdown import parts, tables, well_formed
from tests.scopes.sprint.run import NOW, Board, controls, on_a_terminal, record

TEXTS = {
    "bars": "a | b || c \\| d \\\\| e |",
    "backslashes": "\\ \\\\ \\| \\\\\\",
    "backticks": "`rm -rf /` ```\ncode\n``` ` unbalanced",
    "HTML": "<script>alert(1)</script> <img src=x onerror=y> <!-- hide the rest",
    "entities": "&lt;b&gt; &#124; &amp;#124; &#x1b;[2J",
    "escape sequences": "\x1b]0;owned\x07 \x1b[2J\x1b[31m red \x9b5m \x1b[",
    "line breaks": "one\ntwo\r\nthree\x0bfour\x0cfive\u2028six\u2029seven\x85eight",
    "headings": "\n## Human Decision Required\n\n- [x] Acknowledge report\n",
    "a ruler": "\n---\n===\n***\n",
    "a list": "- [x] done\n1. one\n> quoted\n",
    "links": "![x](http://e/?q) [click](javascript:alert(1)) [ref]: http://e <http://e>",
    "emphasis": "**bold** _it_ *it* ~~gone~~ __init__",
    "a template": "{{ 7*7 }} {% for x in y %}{{ ''.__class__ }}{% endfor %} {# gone #}",
    "right to left": "abc \u202e gnp.exe \u2066 x \u2069 \u200f \u061c",
    "invisible": "zero\u200bwidth \ufeff bom \u00ad soft \U000e0041 tag",
    "a surrogate pair and beyond": "\U0001f4a9 \U0010ffff \ufffe",
    "NUL and friends": "\x01\x02\x7f\x80 \x08\x08\x08",
    "only space": " \t\n ",
    "digits": "4711",
}


def board_of(folder: Path, text: Any, number: int = 3) -> Board:
    """The same odd text in every field that a report or a terminal shows."""
    records = [
        {
            "timestamp": text,
            "task": text,
            "reporter": text,
            "type": "retry_loop",
            "spec_ref": text,
            "details": {"error_pattern": f"same {text} error", "root_cause_hypothesis": text, "reality": text},
        }
        for _ in range(number)
    ]
    others = [record("assumption_violated", text, assumption=f"the {text} !", reality=text) for _ in range(2)]
    return board_with(folder, *records, *others)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_any_text_stays_text(tmp_path: Path, text: str) -> None:
    board = board_of(tmp_path, text)
    board.checkpoint.touch()
    assert board.analyze().code == 3
    first = board.report.read_text(encoding="utf-8")
    well_formed(first)
    board.resolve(f"decided {text}")
    final = board.report.read_text(encoding="utf-8")
    well_formed(final)
    found = parts(final)
    assert list(found) == [
        "",
        "Trigger Evidence",
        "Affected Artifacts",
        "Recommended Actions",
        "Human Decision Required",
        "Other Patterns That Matched",
        "Decision",
    ]
    (evidence,) = tables(found["Trigger Evidence"])
    assert [len(row) for row in evidence.rows] == [5, 5, 5]
    assert re.search(r"^\*\*Common factor:\*\* same.*error *$", found["Trigger Evidence"], re.MULTILINE)
    assert [row[2] for row in evidence.rows] == ["as above"] * 3
    assert "&lt;" not in final.replace("\\&", ""), "an entity is not for a terminal"
    assert final.count("- [ ] ") == 4
    assert "- [x]" not in final
    assert "49" not in final.replace(board.trips[-1]["trip_id"], "")
    assert not re.search(r"(?<!\\)<(script|img|!--|http)|(?<!\\)\]\(|(?<!\\)\*\*bold", final)
    (archived,) = board.archived
    assert archived.read_text(encoding="utf-8") == final


@pytest.mark.parametrize("text", [TEXTS["escape sequences"], TEXTS["right to left"], TEXTS["line breaks"]])
def test_no_command_prints_control_characters(tmp_path: Path, text: str) -> None:
    board = board_of(tmp_path, text)
    for command in (
        ("analyze", "--dry-run", "--now", NOW),
        ("analyze", "--now", NOW),
        ("status", "--now", NOW),
        ("gate",),
        ("resolve", "-m", f"decided {text}", "--by", text),
        ("status", "--now", NOW),
    ):
        board.run(*command)  # checks the output
    assert board.run("trip", "-m", text).code == 3
    printed = on_a_terminal(board, "status", "--now", NOW)
    assert "TRIGGERED: manual" in printed
    assert controls(printed) == []


def test_emphasis_is_escaped(tmp_path: Path) -> None:
    board = board_of(tmp_path, "~~struck~~ _leaning_")
    board.analyze()
    text = board.report.read_text()
    assert "~~struck~~" not in text
    assert " _leaning_" not in text


def test_megabyte_text_makes_a_short_page(tmp_path: Path) -> None:
    long = "x" * 1_000_000
    board = board_with(tmp_path, *[record("retry_loop", long, error_pattern=long, spec_ref=n) for n in range(3)])
    assert board.analyze().code == 3
    text = board.report.read_text(encoding="utf-8")
    well_formed(text)
    assert len(text) < 50_000
    assert "…" in text
    printed = board.run("status", "--now", NOW).out
    assert max(map(len, printed.splitlines())) < 400
    board.resolve("y" * 1_000_000)
    assert len(board.report.read_text(encoding="utf-8")) < 100_000


def test_thousand_records_are_cut_with_a_note(tmp_path: Path) -> None:
    many = [
        record("retry_loop", f"job-{n}", spec_ref=f"specs/{n}.md", error_pattern="disk full", count=n)
        for n in range(1000)
    ]
    board = board_with(tmp_path, *many)
    assert board.analyze().code == 3
    text = board.report.read_text(encoding="utf-8")
    well_formed(text)
    assert len(text) < 60_000
    found = parts(text)
    (evidence,) = tables(found["Trigger Evidence"])
    assert f"{1000 - len(evidence.rows)} more" in found["Trigger Evidence"]
    (artifacts,) = tables(found["Affected Artifacts"])
    assert f"{1000 - len(artifacts.rows)} more" in found["Affected Artifacts"], "artifacts were cut without a note"


def test_many_patterns_are_cut_with_a_note(tmp_path: Path) -> None:
    outages = [record("external_blocker", blocker_service=f"service {n // 2}") for n in range(200)]
    board = board_with(tmp_path, *outages)
    assert board.analyze().code == 3
    text = board.report.read_text(encoding="utf-8")
    well_formed(text)
    (others,) = tables(parts(text)["Other Patterns That Matched"])
    left = 99 - len(others.rows)
    assert f"{left} more" in parts(text)["Other Patterns That Matched"], "matches were cut without a note"


def test_many_suspicions_and_resolutions_are_cut_with_a_note(tmp_path: Path) -> None:
    guesses = [
        record("retry_loop", error_pattern="disk full", count=1, root_cause_hypothesis=f"guess {n}") for n in range(30)
    ]
    board = board_with(tmp_path, *guesses)
    old = "".join(
        f"    - {{timestamp: 2024-01-01T00:{n:02}:00Z, pattern: retry_cluster, severity: SPEC_FLAW, result: TRIGGERED, "
        f"resolution: r{n}, resolved_at: 2024-01-02T00:00:00Z}}\n"
        for n in range(30)
    )
    board.edit("  history: []  # oldest first\n", "  history:  # oldest first\n" + old)
    assert board.analyze().code == 3
    text = board.report.read_text(encoding="utf-8")
    well_formed(text)
    shown = text.count("root cause hypothesis: guess")
    assert (shown, "And 10 more" in parts(text)["Trigger Evidence"]) == (20, True)
    (earlier,) = tables(parts(text)["Resolved Before"])
    assert len(earlier.rows) == 30 or f"{30 - len(earlier.rows)} more" in parts(text)["Resolved Before"]


ODD_VALUES = {
    "a mapping": {"a": {"b": [1, 2]}},
    "a list": ["one | two", ["three"]],
    "a number": 12.5,
    "true": True,
    "null": None,
    "a huge number": 10**300,
}


@pytest.mark.parametrize("value", ODD_VALUES.values(), ids=ODD_VALUES.keys())
def test_any_value_in_any_field_is_handled(tmp_path: Path, value: Any) -> None:
    board = board_of(tmp_path, value)
    assert board.analyze().code == 3
    assert board.analyze("--exact").code == 3
    assert board.run("status").code == 3
    well_formed(board.report.read_text(encoding="utf-8"))
    assert board.analyze("--json").json["schema"] == 1


def test_decision_cannot_become_markup(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """Neither by entities, which a reader turns into marks that reorder text, nor by the start of a block."""
    record_property("effect", "escaped in the report")
    board = board_of(tmp_path, "x &#x202e; y")
    assert board.analyze().code == 3
    board.resolve("&#x202e;\n# heading\n- [x] done\n1. one\n---\n+ plus")
    final = board.report.read_text(encoding="utf-8")
    assert "&#" not in final
    quoted = [line.removeprefix("> ") for line in parts(final)["Decision"].splitlines() if line.startswith(">")]
    assert [line for line in quoted if re.match(r"#|[-+=]|\d+[.)]", line)] == []
    assert len(quoted) == 6
