"""A real browser, and pages that fail a test when something in them goes wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from shutil import which
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tests.tools import needs

ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage")
PATIENCE = 20_000.0  # milliseconds; only a failing test waits this long


@contextmanager
def browser() -> Iterator[Browser]:
    needs("chromium")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=which("chromium"), args=list(ARGUMENTS))
        yield found
        found.close()


@contextmanager
def window(found: Browser, address: str, *, tolerated: str = "\0", **options: Any) -> Iterator[Page]:
    """A window of its own, without the cookies of others; what its console reports is an error, unless `tolerated`."""
    context = found.new_context(**options)
    context.set_default_timeout(PATIENCE)
    page, faults = context.new_page(), list[str]()
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("dialog", lambda dialog: faults.append(f"a dialog: {dialog.message}"))
    page.on("request", lambda request: None if request.url.startswith(origin(address)) else faults.append(request.url))
    page.goto(address)
    yield page
    context.close()
    assert [each for each in faults if tolerated not in each] == []


def origin(address: str) -> str:
    return "/".join(address.split("/")[:3]) + "/"


def is_live(page: Page) -> None:
    page.wait_for_selector("#fresh:has-text('live'):not(.lost)")


# What a person with weak sight needs: the contrast of each text with what is behind it, by the formula of WCAG 2.
CONTRAST = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const linear = (each) => (each /= 255) <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const color = parse(getComputedStyle(node).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const node of document.querySelectorAll("body *")) {
    const text = [...node.childNodes].filter((each) => each.nodeType === 3).map((each) => each.data.trim()).join("");
    if (!text || !node.checkVisibility() || node.closest("svg")) continue;
    const [one, other] = [light(parse(getComputedStyle(node).color)), light(ground(node))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) poor.push(`${ratio.toFixed(2)} ${node.className} ${text.slice(0, 40)}`);
  }
  return poor;
}"""
# And one who hears the page: every input has a label, every picture a name, every table a caption.
NAMELESS = """() => [
  ...[...document.querySelectorAll("input:not([type=hidden]), select, textarea")].filter((each) => !each.labels.length),
  ...[...document.querySelectorAll("svg:not([aria-hidden])")].filter((each) => !each.getAttribute("aria-label")),
  ...[...document.querySelectorAll("table")].filter((each) => !each.caption && !each.closest(".report")),
  ...[...document.querySelectorAll("button, summary")].filter((each) => !each.textContent.trim()),
].map((each) => each.outerHTML.slice(0, 200))"""
TWICE = """() => {
  const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
  return ids.filter((each, place) => ids.indexOf(each) !== place);
}"""
WIDER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
