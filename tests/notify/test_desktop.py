"""Notifications of the desktop, over a real bus."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from liza.notify.desktop import Desktop
from liza.notify.message import Message, NotSent
from liza.notify.sender import Sender
from tests.daemon.daemon import RETRIES, Daemon, Watched, until
from tests.notify.bus import mute_bus, notifications, session_bus

HELLO = Message(
    "tripped", "liza: tripped in team", "retry_cluster (ARCHITECTURE_FLAW)", "2025-01-18T14:32:00Z", "/team"
)
MARKUP = '<a href="http://evil">look</a> & <img src="file:///x"/>'


@pytest.fixture
def bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with session_bus(tmp_path / "run") as address:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        yield address


def refused() -> NotSent:
    with pytest.raises(NotSent) as error:
        Desktop().send(HELLO)
    return error.value


def test_message_is_shown(bus: str) -> None:
    with notifications(bus) as shown:
        Desktop().send(HELLO)
        Desktop().send(HELLO._replace(kind="alarm"))
    assert shown.notices == [(HELLO.title, HELLO.text, 2), (HELLO.title, HELLO.text, 1)]


def test_agents_text_is_escaped_if_the_service_renders_markup(bus: str) -> None:
    with notifications(bus, can=("body", "body-markup")) as shown:
        Desktop().send(HELLO._replace(text=MARKUP))
    assert shown.notices[0][1] == '&lt;a href="http://evil"&gt;look&lt;/a&gt; &amp; &lt;img src="file:///x"/&gt;'


def test_text_is_sent_as_is_without_markup_support(bus: str) -> None:
    with notifications(bus) as shown:
        Desktop().send(HELLO._replace(text=MARKUP))
    assert shown.notices[0][1] == MARKUP


def test_bus_without_a_service_is_not_taken_for_sent(bus: str) -> None:
    error = refused()
    assert (error.why, error.retry) == ("no notification service (ServiceUnknown)", True)


def test_error_reply_is_not_taken_for_sent(bus: str) -> None:
    with notifications(bus, error="org.freedesktop.DBus.Error.LimitsExceeded"):
        assert refused().why == "no notification service (LimitsExceeded)"


def test_missing_reply_is_not_retried_because_it_may_be_shown(bus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("liza.notify.desktop.TIMEOUT", 0.2)
    with notifications(bus, silent=True):
        error = refused()
    assert (error.why, error.retry) == ("no answer (TimeoutError), so it may have been shown", False)


def test_bus_that_never_greets_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("liza.notify.desktop.TIMEOUT", 0.2)
    with mute_bus(tmp_path) as address:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        assert refused().why == "no session bus (TimeoutError)"


def test_machine_without_a_bus_is_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    error = refused()
    assert (error.why, error.retry, error.is_fault) == ("no session bus on this machine", False, False)
    outcomes: list[str | None] = []
    sender = Sender(lambda name, why: outcomes.append(why))
    sender.set_targets([Desktop()])
    sender.send(HELLO)
    sender.stop()
    assert outcomes == [None]


@pytest.mark.parametrize("address", ["unix:path=/nowhere/at/all", "tcp:host=localhost", "nonsense"])
def test_missing_bus_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    error = refused()
    assert error.why.startswith("no session bus (")
    assert error.retry


def test_daemon_without_an_address_finds_its_users_bus(bus: str, tmp_path: Path) -> None:
    """As if started over ssh or by cron."""
    board = Watched(tmp_path / "team", rules="notify: {desktop: true}\n")
    with notifications(bus) as shown:
        with Daemon(board.root, env={"XDG_RUNTIME_DIR": str(tmp_path / "run")}) as daemon:
            board.report_anomalies(*RETRIES)
            until(lambda: shown.notices, "the notification is shown")
            assert daemon.stop() == 0
        with Daemon(board.root, wait="tripped", env={"DBUS_SESSION_BUS_ADDRESS": bus}) as daemon:
            board.beats(3)
            assert daemon.stop() == 0
    ((title, text, urgency),) = shown.notices
    assert (title, urgency) == ("liza: tripped in team", 2)
    assert text.startswith("retry_cluster (ARCHITECTURE_FLAW)\n")
