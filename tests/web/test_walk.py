"""Any request at all: never an error of ours, and nothing is written without everything that a decision needs."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from liza.web.access import HEADERS
from tests.cli.run import environment, liza, new_board
from tests.web.site import ADDRESS
from tests.web.test_decide import Seat

PATHS = (
    "/", "/status.json", "/events", "/decide", "/page.css", "/page.js", "/metrics", "/../../etc/passwd", "/%00", "//",
)  # fmt: skip
_odd = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20)
_wrong = st.sampled_from(["", "wrong"])
# What can be wrong with a request that is right in everything else.
WRONG: dict[str, st.SearchStrategy[Any]] = {
    "method": st.sampled_from(["GET", "HEAD", "PUT", "DELETE", "OPTIONS"]),
    "path": st.sampled_from(PATHS) | st.from_regex(r"\A/[a-z0-9%./?=&]{0,30}\Z"),
    "cookie": _wrong,
    "host": st.sampled_from(["evil.example", "", "[::", "127.0.0.1.evil.example"]) | _odd,
    "origin": st.sampled_from(["", "null", "http://evil.example", "https://127.0.0.1"]) | _odd,
    "kind": st.sampled_from(["text/plain", "application/json", ""]),
    "raw": st.binary(max_size=200),
    "form_token": _wrong,
    "code": _wrong | st.text(max_size=10),
    "decision": st.sampled_from(["", "rm", "session_resume", "silence_expire"]),
    "message": st.just("  "),
    "cause": st.text(min_size=1, max_size=10).filter(str.strip),
}
RIGHT = {
    "method": "POST", "path": "/decide", "host": "127.0.0.1", "origin": "http://127.0.0.1", "raw": None,
    "kind": "application/x-www-form-urlencoded", "decision": "resolve", "message": "decided", "cause": "",
}  # fmt: skip


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """The parts of a request that are not as they should be, and other words in it."""
    names = draw(st.lists(st.sampled_from(sorted(WRONG)), max_size=2, unique=True))
    return {name: draw(WRONG[name]) for name in names}


@pytest.fixture(scope="module")
def terminal() -> Iterator[int]:
    ours, theirs = os.openpty()
    yield theirs
    os.close(ours)
    os.close(theirs)


@pytest.fixture(autouse=True)
def person(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The environment of a shell, which the commands inherit."""
    for name in os.environ.keys() - environment(tmp_path).keys() - {"HYPOTHESIS_PROFILE"}:
        monkeypatch.delenv(name)


@pytest.mark.slow
@settings(max_examples=200)
@given(wrong=requests(), subject=st.text(max_size=30), by=st.text(max_size=10))
def test_any_request(terminal: int, wrong: dict[str, Any], subject: str, by: str) -> None:
    if str(wrong.get("path")).startswith("/events"):
        wrong["path"] = "/"  # events never end
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "b"
        state = new_board(folder)
        assert liza(folder, "trip", "-m", "x").code == 3
        before = state.read_bytes()
        seat = Seat(folder, terminal)
        known = {"cookie": seat.access.cookie, "form_token": seat.access.form_token, "code": seat.codes[-1]}
        part = {**RIGHT, **known, **wrong}
        seat.client.cookies.clear()
        headers = {"Host": part["host"], "Origin": part["origin"], "Content-Type": part["kind"]}
        headers["Cookie"] = f"{seat.access.cookie_name}={part['cookie']}"
        fields = {name: part[name] for name in ("decision", "form_token", "code", "message", "cause")}
        body: dict[str, Any] = {"content": part["raw"]} if part["raw"] is not None else {
            "data": {**fields, "subject": subject, "by": by}
        }  # fmt: skip
        answer = seat.client.request(part["method"], ADDRESS + part["path"], headers=headers, **body)
        note(f"{answer.status_code} {answer.text[:300]}")
        assert answer.status_code < 500
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        was_right = all(part[name] == {**RIGHT, **known}[name] for name in wrong) and "\0" not in by
        assert (state.read_bytes() != before) == was_right
