"""While a trip waits for a person, nothing changes unless there is new evidence."""

import fcntl
import os
from pathlib import Path

from tests.scopes.sprint.cases import ASSUMPTION, RETRY, board_with, tripped
from tests.scopes.sprint.run import LATER, NOW, Board, record, state


def fourth(at: str = "2025-01-18T18:10:00Z") -> dict[str, object]:
    return record("retry_loop", "task-4", at, **RETRY.records[0]["details"])


def test_repeated_check_changes_only_last_check(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    before = board.files()
    ran = board.analyze(now=LATER)
    assert ran.code == 3
    assert ran.out.startswith(f"TRIGGERED: retry_cluster (ARCHITECTURE_FLAW) since {NOW}")
    after = board.files()
    own = ".liza/state.yaml"
    assert {name: raw for name, raw in after.items() if name != own} == {n: r for n, r in before.items() if n != own}
    lines = zip(str(before[own]).split("\\n"), str(after[own]).split("\\n"), strict=True)
    changed = [(old, new) for old, new in lines if old != new]
    assert [new.split("  #")[0].strip() for _, new in changed] == [f"last_check: {LATER}"]


def test_more_of_the_same_renews_the_halt(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    trip = board.trigger["trip_id"]
    board.checkpoint.unlink()
    board.add(fourth())
    ran = board.analyze(now=LATER)
    assert ran.code == 3
    assert "new evidence" in ran.out
    assert (board.halt["trip"], board.halt["time"]) == (trip, NOW)
    assert board.trigger["trip_id"] == trip
    (entry,) = board.trips
    assert (entry["timestamp"], entry["trip_id"]) == (NOW, trip)
    assert len(entry["evidence"]["retry_cluster"].split()) == 4
    assert "task-4" in board.report.read_text()
    assert [path.read_text() for path in board.archived] == [board.report.read_text()]
    assert len(board.logged) == 1


def test_another_pattern_joins_the_open_trip(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.checkpoint.unlink()
    board.add(*ASSUMPTION.records)
    ran = board.analyze(now=LATER)
    assert "also matched: assumption_cascade" in ran.out
    assert board.checkpoint.exists()
    assert board.trigger["pattern"] == "retry_cluster"
    assert board.trigger["also_matched"] == board.trips[0]["also_matched"] == ["assumption_cascade"]
    assert len(board.trips) == 1
    report = board.report.read_text()
    assert "**Pattern:** retry_cluster" in report
    assert "assumption_cascade" in report.split("## Other Patterns That Matched")[1]
    before = board.files()
    board.analyze(now=LATER)
    assert board.files() == before, "the same evidence is new only once"
    board.resolve()
    assert board.analyze(now=LATER).code == 0


def test_pattern_joining_a_manual_trip_does_not_replace_it(tmp_path: Path) -> None:
    board = board_with(tmp_path)
    board.run("trip", "-m", "the sandbox is down", "--now", NOW)
    board.add(*RETRY.records)
    assert board.analyze(now=LATER).code == 3
    report = board.report.read_text()
    assert "**Pattern:** manual\n" in report.replace("  \n", "\n"), "the description of another pattern"
    assert "the sandbox is down" in report
    assert "## Other Patterns That Matched" in report
    assert "retry_cluster" in report.split("## Other Patterns That Matched")[1]
    assert "serialization failure" not in report.split("## Affected Artifacts")[0]


def test_pattern_does_not_replace_trigger_without_evidence(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.save(board.text.replace("retry_loop", "system_ambiguity"))
    board.add(*ASSUMPTION.records)
    assert board.analyze(now=LATER).code == 3
    report = board.report.read_text()
    assert "**Pattern:** retry_cluster" in report
    assert "API supports pagination" not in report.split("## Affected Artifacts")[0]
    assert "assumption_cascade" in report.split("## Other Patterns That Matched")[1]


def test_large_evidence_is_not_new_again(tmp_path: Path) -> None:
    many = [record("retry_loop", f"task-{n}", count=1, error_pattern="disk full") for n in range(501)]
    board = board_with(tmp_path, *many)
    assert board.analyze().code == 3
    assert len(board.text) < 100 * len(many) + 60_000
    board.add(record("system_ambiguity", protocol_section="4", question="which?"))
    ran = board.analyze(now=LATER)
    assert "new evidence" not in ran.out, "a record that no rule reads is not evidence"
    board.resolve()
    assert board.analyze(now=LATER).code == 0
    board.add(*[record("retry_loop", f"later-{n}", count=1, error_pattern="disk full") for n in range(3)])
    assert board.analyze(now=LATER).code == 3


def test_unlogged_trip_is_logged_once(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.log.unlink()
    board.analyze(now=LATER)
    board.analyze(now=LATER)
    assert len(board.logged) == 1


def test_check_with_other_options_does_not_close_a_trip(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    assert board.analyze("--window", "last 1").code == 3
    assert board.analyze("--exact").code == 3
    board.rules.write_text("rules:\n- {name: retry_cluster, enabled: false}\n")
    assert board.analyze().code == 3
    assert board.section["status"] == "TRIGGERED"
    assert len(board.trips) == 1


def test_checkpoint_is_made_before_waiting_for_the_lock(tmp_path: Path) -> None:
    """While another program holds the lock, the agents are halted, and the exit code is 3."""
    board = board_with(tmp_path, *RETRY.records)
    fd = os.open(board.folder / "state.yaml.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        ran = board.analyze(env={"LIZA_LOCK_TIMEOUT": "0.1"})
        assert board.halt["pattern"] == "retry_cluster"
        assert board.report.exists()
        assert ran.code == 3
        assert "retry_cluster" in ran.err
        assert "lock" in ran.err
        assert board.section["status"] == "OK"
    finally:
        os.close(fd)
    assert board.analyze(now=LATER).code == 3
    assert (board.trigger["timestamp"], board.halt["time"], len(board.archived)) == (NOW, NOW, 1)


def test_open_trip_is_exit_3_with_lock_held(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    fd = os.open(board.folder / "state.yaml.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        assert board.analyze(now=LATER, env={"LIZA_LOCK_TIMEOUT": "0.1"}).code == 3
    finally:
        os.close(fd)


def test_comments_in_the_section_survive(tmp_path: Path) -> None:
    board = Board(tmp_path, state(RETRY.records[:2]))
    board.analyze()
    board.edit(
        "  status: OK  # OK, TRIGGERED", "  status: OK  # OK, TRIGGERED; asked Bob about it\n  owner: bob  # ours"
    )
    board.add(RETRY.records[2])
    board.analyze()
    board.edit("      result: TRIGGERED", "      result: TRIGGERED  # bad day\n      ticket: 42  # see there")
    board.resolve()
    board.analyze(now=LATER)
    for comment in ("# liza's own section", "# when it was", "asked Bob", "# ours", "# bad day", "# see there"):
        assert board.text.count(comment) == 1
    assert board.section["owner"] == "bob"
    assert board.trips[0]["ticket"] == 42
