"""Claims that others write while a daemon looks: it freezes the one that is in dispute, and touches nothing else."""

from pathlib import Path

from tests.daemon.daemon import Daemon, Watched, run, until
from tests.daemon.looking import Looking
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


def test_the_daemon_freezes_a_gossip_loop_that_was_written_by_hand_and_keeps_every_other_byte(tmp_path: Path) -> None:
    board = Watched(tmp_path / "lab", BOARD)
    with Daemon(board.root) as daemon:
        board.save(with_third(board.text))
        said = daemon.tells("tripped", "claim C-001")
        assert said == "claim C-001 is DISPUTED: You must run the harness!"
        text = board.text
        claim = libyaml_value(text.encode())["claims"]["C-001"]
        assert (claim["status"], claim["dispute_reason"]) == ("DISPUTED", "You must run the  harness!")
        assert (claim["researcher_position"], claim["dispute_cycle"]) == ("still impossible", 4)
        new = added(with_third(BOARD).replace("    status:   OPEN\n", "    status: DISPUTED\n"), text)
        assert new[0] == '    dispute_reason: "You must run the  harness!"'
        assert all(line.startswith("    ") for line in new)
        assert text.index("    dispute_reason:") < text.index("  C-002: {text: other,   rounds:")
        assert not board.checkpoint.exists()
        until(lambda: any("claim C-001 is DISPUTED" in line for line in board.alerts), "people are told")
        until(lambda: board.logged, "it is in the log")
        board.beats(6)
        assert board.text == text
        assert len(board.logged) == 1
        assert daemon.stop() == 0
    assert len(daemon.told("tripped")) == 1
    assert sum("DISPUTED" in line for line in board.alerts) == 1


def test_a_command_beside_a_daemon_makes_one_dispute_and_one_alert(tmp_path: Path) -> None:
    board = Watched(tmp_path / "lab", BOARD)
    with Daemon(board.root) as daemon:
        words = ("claim", "round", "C-002", "--objection", "no", "--response", "why?")
        assert run(board.root, *words).code == 3
        daemon.tells("tripped", "claim C-002")
        assert run(board.root, "claim", "resolve", "C-002", "--new-data", "x.csv").code == 0
        daemon.tells("resolved", "claim C-002")
        until(lambda: any("resolved" in line for line in board.alerts), "people are told")
        assert daemon.stop() == 0
    assert [line.split()[0] for line in board.alerts] == ["tripped", "resolved"]
    assert [line.split(":")[0] for line in board.logged] == ["claim_disputed", "claim_resolved"]


def test_the_daemon_tells_of_a_frozen_claim_that_was_changed_until_it_is_put_right(tmp_path: Path) -> None:
    board = Watched(tmp_path / "lab", with_third(BOARD))
    with Daemon(board.root) as daemon:
        daemon.tells("tripped", "claim C-001")
        whole = board.text
        board.save(whole.replace("confidence:  0.70", "confidence:  0.95"))
        daemon.tells("alarm", "claim C-001 is frozen, and confidence was changed by hand")
        board.save(whole)
        daemon.tells("over", "claim C-001 is frozen, and confidence was changed by hand")
        board.save(whole.replace("status: DISPUTED", "status: ACCEPTED"))
        daemon.tells("alarm", "the status was changed to 'ACCEPTED' by hand")
        assert daemon.told("resolved") == []
        assert daemon.stop() == 0
    assert board.text.count("event: disputed") == 1


def test_a_disputed_claim_that_is_deleted_is_not_told_as_resolved_and_alarms(tmp_path: Path) -> None:
    board = Watched(tmp_path / "lab", with_third(BOARD))
    with Looking(board) as looking:
        looking.ticks(3)
        whole = board.text
        board.save(whole[: whole.index("  C-001:")] + whole[whole.index("  C-002:") :])
        looking.ticks(12)
        assert ["the claim was deleted by hand" in each for each in looking.told("alarm")] == [True]
        board.save(whole)
        looking.ticks(12)
        assert [len(looking.told(kind)) for kind in ("tripped", "resolved", "over")] == [1, 0, 1]


def test_a_claim_that_a_person_calls_disputed_is_told_once(tmp_path: Path) -> None:
    board = Watched(tmp_path / "lab", BOARD)
    with Looking(board) as looking:
        looking.ticks(3)
        board.save(board.text.replace("    status:   OPEN\n", "    status: DISPUTED\n"))
        looking.ticks(12)
        assert "rule: by hand" in board.text
        assert looking.told("tripped") == ["claim C-001 is DISPUTED: its status says so"]
        assert looking.told("resolved") == []


def test_a_dispute_that_is_taken_out_and_entered_anew_is_told_until_it_is_back(tmp_path: Path) -> None:
    board = Watched(tmp_path / "lab", with_third(BOARD))
    with Looking(board) as looking:
        looking.ticks(3)
        whole = board.text
        changed = whole.replace("GC content explains", "GC content hardly explains")
        board.save(changed[: changed.index("    history:")] + changed[changed.index("  C-002:") :])
        looking.ticks(12)
        assert ["its dispute was taken out by hand" in each for each in looking.told("alarm")] == [True]
        assert looking.told("resolved") == []
        board.save(whole)
        looking.ticks(12)
        assert ["its dispute was taken out by hand" in each for each in looking.told("over")] == [True]


def test_the_daemon_sees_a_stage_that_was_changed_by_hand(tmp_path: Path) -> None:
    board = Watched(tmp_path / "lab", with_third(BOARD))
    with Daemon(board.root) as daemon:
        daemon.tells("tripped", "claim C-001")
        board.save(board.text.replace("  S2: {status: ACTIVE}", "  S2: {status: PASSED}\n  S3: {status: ACTIVE}"))
        daemon.tells("alarm", "claim C-001 is to be re-examined: stage S3, it was S2")
        assert "trigger: stage_transition" in board.text
        assert daemon.stop() == 0


def test_a_daemon_that_only_observes_freezes_nothing(tmp_path: Path) -> None:
    board = Watched(tmp_path / "lab", with_third(BOARD))
    with Daemon(board.root, "--observe") as daemon:
        board.beats(4)
        assert daemon.stop() == 0
    assert board.text == with_third(BOARD)


def test_what_cannot_be_judged_is_told_and_keeps_nothing_else_from_being_judged(tmp_path: Path) -> None:
    text = with_third(BOARD).replace("    rounds: []\n", "    rounds: none so far\n")
    board = Watched(tmp_path / "lab", text)
    with Looking(board) as looking:
        looking.ticks(3)
        assert looking.told("alarm") == ["claim C-003 cannot be evaluated: rounds: expected a list"]
        assert looking.told("tripped") == ["claim C-001 is DISPUTED: You must run the harness!"]
    board.save("version: 1\nclaims: 5\nanomalies: []\n")
    with Looking(board) as looking:
        looking.ticks(4)
        assert any("claims" in each for each in looking.told("degraded"))


def test_a_halt_of_the_sprint_waits_for_no_claim(tmp_path: Path) -> None:
    retry = [
        record("retry_loop", f"task-{n}", f"2025-01-18T1{n}:00:00Z", count=3, error_pattern="x") for n in (1, 2, 3)
    ]
    board = Watched(tmp_path / "lab", with_third(BOARD).replace("anomalies: []\n", ""))
    board.save(board.text + "anomalies:\n" + "".join(f"  - {each!r}\n" for each in retry))
    with Daemon(board.root, wait="") as daemon:
        daemon.tells("tripped", "retry_cluster")
        daemon.tells("tripped", "claim C-001")
        assert board.checkpoint.exists()
        assert daemon.stop() == 0
