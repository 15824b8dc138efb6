"""Many writers at once, liza's and shell scripts that take its lock with flock(1): no record is lost or doubled."""

import os
from pathlib import Path

from tests.faults import boards, crowd


def test_each_anomaly_of_many_writers_is_on_the_board_exactly_once_and_in_order(tmp_path: Path) -> None:
    paths = boards.make(tmp_path)
    assert crowd.write_state(paths, crowd.Crowd()) == []


def test_each_entry_of_many_writers_is_in_the_log_exactly_once_and_in_order(tmp_path: Path) -> None:
    paths = boards.make(tmp_path)
    assert crowd.write_log(paths, crowd.Crowd()) == []


def test_writers_that_are_killed_among_many_take_no_record_with_them(tmp_path: Path) -> None:
    paths = boards.make(tmp_path)
    assert crowd.write_state(paths, crowd.Crowd(4, 50, 2, 25), deaths=20) == []


def test_nothing_but_the_new_records_has_changed(tmp_path: Path) -> None:
    paths = boards.make(tmp_path)
    assert crowd.write_state(paths, crowd.Crowd(4, 20, 2, 20)) == []
    assert Path(paths.state).read_text(encoding="utf-8").startswith(boards.STATE)
    assert sorted(os.listdir(paths.folder)) == ["log.yaml", "state.yaml", "state.yaml.lock"]
