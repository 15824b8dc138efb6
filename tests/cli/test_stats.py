"""`liza stats`, and the cause that `liza resolve` records for it."""

from pathlib import Path

import pytest

from tests.cli.run import liza, new_board
from tests.store.oracle import libyaml_value

DAY = "2025-01-18T"
OUTAGE = (
    "log",
    "anomaly",
    "--type",
    "external_blocker",
    "--task",
    "t",
    "--reporter",
    "coder-1",
    "blocker_service=mail",
)


def trip(folder: Path, hour: int) -> None:
    """Two new records, and the check that trips."""
    for minute in (1, 2):
        stamp = f"{DAY}{hour}:{minute:02}:00Z"
        assert liza(folder, *OUTAGE, "--timestamp", stamp).code == 0
    assert liza(folder, "analyze", "--now", f"{DAY}{hour}:10:00Z").code == 3


def resolve(folder: Path, at: str, *options: str) -> None:
    words = ("resolve", "-m", "mail is back", "--by", "alice", "--now", f"{DAY}{at}:00Z", *options)
    assert liza(folder, *words).code == 0


def test_stats_show_trips_false_alarms_time_and_what_tripped_again(tmp_path: Path) -> None:
    new_board(tmp_path)
    trip(tmp_path, 10)
    resolve(tmp_path, "10:30", "--cause", "EXTERNAL_DEPENDENCY")
    trip(tmp_path, 12)
    resolve(tmp_path, "13:10", "--cause", "false_alarm")
    trip(tmp_path, 14)
    assert liza(tmp_path, "trip", "-m", "more").code == 3  # the open trip: no further one
    (found,) = liza(tmp_path, "stats", "--json").json["rules"]
    assert {name: found[name] for name in ("rule", "trips", "also_matched", "open", "false_alarms")} == {
        "rule": "external_service_outage",
        "trips": 3,
        "also_matched": 0,
        "open": 1,
        "false_alarms": 1,
    }
    assert found["causes"] == {"EXTERNAL_DEPENDENCY": 1, "false_alarm": 1}
    assert found["seconds_to_decision"] == {"median": 2400.0, "longest": 3600.0}
    again = [
        (each["timestamp"], each["after"], each["resolution"], each["resolved_by"]) for each in found["tripped_again"]
    ]
    assert again == [
        (f"{DAY}12:10:00Z", 6000.0, "mail is back", "alice"),
        (f"{DAY}14:10:00Z", 3600.0, "mail is back", "alice"),
    ]
    title, row, *repeated = liza(tmp_path, "stats").out.splitlines()
    assert (len(title.split("  ")) > 5, row.split()[:5]) == (True, ["external_service_outage", "3", "0", "1", "1"])
    assert len(repeated) == 2


def test_rule_that_only_also_matched_has_a_row(tmp_path: Path) -> None:
    state = new_board(tmp_path)
    state.write_text("version: 1\ncircuit_breaker:\n  status: OK\n  history:\n  - {timestamp: 2025-01-18T10:00:00Z, "
                     "pattern: a, also_matched: [b], result: TRIGGERED}\n")  # fmt: skip
    found = {each["rule"]: each for each in liza(tmp_path, "stats", "--json").json["rules"]}
    assert {name: (each["trips"], each["also_matched"]) for name, each in found.items()} == {"a": (1, 0), "b": (0, 1)}


def test_stats_without_a_trip(tmp_path: Path) -> None:
    new_board(tmp_path)
    assert liza(tmp_path, "analyze").code == 0
    assert liza(tmp_path, "stats", "--json").json["rules"] == []
    assert liza(tmp_path, "stats").code == 0


def test_cause_is_in_the_history_and_the_report(tmp_path: Path) -> None:
    state = new_board(tmp_path)
    trip(tmp_path, 10)
    resolve(tmp_path, "10:30", "--cause", "false_alarm")
    entry = libyaml_value(state.read_bytes())["circuit_breaker"]["history"][-1]
    assert (entry["cause"], entry["resolved_by"]) == ("false_alarm", "alice")
    assert "**Cause:** false_alarm" in (tmp_path / ".liza" / "circuit_breaker_report.md").read_text().replace(
        "\\_", "_"
    )
    assert liza(tmp_path, "validate").code == 0


@pytest.mark.parametrize("cause", ["", "wrong", "FALSE"])
def test_unknown_cause_is_refused(tmp_path: Path, cause: str) -> None:
    new_board(tmp_path)
    trip(tmp_path, 10)
    assert liza(tmp_path, "resolve", "-m", "x", "--cause", cause).code == 2
    assert liza(tmp_path, "status").code == 3


@pytest.mark.parametrize(
    "history", ["x", "[1, {pattern: [a]}]", "[{pattern: a, timestamp: 5, resolved_at: [], cause: {}}]"]
)
def test_stats_of_odd_histories(tmp_path: Path, history: str) -> None:
    new_board(tmp_path, f"version: 1\ncircuit_breaker: {{status: OK, history: {history}}}\n")
    assert liza(tmp_path, "stats").code == 0
    assert liza(tmp_path, "stats", "--json").json["status"] == "ok"
