"""Agents' text reaches people on one short and harmless line, wherever it is shown."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from liza.cli.watch_screen import View
from liza.daemon.alarm_reminders import Reported
from tests.daemon.daemon import STATE, Daemon, Watched, until
from tests.daemon.served import webhook
from tests.daemon.stepped import SteppedWatcher
from tests.daemon.writers import save

NASTY = "no\x1b[2J access\n2026-01-01T00:00:00Z  resolved   all is well\u202e\r\x00" + "x" * (1 << 20)


def blocked(reason: str, name: str = "task-2") -> str:
    task = f"id: {json.dumps(name)}\n    status: BLOCKED\n    blocked_reason: {json.dumps(reason)}"
    return STATE.replace("id: task-2\n    status:   CLAIMED", task)


def is_harmless(text: str) -> bool:
    return text.isprintable() and len(text) <= 1000


@pytest.mark.parametrize("where", ["reason", "id"])
def test_megabyte_with_escapes_is_one_short_line_everywhere(tmp_path: Path, where: str) -> None:
    state = blocked(NASTY) if where == "reason" else blocked("no access", NASTY)
    with webhook() as plain, webhook() as slack, webhook() as discord:
        hooks = [plain.url, {"url": slack.url, "format": "slack"}, {"url": discord.url, "format": "discord"}]
        board = Watched(
            tmp_path / "team", state, f"notify: {json.dumps({'webhook': hooks, 'file': 'notices.jsonl'})}\n"
        )
        with Daemon(board.root, wait="alarm") as daemon:
            until(lambda: plain.bodies and slack.bodies and discord.bodies, "the messages have come")
            assert daemon.stop() == 0
    (alert,) = board.alerts
    assert is_harmless(alert)
    assert all(is_harmless(text) for _, text in daemon.events)
    assert all(is_harmless(each) for each in (plain.bodies[0]["text"], slack.bodies[0]["text"]))
    assert is_harmless(discord.bodies[0]["content"])
    assert len(board.watch_json.read_bytes()) < 5000


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(min_size=1, max_size=50), st.text(max_size=400))
def test_no_text_makes_a_second_line(tmp_path: Path, name: str, reason: str) -> None:
    board = Watched(tmp_path / f"team-{len(list(tmp_path.iterdir()))}", blocked(reason, name))
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
    assert all(is_harmless(line) for line in board.alerts_log.read_text().split("\n"))
    assert all(is_harmless(each.text) for each in stepped.events)


def test_two_long_names_with_a_common_start_are_two_causes(tmp_path: Path) -> None:
    names = ["x" * 300 + end for end in ("a", "b")]
    more = "".join(f"  - {{id: {name}, status: BLOCKED}}\n" for name in names)
    board = Watched(tmp_path / "team", STATE.replace("sprint:\n", f"{more}sprint:\n"))
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        assert len(stepped.reported("alarm")) == 2


# --- many at once ---------------------------------------------------------------------------------------------------


def test_many_alarms_of_one_check_are_one_message(tmp_path: Path) -> None:
    more = "".join(f"  - {{id: more-{n:03}, status: BLOCKED}}\n" for n in range(300))
    with webhook() as hooks:
        board = Watched(
            tmp_path / "team",
            STATE.replace("sprint:\n", f"{more}sprint:\n"),
            f"notify: {{webhook: '{hooks.url}'}}\n",
        )
        with Daemon(board.root, wait="alarm") as daemon:
            until(lambda: hooks.bodies, "the message has come")
            assert daemon.stop() == 0
    (body,) = hooks.bodies
    assert body["title"] == "liza: 20 alarms in team"
    assert body["text"].splitlines()[:2] == [
        "task_blocked: 281 more, see liza status",
        "A task is blocked: more-000",
    ]
    assert body["text"].splitlines()[-1] == "and 10 more: see .liza/alerts.log"
    assert len(body["text"].splitlines()) == 11
    assert len(board.alerts) == 20


def test_new_text_of_an_active_alarm_is_not_reported(tmp_path: Path) -> None:
    board = Watched(tmp_path / "team", blocked("no access"))
    with SteppedWatcher(board) as stepped:
        stepped.ticks(2)
        save(board.state, blocked("still no access"))
        stepped.ticks(3)
        assert stepped.reported("alarm") == ["A task is blocked: task-2: blocked reason no access"]
        (active,) = board.facts["alarms"].values()
        assert (active["text"], active["times"]) == ("A task is blocked: task-2: blocked reason still no access", 1)
        save(board.state, STATE)
        stepped.ticks(3)
        assert stepped.reported("over") == ["A task is blocked: task-2: blocked reason still no access"]


# --- odd boards -----------------------------------------------------------------------------------------------------

WORDS = ("BLOCKED", "CLAIMED", "2025-01-18T14:32:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=6)
    | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip
TASK_FIELDS = (
    "id", "status", "created", "assigned_to", "iteration", "review_cycles_current", "reviewing_by",
    "review_lease_expires", "failed_by", "blocked_reason", "max_iterations", "max_review_cycles", "history",
)  # fmt: skip
TASKS = st.lists(st.dictionaries(st.sampled_from(TASK_FIELDS), VALUES), max_size=3)
AGENTS = st.dictionaries(st.text(max_size=3), st.dictionaries(st.sampled_from(["status", "lease_expires"]), VALUES))
BOARDS = st.fixed_dictionaries(
    {
        "tasks": TASKS | VALUES,
        "agents": AGENTS | VALUES,
        "discovered": st.lists(st.dictionaries(st.sampled_from(["id", "urgency", "description"]), VALUES)) | VALUES,
        "config": st.dictionaries(st.sampled_from(["max_review_cycles", "escalation_webhook"]), VALUES) | VALUES,
        "sprint": VALUES | st.fixed_dictionaries({"id": VALUES, "timeline": VALUES}),
    }
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(BOARDS)
def test_any_board_can_be_checked(tmp_path: Path, sections: dict[str, object]) -> None:
    """Wrong clocks, missing fields or other types: never a bug, and never a text over several lines."""
    board = Watched(tmp_path / f"team-{len(list(tmp_path.iterdir()))}")
    board.save("".join(f"{name}: {json.dumps(value)}\n" for name, value in sections.items()) + "anomalies: []\n")
    board.checkpoint.touch()
    with SteppedWatcher(board) as stepped:
        stepped.now += timedelta(hours=3)
        stepped.ticks(3)
        error = stepped.watcher.notifier.health.last_error
    assert error is None or "a bug" not in error
    assert all(is_harmless(each.text) for each in stepped.events)


def test_live_view_escapes_alarms(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """A name that an agent chose is part of an alarm, and active alarms are drawn again and again."""
    record_property("effect", "shown without control characters")
    view = View()
    with SteppedWatcher(Watched(tmp_path / "team")) as stepped:
        stepped.ticks()
        at, text = stepped.now, "slice \x1b]0;owned\x07\u202e is stuck\nTRIGGERED"
        stepped.watcher.notifier._alarms.active["x"] = Reported(at, at, 1, text)
        view.watcher = stepped.watcher
        shown = [click.unstyle(line) for line in view.lines(200, 50)]
    assert any("owned" in line for line in shown)
    assert [line for line in shown if not line.isprintable()] == []
