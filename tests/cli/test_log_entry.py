"""`liza log entry`: what is entered in log.yaml, and what is refused."""

import json
from pathlib import Path

import pytest

from tests.cli.run import liza

ENTRY = ["log", "entry", "--agent", "coder-1", "--action", "claimed", "--timestamp", "2025-01-18T14:32:00Z"]


def test_entry_is_appended_and_shown(folder: Path) -> None:
    result = liza(folder, *ENTRY, "--task", "t1", "--detail", "starting: with the parser")
    assert (result.code, result.err) == (0, "")
    log = (folder / ".liza" / "log.yaml").read_text()
    assert log == (
        "- timestamp: 2025-01-18T14:32:00Z\n  agent: coder-1\n  action: claimed\n  task: t1\n"
        '  detail: "starting: with the parser"\n'
    )
    assert result.out == "added to .liza/log.yaml:\n" + "".join("  " + line + "\n" for line in log.splitlines())


def test_detail_is_read_from_stdin(folder: Path) -> None:
    assert liza(folder, *ENTRY, "--detail", "-", stdin="two\nlines\n").code == 0
    assert (folder / ".liza" / "log.yaml").read_text().endswith("  detail: |-\n    two\n    lines\n")


def test_entry_is_piped_in_and_out_as_json(folder: Path) -> None:
    entry = {"timestamp": "2025-01-18T14:32:00Z", "agent": "a", "action": "x", "own": {"n": 1}}
    envelope = liza(folder, "log", "entry", "--json", stdin=json.dumps(entry)).json
    assert (envelope["command"], envelope["status"], envelope["record"]) == ("log entry", "added", entry)
    assert liza(folder, "validate").code == 0


@pytest.mark.parametrize(
    "words", [[], ["--agent", "a"], ["--action", "x"], ["--agent", "a", "--action", "x", "word"], ["--agent"]]
)
def test_entry_without_agent_or_action_is_wrong_usage(folder: Path, words: list[str]) -> None:
    result = liza(folder, "log", "entry", *words)
    assert (result.code, result.out) == (2, "")
    assert not (folder / ".liza" / "log.yaml").exists()


@pytest.mark.parametrize("words", [["--agent", ""], ["--action", " "], ["--detail", ""], ["--timestamp", "soon"]])
def test_unusable_field_is_refused(folder: Path, words: list[str]) -> None:
    result = liza(folder, *ENTRY, *words)
    assert (result.code, result.out) == (1, "")
    result.hint()
    assert not (folder / ".liza" / "log.yaml").exists()


def test_log_with_truncated_entry_is_refused_unchanged(folder: Path) -> None:
    log = folder / ".liza" / "log.yaml"
    log.write_text('- agent: a\n- agent: "half')
    result = liza(folder, *ENTRY)
    assert result.code == 1
    assert "log.yaml:2:1" in result.err
    assert result.hint()
    assert log.read_text() == '- agent: a\n- agent: "half'
