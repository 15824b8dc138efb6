"""Record, trip, gate, decide, trip again: the same for every scope."""

import os
import signal
import subprocess

import pytest

from tests.cli.run import LIZA, TIME_LIMIT, environment
from tests.contract.lab import STATE, Lab
from tests.tools import needs

OPEN, CLOSED = 0, 2  # exit codes of the gate


def test_below_threshold_nothing_is_stopped(lab: Lab) -> None:
    lab.record_below_threshold()
    assert (lab.gate(), lab.check(), lab.logged) == (OPEN, 0, [])
    assert lab.status == lab.scope.free


def test_threshold_trips_once_and_closes_the_gate(lab: Lab) -> None:
    lab.trip()
    assert (lab.status, lab.gate()) == (lab.scope.stopped, CLOSED)
    assert lab.logged == [lab.scope.actions[0]]
    lab.check()
    assert (lab.status, lab.gate(), lab.logged) == (lab.scope.stopped, CLOSED, [lab.scope.actions[0]])


def test_trip_stops_only_whom_it_concerns(lab: Lab) -> None:
    assert lab.record(*lab.scope.other) == 0
    lab.trip()
    is_everyone = lab.scope.name == "sprint"
    assert lab.run(*lab.scope.gate_of_other).code == (CLOSED if is_everyone else OPEN)
    assert lab.run("gate").code == (CLOSED if is_everyone else OPEN)
    assert (lab.folder / "CHECKPOINT").exists() == is_everyone


def test_status_shows_what_is_stopped(lab: Lab) -> None:
    lab.trip()
    answer = lab.run("status", "--json").json
    assert (answer["status"] == "triggered") == (lab.scope.name == "sprint")
    assert len(answer["stopped"]) == (lab.scope.name != "sprint")


def test_other_bytes_are_unchanged(lab: Lab) -> None:
    lab.trip()
    lab.run(*lab.scope.resolve)
    kept = [line for line in STATE.splitlines() if not line.startswith("anomalies")]
    assert lab.state.read_text().splitlines()[: len(kept)] == kept


def test_record_while_stopped_frees_nothing(lab: Lab) -> None:
    lab.trip()
    assert lab.record() == 3
    assert (lab.status, lab.gate(), lab.logged) == (lab.scope.stopped, CLOSED, [lab.scope.actions[0]])


def test_decision_by_command_opens_the_gate_and_is_kept(lab: Lab) -> None:
    lab.trip()
    assert lab.run(*lab.scope.resolve).code == 0
    assert (lab.status, lab.gate(), lab.check()) == (lab.scope.free, OPEN, 0)
    assert lab.logged == list(lab.scope.actions)
    assert "alice" in str(lab.scope.history(lab.board))


def test_second_decision_changes_nothing(lab: Lab) -> None:
    lab.trip()
    lab.run(*lab.scope.resolve)
    before = lab.scope.history(lab.board)
    lab.run(*lab.scope.resolve)
    assert (lab.status, lab.gate(), lab.scope.history(lab.board)) == (lab.scope.free, OPEN, before)


def test_decision_by_hand_counts_where_the_protocol_allows(lab: Lab) -> None:
    needs("jq")
    lab.trip()
    lab.yq(lab.scope.by_hand)
    (lab.folder / "CHECKPOINT").unlink(missing_ok=True)
    lab.check()
    assert lab.gate() == (CLOSED if lab.scope.by_hand_is_refused else OPEN)
    assert lab.logged == list(lab.scope.actions)[: 1 if lab.scope.by_hand_is_refused else 2]


@pytest.mark.parametrize("variable", ["CLAUDECODE", "LIZA_LOOP"])
def test_agent_cannot_decide_for_a_person(lab: Lab, variable: str) -> None:
    if lab.scope.name == "slice":
        pytest.skip("the reset of a slice is an agent's step in the protocol")
    lab.trip()
    assert lab.run(*lab.scope.resolve, **{variable: "1"}).code == 1
    assert (lab.status, lab.gate(), lab.logged) == (lab.scope.stopped, CLOSED, [lab.scope.actions[0]])


def test_new_failures_trip_again_after_a_decision(lab: Lab) -> None:
    lab.trip()
    lab.run(*lab.scope.resolve)
    if lab.scope.is_seen_by_hook:  # the second of the decision is over once a step counts again
        while lab.record() == 0:
            pass
    else:
        lab.trip()
    assert (lab.status, lab.gate()) == (lab.scope.stopped, CLOSED)
    assert lab.logged == [*lab.scope.actions, lab.scope.actions[0]]


def test_stale_copy_saved_over_a_trip_does_not_end_it(lab: Lab) -> None:
    """Saved from an editor opened before the last failure: it stays stopped, or is stopped by the next failure."""
    lab.record_below_threshold()
    stale = lab.state.read_bytes()
    assert lab.record() == 3
    lab.save(stale)
    lab.check()
    assert (lab.record(), lab.gate()) == (3, CLOSED)


def test_torn_file_is_never_a_decision(lab: Lab) -> None:
    lab.trip()
    whole = lab.state.read_bytes()
    for cut in range(1, len(whole), max(len(whole) // 12, 1)):
        lab.save(whole[:cut])
        lab.check()
        assert lab.scope.actions[1] not in lab.logged, f"cut at {cut} of {len(whole)}"
    lab.save(whole)
    lab.check()
    assert (lab.status, lab.gate()) == (lab.scope.stopped, CLOSED)


def test_unreadable_board_loses_no_record(lab: Lab) -> None:
    lab.record_below_threshold()
    whole = lab.state.read_bytes()
    lab.save(b"a: [\n")
    assert lab.report(*lab.scope.record) == (0 if lab.scope.evaluate else 4)
    lab.save(whole)
    lab.check()
    assert (lab.status, lab.gate()) == (lab.scope.stopped, CLOSED)


def test_killed_record_is_completed_by_the_next_check(lab: Lab) -> None:
    lab.record_below_threshold()
    if lab.scope.is_seen_by_hook:
        pytest.skip("a hook waits for no lock")
    command = [LIZA, *lab.scope.record]
    with subprocess.Popen(
        ["flock", "-x", str(lab.folder / "state.yaml.lock"), "cat"], stdin=subprocess.PIPE
    ) as holder:  # the command is always killed while it waits for the lock
        process = subprocess.Popen(command, cwd=lab.root, env=environment(lab.root))
        process.send_signal(signal.SIGKILL)
        process.wait(TIME_LIMIT)
        assert holder.stdin is not None
        holder.stdin.close()
        holder.wait(TIME_LIMIT)
    lab.check()
    assert lab.status == lab.scope.free  # it was neither recorded nor reported as recorded
    assert lab.record() == 3
    assert (lab.status, lab.gate(), lab.logged) == (lab.scope.stopped, CLOSED, [lab.scope.actions[0]])
    assert [name for name in os.listdir(lab.folder) if name.endswith((".new", ".swap"))] == []


def test_two_records_of_one_name_are_reported(lab: Lab) -> None:
    if lab.scope.name == "sprint":
        pytest.skip("there is one sprint")
    section = lab.scope.place[0]
    lab.save(f"{STATE}{section}:\n  - {{id: same, status: {lab.scope.free}}}\n  - {{id: same}}\n".encode())
    problems = lab.run("validate", "--json").json["problems"]
    assert [each["line"] for each in problems if "'same'" in each["message"]] == [STATE.count("\n") + 3]
