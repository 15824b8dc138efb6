"""`liza report`: the text, and the page as one file."""

import base64
import hashlib
import re
from pathlib import Path

from liza.web.page import SECTIONS
from tests.cli.run import Result, liza
from tests.web.site import Elements
from tests.web.test_page import outage


def tripped(folder: Path) -> Path:
    outage(folder, "payments", "payments")
    assert liza(folder, "analyze").code == 3
    return folder / ".liza" / "circuit_breaker_report.md"


def test_report_is_printed_as_it_is(folder: Path) -> None:
    assert liza(folder, "report", "--json").json["report"] is None
    report = tripped(folder)
    assert liza(folder, "report").out == report.read_text()
    report.write_text("a\x1b[2Jb\n")
    assert liza(folder, "report").out == "a\\x1b[2Jb\n"


def test_missing_report_on_an_open_trip_is_an_error(folder: Path) -> None:
    report = tripped(folder)
    text = report.read_text()
    report.unlink()
    for options in ([], ["--json"]):
        ran = liza(folder, "report", *options)
        assert (ran.code, "liza analyze" in ran.err + ran.out) == (1, True)
    assert liza(folder, "analyze").code == 3
    assert liza(folder, "report").out == text


def test_report_that_an_unreadable_blackboard_may_want(folder: Path) -> None:
    tripped(folder).unlink()
    (folder / ".liza/state.yaml").write_text("a: [\n")
    (folder / ".liza/CHECKPOINT").unlink()
    assert liza(folder, "report").code == 4


def test_saved_page_needs_no_other_file_and_runs_nothing(folder: Path) -> None:
    tripped(folder)
    assert liza(folder, "report", "--html", "page.html").code == 0
    text = (folder / "page.html").read_text()
    assert liza(folder, "report", "--html").out[:200] == text[:200]
    found = Elements(text)
    assert [each["id"] for each in found.all("section")] == list(SECTIONS)
    assert not [tag for tag, _ in found.tags if tag in ("script", "link", "form", "img", "iframe", "input")]
    assert not any(name in ("src", "srcset", "action") for _, attributes in found.tags for name in attributes)
    (policy,) = [each["content"] for each in found.all("meta") if "http-equiv" in each]
    style = re.search("<style>(.*)</style>", text, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert policy is not None
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'")
    assert "external_service_outage" in found.text


def test_page_that_cannot_be_written_is_refused(folder: Path) -> None:
    answer: Result = liza(folder, "report", "--html", "no/such/folder.html")
    assert answer.code == 1
    assert "no/such/folder.html" in answer.err
    assert liza(folder, "report", "--html", "a.html", "--json").code == 2
