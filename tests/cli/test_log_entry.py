"""`liza log entry`: what is entered in log.yaml, and what is refused."""

import json
from pathlib import Path

import pytest

from tests.cli.run import liza, new_board

ENTRY = ["log", "entry", "--agent", "coder-1", "--action", "claimed", "--timestamp", "2025-01-18T14:32:00Z"]


@pytest.fixture
def board(tmp_path: Path) -> Path:
    new_board(tmp_path)
    return tmp_path


def test_entry_is_appended_and_shown(board: Path) -> None:
    result = liza(board, *ENTRY, "--task", "t1", "--detail", "starting: with the parser")
    assert (result.code, result.err) == (0, "")
    log = (board / ".liza" / "log.yaml").read_text()
    assert log == (
        "- timestamp: 2025-01-18T14:32:00Z\n  agent: coder-1\n  action: claimed\n  task: t1\n"
        '  detail: "starting: with the parser"\n'
    )
    assert result.out == "added to .liza/log.yaml:\n" + "".join("  " + line + "\n" for line in log.splitlines())


def test_detail_is_read_from_stdin(board: Path) -> None:
    assert liza(board, *ENTRY, "--detail", "-", stdin="two\nlines\n").code == 0
    assert (board / ".liza" / "log.yaml").read_text().endswith("  detail: |-\n    two\n    lines\n")


def test_entry_is_piped_in_and_out_as_json(board: Path) -> None:
    entry = {"timestamp": "2025-01-18T14:32:00Z", "agent": "a", "action": "x", "own": {"n": 1}}
    envelope = liza(board, "log", "entry", "--json", stdin=json.dumps(entry)).json
    assert (envelope["command"], envelope["status"], envelope["record"]) == ("log entry", "added", entry)
    assert liza(board, "validate").code == 0


@pytest.mark.parametrize(
    "words", [[], ["--agent", "a"], ["--action", "x"], ["--agent", "a", "--action", "x", "word"], ["--agent"]]
)
def test_entry_without_agent_or_action_is_wrong_usage(board: Path, words: list[str]) -> None:
    result = liza(board, "log", "entry", *words)
    assert (result.code, result.out) == (2, "")
    assert not (board / ".liza" / "log.yaml").exists()


@pytest.mark.parametrize("words", [["--agent", ""], ["--action", " "], ["--detail", ""], ["--timestamp", "soon"]])
def test_unusable_field_is_refused(board: Path, words: list[str]) -> None:
    result = liza(board, *ENTRY, *words)
    assert (result.code, result.out) == (1, "")
    result.hint()
    assert not (board / ".liza" / "log.yaml").exists()


def test_log_with_truncated_entry_is_refused_unchanged(board: Path) -> None:
    log = board / ".liza" / "log.yaml"
    log.write_text('- agent: a\n- agent: "half')
    result = liza(board, *ENTRY)
    assert result.code == 1
    assert "log.yaml:2:1" in result.err
    assert result.hint()
    assert log.read_text() == '- agent: a\n- agent: "half'
