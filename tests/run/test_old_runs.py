"""Old runs are deleted, oldest first; what may still go on, and what is not a run, stays."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from liza.run.old_runs import delete_old

NOW = datetime(2026, 3, 1, tzinfo=UTC)
DAY = 86_400


def make(runs: Path, name: str, days: float, size: int = 10) -> Path:
    """A run that was saved so many days ago."""
    folder = runs / name
    (folder / "iterations" / "1").mkdir(parents=True)
    (folder / "iterations" / "1" / "output.log").write_bytes(b"x" * size)
    (folder / "session.json").write_text("{}")
    os.utime(folder / "session.json", (NOW.timestamp() - days * DAY,) * 2)
    return folder


def left(runs: Path) -> set[str]:
    return {each.name for each in runs.iterdir()}


KEPT: list[tuple[dict[str, float], set[str]]] = [
    ({}, {"3", "0.5"}),
    ({"days": 2}, {"0.5"}),
    ({"days": 100}, {"40", "3", "0.5"}),
]


@pytest.mark.parametrize(("block", "kept"), KEPT)
def test_runs_older_than_the_limit_are_deleted(tmp_path: Path, block: dict[str, float], kept: set[str]) -> None:
    names = {f"20260101-00000{n}": days for n, days in enumerate(("40", "3", "0.5"))}
    for name, days in names.items():
        make(tmp_path, name, float(days))
    count, _ = delete_old(str(tmp_path), block, NOW)
    assert {names[name] for name in left(tmp_path)} == kept
    assert count == 3 - len(kept)


def test_oldest_go_first_while_all_are_too_large(tmp_path: Path) -> None:
    for n in range(4):
        make(tmp_path, f"20260101-00000{n}", 10 - n, 600_000)
    assert delete_old(str(tmp_path), {"megabytes": 1.5}, NOW)[0] == 2
    assert left(tmp_path) == {"20260101-000002", "20260101-000003"}


def test_recent_runs_stay_however_large(tmp_path: Path) -> None:
    make(tmp_path, "20260228-120000", 0.5, 3_000_000)
    assert delete_old(str(tmp_path), {"megabytes": 1}, NOW)[0] == 0


def test_what_is_not_a_run_stays(tmp_path: Path) -> None:
    elsewhere = make(tmp_path / "elsewhere", "20260101-000000", 90)
    runs = tmp_path / "runs"
    make(runs, "loops", 90)
    make(runs, "my-notes", 90)
    (runs / "20260101-000001").symlink_to(elsewhere)
    (runs / "20260101-000002").mkdir()
    assert delete_old(str(runs), {}, NOW)[0] == 0
    assert elsewhere.exists()
    assert delete_old(str(tmp_path / "missing"), {}, NOW)[0] == 0
