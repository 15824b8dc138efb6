"""Background delivery: in order, retried where that can help, and no thread for a removed target."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from liza.notify.file import File
from liza.notify.message import Message
from liza.notify.sender import Sender
from liza.notify.webhook import Webhook
from tests.daemon.daemon import until
from tests.daemon.served import dead, hanging, webhook

HELLO = Message("alarm", "liza: alarm in team", "A task is blocked", "2025-01-18T14:32:00Z", "/team")
SOON = (0.01, 0.01)


def since(before: set[threading.Thread]) -> int:
    """The number of new threads."""
    return len(set(threading.enumerate()) - before)


def failures() -> tuple[list[str], Callable[[str, str | None], None]]:
    failed: list[str] = []
    return failed, lambda place, why: failed.append(f"{place}: {why}") if why is not None else None


def test_messages_arrive_in_order() -> None:
    failed, fail = failures()
    with webhook() as hooks:
        sender = Sender(fail)
        sender.set_targets([Webhook(hooks.url)])
        for number in range(20):
            sender.send(HELLO._replace(text=str(number)))
        sender.stop()
    assert [body["text"] for body in hooks.bodies] == [str(number) for number in range(20)]
    assert failed == []


def test_busy_target_is_retried_and_a_refusing_one_is_not() -> None:
    failed, fail = failures()
    with webhook(503, 500, 204) as busy, webhook(404) as no:
        sender = Sender(fail, SOON)
        sender.set_targets([Webhook(busy.url), Webhook(no.url)])
        sender.send(HELLO)
        until(lambda: busy.bodies and failed, "both are through")
        sender.stop()
    assert (busy.asked, no.asked) == (3, 1)
    assert len(failed) == 1
    assert failed[0].startswith(f"webhook {no.url}/…: it answered 404 at ")


def test_two_channels_of_one_host_have_different_names() -> None:
    """Only a name may appear, not the address, and one channel's success must not hide the other's failure."""
    outcomes: dict[str, str | None] = {}
    with webhook(404, 204) as hooks:
        sender = Sender(lambda place, why: outcomes.update({place: why}))
        for channel in ("one", "other"):
            sender.set_targets([*sender.targets, Webhook(f"{hooks.url}/{channel}")])
            sender.send(HELLO)
            until(lambda: outcomes, "the first one is through")
        sender.stop()
    assert sorted(outcomes) == [f"webhook {hooks.url}/…", f"webhook {hooks.url}/… (2)"]


def test_delivery_is_given_up_after_a_few_tries() -> None:
    failed, fail = failures()
    with webhook(500) as hooks:
        sender = Sender(fail, SOON)
        sender.set_targets([Webhook(hooks.url)])
        sender.send(HELLO)
        until(lambda: failed, "it is given up")
        sender.stop()
        assert hooks.asked == len(SOON) + 1


def test_hanging_target_does_not_delay_others(tmp_path: Path) -> None:
    _, fail = failures()
    with hanging() as slow:
        sender = Sender(fail)
        sender.set_targets([Webhook(slow), File("notices", str(tmp_path))])
        started = time.monotonic()
        for _ in range(50):
            sender.send(HELLO)
        assert time.monotonic() - started < 1
        until(lambda: len((tmp_path / "notices").read_text().splitlines()) == 50, "the others are notified", patience=2)
        sender.stop(0.0)


def test_undelivered_message_is_reported_at_the_end() -> None:
    failed, fail = failures()
    with hanging() as slow:
        sender = Sender(fail)
        sender.set_targets([Webhook(slow)])
        sender.send(HELLO)
        sender.stop(0.1)
        assert failed == [
            f"webhook {slow.removesuffix('/hangs')}/…: a message was still on its way when the daemon ended"
        ]


def test_flood_is_dropped_and_reported() -> None:
    failed, fail = failures()
    with hanging() as slow:
        sender = Sender(fail)
        sender.set_targets([Webhook(slow)])
        for _ in range(300):
            sender.send(HELLO)
        sender.stop(0.0)
    assert sum("too many messages wait" in each for each in failed) >= 50


def test_removed_target_gets_its_queue_and_its_thread_ends(tmp_path: Path) -> None:
    _, fail = failures()
    before = set(threading.enumerate())
    sender = Sender(fail)
    for number in range(30):
        sender.set_targets([File(f"notices-{number}", str(tmp_path))])
        sender.send(HELLO)
    until(lambda: len(list(tmp_path.iterdir())) == 30, "each was notified")
    until(lambda: since(before) == 1, "only the last one still has a thread")
    sender.stop()
    until(lambda: since(before) == 0, "and then none")


def test_target_that_returns_is_notified_again(tmp_path: Path) -> None:
    _, fail = failures()
    place = File("notices", str(tmp_path))
    sender = Sender(fail)
    for _ in range(2):
        sender.set_targets([place])
        sender.send(HELLO)
        sender.set_targets([])
        sender.send(HELLO)
    until(lambda: len((tmp_path / "notices").read_text().splitlines()) == 2, "it was notified twice")
    sender.stop()


def test_stop_does_not_wait_for_the_retry_pause() -> None:
    failed, fail = failures()
    sender = Sender(fail, (60.0,))
    sender.set_targets([Webhook(dead())])
    sender.send(HELLO)
    started = time.monotonic()
    sender.stop()
    assert time.monotonic() - started < 2
    assert "no connection (ConnectionRefusedError)" in failed[0]
