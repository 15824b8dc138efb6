"""Many writers at once, liza's and shell scripts that take its lock with flock(1): no record is lost or doubled."""

import os
from pathlib import Path

from tests.faults import boards, crowd


def test_anomalies_of_many_writers_are_each_entered_once_in_order(tmp_path: Path) -> None:
    paths = boards.make(tmp_path)
    assert crowd.write_state(paths, crowd.Crowd()) == []


def test_log_entries_of_many_writers_are_each_written_once_in_order(tmp_path: Path) -> None:
    paths = boards.make(tmp_path)
    assert crowd.write_log(paths, crowd.Crowd()) == []


def test_killed_writers_among_many_lose_no_record(tmp_path: Path) -> None:
    paths = boards.make(tmp_path)
    assert crowd.write_state(paths, crowd.Crowd(4, 50, 2, 25), deaths=20) == []


def test_only_the_new_records_have_changed(tmp_path: Path) -> None:
    paths = boards.make(tmp_path)
    assert crowd.write_state(paths, crowd.Crowd(4, 20, 2, 20)) == []
    assert Path(paths.state).read_text(encoding="utf-8").startswith(boards.STATE)
    assert sorted(os.listdir(paths.folder)) == ["log.yaml", "state.yaml", "state.yaml.lock"]
