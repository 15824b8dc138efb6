"""Claims that others write while a daemon runs: it freezes the disputed one, and touches nothing else."""

from pathlib import Path

from tests.daemon.daemon import Daemon, Watched, run, until
from tests.daemon.stepped import SteppedWatcher
from tests.scopes.sprint.run import record
from tests.store.oracle import libyaml_value

BOARD = """\
# a lab's board
version: 1
stages:
  S2: {status: ACTIVE}   # for now
claims:
  # the main one
  C-001:   # GC content
    text:   GC content explains the effect
    confidence:  0.70  # was 0.9
    status:   OPEN
    owner: 'ann'
    rounds:
      - {round: 1, cycle: 3, objection: "You must run the harness",   response: 'It is impossible'}
      - {round: 2, cycle: 4, objection: "you must run the harness.",  response: 'It is impossible'}  # again
  C-002: {text: other,   rounds: [{objection: no}, {objection: no}]}
  C-003:
    text: >-
      folded   text
    rounds: []
anomalies: []
remarks:   kept   # as they are
"""
THIRD = '      - {round: 3, cycle: 4, objection: "You must run the  harness!", response: "still impossible"}\n'


def with_third(text: str) -> str:
    return text.replace("  C-002: {", f"{THIRD}  C-002: {{")


def added(before: str, after: str) -> list[str]:
    """The lines that are new; every other one must be there as it was, and in its order."""
    found, rest = [], before.splitlines()
    for line in after.splitlines():
        if rest and line == rest[0]:
            rest.pop(0)
        else:
            found.append(line)
    assert rest == [], f"gone or changed: {rest}"
    return found


def test_daemon_freezes_a_gossip_loop_and_keeps_every_other_byte(tmp_path: Path) -> None:
    board = Watched(tmp_path / "lab", BOARD)
    with Daemon(board.root) as daemon:
        board.save(with_third(board.text))
        event = daemon.wait_for("tripped", "claim C-001")
        assert event == "claim C-001 is DISPUTED: You must run the harness!"
        text = board.text
        claim = libyaml_value(text.encode())["claims"]["C-001"]
        assert (claim["status"], claim["dispute_reason"]) == ("DISPUTED", "You must run the  harness!")
        assert (claim["researcher_position"], claim["dispute_cycle"]) == ("still impossible", 4)
        new = added(with_third(BOARD).replace("    status:   OPEN\n", "    status: DISPUTED\n"), text)
        assert new[0] == '    dispute_reason: "You must run the  harness!"'
        assert all(line.startswith("    ") for line in new)
        assert text.index("    dispute_reason:") < text.index("  C-002: {text: other,   rounds:")
        assert not board.checkpoint.exists()
        until(lambda: any("claim C-001 is DISPUTED" in line for line in board.alerts), "people are notified")
        until(lambda: board.logged, "it is in the log")
        board.beats(6)
        assert board.text == text
        assert len(board.logged) == 1
        assert daemon.stop() == 0
    assert len(daemon.reported("tripped")) == 1
    assert sum("DISPUTED" in line for line in board.alerts) == 1


def test_command_beside_a_daemon_makes_one_dispute_and_one_alert(tmp_path: Path) -> None:
    board = Watched(tmp_path / "lab", BOARD)
    with Daemon(board.root) as daemon:
        words = ("claim", "round", "C-002", "--objection", "no", "--response", "why?")
        assert run(board.root, *words).code == 3
        daemon.wait_for("tripped", "claim C-002")
        assert run(board.root, "claim", "resolve", "C-002", "--new-data", "x.csv").code == 0
        daemon.wait_for("resolved", "claim C-002")
        until(lambda: any("resolved" in line for line in board.alerts), "people are notified")
        assert daemon.stop() == 0
    assert [line.split()[0] for line in board.alerts] == ["tripped", "resolved"]
    assert [line.split(":")[0] for line in board.logged] == ["claim_disputed", "claim_resolved"]


def test_edited_frozen_claim_is_alarmed_until_restored(tmp_path: Path) -> None:
    board = Watched(tmp_path / "lab", with_third(BOARD))
    with Daemon(board.root) as daemon:
        daemon.wait_for("tripped", "claim C-001")
        whole = board.text
        board.save(whole.replace("confidence:  0.70", "confidence:  0.95"))
        daemon.wait_for("alarm", "claim C-001 is frozen, and confidence was changed by hand")
        board.save(whole)
        daemon.wait_for("over", "claim C-001 is frozen, and confidence was changed by hand")
        board.save(whole.replace("status: DISPUTED", "status: ACCEPTED"))
        daemon.wait_for("alarm", "the status was changed to 'ACCEPTED' by hand")
        assert daemon.reported("resolved") == []
        assert daemon.stop() == 0
    assert board.text.count("event: disputed") == 1


def test_deleted_disputed_claim_is_alarmed_and_not_resolved(tmp_path: Path) -> None:
    board = Watched(tmp_path / "lab", with_third(BOARD))
    with SteppedWatcher(board) as stepped:
        stepped.ticks(3)
        whole = board.text
        board.save(whole[: whole.index("  C-001:")] + whole[whole.index("  C-002:") :])
        stepped.ticks(12)
        assert ["the claim was deleted by hand" in each for each in stepped.reported("alarm")] == [True]
        board.save(whole)
        stepped.ticks(12)
        assert [len(stepped.reported(kind)) for kind in ("tripped", "resolved", "over")] == [1, 0, 1]


def test_claim_set_disputed_by_hand_is_reported_once(tmp_path: Path) -> None:
    board = Watched(tmp_path / "lab", BOARD)
    with SteppedWatcher(board) as stepped:
        stepped.ticks(3)
        board.save(board.text.replace("    status:   OPEN\n", "    status: DISPUTED\n"))
        stepped.ticks(12)
        assert "rule: by hand" in board.text
        assert stepped.reported("tripped") == ["claim C-001 is DISPUTED: its status was set by hand"]
        assert stepped.reported("resolved") == []


def test_removed_dispute_is_alarmed_until_restored(tmp_path: Path) -> None:
    board = Watched(tmp_path / "lab", with_third(BOARD))
    with SteppedWatcher(board) as stepped:
        stepped.ticks(3)
        whole = board.text
        changed = whole.replace("GC content explains", "GC content hardly explains")
        board.save(changed[: changed.index("    history:")] + changed[changed.index("  C-002:") :])
        stepped.ticks(12)
        assert ["its dispute was taken out by hand" in each for each in stepped.reported("alarm")] == [True]
        assert stepped.reported("resolved") == []
        board.save(whole)
        stepped.ticks(12)
        assert ["its dispute was taken out by hand" in each for each in stepped.reported("over")] == [True]


def test_daemon_notices_a_stage_changed_by_hand(tmp_path: Path) -> None:
    board = Watched(tmp_path / "lab", with_third(BOARD))
    with Daemon(board.root) as daemon:
        daemon.wait_for("tripped", "claim C-001")
        board.save(board.text.replace("  S2: {status: ACTIVE}", "  S2: {status: PASSED}\n  S3: {status: ACTIVE}"))
        daemon.wait_for("alarm", "claim C-001 is due for re-examination: in stage S3 (was: S2)")
        assert "trigger: stage_transition" in board.text
        assert daemon.stop() == 0


def test_observing_daemon_freezes_nothing(tmp_path: Path) -> None:
    board = Watched(tmp_path / "lab", with_third(BOARD))
    with Daemon(board.root, "--observe") as daemon:
        board.beats(4)
        assert daemon.stop() == 0
    assert board.text == with_third(BOARD)


def test_invalid_claim_is_alarmed_and_others_are_evaluated(tmp_path: Path) -> None:
    text = with_third(BOARD).replace("    rounds: []\n", "    rounds: none so far\n")
    board = Watched(tmp_path / "lab", text)
    with SteppedWatcher(board) as stepped:
        stepped.ticks(3)
        assert stepped.reported("alarm") == ["claim C-003 cannot be evaluated: rounds: expected a list"]
        assert stepped.reported("tripped") == ["claim C-001 is DISPUTED: You must run the harness!"]
    board.save("version: 1\nclaims: 5\nanomalies: []\n")
    with SteppedWatcher(board) as stepped:
        stepped.ticks(4)
        assert any("claims" in each for each in stepped.reported("degraded"))


def test_sprint_halt_does_not_wait_for_a_claim(tmp_path: Path) -> None:
    retry = [
        record("retry_loop", f"task-{n}", f"2025-01-18T1{n}:00:00Z", count=3, error_pattern="x") for n in (1, 2, 3)
    ]
    board = Watched(tmp_path / "lab", with_third(BOARD).replace("anomalies: []\n", ""))
    board.save(board.text + "anomalies:\n" + "".join(f"  - {each!r}\n" for each in retry))
    with Daemon(board.root, wait="") as daemon:
        daemon.wait_for("tripped", "retry_cluster")
        daemon.wait_for("tripped", "claim C-001")
        assert board.checkpoint.exists()
        assert daemon.stop() == 0
