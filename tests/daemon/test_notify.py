"""Notifications of the daemon: each once, whatever fails, and without secrets."""

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.run import LIZA
from tests.daemon.daemon import RETRIES, STATE, Daemon, Watched, environment, in_background, run, until
from tests.daemon.served import dead, hanging, webhook
from tests.daemon.writers import save

SECRET = "T0K3N-s3cr3t"


def team(folder: Path, notify: str, state: str = STATE) -> Watched:
    return Watched(folder / "team", state, f"notify: {notify}\n")


def test_trip_and_resolution_are_one_message_each(tmp_path: Path) -> None:
    with webhook() as hooks:
        board = team(tmp_path, json.dumps({"webhook": f"{hooks.url}/hook"}))
        with Daemon(board.root) as daemon:
            board.report_anomalies(*RETRIES)
            until(lambda: hooks.of("tripped"), "the message has come")
            trip = board.halted()["trip"]
            assert board.resolve("use a queue").code == 0
            until(lambda: hooks.of("resolved"), "the message has come")
            board.beats(3)
            assert daemon.stop() == 0
        assert len(hooks.of("tripped")) == len(hooks.of("resolved")) == 1
    message = hooks.bodies[0]
    assert sorted(message) == ["at", "board", "dashboard", "kind", "text", "title", "trip_id"]
    assert message["trip_id"] == trip
    what, todo = message["text"].splitlines()
    assert what == "retry_cluster (ARCHITECTURE_FLAW)"
    assert todo.endswith("then run: liza resolve -m 'what was decided'")
    assert message["title"] == "liza: tripped in team"
    assert message["board"] == str(board.root)
    assert set(hooks.paths) == {"/hook"}


def test_message_is_not_repeated_after_kill_9_and_a_restart(tmp_path: Path) -> None:
    with webhook() as hooks:
        board = team(tmp_path, json.dumps({"webhook": hooks.url}))
        with Daemon(board.root) as daemon:
            board.report_anomalies(*RETRIES)
            until(lambda: hooks.of("tripped"), "the message has come")
            daemon.kill()
        for _ in range(2):
            with Daemon(board.root, wait="tripped") as daemon:
                board.beats(3)
                assert daemon.stop() == 0  # which gives waiting messages a last chance
        assert len(hooks.bodies) == 1


def test_unreported_trip_is_reported_by_the_next_daemon(tmp_path: Path) -> None:
    with webhook() as hooks:
        board = team(tmp_path, json.dumps({"webhook": hooks.url}))
        board.report_anomalies(*RETRIES)
        assert board.analyze().code == 3
        with Daemon(board.root, wait="tripped") as daemon:
            until(lambda: hooks.of("tripped"), "the message has come")
            assert daemon.stop() == 0
        assert len(hooks.bodies) == 1


def test_watch_once_sends_its_message(tmp_path: Path) -> None:
    with hanging() as slow, webhook() as hooks:
        board = team(tmp_path, json.dumps({"webhook": [slow, hooks.url]}))
        board.report_anomalies(*RETRIES)
        for _ in range(5):
            assert run(board.root, "watch", "--once").code == 3
        assert len(hooks.of("tripped")) == 1


def test_watch_once_does_not_make_the_next_daemon_repeat_it(tmp_path: Path) -> None:
    with webhook() as hooks:
        board = team(tmp_path, json.dumps({"webhook": hooks.url}))
        with Daemon(board.root) as daemon:
            board.report_anomalies(*RETRIES)
            until(lambda: hooks.of("tripped"), "the message has come")
            assert board.resolve().code == 0
            until(lambda: hooks.of("resolved"), "the message has come")
            assert daemon.stop() == 0
        marked = board.facts["notified"]
        assert run(board.root, "watch", "--once").code == 0
        assert board.facts["notified"] == marked


def test_each_target_gets_each_message_once(tmp_path: Path) -> None:
    with webhook() as one, webhook() as other, webhook() as escalation:
        notify = {"webhook": [f"{one.url}/a", {"url": f"{other.url}/b"}, f"{one.url}/a"], "file": "notices.jsonl"}
        state = STATE.replace("config:\n", f"config:\n  escalation_webhook: {escalation.url}/c\n")
        board = team(tmp_path, json.dumps(notify), state)
        received = board.root / "notices.jsonl"
        with Daemon(board.root) as daemon:
            board.report_anomalies(*RETRIES)
            until(lambda: one.bodies and other.bodies and escalation.bodies and received.exists(), "all are notified")
            assert daemon.stop() == 0
        assert [len(each.bodies) for each in (one, other, escalation)] == [1, 1, 1]
    (line,) = received.read_text().splitlines()
    assert json.loads(line) == one.bodies[0]


def test_messages_have_the_reason_the_command_and_the_dashboard_without_its_token(tmp_path: Path) -> None:
    with webhook() as slack, webhook() as discord, webhook() as ntfy:
        forms = {"slack": slack.url, "discord": discord.url, "ntfy": f"{ntfy.url}/team-7"}
        board = team(tmp_path, json.dumps({"webhook": [{"url": url, "format": form} for form, url in forms.items()]}))
        command = [LIZA, "serve", "--port", "0", "--root", str(board.root)]
        with subprocess.Popen(command, env=environment(board.root), stdout=subprocess.PIPE, text=True) as served:
            assert served.stdout is not None
            first = next(line for line in served.stdout if "http://" in line)
            address, _, token = first.split(": ", 1)[1].strip().partition("?token=")
            with Daemon(board.root) as daemon:
                board.report_anomalies(*RETRIES)
                until(lambda: slack.bodies and discord.bodies and ntfy.bodies, "all are notified")
                served.terminate()
                assert served.wait(20) in (0, -signal.SIGTERM)
                assert board.resolve().code == 0
                until(lambda: len(ntfy.bodies) == 2, "all are notified")
                assert daemon.stop() == 0
    texts = [slack.bodies[0]["text"], discord.bodies[0]["content"].replace("\\", ""), ntfy.bodies[0]["message"]]
    for text in texts:
        reason, todo, where = text.splitlines()
        assert (reason.endswith("retry_cluster (ARCHITECTURE_FLAW)"), where) == (True, f"Dashboard: {address}")
        assert ("liza resolve -m" in todo, token in text) == (True, False)
    assert (ntfy.bodies[0]["click"], "click" in ntfy.bodies[1]) == (address, False)


@pytest.mark.parametrize("kind", ["dead", "hanging"])
def test_unresponsive_target_delays_nothing(tmp_path: Path, kind: str) -> None:
    with hanging() as slow, webhook() as hooks:
        board = team(tmp_path, json.dumps({"webhook": [slow if kind == "hanging" else dead(), hooks.url]}))
        with Daemon(board.root) as daemon:
            board.report_anomalies(*RETRIES)
            until(board.checkpoint.exists, "the agents are halted", patience=1.5)
            until(lambda: hooks.of("tripped"), "the others are notified", patience=1.5)
            assert board.resolve().code == 0
            daemon.wait_for("resolved")
            until(lambda: hooks.of("resolved"), "the others are notified", patience=1.5)
            board.beats(3)
        assert len(hooks.of("tripped")) == len(hooks.of("resolved")) == 1


def test_target_that_fails_once_gets_the_message_once(tmp_path: Path) -> None:
    with webhook(503, 204) as hooks:
        board = team(tmp_path, json.dumps({"webhook": hooks.url}))
        with Daemon(board.root) as daemon:
            board.report_anomalies(*RETRIES)
            until(lambda: hooks.bodies, "the message has come at the second try")
            assert daemon.stop() == 0
        assert len(hooks.bodies) == 1


def test_failed_delivery_is_reported_without_the_address(tmp_path: Path) -> None:
    board = team(tmp_path, json.dumps({"webhook": f"{dead()}/{SECRET}?key={SECRET}"}))
    with Daemon(board.root) as daemon:
        board.report_anomalies(*RETRIES)
        daemon.wait_for("tripped")
        board.halted()
        assert daemon.stop(signal.SIGTERM) == 0
    failed = str(board.facts["not_sent"])
    assert re.fullmatch(r"webhook http://127.0.0.1:\d+/…: no connection \(ConnectionRefusedError\) at \S+Z", failed)
    assert SECRET not in failed


def test_no_secret_of_an_address_is_shown_anywhere(tmp_path: Path) -> None:
    with webhook() as hooks:
        host = hooks.url.removeprefix("http://")
        addresses = [f"{hooks.url}/services/{SECRET}", f"{hooks.url}/?token={SECRET}", f"http://{SECRET}:x@{host}/"]
        addresses += [f"{dead()}/{SECRET}", f"ftp://{SECRET}@host/"]
        state = STATE.replace("config:\n", f"config:\n  escalation_webhook: ftp://{SECRET}/\n")
        board = team(tmp_path, json.dumps({"webhook": addresses}), state)
        with in_background(board):
            board.report_anomalies(*RETRIES)
            until(lambda: len(hooks.bodies) >= 2, "the messages have come")
            board.halted()
            ran = [run(board.root, *words) for words in (("watch", "--status"), ("status",), ("status", "--json"))]
            ran.append(run(board.root, "watch", "--status", "--json"))
        assert (board.folder / "watch.log").read_text().count("tripped") == 1
        assert any("rules.yaml: notify.webhook.4 has no usable address" in line for line in board.alerts)
        assert any("state.yaml: config.escalation_webhook has no usable address" in line for line in board.alerts)
        assert SECRET not in board.everywhere() + "".join(each.out + each.err for each in ran)


@pytest.mark.parametrize("place", ["notify", "config"])
def test_invalid_address_is_an_alarm_and_does_not_stop_the_daemon(tmp_path: Path, place: str) -> None:
    state = STATE if place == "notify" else STATE.replace("config:\n", "config:\n  escalation_webhook: 'http://[x'\n")
    notify = json.dumps({"webhook": "http://[x"}) if place == "notify" else "{}"
    board = team(tmp_path, notify, state)
    with Daemon(board.root, wait="alarm") as daemon:
        board.report_anomalies(*RETRIES)
        daemon.wait_for("tripped")


def test_targets_can_change_while_watching(tmp_path: Path) -> None:
    with webhook() as before, webhook() as after:
        board = team(tmp_path, json.dumps({"webhook": before.url}))
        with Daemon(board.root) as daemon:
            save(board.rules, f"notify: {json.dumps({'webhook': after.url})}\n")
            daemon.wait_for("reloaded")
            board.report_anomalies(*RETRIES)
            until(lambda: after.of("tripped"), "the new target is notified")
            assert daemon.stop() == 0
        assert before.of("tripped") == []


def test_changed_targets_are_reported_to_old_and_new(tmp_path: Path) -> None:
    """Agents can write rules.yaml, too: no target is removed without a message to it."""
    with webhook() as before, webhook() as after:
        board = team(tmp_path, json.dumps({"webhook": f"{before.url}/{SECRET}"}))
        with Daemon(board.root) as daemon:
            save(board.rules, f"notify: {json.dumps({'webhook': after.url})}\n")
            alarm = daemon.wait_for("alarm")
            until(lambda: before.bodies and after.bodies, "both are notified")
            board.beats(3)
            assert daemon.stop() == 0
    gone, new = (f"webhook {each.url}/…" for each in (before, after))
    assert alarm == f"notification targets changed: removed {gone}; added {new}"
    assert [body["text"] for body in (*before.bodies, *after.bodies)] == [alarm, alarm]


def test_changed_secret_of_the_same_host_is_reported(tmp_path: Path) -> None:
    with webhook() as hooks:
        board = team(tmp_path, json.dumps({"webhook": f"{hooks.url}/one"}))
        with Daemon(board.root) as daemon:
            save(board.rules, f"notify: {json.dumps({'webhook': f'{hooks.url}/other'})}\n")
            assert "another address of the same host" in daemon.wait_for("alarm")
            until(lambda: len(hooks.paths) == 2, "both are notified")
    assert sorted(hooks.paths) == ["/one", "/other"]


def test_targets_changed_without_a_daemon_are_reported(tmp_path: Path) -> None:
    board = team(tmp_path, "{file: before.jsonl}")
    for _ in range(2):
        with Daemon(board.root) as daemon:
            board.beats(2)
            assert daemon.stop() == 0
            assert daemon.reported("alarm") == []
    save(board.rules, "rules: []\n")
    with Daemon(board.root, wait="alarm") as daemon:
        assert daemon.stop() == 0
        assert daemon.reported("alarm") == ["notification targets changed: removed file before.jsonl"]


def test_alarms_are_sent_once_also_across_a_restart(tmp_path: Path) -> None:
    with webhook() as hooks:
        board = team(
            tmp_path, json.dumps({"webhook": hooks.url}), STATE.replace("status:   CLAIMED", "status: BLOCKED")
        )
        with Daemon(board.root, wait="alarm") as daemon:
            until(lambda: hooks.of("alarm"), "the alarm has come")
            board.beats(2)
            daemon.kill()
        with Daemon(board.root) as daemon:
            board.beats(3)
            assert daemon.stop() == 0
        assert [body["text"] for body in hooks.bodies] == ["A task is blocked: task-2"]


def test_missing_desktop_delays_nothing(tmp_path: Path) -> None:
    with webhook() as hooks:
        board = team(tmp_path, json.dumps({"desktop": True, "webhook": hooks.url}))
        with Daemon(board.root) as daemon:
            board.report_anomalies(*RETRIES)
            until(lambda: hooks.of("tripped"), "the others are notified")
            assert daemon.stop() == 0
    assert board.facts["not_sent"] is None, "a machine without a desktop is no failure"


# --- --test-message -------------------------------------------------------------------------------------------------


def test_message_reports_the_outcome_of_each_target(tmp_path: Path) -> None:
    with webhook() as good, webhook(404) as bad:
        notify = {"webhook": [f"{good.url}/{SECRET}", f"{bad.url}/{SECRET}"], "file": "notices.jsonl"}
        board = team(tmp_path, json.dumps(notify))
        ran = run(board.root, "watch", "--test-message")
    assert ran.code == 1
    assert ran.out.splitlines() == [
        f"webhook {good.url}/…: sent",
        f"webhook {bad.url}/…: it answered 404",
        "file notices.jsonl: sent",
    ]
    assert [body["kind"] for body in good.bodies] == ["test"]
    assert json.loads((board.root / "notices.jsonl").read_text())["title"] == "liza: test in team"
    assert not board.watch_lock.exists()


def test_message_names_two_channels_of_one_host(tmp_path: Path) -> None:
    with webhook(404, 204) as hooks:
        board = team(tmp_path, json.dumps({"webhook": [f"{hooks.url}/one", f"{hooks.url}/other"]}))
        ran = run(board.root, "watch", "--test-message")
    first, second = f"webhook {hooks.url}/…: it answered 404", f"webhook {hooks.url}/… (2): sent"
    assert (ran.code, ran.out.splitlines()) == (1, [first, second])


def test_message_reports_an_unusable_target(tmp_path: Path) -> None:
    board = team(tmp_path, json.dumps({"webhook": f"ftp://{SECRET}", "file": "notices.jsonl"}))
    ran = run(board.root, "watch", "--test-message", "--json")
    assert (ran.code, ran.json["status"]) == (1, "not sent")
    assert ran.json["places"] == [{"place": "file notices.jsonl", "sent": True, "why": None}]
    assert ran.json["problems"][0]["message"] == "notify.webhook has no usable address"
    assert SECRET not in ran.out


def test_message_reports_success(tmp_path: Path) -> None:
    ran = run(team(tmp_path, "{file: notices.jsonl}").root, "watch", "--test-message", "--json")
    assert (ran.code, ran.json["status"]) == (0, "sent")


def test_message_without_targets_names_the_setting(tmp_path: Path) -> None:
    ran = run(Watched(tmp_path / "team").root, "watch", "--test-message")
    assert ran.code == 1
    assert "hint: add a target to .liza/rules.yaml" in ran.err


def test_delivery_failure_is_cleared_by_the_next_success(tmp_path: Path) -> None:
    with webhook(404, 204) as hooks:
        board = team(tmp_path, json.dumps({"webhook": hooks.url}))
        with Daemon(board.root) as daemon:
            board.report_anomalies(*RETRIES)
            until(lambda: "it answered 404" in str(board.facts["not_sent"]), "it is recorded")
            assert board.resolve().code == 0
            until(lambda: hooks.of("resolved"), "the message has come")
            until(lambda: board.facts["not_sent"] is None, "the failure is cleared")
            assert daemon.stop() == 0
