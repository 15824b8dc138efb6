"""An agent tries to disarm the breaker: each attempt still halts, or is a lasting alarm."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from liza.rules.acknowledged import trip_id
from liza.rules.fingerprints import format_evidence
from tests.rules.boards import snapshot
from tests.security.attack import TRIPPING, Attack

STARTED = "sprint: {id: s, timeline: {started: 2025-01-01T00:00:00Z}}\n"
RULE = "retry_cluster"
RECORDS = [
    {
        **{"timestamp": f"2025-01-18T1{n}:00:00Z", "task": f"t{n}", "reporter": "r", "type": "retry_loop"},
        "details": {"count": 3, "error_pattern": "connection refused by db"},
    }
    for n in range(3)
]
FINGERPRINTS = format_evidence(snapshot(*RECORDS).records("anomalies"))
TRIP = trip_id(RULE, snapshot(*RECORDS).records("anomalies"), 3)
DONE: dict[str, Any] = {"timestamp": "2025-01-18T13:00:00Z", "pattern": RULE, "result": "TRIGGERED"}
DONE |= {"severity": "ARCHITECTURE_FLAW", "resolution": "fixed", "resolved_by": "alice"}
RESOLVED = {**DONE, "resolved_at": "2025-01-18T14:00:00Z"}


def board(history: Any, sprint: str = STARTED, more: str = "") -> str:
    section = {"status": "OK", "current_trigger": None, "history": history}
    return f"anomalies:\n{TRIPPING}{sprint}{more}circuit_breaker: {json.dumps(section)}\n"


def shown(attack: Attack, *words: str) -> dict[str, Any]:
    ran = attack.liza(*words, "--json")
    found = json.loads(ran.out)
    assert isinstance(found, dict)
    return found


FORGED = {
    "a position": [{**RESOLVED, "trip_id": TRIP, "evidence": {RULE: "first 999999999999 anomalies"}}],
    "a position without a trip": [{**RESOLVED, "evidence": {RULE: "first 999999999999 anomalies"}}],
    "its fingerprints before the trip": [{**RESOLVED, "trip_id": TRIP, "evidence": {RULE: FINGERPRINTS}}],
    "fingerprints under another pattern": [
        {**RESOLVED, "pattern": "x", "also_matched": [RULE], "trip_id": TRIP, "evidence": {RULE: FINGERPRINTS}}
    ],
    "a trip of another blackboard": [{**RESOLVED, "trip_id": "0123456789ab", "evidence": {RULE: FINGERPRINTS}}],
    "an evidence file": [{**RESOLVED, "trip_id": TRIP, "evidence": {RULE: {"file": "x.json", "records": 3}}}],
    "a file of its own saying where it is from": [
        {**RESOLVED, "origin": "command", "trip_id": TRIP, "evidence": {RULE: FINGERPRINTS}}
    ],
    "resolved in the year 9999": [{**DONE, "resolved_at": "9999-12-31T00:00:00Z"}],
    "a time of 2099 alone": [{"timestamp": "2099-01-01T00:00:00Z", "pattern": RULE}],
    "also matched in 2099": [{"timestamp": "2099-01-01T00:00:00Z", "pattern": "x", "also_matched": [RULE]}],
    "a history that is a mapping": {"first": {**RESOLVED, "timestamp": "2099-01-01T00:00:00Z"}},
}


@pytest.mark.parametrize("history", FORGED.values(), ids=FORGED.keys())
def test_forged_acknowledgement_does_not_prevent_the_halt(attack: Attack, history: Any) -> None:
    attack.write(board(history))
    assert attack.liza("analyze").code == 3
    assert attack.halted
    log = (attack.board / "log.yaml").read_text()
    assert "resolved" not in log
    if isinstance(history, list) and history[0].get("trip_id") != TRIP:  # entries of the open trip wait with it
        assert shown(attack, "status")["claims"]
        assert found_problem(attack)
    attack.effect = "halted"


def found_problem(attack: Attack) -> bool:
    problems = shown(attack, "validate")["problems"]
    return any("history" in each["message"] or "future" in each["message"] for each in problems)


def test_forged_entry_stays_visible_after_the_decision(attack: Attack) -> None:
    attack.write(board(FORGED["a trip of another blackboard"]))
    assert attack.liza("analyze").code == 3
    page = (attack.board / "circuit_breaker_report.md").read_text()
    assert "circuit\\_breaker.history\\[0\\]" in page or "circuit_breaker.history" in page
    assert attack.liza("resolve", "-m", "seen", "--by", "bob").code == 0
    assert attack.liza("analyze").code == 0
    found = shown(attack, "status")
    assert [(each["origin"], each["used"]) for each in found["claims"]] == [("unknown", False)]
    assert [entry["origin"] for entry in found["history"] if entry["pattern"]] == ["unknown", "command"]
    attack.effect = "halted; the entry stays in status and in the report"


def test_protocol_entry_without_a_trip_id_is_a_lasting_alarm(attack: Attack) -> None:
    """A person who follows the protocol without liza writes such an entry: it counts up to its time, visibly."""
    attack.write(board([RESOLVED]))
    assert attack.liza("analyze").code == 0
    for words in (("analyze",), ("status",)):
        (claim,) = shown(attack, *words)["claims"]
        assert (claim["origin"], claim["claimed_by"], claim["records"], claim["used"]) == ("other", "alice", 3, True)
    assert found_problem(attack)
    assert attack.liza("watch", "--once").code == 0
    assert "circuit_breaker.history[0]" in (attack.board / "alerts.log").read_text()
    attack.effect = "not halted: an alarm in status, analyze, validate and alerts.log"


@pytest.mark.parametrize("started", ["2099-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_sprint_that_starts_in_the_future_does_not_prevent_the_halt(attack: Attack, started: str) -> None:
    attack.write(board([], f"sprint: {{timeline: {{started: {started}}}}}\n"))
    assert attack.liza("analyze").code == 3
    assert attack.halted
    assert any("future" in text for text in shown(attack, "status")["warnings"])
    assert shown(attack, "validate")["status"] == "invalid"
    attack.effect = "halted"


def test_records_dated_before_the_sprint_are_an_alarm(attack: Attack) -> None:
    attack.write(board([], "sprint: {timeline: {started: 2025-06-01T00:00:00Z}}\n"))
    assert attack.liza("analyze").code == 0
    for words in (("analyze",), ("status",)):
        assert any(text.startswith(f"{RULE}: ") for text in shown(attack, *words)["warnings"])
    assert any(each["message"].startswith(f"{RULE}: ") for each in shown(attack, "validate")["problems"])
    assert attack.liza("watch", "--once").code == 0
    assert f"alarm      {RULE}: " in (attack.board / "alerts.log").read_text()
    attack.effect = "not halted: an alarm in status, analyze, validate and alerts.log"


def test_records_backdated_behind_one_of_the_sprint_halt(attack: Attack) -> None:
    first = "- {timestamp: 2025-01-18T09:00:00Z, task: t, reporter: r, type: spec_changed}\n"
    dated_back = TRIPPING.replace("2025-01-18", "2020-01-18")
    attack.write(f"anomalies:\n{first}{dated_back}{STARTED}circuit_breaker: {{status: OK, history: []}}\n")
    assert attack.liza("analyze").code == 3
    assert attack.halted
    attack.effect = "halted"


SETTINGS = {
    "window": "window: last 1\n",
    "a threshold": "rules: [{name: retry_cluster, condition: 'count(type=retry_loop) >= 99'}]\n",
    "off": "rules: [{name: retry_cluster, enabled: false}]\n",
    "observe": "rules: [{name: retry_cluster, mode: observe}]\n",
    "only an alarm": "rules: [{name: retry_cluster, action: ALERT}]\n",
}


@pytest.mark.parametrize("rules", SETTINGS.values(), ids=SETTINGS.keys())
def test_loosened_rules_are_a_lasting_alarm(attack: Attack, rules: str) -> None:
    attack.write(board([]))
    (attack.board / "rules.yaml").write_text(rules)
    assert shown(attack, "status")["rule_changes"]
    assert attack.liza("watch", "--once").code == 0
    assert "rules.yaml: " in (attack.board / "alerts.log").read_text()
    attack.effect = "an alarm in status and alerts.log"


@pytest.mark.parametrize("rules", ["window: last 0\n", "rules: [{name: retry_cluster, condition: x}]\n"])
def test_unusable_rules_fall_back_to_the_shipped_ones(attack: Attack, rules: str) -> None:
    attack.write(board([]))
    (attack.board / "rules.yaml").write_text(rules)
    assert attack.liza("analyze").code == 3
    assert attack.halted
    attack.effect = "halted"


def test_changed_severity_halts_and_is_shown(attack: Attack) -> None:
    attack.write(board([]))
    (attack.board / "rules.yaml").write_text("rules: [{name: retry_cluster, severity: EXTERNAL_DEPENDENCY}]\n")
    assert attack.liza("analyze").code == 3
    assert shown(attack, "status")["rule_changes"]
    attack.effect = "halted; the change is in status"


def test_silence_until_2099_has_no_effect(attack: Attack) -> None:
    silence = "all: true, created: 2025-01-01T00:00:00Z, until: 2099-01-01T00:00:00Z, reason: quiet"
    attack.write(board([], more=f"silences: [{{id: s, rule: {RULE}, {silence}}}]\n"))
    assert attack.liza("analyze").code == 3
    assert attack.halted
    attack.effect = "halted"


# --- decisions on a real trip -----------------------------------------------------------------------------------------


def tripped(attack: Attack) -> None:
    attack.write(board([]))
    assert attack.liza("analyze").code == 3


def edit(attack: Attack, *changes: tuple[str, str]) -> None:
    text = (attack.board / "state.yaml").read_text()
    for old, new in changes:
        text, number = re.subn(old, new, text, count=1)
        assert number == 1, old
    attack.write(text)


def closed_by_edit(attack: Attack) -> None:
    """As an agent would: the status, and the entry of the trip completed in place."""
    at = "resolution: fixed, resolved_at: 2025-01-18T14:00:00Z, resolved_by: alice"
    decision = [f"\n      {each}" for each in at.split(", ")]
    text = (attack.board / "state.yaml").read_text()
    edit(attack, ("status: TRIGGERED", "status: OK"))
    place = (attack.board / "state.yaml").read_text().rindex("trip_id:")
    text = (attack.board / "state.yaml").read_text()
    end = text.index("\n", place)
    attack.write(text[:end] + "".join(decision) + text[end:])
    (attack.board / "CHECKPOINT").unlink()


def test_edited_decision_is_marked_everywhere(attack: Attack) -> None:
    attack.write(block([]))
    assert attack.liza("analyze").code == 3
    closed_by_edit(attack)
    assert attack.liza("analyze").code == 0
    found = shown(attack, "status")
    assert [(each["origin"], each["claimed_by"]) for each in found["claims"]] == [("edited", "alice")]
    assert [entry["origin"] for entry in found["history"] if entry["pattern"]] == ["edited"]
    words = "edited by hand, signed alice"
    assert words in attack.liza("status").out
    assert words in attack.liza("analyze").out
    assert words in (attack.board / "log.yaml").read_text()
    assert words in (attack.board / "circuit_breaker_report.md").read_text()
    assert attack.liza("watch", "--once").code == 0
    assert words in (attack.board / "alerts.log").read_text()
    attack.effect = "shown as edited by hand, in status, log, report and alerts.log"


def block(history: list[Any]) -> str:
    listed = "".join(f"\n    - {json.dumps(each)}" for each in history) or " []"
    section = f"circuit_breaker:\n  status: OK\n  current_trigger: null\n  history:{listed}\n"
    return f"anomalies:\n{TRIPPING}{STARTED}{section}"


def test_decision_by_command_is_marked_as_such(attack: Attack) -> None:
    attack.write(block([]))
    assert attack.liza("analyze").code == 3
    assert attack.liza("resolve", "-m", "fixed", "--by", "alice").code == 0
    found = shown(attack, "status")
    assert found["claims"] == []
    assert [entry["origin"] for entry in found["history"] if entry["pattern"]] == ["command"]
    assert "edited" not in attack.liza("status").out + (attack.board / "log.yaml").read_text()
    attack.effect = "by alice"


CHANGES = {
    "fingerprints added": (r"(?m)^(\s+retry_cluster: ).*$", rf"\g<1>{FINGERPRINTS} 0123456789ab"),
    "a position": (r"(?m)^(\s+retry_cluster: ).*$", r"\1first 999999999999 anomalies"),
    "a later time": (r"resolved_at: \S+", "resolved_at: 2026-01-01T00:00:00Z\n      note: x"),
    "no evidence": (r"(?m)^\s+evidence:\n\s+retry_cluster: .*$", ""),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_entry_changed_after_the_decision_is_not_used(attack: Attack, change: tuple[str, str]) -> None:
    attack.write(block([]))
    assert attack.liza("analyze", "--now", "2025-01-18T15:00:00Z").code == 3
    assert attack.liza("resolve", "-m", "fixed", "--by", "alice", "--now", "2025-01-18T16:00:00Z").code == 0
    assert attack.liza("analyze", "--now", "2025-01-18T17:00:00Z").code == 0
    edit(attack, change)
    assert attack.liza("analyze").code == 3
    assert attack.halted
    attack.effect = "halted"


# --- the daemon's memory ----------------------------------------------------------------------------------------------


def test_forged_watch_json_suppresses_no_message(attack: Attack) -> None:
    attack.write(block([]))
    rules = "notify: {file: notices.jsonl}\nrules: [{name: debt_accumulation, mode: observe}]\n"
    (attack.board / "rules.yaml").write_text(rules)

    def forge(**facts: Any) -> None:
        (attack.board / "watch.json").write_text(json.dumps(facts))

    def sent(kind: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in (attack.project / "notices.jsonl").read_text().splitlines()]
        return [line for line in lines if line["kind"] == kind]

    forge(notified=[f"tripped {TRIP}", f"resolved {TRIP}"], alarms={}, errors={}, places=["file notices.jsonl"])
    assert attack.liza("watch", "--once").code == 3
    assert [line["trip_id"] for line in sent("tripped")] == [TRIP]
    assert len(sent("alarm")) == 1
    assert attack.liza("watch", "--once").code == 3
    assert (len(sent("tripped")), len(sent("alarm"))) == (1, 1), "at most once across a restart"
    facts = json.loads((attack.board / "watch.json").read_text())
    forge(**{**facts, "notified": [*facts["notified"], f"resolved {TRIP}"]})
    assert attack.liza("resolve", "-m", "fixed", "--by", "alice").code == 0
    assert attack.liza("watch", "--once").code == 0
    assert "watch_json" in json.loads((attack.board / "watch.json").read_text())["alarms"]
    attack.effect = "the messages are sent; the forgery is an alarm"


def test_planted_report_is_not_kept_as_the_page(attack: Attack) -> None:
    page = attack.board / "circuit_breaker_report.md"
    planted = f"# All is well\n\nTrip {TRIP}\n\n## Decision\n\n**Resolved:** 2025-01-18T14:00:00Z\n"
    page.write_text(planted)
    attack.write(block([]))
    assert attack.liza("analyze").code == 3
    assert "connection refused by db" in page.read_text()
    page.write_text(planted)
    assert attack.liza("analyze").code == 3
    assert "connection refused by db" in page.read_text()
    assert "## Human Decision Required" in page.read_text()
    page.write_text("# Something else\n")
    assert attack.liza("analyze").code == 3
    assert "connection refused by db" in page.read_text()
    (archived,) = [each for each in (attack.board / "reports").iterdir() if ".edited" not in each.name]
    assert "connection refused by db" in archived.read_text()
    attack.effect = "restored"


def test_many_alarms_do_not_hide_a_trip(attack: Attack) -> None:
    tasks = "".join(f"- {{id: task-{n}, status: BLOCKED, blocked_reason: {'x' * 100}}}\n" for n in range(9000))
    attack.write(block([]).replace("anomalies:", f"tasks:\n{tasks}anomalies:"))
    assert attack.liza("watch", "--once").code == 3
    alerts = (attack.board / "alerts.log").read_text()
    assert f"{RULE} (ARCHITECTURE_FLAW)" in alerts
    assert alerts.count("\n") < 60
    assert "8981 more" in alerts
    attack.effect = f"{len(alerts.splitlines())} lines"


def test_rotation_of_alerts_log_keeps_trips(tmp_path: Path) -> None:
    from liza.daemon.notifier import alerts_log
    from liza.store.rotating_log import LARGEST

    log = alerts_log(str(tmp_path / "alerts.log"))
    log.write("2025-01-18T14:00:00Z  tripped    retry_cluster (ARCHITECTURE_FLAW)")
    for number in range(3 * LARGEST // 500):
        log.write(f"2025-01-18T14:00:00Z  alarm      {number} tripped {'x' * 480}")
    kept = Path(log.path).read_text().splitlines()
    assert [line for line in kept if "  tripped    " in line[:34]] == [kept[0]]
