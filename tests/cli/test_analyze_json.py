"""`liza analyze --json`: the contract with scripts."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.scopes.sprint.cases import RETRY, board_with
from tests.scopes.sprint.run import LATER, NOW, record

PATTERN = {"rule": str, "severity": str, "action": str, "count": int, "threshold": int, "tasks": list}
TRIGGER = {"timestamp": str, "pattern": str, "severity": str, "report_file": str, "trip_id": str}


def has_shape(value: Mapping[str, Any], shape: Mapping[str, type]) -> bool:
    return all(type(value[name]) is kind for name, kind in shape.items())


def test_json_has_every_group_that_matched_or_is_nearest(tmp_path: Path) -> None:
    services = ["mail", "pay", "mail", "pay", "sms", "fax"]
    board = board_with(
        tmp_path, *(record("external_blocker", task=f"t{n}", blocker_service=s) for n, s in enumerate(services))
    )
    (outage,) = [p for p in board.analyze("--json").json["patterns"] if p["rule"] == "external_service_outage"]
    assert outage["groups"] == [
        {"key": "mail", "count": 2, "tasks": ["t0", "t2"], "matched": True},
        {"key": "pay", "count": 2, "tasks": ["t1", "t3"], "matched": True},
        {"key": "fax", "count": 1, "tasks": ["t5"], "matched": False},
        {"key": "sms", "count": 1, "tasks": ["t4"], "matched": False},
    ]
    for task in ("t0, t2", "t1, t3", "t5", "t4"):
        assert f"[{task}]" in board.analyze().out


def test_json_of_a_check_keeps_its_contract(tmp_path: Path) -> None:
    unusable = record("trade_off", what="x", why="y", debt_created="true")
    outside = record("retry_loop", at="2025-01-01T10:00:00Z", count=1, error_pattern="boom")
    board = board_with(tmp_path, outside, *RETRY.records[:2], unusable)
    quiet = board.analyze("--json").json
    assert (quiet["schema"], quiet["command"], quiet["status"]) == (1, "analyze", "ok")
    assert (quiet["checked_at"], quiet["window"], quiet["trigger"], quiet["matches"]) == (
        NOW,
        "current_sprint",
        None,
        [],
    )
    assert quiet["anomalies"] == {"considered": 3, "acknowledged": 0, "outside_window": 1, "unusable": 1}
    assert [each["rule"] for each in quiet["patterns"]] == [
        "retry_cluster",
        "debt_accumulation",
        "assumption_cascade",
        "workaround_pattern",
        "spec_gap_cluster",
        "external_service_outage",
    ]
    assert all(has_shape(each, PATTERN) and type(each["key"]) in (str, type(None)) for each in quiet["patterns"])
    assert (quiet["patterns"][0]["count"], quiet["patterns"][0]["threshold"]) == (2, 3)
    assert quiet["patterns"][0]["key"] == "serialization failure on nested entity"
    assert quiet["patterns"][0]["tasks"] == ["task-1", "task-2"]
    (problem,) = quiet["problems"]
    assert set(problem) >= {"file", "line", "column", "message", "hint"}
    assert (type(problem["line"]), type(problem["column"])) == (int, int)

    board.add(RETRY.records[2])
    for word in ("tripped by this call", "found open by this call"):
        ran = board.analyze("--json")
        assert ran.code == 3, word
        answer = ran.json
        assert answer["status"] == "triggered"
        assert has_shape(answer["trigger"], TRIGGER)
        assert answer["trigger"]["trip_id"] == board.trigger["trip_id"]
        (match,) = answer["matches"]
        assert has_shape(match, PATTERN | {"evidence": list})
        assert (match["rule"], match["count"], match["action"]) == ("retry_cluster", 3, "CHECKPOINT")
        assert [each["task"] for each in match["evidence"]] == ["task-1", "task-2", "task-3"]
        assert match["evidence"][0]["details"] == RETRY.records[0]["details"]

    board.resolve()
    after = board.analyze("--json", now=LATER).json
    assert (after["status"], after["trigger"], after["anomalies"]["acknowledged"]) == ("ok", None, 3)


def test_json_is_one_ascii_line_for_any_text(tmp_path: Path) -> None:
    texts = [*["\x1b[2J\u202e \u2028 caf\u00e9"] * 2, "to be replaced"]
    board = board_with(tmp_path, *[record("retry_loop", count=3, error_pattern=text) for text in texts])
    board.edit('"error_pattern": "to be replaced"', '"error_pattern": "\\e[2J\\u202e \\u2028 café", 1: .nan, x: .inf')
    ran = board.analyze("--json")
    assert ran.code == 3
    assert ran.out.count("\n") == 1
    assert ran.out.isascii()
    json.loads(ran.out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
