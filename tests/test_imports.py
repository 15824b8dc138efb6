"""What agents call many times a minute imports no optional part of liza."""

from pathlib import Path

import pytest

from tests.cli.run import new_board
from tests.cli.test_lazy_imports import EXTRAS, PLAIN, imported


@pytest.mark.parametrize("words", [["gate"], ["gate", "--loop", "a"], ["analyze"], *PLAIN.values()], ids=" ".join)
def test_agents_commands_import_no_extra(tmp_path: Path, words: list[str]) -> None:
    new_board(tmp_path)
    assert not imported(tmp_path, *words) & set(EXTRAS)
