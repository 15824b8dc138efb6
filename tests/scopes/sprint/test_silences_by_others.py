"""Silences that people wrote into the file by hand: an odd one hides nothing."""

from pathlib import Path
from typing import Any

import pytest

from tests.scopes.sprint.cases import ASSUMPTION, OUTAGE, RETRY, board_with
from tests.scopes.sprint.markdown import parts, tables, well_formed
from tests.scopes.sprint.run import NOW, controls, record
from tests.scopes.sprint.test_silences import BY_HAND, EVENING, SILENCED, by_hand, silenced
from tests.scopes.sprint.test_untrusted import TEXTS
from tests.store.oracle import libyaml_value

# --- written by hand --------------------------------------------------------------------------------------------------


def test_hand_written_silence_works(tmp_path: Path) -> None:
    board = by_hand(tmp_path, *OUTAGE.records)
    assert board.run("validate").code == 0
    assert board.analyze().code == 0
    assert silenced(board, "status") == [("external_service_outage", "by-hand")]
    assert board.run("silence", "expire", "by-hand", "--now", NOW).code == 0
    assert board.analyze().code == 3


FAULTS: dict[str, dict[str, Any]] = {
    "it has no reason": {"reason": " "},
    "it needs the times created and until": {"until": "tomorrow"},
    "it ends before it begins": {"created": EVENING, "until": "2025-01-18T17:00:00Z"},
    "it is longer than 24 hours": {"until": "2025-01-19T17:00:01Z"},
    "match: expected one value for each field": {"match": {"blocker_service": None}},
    "it was expired, but expired_at is not a time": {"expired_by": "bob"},
}


@pytest.mark.parametrize(("fault", "fields"), FAULTS.items(), ids=FAULTS.keys())
def test_invalid_silence_hides_nothing_and_says_why(tmp_path: Path, fault: str, fields: dict[str, Any]) -> None:
    board = by_hand(tmp_path, *OUTAGE.records, **fields)
    ran = board.run("validate")
    assert (ran.code, f"this silence is not active: {fault}\n" in ran.out) == (1, True)
    assert board.run("silence", "list", "--now", NOW).out == f"! by-hand is not active: {fault}\n"
    (listed,) = board.run("silence", "list", "--json", "--now", NOW).json["silences"]
    assert (listed["state"], listed["id"], listed["fault"]) == ("invalid", "by-hand", fault)
    answer = board.run("status", "--json", "--now", NOW).json
    assert (answer["silences"], answer["silenced"]) == ([], [])
    assert "liza validate" in board.run("status", "--now", NOW).out
    assert board.run("silence", "expire", "by-hand", "--now", NOW).code == 1
    assert board.analyze().code == 3
    assert board.halt["trip"] == board.trigger["trip_id"]


LONG = hex(10**5000 - 1)[:20]  # how it is shown, and then cut
LONG_NUMBERS: dict[str, tuple[dict[str, Any], str, int]] = {
    "its id": ({"id": "LONG"}, f"by ann: known outage [{LONG}", 0),
    "its author": ({"by": "LONG"}, f"by {LONG}", 0),
    "its match": ({"match": {"blocker_service": "LONG"}}, f"(blocker_service={LONG}", 3),
}


@pytest.mark.parametrize(("fields", "text", "code"), LONG_NUMBERS.values(), ids=LONG_NUMBERS.keys())
def test_huge_number_in_a_silence_is_shortened(tmp_path: Path, fields: dict[str, Any], text: str, code: int) -> None:
    board = by_hand(tmp_path, *OUTAGE.records, **fields)
    board.edit('"LONG"', "9" * 5000)
    assert board.run("validate").code == 0
    for words in (("silence", "list"), ("status",)):
        ran = board.run(*words, "--now", NOW)
        assert (ran.code, text in ran.out) == (0, True)
        assert board.run(*words, "--now", NOW, "--json").code == 0
    assert len(silenced(board, "status")) == (1 if code == 0 else 0)
    assert board.analyze().code == code
    assert board.analyze(now=EVENING).code == 3


SECTIONS: dict[str, Any] = {
    "a text": "external_service_outage",
    "lists in lists": [[[["external_service_outage"]]], [{"rule": "external_service_outage", "all": True}]],
    "all sorts": [None, 5, "text", [], {}, {"rule": {}}],
    "a long text in each field": [dict.fromkeys(BY_HAND, "x" * (1 << 16))],
    "control characters in each field": [dict.fromkeys(BY_HAND, "\x1b]0;owned\x07\x1b[2J\u202e\r")],
}


@pytest.mark.parametrize("section", SECTIONS.values(), ids=SECTIONS.keys())
def test_malformed_silences_hide_nothing_and_stay(tmp_path: Path, section: Any) -> None:
    board = by_hand(tmp_path, *OUTAGE.records, section=section)
    for words in (("validate",), ("silence", "list", "--now", NOW), ("status", "--now", NOW)):
        assert len(board.run(*words).out) < 10_000
    assert board.run("silence", "list", "--all", "--json", "--now", NOW).json["schema"] == 1
    assert board.run("silence", "expire", "x", "--now", NOW).code == 1
    board.run("silence", "add", "retry_cluster", "--all", "--for", "1h", "-m", "x", "--now", NOW)
    assert board.analyze().code == 3
    assert board.resolve().code == 0
    kept = libyaml_value(board.state.read_bytes())["silences"]
    assert (kept[: len(section)] if isinstance(section, list) else kept) == section


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_silence_text_stays_text_everywhere(tmp_path: Path, text: str) -> None:
    odd = {"id": f"id {text}", "by": f"by {text}", "reason": f"why {text}"}
    board = by_hand(tmp_path, *OUTAGE.records, *RETRY.records, **odd)
    for words in (("silence", "list", "--now", NOW), ("status", "--now", NOW), ("analyze", "--now", NOW)):
        ran = board.run(*words)
        assert "why" in ran.out, "the reason is not shown"
    report = board.report.read_text(encoding="utf-8")
    well_formed(report)
    ((row,),) = [table.rows for table in tables(parts(report)[SILENCED])]
    assert (row[0], row[4][:2], row[5][:3]) == ("external_service_outage", "by", "why")
    for line in (*board.run("silence", "list", "--now", NOW).out.splitlines(), *row):
        assert controls(line) == []
    (found,) = board.run("status", "--json", "--now", NOW).json["silenced"]
    assert found["silence"]["reason"] == f"why {text}".strip(), "JSON keeps the text"


def test_many_silenced_groups_are_counted_in_the_report(tmp_path: Path) -> None:
    groups = [record("external_blocker", f"task-{n}", blocker_service=f"host {n // 2}") for n in range(90)]
    board = board_with(tmp_path, *groups, *ASSUMPTION.records)
    board.run("silence", "add", OUTAGE.pattern, "--all", "--for", "1h", "-m", "x", "--now", NOW)
    assert board.analyze().code == 3
    text = board.report.read_text()
    well_formed(text)
    (table,) = tables(parts(text)[SILENCED])
    assert len(table.rows) == 40
    assert "5 more are not shown" in parts(text)[SILENCED]
    assert len(silenced(board, "status")) == 45
