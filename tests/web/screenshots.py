"""Draw docs/page-light.png and docs/page-dark.png, from a real run: `make screenshots`.

Five agents work through the real hook script beside a real daemon. One of them repeats a failing call until it is
stopped; two report the same outage, so the breaker trips; and `liza serve` shows it to Chromium.
"""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

from liza.store.session_halt import STOP, list_session_halts
from tests.cli.run import environment, liza
from tests.clients import hook
from tests.clients.transcripts import ClaudeWriter, Clock, append, place
from tests.daemon.daemon import until
from tests.docs.pages import ROOT
from tests.served import server
from tests.web.browser import browser, is_live, window
from tests.web.serving import Serving

SIZE = (1280, 1180)
TASKS = {"importer": "task-3", "exporter": "task-4", "mailer": "task-5", "invoices": "task-6", "reviewer": "task-7"}
_CALLS = (
    ("Read", {"file_path": "specs/orders.md"}), ("Grep", {"pattern": "def import_"}),
    ("Edit", {"file_path": "shop/orders.py"}), ("Bash", {"command": "pytest -q tests/test_orders.py"}),
    ("Edit", {"file_path": "shop/payments.py"}), ("Bash", {"command": "ruff check shop"}),
)  # fmt: skip
# What each agent does, one letter a call: fine, or failed.
_DAYS = {
    "importer": "ooofoooooofooooofoooooooo", "exporter": "ooooooooofooo", "mailer": "oofoooooofofoooooooofoooo",
    "invoices": "oooofooooooofffffff", "reviewer": "oooooooooooooooooo",
}  # fmt: skip


@contextmanager
def team(folder: Path) -> Iterator[None]:
    """A project with a daemon, where agents have worked for a while."""
    folder.mkdir()
    assert liza(folder, "init", "--goal", "Orders are imported and paid").code == 0
    out = folder.parent / "watch.out"
    watching = server().start(["watch", "--interval", "0.2"], folder, environment(folder), out, out)
    try:
        writers = {name: ClaudeWriter(folder, f"{number:08x}-aaaa", clock=Clock(None)) for number, name in _sessions()}
        for name, made in writers.items():
            append(place(folder, made), made.begin())
            hook.run(folder, "start", hook.event("SessionStart", made.session), LIZA_AGENT=name, LIZA_TASK=TASKS[name])
        for place_, letters in enumerate(zip_longest(*_DAYS.values())):
            for (name, made), letter in zip(writers.items(), letters, strict=True):
                until(lambda: not hook.spooled(folder), "the daemon has read them all")
                if letter is not None and not (stopped(folder) and name == "invoices"):
                    _call(folder, name, made, place_, letter == "f")
        yield
    finally:
        watching.send_signal(signal.SIGTERM)
        watching.wait()


def stopped(folder: Path) -> bool:
    """Whether the agent that fails was stopped: its next call would be held."""
    return any(halt.action == STOP for halt in list_session_halts(str(folder / ".liza" / "stopped")))


def _sessions() -> Iterator[tuple[int, str]]:
    yield from zip((0x3F2A91C4, 0x81D07E55, 0xC4B6022E, 0x5E9913A7, 0xA7704BD1), TASKS, strict=True)


def _call(folder: Path, name: str, made: ClaudeWriter, number: int, fails: bool) -> None:
    tool, given = _CALLS[(number * 5 + len(name)) % len(_CALLS)] if not fails else _CALLS[3]
    about = {"tool_name": tool, "tool_input": given, "tool_use_id": f"{name}-{number}"}
    error = "Exit code 1\nE   TimeoutError: payments did not answer within 30 s\n1 failed in 31.2s"
    fields = {**about, "error": error} if fails else {**about, "tool_response": f"ok {number}"}
    kind = "PostToolUseFailure" if fails else "PostToolUse"
    hook.run(folder, "after", hook.event(kind, made.session, **fields), LIZA_AGENT=name, LIZA_TASK=TASKS[name])
    answer = made.answer({"type": "text", "text": "…"}, tokens=9_000 + 3_100 * (number % 7))
    answer["message"]["model"] = "claude-opus-4-8"  # of which liza knows a price
    append(place(folder, made), [answer])


def report(folder: Path, task: str, agent: str) -> None:
    words = ("--type", "external_blocker", "--task", task, "--reporter", agent, "blocker_service=payments")
    assert liza(folder, "log", "anomaly", *words).code in (0, 3)


def main(target: Path) -> None:
    with (
        TemporaryDirectory() as place_,
        team(Path(place_) / "shop"),
        Serving(Path(place_) / "shop") as serving,
        browser() as chromium,
    ):
        folder, size = Path(place_) / "shop", {"width": SIZE[0], "height": SIZE[1]}
        with window(chromium, serving.address, viewport=size) as page:
            is_live(page)
            page.locator("#decisions .card", has_text="invoices").wait_for()
            report(folder, "task-3", "importer")
            report(folder, "task-5", "mailer")
            page.locator(".banner.triggered").wait_for()
            page.locator("article.report").wait_for()
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
                page.screenshot(path=target / f"page-{scheme}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs")
