"""The page in Chromium: what a person sees and does there. Few tests, because each starts programs."""

import itertools
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.cli.run import environment, liza, new_board
from tests.clients import hook
from tests.served import server
from tests.web.browser import CONTRAST, NAMELESS, TWICE, WIDER, browser, is_live, window
from tests.web.serving import Serving
from tests.web.test_page import HOSTILE, outage


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as found:
        yield found


@contextmanager
def daemon(folder: Path) -> Iterator[int]:
    """A daemon in the foreground; its process."""
    out = folder.parent / "watch.out"
    started = server().start(["watch", "--interval", "0.1"], folder, environment(folder), out, out)
    try:
        yield started.pid
    finally:
        started.send_signal(signal.SIGTERM)
        started.wait()


def says(page: Page, selector: str, text: str) -> None:
    page.locator(selector, has_text=text).first.wait_for()


def test_night_on_the_page(folder: Path, chromium: Browser) -> None:
    """A session appears, the breaker trips, a person reads why and decides, and the agents continue."""
    with (
        daemon(folder),
        Serving(folder) as serving,
        window(chromium, serving.address) as page,
        window(chromium, serving.address) as other,
    ):
        is_live(page)
        is_live(other)
        says(page, ".banner.ok", "OK")
        assert "token" not in page.url
        hook.run(folder, "after", hook.failing("call-1"))
        says(page, "#sessions tr.running", hook.SESSION[:8])
        says(page, "#sessions tr.about", "pytest -q")
        assert page.locator("#sessions svg.strip path.failed").count() == 1
        page.locator("#more-decisions > summary").click()
        page.get_by_label("Why").or_(page.get_by_label("Reason")).first.fill("a reason that is not finished")
        outage(folder, "payments", "payments")
        for each in (page, other):
            says(each, ".banner.triggered", "external_service_outage")
            says(each, "article.report", "payments")
        form = page.locator("#open-trip form")
        form.get_by_label("Decision").fill("orders are queued")
        form.get_by_label("Name").fill("alice")
        form.get_by_label("Code").fill(serving.code_for_decisions)
        form.get_by_role("button", name="Resolve").press("Enter")
        for each in (page, other):
            says(each, ".banner.ok", "OK")
            says(each, "#history li", "orders are queued")
            says(each, "#outcomes + ul", "liza resolve -m 'orders are queued' --by alice")
        assert not (folder / ".liza" / "CHECKPOINT").exists()


def test_trouble_is_shown_while_it_lasts(folder: Path, chromium: Browser) -> None:
    """The daemon dies and comes back, the blackboard cannot be read and is repaired, and the server itself ends."""
    state = folder / ".liza" / "state.yaml"
    with (
        Serving(folder, "--read-only") as serving,
        window(chromium, serving.address, tolerated="net::ERR_") as page,
    ):
        with daemon(folder) as process:
            says(page, "#health dd .state.running", "running")
            os.kill(process, signal.SIGKILL)
            says(page, "#health dd .state.stopped", "gone")
        with daemon(folder):
            says(page, "#health dd .state.running", "running")
        whole = state.read_text()
        state.write_text("anomalies: [\n")
        says(page, ".banner.degraded", "state.yaml")
        state.write_text(whole)
        says(page, ".banner.ok", "OK")
        assert page.locator("form").count() == 0
        serving.process.send_signal(signal.SIGTERM)
        says(page, "#fresh.lost", "not live")
        assert serving.code() == 0


def test_hostile_texts_stay_texts(folder: Path, chromium: Browser) -> None:
    """In a page that is loaded, and in what arrives live. Who has no token sees nothing of it."""
    with (
        Serving(folder) as serving,
        window(chromium, serving.base, tolerated="403") as stranger,
        window(chromium, serving.address) as page,
    ):
        says(stranger, "main", "Open the address that liza serve has printed")
        stranger.goto(f"{serving.base}?token=guess")
        assert stranger.context.cookies() == []
        is_live(page)
        anomaly = {"timestamp": "2025-01-01T00:00:00Z", "type": "external_blocker", "reporter": HOSTILE}
        anomalies = [{**anomaly, "task": f"{HOSTILE}{n}", "details": {"blocker_service": HOSTILE}} for n in (1, 2)]
        sessions = {HOSTILE: {"status": "STOPPED", "name": HOSTILE, "current_trip": {"reason": HOSTILE}}}
        text = f"anomalies: {json.dumps(anomalies)}\nsessions: {json.dumps(sessions)}\n"
        (folder / ".liza" / "state.yaml").write_text(text)
        (folder / ".liza" / "circuit_breaker_report.md").write_text(HOSTILE)
        assert liza(folder, "analyze").code == 3
        says(page, ".banner.triggered", "external_service_outage")
        for _ in range(2):
            says(page, "#decisions .card", "<script>alert(1)</script>")
            assert page.locator("main script, main img, main a:not([href^='#'])").count() == 0
            page.reload()


def test_everyone_can_use_it(tmp_path: Path, chromium: Browser) -> None:
    """With weak sight, without sight, with a keyboard, on a phone, in the dark, and without JavaScript."""
    board = tmp_path / "b"
    stopped = {"status": "STOPPED", "client": "claude", "name": "coder-1", "current_trip": {"reason": "stuck"}}
    silence = {"id": "s-1", "rule": "spec_gap_cluster", "match": {"task": "x"}, "reason": "known", "by": "bob"}
    times = {"created": "2025-01-01T00:00:00Z", "until": "2025-01-01T10:00:00Z"}
    state = {"version": 1, "sessions": {"a1": stopped}, "silences": [{**silence, **times}], "anomalies": []}
    new_board(board, "".join(f"{name}: {json.dumps(value)}\n" for name, value in state.items()))
    outage(board, "payments", "payments")
    assert liza(board, "analyze").code == 3
    with Serving(board) as serving:
        with window(chromium, serving.address, viewport={"width": 1280, "height": 800}) as page:
            is_live(page)
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.className") == "skip"
            page.locator("#pattern-6 > summary").focus()
            page.keyboard.press("Enter")
            page.locator("#pattern-6 table.evidence").wait_for()
            page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
            assert [page.evaluate(each) for each in (NAMELESS, TWICE)] == [[], []]
            for is_dark, width in itertools.product((False, True), (1280, 390)):
                page.emulate_media(color_scheme="dark" if is_dark else "light")
                page.set_viewport_size({"width": width, "height": 800})
                assert (page.evaluate(CONTRAST), page.evaluate(WIDER)) == ([], 0), (is_dark, width)
        with window(chromium, serving.address, java_script_enabled=False) as page:
            says(page, ".banner.triggered", "external_service_outage")
            form = page.locator("#open-trip form")
            form.get_by_label("Decision").fill("decided without a script")
            form.get_by_label("Code").fill(serving.code_for_decisions)
            form.get_by_role("button", name="Resolve").click()
            says(page, "#outcomes + ul", "decided without a script")
            says(page, ".banner.ok", "OK")
