"""Every moment of a save in place, byte by byte: no trip that the whole file would not give, and no resolution."""

from pathlib import Path

import pytest

from tests.daemon import torn


@pytest.mark.parametrize("name", torn.SAVES)
@pytest.mark.parametrize("board", torn.BOARDS)
def test_half_a_save_decides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, board: str, name: str) -> None:
    made = torn.BOARDS[board](tmp_path / "team")
    save = torn.saves(made)[name]
    with torn.observe_save(made, save, monkeypatch) as looks:
        wrong = torn.wrong_moments(looks, range(save.moments))
    assert not wrong, f"{len(wrong)} of {save.moments}, the first: {wrong[:5]}"
