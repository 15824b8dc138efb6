"""The output of every command, compared with reviewed transcripts."""

from pathlib import Path

import pytest

from tests.tools import needs_all_in
from tests.transcript import FOLDER, transcript

FILES = sorted(FOLDER.glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_commands_print_their_snapshot(file: Path) -> None:
    kept = file.read_text(encoding="utf-8")
    needs_all_in(" ".join(line for line in kept.splitlines() if line.startswith("$ git")))
    assert transcript(file) == kept, "if intended, renew with: make snapshots"
