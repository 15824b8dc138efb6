"""Ticks and notes of people in the report: they survive new evidence, the resolution and the next trip."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.scopes.sprint.report_notes import carry_over
from tests.scopes.sprint.cases import RETRY, tripped
from tests.scopes.sprint.run import LATER, Board

BEFORE = "# Report\n\n| a |\n|---|\n| 1 |\n\n## Do\n\n- [ ] One\n- [ ] Two\n"
RENEWED = "# Report\n\n| a |\n|---|\n| 1 |\n| 2 |\n\n## Do\n\n- [ ] One\n- [ ] Two\n\n## More\n\nx\n"


def ticked(board: Board) -> None:
    """Tick an item, and write below a heading and at the end."""
    text = board.report.read_text()
    assert "- [ ] Acknowledge report" in text
    text = text.replace("- [ ] Acknowledge report", "- [x] Acknowledge report, bob")
    text = text.replace("## Recommended Actions\n", "## Recommended Actions\n\nAsk carol first.\n")
    board.report.write_text(text + "\n## My own\n\nSeen at noon.\n\nTwice.\n")


def assert_kept(text: str) -> None:
    lines = text.splitlines()
    wanted = ["Ask carol first.", "- [x] Acknowledge report, bob", "## My own", "Seen at noon.", "Twice."]
    assert [line for line in lines if line in wanted] == wanted, text
    assert lines[lines.index("Ask carol first.") - 2] == "## Recommended Actions"
    assert "- [ ] Acknowledge report" not in text


def test_ticks_and_notes_survive_new_evidence(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    ticked(board)
    edited = board.report.read_text()
    for minute in (40, 41):
        board.add({**RETRY.records[0], "timestamp": f"2025-01-18T17:{minute}:00Z"})
        assert board.analyze(now=f"2025-01-18T17:{minute}:30Z").code == 3
        assert_kept(board.report.read_text())
        assert f"17:{minute}:00Z" in board.report.read_text()
    kept = [path.read_text() for path in board.archived if path.name.endswith(".edited.md")]
    assert len(kept) == 1
    assert_kept(kept[0])
    assert edited.count("|") <= kept[0].count("|")


def test_edited_report_is_archived_before_renewal(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    ticked(board)
    edited = board.report.read_bytes()
    board.add({**RETRY.records[0], "timestamp": "2025-01-18T17:40:00Z"})
    board.analyze(now="2025-01-18T17:41:00Z")
    assert edited in [path.read_bytes() for path in board.archived]


def test_ticks_and_notes_survive_resolution_and_next_trip(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    ticked(board)
    assert board.resolve().code == 0
    (archived,) = board.archived
    for path in (board.report, archived):
        assert_kept(path.read_text())
        assert path.read_text().count("## Decision") == 1
    assert board.run("trip", "-m", "again", "--now", LATER).code == 3
    assert_kept(archived.read_text())
    assert "[x]" not in board.report.read_text(), "another trip is another page"


def test_notes_after_the_decision_survive_the_next_trip(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.resolve()
    ticked(board)
    board.run("trip", "-m", "again", "--now", LATER)
    assert any("Seen at noon." in path.read_text() for path in board.archived)


def test_ticks_survive_a_removed_archive(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    ticked(board)
    board.archived[0].unlink()
    board.resolve()
    board.archived[0].unlink()
    board.run("trip", "-m", "again", "--now", LATER)
    assert any("Seen at noon." in path.read_text() for path in board.archived)


def test_unedited_report_leaves_one_archived_page(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.add({**RETRY.records[0], "timestamp": "2025-01-18T17:40:00Z"})
    board.analyze(now="2025-01-18T17:41:00Z")
    board.resolve()
    assert len(board.archived) == 1
    assert board.archived[0].read_bytes() == board.report.read_bytes()


def test_own_decision_heading_is_not_the_decision(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.report.write_text(board.report.read_text() + "\n## Decision\n\nNot yet.\n")
    board.add({**RETRY.records[0], "timestamp": "2025-01-18T17:40:00Z"})
    board.analyze(now="2025-01-18T17:41:00Z")
    assert "17:40:00Z" in board.report.read_text()
    board.resolve("ADR-003 created")
    for path in (board.report, board.archived[-1]):
        assert "Not yet." in path.read_text()
        assert "> ADR-003 created" in path.read_text()


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_line_ends_are_not_notes(end: str) -> None:
    edited = end.join(line.rstrip() for line in BEFORE.replace("[ ] One", "[X] One").splitlines())
    assert carry_over(BEFORE.replace("Report", "Report  "), edited, RENEWED) == RENEWED.replace("[ ] One", "[X] One")


def test_note_below_a_table_does_not_split_it() -> None:
    renewed = carry_over(BEFORE, BEFORE.replace("| 1 |\n", "| 1 |\n\nHm.\n"), RENEWED)
    assert "| 1 |\n| 2 |\n\nHm.\n\n## Do" in renewed


def test_note_without_its_place_is_kept() -> None:
    edited = BEFORE.replace("## Do\n", "## Do\n\nMine.\n")
    assert "Mine." in carry_over(BEFORE, edited, "# Another\n\ny\n").splitlines()


LINES = st.lists(st.sampled_from(["# A", "", "| x |", "| y |", "- [ ] one", "- [ ] two", "text", "more"]), max_size=12)
NOTES = st.lists(st.sampled_from(["mine", "", "- mine too", "> quoted", "- [x] my item"]), min_size=1, max_size=4)


@given(LINES, LINES, NOTES, st.integers(0, 12))
def test_every_note_is_carried_over_once(before: list[str], renewed: list[str], notes: list[str], place: int) -> None:
    edited = [*before[:place], *notes, *before[place:]]
    old, there, new = ("\n".join(lines) + "\n" for lines in (before, edited, renewed))
    result = carry_over(old, there, new)
    wanted = [line for line in notes if line]
    assert [line for line in result.splitlines() if line in wanted] == wanted
    assert [line for line in result.splitlines() if line and line not in wanted] == [line for line in renewed if line]
    assert carry_over(new, result, new) == result, "a second carry-over must keep the place"
