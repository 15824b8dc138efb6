"""What docs/disputes.md shows works as it says, one block after the other in one folder."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.run import environment, liza, new_board

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "disputes.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)
SHELL = [text for kind, text in BLOCKS if kind == "sh"]
YAML = [text for kind, text in BLOCKS if kind == "yaml"]
BOARDS = [text for text in YAML if text.startswith("claims:")]
RULES = [text for text in YAML if text not in BOARDS]


def test_the_commands_work_in_their_order(tmp_path: Path) -> None:
    for number, text in enumerate(SHELL):
        done = subprocess.run(
            ["sh", "-eu", "-c", text],
            cwd=tmp_path,
            env=environment(tmp_path),
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, (number, text, done.stdout.decode(), done.stderr.decode())
        assert b"a bug in liza" not in done.stderr
    assert "## C-001 [ACCEPTED]" in (tmp_path / "LEDGER.md").read_text()
    assert "## C-002" in (tmp_path / "LEDGER.md").read_text()


@pytest.mark.parametrize("text", RULES, ids=lambda text: text.splitlines()[0])
def test_the_settings_can_be_used(tmp_path: Path, text: str) -> None:
    (tmp_path / "rules.yaml").write_text(text)
    result = liza(tmp_path, "rules", "check", "rules.yaml")
    assert result.code == 0, result.out


@pytest.mark.parametrize("text", BOARDS, ids=["the board"])
def test_the_board_is_valid_and_is_judged(tmp_path: Path, text: str) -> None:
    new_board(tmp_path, f"version: 1\n{text}")
    assert liza(tmp_path, "validate").out.endswith("valid\n")
    near = liza(tmp_path, "claim", "show", "C-001", "--json").json
    assert (near["changes"], near["claim_status"]) == (["evidence"], "OPEN")


def test_the_page_has_all_of_these() -> None:
    assert (len(SHELL), len(RULES), len(BOARDS)) == (7, 2, 1)
    assert {kind for kind, _ in BLOCKS} == {"sh", "yaml"}
