"""The hooks of clients, as the doctor sees them."""

from pathlib import Path

import pytest

from liza.doctor.finding import Level
from tests.cli.run import installed, liza, new_board


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "shop"
    new_board(project)
    return project


def levels(folder: Path) -> list[str]:
    found = liza(folder, "doctor", "--json").json["findings"]
    return [each["level"] for each in found if each["about"] == "hooks"]


def test_installed_hook_is_ok(folder: Path) -> None:
    assert installed(folder, "install", "claude").code == 0
    assert set(levels(folder)) == {Level.OK}


@pytest.mark.parametrize("missing", ["hook.sh", "program"])
def test_missing_part_of_the_hook_is_an_error_until_installed_again(folder: Path, missing: str) -> None:
    installed(folder, "install", "claude")
    (folder / ".local/share/liza" / missing).unlink()
    assert Level.ERROR in levels(folder)
    installed(folder, "install", "claude")
    assert Level.ERROR not in levels(folder)


def test_deleted_program_is_an_error(folder: Path) -> None:
    installed(folder, "install", "claude")
    (folder / ".local/share/liza/program").write_text("/nonexistent/venv/bin/liza\n")
    assert Level.ERROR in levels(folder)


def test_events_without_a_daemon_are_an_error(folder: Path) -> None:
    installed(folder, "install", "claude")
    spool = folder / ".liza" / "spool"
    spool.mkdir()
    for number in range(101):
        (spool / f"claude-after-{number:06}").write_text("{}")
    assert Level.ERROR in levels(folder)
