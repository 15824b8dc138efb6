"""`liza status`: the current state, without changing it."""

import json
import os
from pathlib import Path
from typing import Any

import click
import pytest

from tests.cli.run import installed, liza, new_board
from tests.cli.run import on_a_terminal as terminal
from tests.clients.hook import SESSION, failing
from tests.clients.hook import run as run_hook
from tests.scopes.sprint.cases import ASSUMPTION, RETRY, board_with, tripped
from tests.scopes.sprint.run import NOW, Board, controls, on_a_terminal, record

LATER = "2025-01-18T19:30:00Z"


def status(board: Board, *options: str, now: str = LATER) -> Any:
    return board.run("status", "--now", now, *options)


def test_status_of_a_quiet_board(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records[:2])
    board.analyze()
    before = board.files()
    ran = status(board)
    assert ran.code == 0
    assert "breaker: OK, last check 2 h ago" in ran.out
    assert "not halted" in ran.out
    assert "retry_cluster            2 of 3" in ran.out
    assert f"{NOW}  OK" in ran.out
    answer = status(board, "--json").json
    assert (answer["schema"], answer["command"], answer["status"]) == (1, "status", "ok")
    assert (answer["trigger"], answer["checkpoint"], answer["problems"], answer["silences"]) == (None, None, [], [])
    assert (answer["patterns"][0]["count"], answer["patterns"][0]["threshold"]) == (2, 3)
    assert answer["history"] == [{"timestamp": NOW, "pattern": None, "result": "OK"}]
    assert board.files() == before


def test_pause_is_shown_and_halts_no_gate(tmp_path: Path) -> None:
    board = board_with(tmp_path)
    pause = board.folder / "PAUSE"
    assert (status(board, "--json").json["paused"], str(pause) in status(board).out) == (None, False)
    pause.touch()
    ran = status(board, now="2100-01-01T00:00:00Z")
    assert (ran.code, f"rm {pause}" in ran.out) == (0, True)
    os.utime(pause, (1737225000, 1737225000))
    assert status(board, "--json").json["paused"] == "2025-01-18T18:30:00Z"
    (line,) = [line for line in status(board).out.splitlines() if line.startswith("paused:")]
    assert "1 h" in line
    assert board.run("gate").code == 0


def test_rules_that_take_too_long_are_no_invalid_file(tmp_path: Path) -> None:
    condition = 'count(anomalies, error_pattern =~ "a.*b") >= 9'
    rule = f"{{name: slow, description: d, condition: '{condition}', severity: SPEC_FLAW}}"
    board = board_with(tmp_path, *RETRY.records[:2])
    board.rules.write_text(f"rules: [{rule}]\n")
    ran = board.run("status", env={"LIZA_LIMIT_OWN_RULES_SECONDS": "1e-9"})
    assert (ran.code, "rule slow" in ran.err, "liza rules check" in ran.err) == (4, True, False)


def test_status_of_an_open_trip(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    before = board.files()
    ran = status(board)
    assert ran.code == 3
    assert ran.out.startswith("TRIGGERED: retry_cluster (ARCHITECTURE_FLAW)")
    assert "open for 2 h" in ran.out
    assert f"halted by trip {board.trigger['trip_id']}" in ran.out
    assert "liza resolve" in ran.out
    assert f"{NOW}  retry_cluster  open" in ran.out
    answer = status(board, "--json").json
    assert answer["status"] == "triggered"
    assert answer["age_seconds"] == 7200
    assert answer["trigger"]["trip_id"] == answer["checkpoint"]["trip_id"] == board.trigger["trip_id"]
    assert answer["checkpoint"]["by"] == "liza"
    assert board.files() == before


def test_unchecked_match_is_announced(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records, *ASSUMPTION.records)
    ran = status(board)
    assert ran.code == 0
    assert "never checked" in ran.out
    assert "retry_cluster, assumption_cascade matches now" in ran.out
    assert not board.checkpoint.exists()


def test_halt_by_a_person_is_exit_3(tmp_path: Path) -> None:
    board = board_with(tmp_path)
    board.checkpoint.touch()
    ran = status(board)
    assert ran.code == 3
    assert "halted by a person" in ran.out
    answer = status(board, "--json").json
    assert (answer["status"], answer["checkpoint"]["by"], answer["checkpoint"]["trip_id"]) == ("halted", "human", None)


def test_missing_checkpoint_of_an_open_breaker_is_a_warning(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.checkpoint.unlink()
    ran = status(board)
    assert ran.code == 3
    assert any(line.startswith("! CHECKPOINT is missing") and "liza analyze" in line for line in ran.out.splitlines())
    assert not board.checkpoint.exists(), "status writes nothing"


def test_resolution_is_in_the_history(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.resolve("ADR-003 created")
    ran = status(board)
    assert ran.code == 0
    assert f"{NOW}  retry_cluster  resolved by alice: ADR-003 created" in ran.out
    assert "acknowledged" in ran.out


def test_history_outcomes_are_aligned(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.resolve("ADR-003 created")
    board.run("trip", "-m", "the sandbox is down", "--now", LATER)
    lines = status(board).out.splitlines()
    history = lines[lines.index("history:") + 1 :][:2]
    assert history == [f"  {NOW}  retry_cluster  resolved by alice: ADR-003 created", f"  {LATER}  manual         open"]


def test_undocumented_decision_by_hand_is_shown(tmp_path: Path) -> None:
    board = tripped(tmp_path)
    board.edit("status: TRIGGERED", "status: OK")
    board.analyze(now=LATER)
    ran = status(board)
    assert f"{NOW}  retry_cluster  resolved edited by hand" in ran.out
    assert "to continue: liza resolve -m 'what was decided'" in ran.out
    (entry,) = [each for each in status(board, "--json").json["history"] if each["result"] == "TRIGGERED"]
    assert (entry["resolved_at"], entry.get("resolution")) == (LATER, None)


def test_halt_by_a_person_shows_how_to_continue(tmp_path: Path) -> None:
    board = board_with(tmp_path / "with a space")
    board.checkpoint.touch()
    ran = status(board)
    assert ran.code == 3
    assert f"to continue: rm '{board.checkpoint}'" in ran.out


def test_problems_are_counted_and_listed(tmp_path: Path) -> None:
    board = board_with(tmp_path, record("retry_loop"), {"type": "retry_loop"})
    ran = status(board)
    assert "problems on the blackboard: see liza validate" in ran.out
    answer = status(board, "--json").json
    assert len(answer["problems"]) >= 2
    assert all(type(each["line"]) is int for each in answer["problems"])


LOOSENED = {
    "a rule is disabled": ("rules:\n- {name: retry_cluster, enabled: false}\n", "retry_cluster"),
    "a rule only observes": ("rules:\n- {name: retry_cluster, mode: observe}\n", "retry_cluster"),
    "a rule only alerts": ("rules:\n- {name: retry_cluster, action: ALERT}\n", "retry_cluster"),
    "a rule has a shorter window": ("rules:\n- {name: retry_cluster, window: last 2}\n", "retry_cluster"),
    "all rules have a shorter window": ("window: last 2\n", "window"),
    "all rules want equal texts": ("matching: exact\n", "exact"),
}


@pytest.mark.parametrize(("rules", "word"), LOOSENED.values(), ids=LOOSENED.keys())
def test_loosened_rules_show_in_status_and_reports(tmp_path: Path, rules: str, word: str) -> None:
    board = board_with(tmp_path, *RETRY.records[:2], *ASSUMPTION.records)
    board.rules.write_text(rules)
    warned = [line for line in status(board).out.splitlines() if line.startswith("!") and "rules.yaml" in line]
    assert any(word in line for line in warned), "a loosened rule is silent in status"
    assert any(word in change for change in status(board, "--json").json["rule_changes"])
    assert board.analyze("--window", "all").code == 3
    report = board.report.read_text()
    assert "## Rules Changed" in report
    assert word in report.split("## Rules Changed")[1]


SILENCES = """\
silences:
- {id: a, rule: retry_cluster, all: true, created: 2025-01-18T18:00:00Z, until: 2025-01-19T00:00:00Z, reason: r, by: x}
- {id: b, rule: debt_accumulation, all: true, created: 2025-01-17T18:00:00Z, until: 2025-01-18T00:00:00Z, reason: over}
- {id: c, rule: spec_gap_cluster, all: true, created: 2025-01-18T18:00:00Z, until: 2025-01-19T00:00:00Z}
"""


def test_only_active_silences_are_shown(tmp_path: Path) -> None:
    board = board_with(tmp_path)
    board.save(board.text + SILENCES)
    ran = status(board)
    (line,) = [line for line in ran.out.splitlines() if "until" in line]
    assert line.startswith("active silence: retry_cluster (all matches) until 2025-01-19T00:00:00Z by x: r [a]")
    assert "1 problem on the blackboard" in ran.out
    answer = status(board, "--json").json
    assert [each["rule"] for each in answer["silences"]] == ["retry_cluster"]
    assert answer["silenced"] == []


POISON = "\\e]0;owned\\a\\e[2J\\e[5m\\r\\b\\u202e\\x9b31m"


def poisoned(board: Board) -> None:
    """Put control characters into every text that `status` prints."""
    board.edit(
        "  history: []  # oldest first\n",
        f'  history:\n    - {{timestamp: "{POISON}", pattern: null, result: OK, checks: "{POISON}"}}\n'
        f'    - {{timestamp: "{POISON}", pattern: "{POISON}", result: TRIGGERED, resolved_at: "{POISON}", '
        f'resolved_by: "{POISON}", resolution: "{POISON}"}}\n',
    )
    board.edit("  status: OK ", "  status: TRIGGERED ")
    board.edit(
        "  current_trigger: null ",
        f'  current_trigger: {{timestamp: "{POISON}", pattern: "{POISON}", severity: "{POISON}", '
        f'report_file: "{POISON}", message: "{POISON}", also_matched: ["{POISON}"]}} ',
    )
    times = "created: 2025-01-18T17:00:00Z, until: 2025-01-19T00:00:00Z"
    odd = f'id: "{POISON}", match: {{"{POISON}": "{POISON}"}}, reason: "{POISON}", by: "{POISON}"'
    board.save(
        board.text
        + f'silences:\n- {{rule: "{POISON}", {odd}, {times}}}\n- {{rule: retry_cluster, {odd}, {times}}}\n'
        + f'- {{rule: retry_cluster, all: true, id: "{POISON}", reason: "{POISON}", {times}}}\n- "{POISON}"\n'
    )


def test_untrusted_text_is_escaped_on_terminal(tmp_path: Path) -> None:
    retries = [record("retry_loop", "\x1b]0;owned\x07", error_pattern="\x1b[2J\x1b[5m\r\u202e") for _ in range(2)]
    board = board_with(tmp_path, *retries)
    poisoned(board)
    for command in (("status", "--now", NOW), ("analyze", "--dry-run", "--now", NOW)):
        printed = on_a_terminal(board, *command)
        assert "owned" in printed
        assert controls(printed) == []
        assert board.run(*command).code == 3


# --- invalid rules --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", ["rules: [\n", "rules: [{name: retry_cluster, threshold: 9}]\n"])
def test_open_breaker_shows_with_invalid_rules(tmp_path: Path, rules: str) -> None:
    board = tripped(tmp_path)
    (board.folder / "rules.yaml").write_text(rules)
    ran = board.run("status")
    assert ran.code == 3
    assert "TRIGGERED" in ran.out
    assert "rules.yaml:1:" in ran.err
    answer = board.run("status", "--json")
    assert (answer.code, answer.json["status"]) == (3, "triggered")
    assert answer.json["problems"][0]["file"].endswith("rules.yaml")


def test_quiet_board_with_invalid_rules_is_degraded(tmp_path: Path) -> None:
    board = board_with(tmp_path)
    (board.folder / "rules.yaml").write_text("rules: [\n")
    ran = board.run("status")
    assert ran.code == 4
    assert "breaker: DEGRADED" in ran.out
    assert "rules.yaml:1:" in ran.err
    assert "liza rules check" in ran.err
    assert board.run("status", "--json").json["status"] == "degraded"


# --- unwritable blackboards -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("evidence", ["there", "gone"])
def test_trip_that_cannot_be_entered_is_shown_as_triggered(tmp_path: Path, evidence: str) -> None:
    """The agents are halted by a trip that is only in CHECKPOINT; removing that file is not a decision."""
    board = Board(tmp_path, json.dumps({"version": 1, "anomalies": list(RETRY.records)}))
    board.analyze()
    if evidence == "gone":
        board.save(json.dumps({"version": 1, "anomalies": []}))
    before = board.files()
    ran = status(board)
    assert ran.code == 3
    assert "TRIGGERED: retry_cluster" in ran.out
    assert "breaker: OK" not in ran.out
    assert "rm " not in ran.out
    answer = status(board, "--json").json
    assert (answer["status"], answer["trigger"]["trip_id"]) == ("triggered", board.halt["trip"])
    assert board.run("analyze", "--dry-run", "--json").json["trigger"]["trip_id"] == board.halt["trip"]
    assert board.files() == before


def test_quiet_board_that_cannot_be_written_is_degraded(tmp_path: Path) -> None:
    """As for `analyze`, which cannot enter its check."""
    board = Board(tmp_path, json.dumps({"version": 1, "anomalies": []}))
    assert board.analyze().code == 4
    ran = status(board)
    assert ran.code == 4
    assert "breaker: DEGRADED" in ran.out
    assert status(board, "--json").json["status"] == "degraded"


# --- sessions of agents -----------------------------------------------------------------------------------------------


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """A blackboard with a session that is stopped and seven that run."""
    folder = tmp_path / "shop"
    new_board(folder)
    for number in range(5):
        run_hook(folder, "after", failing(f"t{number}"), LIZA_AGENT="coder-1", LIZA_TASK="task-3")
    for number in range(7):
        run_hook(folder, "after", failing(f"o{number}", f"0b9e8d7c-{number}", f"make {number}"))
    installed(folder, "watch", "--once")
    return folder


def test_status_lists_the_most_urgent_sessions(team: Path) -> None:
    answer = liza(team, "status", "--json").json
    assert len(answer["sessions"]) == 8
    assert [each["name"] for each in answer["sessions"] if each["session_status"] == "STOPPED"] == ["coder-1"]
    out = liza(team, "status").out
    lines = out[out.index("sessions: ") :].splitlines()
    assert lines[0].split(": ")[1].split(", ") == ["1 stopped", "7 running"]
    assert lines[1].split()[:3] == ["coder-1", SESSION[:8], "stopped"]
    assert any("3 more" in line and "liza sessions" in line for line in lines)
    assert "liza session resume coder-1" in out


def test_agents_without_a_daemon_are_a_warning(team: Path) -> None:
    assert "liza watch --background" in liza(team, "status").out.partition("sessions: ")[2]
    later = "2100-01-01T00:00:00Z"
    assert "evaluates" not in liza(team, "status", "--now", later).out  # none of them has done anything for long
    run_hook(team, "after", failing("t9", "0b9e8d7c-1"))
    assert liza(team, "status", "--json").json["events_waiting"] == 1
    assert "evaluates" in liza(team, "status", "--now", later).out


def test_hook_that_cannot_start_liza_is_reported(team: Path) -> None:
    installed(team, "install", "claude")
    (hooks,) = liza(team, "status", "--json").json["hooks"]
    assert (hooks["client"], hooks["problems"]) == ("claude", [])
    (team / ".local/share/liza/program").write_text("/nonexistent/venv/bin/liza\n")
    (hooks,) = liza(team, "status", "--json").json["hooks"]
    assert [each["hint"] for each in hooks["problems"]] == ["liza install claude"]
    assert "liza install claude" in liza(team, "status").out


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_table_of_sessions_fits_the_terminal(team: Path, columns: int) -> None:
    shown = terminal(team, "sessions", COLUMNS=str(columns)).out
    assert max(map(len, click.unstyle(shown).splitlines())) <= columns
