"""The numbers for Prometheus: those that `status`, `sessions` and `stats` print, in a form that Prometheus takes."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from liza.metrics.collect import render
from liza.metrics.facts import read_facts
from liza.store.paths import find
from tests.cli.run import installed, liza
from tests.clients.hook import SESSION, failing
from tests.clients.hook import run as run_hook
from tests.daemon.daemon import RETRIES, Daemon, Watched, until
from tests.metrics.scraped import Scraped, promtool, read
from tests.web.site import stranger

FALSE_ALARM = ("-m", "it was a test", "--by", "ann", "--cause", "false_alarm")


def test_file_of_the_daemon_has_what_the_commands_print(tmp_path: Path) -> None:
    board, file = Watched(tmp_path / "team"), tmp_path / "liza.prom"
    for number in range(6):
        usage = {"input_tokens": 100, "output_tokens": 10}
        used = {"usage": usage, "model": "claude-sonnet-4-5" if number % 2 else "new-model"}
        assert run_hook(board.root, "after", {**failing(f"call-{number}"), **used}).code == 0
    with Daemon(board.root, "--metrics", str(file)) as daemon:
        board.report_anomalies(*RETRIES)
        board.halted()
        until(lambda: read(file).value("liza_breaker_state", state="triggered") == 1, "the trip is counted")
        until(lambda: read(file).value("liza_open_trips", scope="session") == 1, "the stop is counted")
        found = read(file)
        status = liza(board.root, "status", "--json").json
        assert found.value("liza_halted") == 1
        assert found.value("liza_trips_total", scope="sprint", rule="retry_cluster") == 1
        assert found.value("liza_trips_total", scope="session") == len(status["stopped"]) == 1
        for each in status["patterns"]:
            assert found.value("liza_pattern_value", rule=each["rule"]) == each["count"]
            assert found.value("liza_pattern_threshold", rule=each["rule"]) == each["threshold"]
        assert (
            found.value("liza_recent_steps", client="claude", outcome="failed") == status["sessions"][0]["steps"] == 6
        )
        assert found.value("liza_sessions", client="claude", state="stopped") == 1
        assert (found.value("liza_daemon_state", state="running"), found.value("liza_checks_total") > 0) == (1, True)
        assert found.value("liza_check_seconds_total") > 0
        assert {dict(labels)["project"] for _, labels in found.samples} == {"team"}
        fresh = Scraped(render(read_facts(find(str(board.root)), datetime.now(UTC))).decode())  # as /metrics reads it
        assert fresh.value("liza_trips_total") == found.value("liza_trips_total") == 2
        is_as_in_stats(found, liza(board.root, "stats", "--json").json)
        promtool("check", "metrics", text=file.read_text())
        assert liza(board.root, "resolve", *FALSE_ALARM).code == 0
        until(lambda: read(file).value("liza_halted") == 0, "the decision is counted")
        assert read(file).value("liza_false_alarms_total", rule="retry_cluster") == 1
        assert liza(board.root, "session", "resume", SESSION, "-m", "go on", "--by", "ann").code == 0
        until(lambda: read(file).value("liza_open_trips") == 0, "all are over")
        assert read(file).value("liza_trips_total") == 2
        assert daemon.stop() == 0


def is_as_in_stats(found: Scraped, stats: dict[str, Any]) -> None:
    assert {each["model"]: each["tokens"] for each in stats["models"]} == {"claude-sonnet-4-5": 330, "new-model": 330}
    for each in stats["models"]:
        assert found.value("liza_tokens_total", model=each["model"]) == each["tokens"]
    priced = next(each for each in stats["models"] if each["cost"] is not None)
    assert found.value("liza_cost_dollars_total", model=priced["model"]) == pytest.approx(priced["cost"])
    assert found.value("liza_unpriced_tokens_total", model="new-model") == 330
    assert found.value("liza_cost_today_dollars") == pytest.approx(stats["used"][0]["cost"])
    assert found.value("liza_steps_total") == stats["used"][2]["calls"] == 6


def test_file_that_cannot_be_written_is_reported_and_delays_nothing(tmp_path: Path) -> None:
    board, folder = Watched(tmp_path / "team"), tmp_path / "gone"
    folder.mkdir()
    with Daemon(board.root, "--metrics", str(folder / "liza.prom")) as daemon:
        until(lambda: list(folder.iterdir()), "it is written")
        shutil.rmtree(folder)
        board.report_anomalies(*RETRIES)
        board.halted()
        until(lambda: "liza.prom: No such file" in str(board.facts["not_sent"]), "it is reported")
        assert daemon.stop() == 0
    assert liza(board.root, "watch", "--metrics", str(folder / "liza.prom")).code == 1


def test_without_its_packages_the_command_to_install_them_is_given(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text("import sys\nsys.modules['prometheus_client'] = None\n")
    done = installed(folder, "watch", "--metrics", str(folder / "a.prom"), PYTHONPATH=str(folder))
    assert (done.code, done.hint().endswith("-m pip install 'liza[metrics]'")) == (1, True)


def test_server_gives_metrics_to_those_with_a_token(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIZA_METRICS_TOKEN", "scraper-secret")
    client, access = stranger(folder)
    assert client.get("/metrics").status_code == 403
    assert client.get("/status.json", headers={"Authorization": "Bearer scraper-secret"}).status_code == 403
    for token in (access.token, "scraper-secret"):
        answer = client.get("/metrics", headers={"Authorization": f"Bearer {token}"})
        assert (answer.status_code, Scraped(answer.text).value("liza_breaker_state", state="ok")) == (200, 1)
    (folder / ".liza" / "state.yaml").write_text("anomalies: [\n")
    degraded = Scraped(client.get("/metrics", headers={"Authorization": "Bearer scraper-secret"}).text)
    assert degraded.value("liza_breaker_state", state="degraded") == 1
    assert not {"liza_trips", "liza_pattern_value", "liza_sessions"} & set(degraded.families)


def test_names_that_agents_chose_are_escaped_and_limited(folder: Path) -> None:
    """State.yaml is theirs to write: thousands of series would fill a server."""
    entries = [
        {"timestamp": "2026-01-01T00:00:00Z", "pattern": f'odd"\\\n{{}} {n}', "result": "TRIGGERED",
         "resolved_at": "2026-01-01T01:00:00Z", "resolution": "x"}
        for n in range(500)
    ]  # fmt: skip
    section = {"status": "OK", "current_trigger": None, "history": entries}
    (folder / ".liza" / "state.yaml").write_text(json.dumps({"version": 1, "circuit_breaker": section}))
    client, access = stranger(folder)
    found = Scraped(client.get("/metrics", headers={"Authorization": f"Bearer {access.token}"}).text)
    rules = {labels for name, labels in found.samples if name == "liza_trips_total"}
    assert (len(rules), found.value("liza_trips_total"), found.value("liza_trips_total", rule="other")) == (
        201,
        500,
        300,
    )
