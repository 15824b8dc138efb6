"""Thousands of files, and a daemon that can open none: neither delays a halt nor passes for a daemon that works."""

import json
import os
import resource
import time
from datetime import UTC, datetime

import pytest

from liza.check import check
from liza.rules.time_limit import TimeLimit, TooCostly
from liza.scopes.rules_file import read_rules, rules_in_force
from liza.store.board import Board
from liza.store.paths import Paths
from tests.daemon.daemon import RETRIES, TICK, Daemon, Watched, until
from tests.security.attack import Attack
from tests.security.test_daemon import status_of, watched
from tests.security.test_files import trip


def plant_records(attack: Attack, number: int) -> None:
    """Reports that wait in the inbox as an agent's command leaves them there."""
    inbox = attack.board / "inbox"
    inbox.mkdir()
    for n in range(number):
        label = f"20250118T100000.{n:09d}Z-{n:08x}"
        fields = {"timestamp": "2025-01-18T10:00:00Z", "task": f"t{n}", "reporter": "r", "type": "note", "details": {}}
        record = {"schema": 1, "id": label, "kind": "anomaly", "time": fields["timestamp"], "fields": fields}
        (inbox / f"{label}.json").write_text(json.dumps(record))


def waiting(board: Watched) -> int:
    return len(list((board.folder / "inbox").glob("*.json")))


def test_records_in_the_inbox_delay_no_halt(attack: Attack) -> None:
    board, number = watched(attack), 600
    plant_records(attack, number)
    with Daemon(board.root):
        board.report_anomalies(*RETRIES)
        until(board.checkpoint.exists, "the agents are halted")
        left = waiting(board)
        assert left > number // 2, "the halt has not waited for them"
    attack.effect = f"halted while {left} of {number} records waited"


def test_every_record_of_a_full_inbox_is_entered(attack: Attack, monkeypatch: pytest.MonkeyPatch) -> None:
    """One check enters them in several turns, and evaluates the blackboard after each."""
    monkeypatch.setattr("liza.scopes.inbox.SECONDS", 0.0)
    attack.write("version: 1\nanomalies: []\n")
    plant_records(attack, 20)
    board = Board(Paths(str(attack.board)))
    found = check(board, read_rules(None), datetime.now(UTC))
    assert [note for note in found.notes if note == f"moved 20 records from {board.paths.inbox} to state.yaml"]
    assert (attack.board / "state.yaml").read_text().count("type: note") == 20
    assert os.listdir(attack.board / "inbox") == []
    attack.effect = "all entered, once each"


def test_thousands_of_odd_files_are_reported_in_few_lines(attack: Attack) -> None:
    trip(attack)
    (attack.board / "inbox").mkdir()
    for n in range(2000):
        (attack.board / f".state.yaml.{n}.new").mkdir()
        (attack.board / "inbox" / f"junk {n}").touch()
    for words in (("analyze", "--json"), ("status",), ("watch", "--once")):
        ran = attack.liza(*words)
        assert ran.code == 3
        assert len(ran.out + ran.err) < 30_000, words
    assert attack.halted
    attack.effect = "halted; the first are named, the others counted"


def test_daemon_that_can_open_nothing_is_not_running(attack: Attack) -> None:
    """An agent of the same user takes its descriptors away: it cannot halt, nor write that it cannot."""
    board = watched(attack)
    with Daemon(board.root) as daemon:
        until(lambda: status_of(attack)["state"] == "running", "it has begun")
        usual = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (3, usual[1]))
        board.report_anomalies(*RETRIES)
        until(lambda: time.time() - board.watch_lock.stat().st_mtime > 20 * TICK, "it shows no life")
        before = time.time() - 60
        os.utime(board.watch_lock, (before, before))
        assert status_of(attack)["state"] == "stuck"
        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, usual)
        board.halted()
        until(lambda: status_of(attack)["state"] == "running", "it can work again")
    attack.effect = "status: stuck; halts as soon as it can"


RULES = {
    "rules": ("rules:\n", "- {{name: r{n}, condition: 'count(similar(what)) >= 99', severity: SPEC_FLAW}}\n"),
    "faults": ("", "key{n}: {n}\n"),
}
SECONDS = 10  # generous: without a limit it is minutes


@pytest.mark.parametrize("kind", RULES)
def test_a_huge_file_of_rules_delays_no_halt(attack: Attack, kind: str) -> None:
    """It is read before anything is evaluated."""
    trip(attack)
    first, each = RULES[kind]
    for number in (20_000, 1_500):  # beyond the limit of its size, and just below
        (attack.board / "rules.yaml").write_text(first + "".join(each.format(n=n) for n in range(number)))
        (attack.board / "CHECKPOINT").unlink(missing_ok=True)
        assert attack.liza("analyze", limit=SECONDS).code == 3
        assert attack.halted
        assert attack.liza("rules", "check", limit=SECONDS).code == 1
    attack.effect = "halted"


def test_time_that_rules_allow_themselves_has_a_limit(attack: Attack, monkeypatch: pytest.MonkeyPatch) -> None:
    """While they are evaluated, the daemon sees no new record. The environment is a person's."""
    (attack.board / "rules.yaml").write_text("limits: {own_rules_seconds: 600}\n")
    for seconds, variable in ((10, None), (600, "600")):
        if variable is not None:
            monkeypatch.setenv("LIZA_LIMIT_OWN_RULES_SECONDS", variable)
        rules, broken = rules_in_force(str(attack.board / "rules.yaml"))
        assert rules.time_limit is not None
        assert (rules.time_limit.seconds, broken) == (seconds, None)
    attack.effect = "10 s, whatever the file says"


def test_long_work_is_not_a_pause() -> None:
    """Rules that each take longer than a pause between two checks share the time, too."""
    now = 0.0
    limit = TimeLimit(3, lambda: now)
    for _ in range(4):
        limit.begin()
        limit.spend()
        now += 1
        limit.end()
    with pytest.raises(TooCostly):
        limit.spend()
    now += 1
    limit.begin()
    limit.spend()
