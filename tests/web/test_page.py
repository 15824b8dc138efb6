"""What the page shows, read as a browser without JavaScript does."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from liza.web.page import SECTIONS, strip_of
from tests.cli.run import liza, new_board
from tests.web.site import Elements, visitor

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\u202e[x](javascript:alert(3)) | **b** &lt;i&gt;\0"
)


def outage(folder: Path, *services: str) -> None:
    for number, service in enumerate(services):
        words = ("--type", "external_blocker", "--task", f"task-{number}", "--reporter", "coder")
        assert liza(folder, "log", "anomaly", *words, f"blocker_service={service}").code == 0


def page(folder: Path) -> Elements:
    answer = visitor(folder).get("/")
    assert answer.status_code == 200
    return Elements(answer.text)


def model(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = visitor(folder).get("/status.json").json()
    return found


def test_model_has_what_status_sessions_and_stats_print(folder: Path) -> None:
    outage(folder, "payments")
    found = model(folder)
    for command, names in {
        "status": ("trigger", "checkpoint", "daemon", "sessions", "stopped", "concerns", "inbox", "hooks"),
        "stats": ("rules", "today", "used", "models"),
    }.items():
        printed = liza(folder, command, "--json").json
        shown = found if command == "status" else found["stats"]
        assert {name: shown[name] for name in names} == {name: printed[name] for name in names}
    printed = {each["rule"]: each["count"] for each in liza(folder, "status", "--json").json["patterns"]}
    assert {each["rule"]: each["count"] for each in found["patterns"]} == printed


def test_page_has_every_section_with_a_heading(folder: Path) -> None:
    found = page(folder)
    assert [each["id"] for each in found.all("section")] == list(SECTIONS)
    ids = {attributes.get("id") for _, attributes in found.tags}
    assert {each["aria-labelledby"] for each in found.all("section")} <= ids
    assert len(found.all("h1")) == 1


def test_trip_is_shown_with_its_report_and_evidence(folder: Path) -> None:
    outage(folder, "payments", "payments")
    assert liza(folder, "analyze").code == 3
    found = model(folder)
    assert (found["status"], found["trigger"]["pattern"]) == ("triggered", "external_service_outage")
    evidence = next(each for each in found["patterns"] if each["rule"] == "external_service_outage")["evidence"]
    assert [each["task"] for each in evidence] == ["task-1", "task-0"]
    assert len(found["timeline"]["trips"]) == 1
    shown = page(folder)
    assert {"class": "report"} in shown.all("article")
    assert "liza resolve -m 'what was decided'" in shown.text


def test_unreadable_blackboard_is_degraded_with_the_reason(folder: Path) -> None:
    (folder / ".liza" / "state.yaml").write_text("anomalies: [\n")
    found = model(folder)
    assert found["status"] == "degraded"
    assert found["problems"][0]["line"] == 1
    shown = page(folder).text
    assert str(found["problems"][0]["message"]) in shown
    assert not any(text in shown for text in ("Nothing waits", "No trip yet", "Nothing has been recorded"))


def test_missing_blackboard_is_degraded(folder: Path) -> None:
    client = visitor(folder)
    (folder / ".liza").rename(folder / "gone")
    assert client.get("/status.json").json()["status"] == "degraded"
    assert client.get("/").status_code == 200


def test_page_follows_the_files(folder: Path) -> None:
    client = visitor(folder)
    assert client.get("/status.json").json()["status"] == "ok"
    (folder / ".liza" / "CHECKPOINT").touch()
    end = time.monotonic() + 10
    while client.get("/status.json").json()["status"] != "halted":  # a model is made at most half of the time
        assert time.monotonic() < end


def test_stopped_session_is_first_and_names_its_way_out(folder: Path) -> None:
    state = {
        "sessions": {
            "s-1": {
                "status": "STOPPED",
                "client": "claude",
                "current_trip": {"reason": "loops", "stopped": "2025-01-01T00:00:00Z"},
            }
        }
    }
    new_board(folder.parent / "b", json.dumps({"version": 1, **state}))
    found = model(folder.parent / "b")
    assert [(each["kind"], each["name"]) for each in found["open"]] == [("session", "s-1")]
    assert found["open"][0]["ways_out"][0]["command"] == "liza session resume s-1 -m 'what was decided'"


@pytest.mark.parametrize("text", [HOSTILE, HOSTILE * 200])
def test_hostile_text_is_never_markup(folder: Path, text: str) -> None:
    """In every field that an agent can write, also in the report and in step files."""
    details = {"blocker_service": text, "error_pattern": text, text: text}
    anomaly = {"timestamp": "2025-01-01T00:00:00Z", "type": "external_blocker", "details": details}
    state = {
        "version": text,
        "anomalies": [{**anomaly, "task": text, "reporter": text}, {**anomaly, "task": text + "2", "reporter": text}],
        "sessions": {text: {"status": "STOPPED", "client": text, "name": text, "current_trip": {"reason": text}}},
        "loops": {text: {"status": "OPEN", "trigger_reason": text}},
        "silences": [{"id": text, "rule": text, "until": text}],
        "circuit_breaker": {
            "status": "TRIGGERED",
            "current_trigger": {"pattern": text, "severity": text, "timestamp": text, "message": text},
            "history": [
                {"pattern": text, "timestamp": text, "resolution": text, "resolved_by": text, "resolved_at": text}
            ],
        },
    }
    board = folder.parent / "hostile"
    new_board(board, json.dumps(state))
    (board / ".liza" / "circuit_breaker_report.md").write_text(text)
    (board / ".liza" / "steps").mkdir()
    step = {
        "v": 1,
        "session": "s",
        "time": "2025-01-01T00:00:00Z",
        "tool": text,
        "input": text,
        "outcome": text,
        "error": text,
        "client": text,
    }
    (board / ".liza" / "steps" / "s.jsonl").write_text(json.dumps(step) + "\n")
    answer = visitor(board).get("/")
    assert answer.status_code == 200
    found = Elements(answer.text)
    assert [each.get("src") for each in found.all("script")] == ["/page.js"]
    assert not found.all("img")
    assert not any(name.startswith("on") or name == "style" for _, attributes in found.tags for name in attributes)
    assert {each["href"] for each in found.all("a")} <= {"#decisions", "#report"}
    assert not {"\x1b", "\u202e", "\0"} & {*answer.text}
    assert len(answer.text) < 150_000


def test_strip_counts_every_outcome() -> None:
    strip = strip_of(["ok"] * 3 + ["failed", "refused", "odd"])
    assert strip["text"] == "last 6 calls: 3 ok, 1 failed, 1 refused, 1 unknown"
    assert {name: path.count("M") for name, path in strip["paths"].items()} == {
        "ok": 3,
        "failed": 1,
        "refused": 1,
        "unknown": 1,
    }


def test_many_sessions_and_stops_stay_a_page(folder: Path) -> None:
    """What is left out is counted, and a command that lists it is named."""
    stopped = {f"s-{n}": {"status": "STOPPED", "current_trip": {"reason": "stuck"}} for n in range(300)}
    new_board(folder.parent / "b", f"version: 1\nsessions: {json.dumps(stopped)}\n")
    found = page(folder.parent / "b")
    assert len([each for each in found.all("li") if (each.get("id") or "").startswith("open-")]) == 50
    assert "and 250 more: liza status" in found.text
    assert len(found.all("tr")) < 300


def test_bug_of_ours_is_shown_instead_of_an_old_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise KeyError("odd")

    monkeypatch.setattr("liza.web.model.timeline_facts", fails)
    found = model(folder)
    assert (found["status"], found["problems"][0]["message"]) == ("degraded", "a bug in liza: KeyError: 'odd'")
    assert "a bug in liza: KeyError" in page(folder).text
