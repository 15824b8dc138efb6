"""The actions on a stuck loop: abort, alert, escalate, pause."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.daemon import until
from tests.run.projects import FAILS, IDLES, PROGRESSION, SAYS, Project, lines

# --- abort ----------------------------------------------------------------------------------------------------------


def test_abort_blocks_the_task_and_changes_nothing_else_of_it(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", IDLES)
    result = project.run("--on-stagnation", "abort", "--task", "task-1")
    assert result.code == 3
    task = project.board["tasks"][0]
    reason = "loop l: No progress for 3 iterations"
    assert (task["status"], task["blocked_reason"]) == ("BLOCKED", reason)
    assert task["description"] == "Implement authentication"
    assert "  # the first\n" in project.state.read_text()
    assert "task task-1 is marked as BLOCKED" in result.err
    log = (project.folder / ".liza" / "log.yaml").read_text()
    assert f"action: task_blocked\n  task: task-1\n  detail: '{reason}'" in log.replace('"', "'")
    assert lines(result, 'Task: task-1 "Implement authentication"')


@pytest.mark.parametrize(("task", "printed"), [("task-9", "is not on the blackboard"), ("task-2", "is MERGED")])
def test_abort_reports_why_a_task_is_not_blocked(tmp_path: Path, task: str, printed: str) -> None:
    project = Project(tmp_path / "p", IDLES)
    before = project.board["tasks"]
    result = project.run("--on-stagnation", "abort", "--task", task)
    assert result.code == 3
    assert printed in result.err
    assert project.board["tasks"] == before


def test_aborted_run_can_be_resumed_once_its_loop_is_closed(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", IDLES)
    project.run("--on-stagnation", "abort")
    assert (project.facts["status"], project.facts["iterations"]) == ("open", 3)
    assert project.liza("run", "--resume", project.session.name).code == 3
    project.liza("loop", "reset", "l")
    assert project.liza("run", "--resume", project.session.name, "--max", "1").code == 1
    assert project.facts["iterations"] == 4


@pytest.mark.slow
def test_resumed_run_keeps_its_options(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", IDLES)
    project.run("--on-stagnation", "abort", "--stagnation-threshold", "2")
    project.liza("loop", "reset", "l")
    assert project.liza("run", "--resume", project.session.name).code == 3  # a run that pauses would wait for a person
    assert project.facts["iterations"] == 4


# --- alert ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def webhook() -> Iterator[tuple[str, list[Any]]]:
    received: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/secret", received
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
def test_alert_notifies_and_continues(tmp_path: Path, webhook: tuple[str, list[Any]]) -> None:
    url, received = webhook
    rules = f"stagnation: {{notifications: {{desktop: false, webhook: '{url}'}}}}\n"
    project = Project(tmp_path / "p", IDLES, rules=rules)
    result = project.run("--on-stagnation", "alert", "--max", "7")
    assert result.code == 1
    assert len(lines(result, "[STAGNATION DETECTED]")) == 2
    assert project.loop["trigger_count"] == 2
    assert [each["title"] for each in received] == ["liza: loop l is stuck"] * 2  # seconds apart
    assert "secret" not in result.err


@pytest.mark.parametrize(
    "rules",
    ["notify: {webhook: URL}", "stagnation: {notifications: {webhook: {url: URL}, desktop: true}}"],
)
def test_trip_is_sent_to_targets_of_either_block(
    tmp_path: Path, webhook: tuple[str, list[Any]], rules: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a session bus, a desktop message is not even tried."""
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    url, received = webhook
    project = Project(tmp_path / "p", IDLES, rules=rules.replace("URL", f"'{url}'") + "\n")
    result = project.run("--on-stagnation", "abort", "--max", "4")
    assert [each["kind"] for each in received] == ["tripped"]
    assert "not delivered" not in result.err


@pytest.mark.slow
def test_alert_pauses_at_the_absolute_limit(tmp_path: Path) -> None:
    rules = "circuit_breaker: {warning_threshold: 5, critical_threshold: 10, absolute_max_loops: 12}\n"
    project = Project(tmp_path / "p", IDLES, rules=rules)
    with project.running("--on-stagnation", "alert") as run:
        run.wait_for("12 iterations without a decision by a person: pausing (absolute_max_loops)")
        run.wait_for("paused; to continue: liza loop reset l")
        assert project.loop["status"] == "OPEN"
        assert project.liza("loop", "reset", "l").code == 0
        until(lambda: project.facts["iterations"] > 15, "it goes on, and only alerts again")
    assert project.loop["trigger_count"] >= 5


@pytest.mark.slow
@pytest.mark.parametrize("action", ["alert", "escalate"])
def test_no_action_closes_absolute_max(tmp_path: Path, action: str) -> None:
    """Every iteration makes progress: the limit is reached without any other trip before."""
    rules = "circuit_breaker: {warning_threshold: 5, critical_threshold: 10, absolute_max_loops: 11}\n"
    project = Project(tmp_path / "p", "echo $LIZA_ITERATION $LIZA_MODEL > work.txt", rules=rules)
    with project.running("--on-stagnation", action, "--max", "30") as run:
        run.wait_for("paused; to continue: liza loop reset l\n")
        assert (project.loop["status"], project.facts["iterations"]) == ("OPEN", 11)
        assert project.liza("loop", "reset", "l").code == 0
        until(lambda: project.facts["iterations"] > 11, "a person lets it continue")


@pytest.mark.slow
@pytest.mark.parametrize("action", ["alert", "escalate"])
def test_automatic_reset_names_no_person(tmp_path: Path, action: str) -> None:
    project = Project(tmp_path / "p", f"true || {SAYS}")
    project.run("--on-stagnation", action, "--max", "4")
    trip = project.loop["history"][0]
    assert (trip["how"], trip["by"]) == ("automatic", "liza run")


def test_unreachable_webhook_stops_nothing(tmp_path: Path) -> None:
    rules = "stagnation: {notifications: {desktop: false, webhook: 'http://127.0.0.1:9/secret'}}\n"
    project = Project(tmp_path / "p", IDLES, rules=rules)
    result = project.run("--on-stagnation", "alert", "--max", "4")
    assert result.code == 1
    assert "not delivered: webhook http://127.0.0.1:9/…" in result.err


# --- pause, and a probe ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_work_done_during_a_probe_ends_the_run(tmp_path: Path) -> None:
    rules = "circuit_breaker: {cooldown_seconds: 0}\n"
    project = Project(tmp_path / "p", "[ ! -e go ] || { echo >> work.txt; echo DONE; }", rules=rules)
    with project.running("--verify", "test -e work.txt") as run:
        run.wait_for("paused; to continue: liza loop reset l   (or try one iteration: liza loop probe l)")
        (project.folder / "go").touch()
        assert project.liza("loop", "probe", "l").code == 0
        assert run.code() == 0
    assert "liza run  completed" in run.err.read_text()
    assert project.facts["iterations"] == 4


# --- escalate -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_escalate_goes_through_the_models_and_pauses_at_the_last(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", SAYS, rules=PROGRESSION)
    with project.running("--on-stagnation", "escalate") as running:
        running.wait_for("there is no further model after large: pausing")
        printed = running.out.read_text().splitlines()
        assert [line.split()[1] for line in printed] == ["small"] * 3 + ["middle"] * 3 + ["large"] * 3
        assert project.loop["status"] == "OPEN"
        assert project.loop["trigger_count"] == 3


@pytest.mark.slow
def test_next_model_gets_the_errors_in_its_context(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", FAILS, rules=PROGRESSION)
    project.run("--on-stagnation", "escalate", "--max", "4")
    page = (project.session / "context.md").read_text()
    reason = "Same error for 3 iterations: TypeError: undefined is not a function"
    assert f"- The loop was stuck with small: {reason}\n" in page
    assert "- Model: middle\n" in page
    assert "TypeError: undefined is not a function\n```\n" in page
    assert "- Iteration 3 (small): error" in page
    assert project.recorded[-1]["model"] == "middle"


def test_escalation_starts_after_the_given_model(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", SAYS, rules=PROGRESSION)
    result = project.run("--on-stagnation", "escalate", "--model", "middle", "--max", "4")
    assert [line.split()[1] for line in result.out.splitlines()] == ["middle"] * 3 + ["large"]


@pytest.mark.slow
def test_model_outside_the_progression_has_no_successor(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", SAYS, rules=PROGRESSION)
    with project.running("--on-stagnation", "escalate", "--model", "the-largest") as running:
        running.wait_for("there is no further model after the-largest: pausing")
    assert len(project.recorded) == 3


@pytest.mark.slow
def test_disabled_escalation_pauses(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", SAYS, rules="stagnation: {escalation: {enabled: false}}\n")
    with project.running("--on-stagnation", "escalate") as running:
        running.wait_for("escalation is not enabled: pausing")
        running.wait_for("liza run: paused; to continue")
    assert len(project.recorded) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "models", [["small", "large", "small"], ["small", "small"], ["small", "large", "large", "small"]], ids=str
)
def test_escalation_ends_with_a_model_listed_twice(tmp_path: Path, models: list[str]) -> None:
    """Escalation goes by position: by name, it would find the first of two equal models forever."""
    rules = f"stagnation: {{threshold: 1, escalation: {{model_progression: [{', '.join(models)}]}}}}\n"
    project = Project(tmp_path / "p", SAYS, rules=rules)
    with project.running("--on-stagnation", "escalate", "--max", "30") as running:
        running.wait_for("paused; to continue")
        assert [line.split()[1] for line in running.out.read_text().splitlines()] == models


@pytest.mark.slow
def test_resumed_run_keeps_its_position_among_the_models(tmp_path: Path) -> None:
    rules = "stagnation: {threshold: 1, escalation: {model_progression: [small, large, small]}}\n"
    project = Project(tmp_path / "p", SAYS, rules=rules)
    project.run("--on-stagnation", "escalate", "--max", "3")
    assert (project.facts["model"], project.facts["model_place"]) == ("small", 2)
    assert project.liza("loop", "reset", "l").code == 0
    with project.running("--resume", project.session.name, "--max", "9") as running:
        running.wait_for("there is no further model after small: pausing")
    assert project.facts["iterations"] == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "takes"),
    [
        (("true",), False),
        (("true", "{model}"), True),
        (("sh", "-c", "echo $LIZA_MODEL"), True),
        (("sh", "script"), True),
        (("./script",), True),
        (("sh", "other"), False),
    ],
)
def test_run_reports_whether_its_command_uses_the_model(tmp_path: Path, words: tuple[str, ...], takes: bool) -> None:
    project = Project(tmp_path / "p")
    (project.folder / "script").write_text("#!/bin/sh\necho $LIZA_MODEL\n")
    (project.folder / "script").chmod(0o755)
    (project.folder / "other").write_text("exit 0\n")
    asked_for = ("run", "--loop", "l", "--max", "1", "--on-stagnation", "escalate")
    began = json.loads(project.liza(*asked_for, "--json", "--", *words).out.splitlines()[0])
    assert (began["status"], began["takes_model"]) == ("began", takes)
    project.liza("loop", "reset", "l")
    before = project.liza(*asked_for, "--", *words).err.partition("Loop 1 of")[0]
    assert ("mentions neither {model} nor LIZA_MODEL" in before) != takes


def test_action_can_come_from_rules_or_environment(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", IDLES, rules="stagnation: {action: abort, threshold: 2}\n")
    assert project.run().code == 3
    assert len(project.recorded) == 2
    project.liza("loop", "reset", "l")
    assert project.run("--max", "3", LIZA_ON_STAGNATION="alert").code == 1
