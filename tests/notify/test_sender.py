"""Messages in the background: in order, again where that can help, and no thread for a place that is gone."""

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
    """How many threads there are that were not there before."""
    return len(set(threading.enumerate()) - before)


def failures() -> tuple[list[str], Callable[[str, str | None], None]]:
    failed: list[str] = []
    return failed, lambda place, why: failed.append(f"{place}: {why}") if why is not None else None


def test_messages_arrive_in_their_order() -> None:
    failed, fail = failures()
    with webhook() as hooks:
        sender = Sender(fail)
        sender.set_targets([Webhook(hooks.url)])
        for number in range(20):
            sender.send(HELLO._replace(text=str(number)))
        sender.stop()
    assert [body["text"] for body in hooks.bodies] == [str(number) for number in range(20)]
    assert failed == []


def test_a_place_that_is_busy_is_asked_again_and_one_that_says_no_is_not() -> None:
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


def test_two_channels_of_one_host_are_told_apart() -> None:
    """Only a name may be told of an address, and the success of one must not hide what is wrong with the other."""
    outcomes: dict[str, str | None] = {}
    with webhook(404, 204) as hooks:
        sender = Sender(lambda place, why: outcomes.update({place: why}))
        for channel in ("one", "other"):
            sender.set_targets([*sender.targets, Webhook(f"{hooks.url}/{channel}")])
            sender.send(HELLO)
            until(lambda: outcomes, "the first one is through")
        sender.stop()
    assert sorted(outcomes) == [f"webhook {hooks.url}/…", f"webhook {hooks.url}/… (2)"]


def test_it_is_given_up_after_a_few_tries() -> None:
    failed, fail = failures()
    with webhook(500) as hooks:
        sender = Sender(fail, SOON)
        sender.set_targets([Webhook(hooks.url)])
        sender.send(HELLO)
        until(lambda: failed, "it is given up")
        sender.stop()
        assert hooks.asked == len(SOON) + 1


def test_one_place_that_hangs_does_not_keep_others_waiting(tmp_path: Path) -> None:
    _, fail = failures()
    with hanging() as slow:
        sender = Sender(fail)
        sender.set_targets([Webhook(slow), File("told", str(tmp_path))])
        started = time.monotonic()
        for _ in range(50):
            sender.send(HELLO)
        assert time.monotonic() - started < 1
        until(lambda: len((tmp_path / "told").read_text().splitlines()) == 50, "the others are told", patience=2)
        sender.stop(0.0)


def test_what_is_still_on_its_way_at_the_end_is_said() -> None:
    failed, fail = failures()
    with hanging() as slow:
        sender = Sender(fail)
        sender.set_targets([Webhook(slow)])
        sender.send(HELLO)
        sender.stop(0.1)
        assert failed == [
            f"webhook {slow.removesuffix('/hangs')}/…: a message was still on its way when the daemon ended"
        ]


def test_a_flood_is_dropped_and_said() -> None:
    failed, fail = failures()
    with hanging() as slow:
        sender = Sender(fail)
        sender.set_targets([Webhook(slow)])
        for _ in range(300):
            sender.send(HELLO)
        sender.stop(0.0)
    assert sum("too many messages wait" in each for each in failed) >= 50


def test_a_place_that_is_no_longer_named_gets_what_waits_and_its_thread_ends(tmp_path: Path) -> None:
    _, fail = failures()
    before = set(threading.enumerate())
    sender = Sender(fail)
    for number in range(30):
        sender.set_targets([File(f"told-{number}", str(tmp_path))])
        sender.send(HELLO)
    until(lambda: len(list(tmp_path.iterdir())) == 30, "each was told")
    until(lambda: since(before) == 1, "only the last one still has a thread")
    sender.stop()
    until(lambda: since(before) == 0, "and then none")


def test_a_place_that_comes_back_is_told_again(tmp_path: Path) -> None:
    _, fail = failures()
    place = File("told", str(tmp_path))
    sender = Sender(fail)
    for _ in range(2):
        sender.set_targets([place])
        sender.send(HELLO)
        sender.set_targets([])
        sender.send(HELLO)
    until(lambda: len((tmp_path / "told").read_text().splitlines()) == 2, "it was told twice")
    sender.stop()


def test_an_end_in_the_middle_of_a_pause_is_no_reason_to_wait() -> None:
    failed, fail = failures()
    sender = Sender(fail, (60.0,))
    sender.set_targets([Webhook(dead())])
    sender.send(HELLO)
    started = time.monotonic()
    sender.stop()
    assert time.monotonic() - started < 2
    assert "no connection (ConnectionRefusedError)" in failed[0]
