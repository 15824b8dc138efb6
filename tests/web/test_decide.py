"""A decision on the page is the command that it shows, and needs what only the person at the terminal has."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from liza.store.paths import find
from liza.web.access import Access
from liza.web.app import make_app
from liza.web.decide import Desk
from liza.web.decisions import DECISIONS, command_line
from tests.cli.run import environment, liza
from tests.web.site import ADDRESS, PORT


class Seat:
    """A browser that is let in, and the terminal of the server."""

    def __init__(self, folder: Path, terminal: int | None) -> None:
        paths, self.access = find(str(folder)), Access("127.0.0.1", PORT)
        self.codes: list[str] = []
        app = make_app(paths, self.access, Desk(paths, terminal, self.codes.append))
        self.client = TestClient(app, base_url=ADDRESS, follow_redirects=False)
        self.client.get("/", params={"token": self.access.token})

    def post(self, origin: str = ADDRESS, **fields: str) -> tuple[int, dict[str, object]]:
        """The status, and the answer as our script gets it."""
        known = {"form_token": self.access.form_token, "code": self.codes[-1] if self.codes else ""}
        headers = {"Origin": origin, "Accept": "application/json"}
        answer = self.client.post("/decide", data={**known, **fields}, headers=headers)
        is_json = answer.headers["content-type"] == "application/json"
        return answer.status_code, answer.json() if is_json else {}


@pytest.fixture
def seat(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Seat]:
    """With an open trip."""
    for name in os.environ.keys() - environment(folder).keys():
        monkeypatch.delenv(name)
    for name, value in environment(folder).items():
        monkeypatch.setenv(name, value)
    trip(folder)
    ours, theirs = os.openpty()
    yield Seat(folder, theirs)
    os.close(ours)
    os.close(theirs)


def trip(folder: Path) -> None:
    assert liza(folder, "trip", "-m", "the schema is wrong", "--severity", "SPEC_FLAW").code == 3


def status(folder: Path) -> str:
    return str(liza(folder, "status", "--json").json["status"])


def test_resolve_is_recorded_as_the_persons_own(folder: Path, seat: Seat) -> None:
    text = 'it\'s decided: "$(touch x)" `id`\r\n-- see ADR-3'
    code, answer = seat.post(decision="resolve", message=text, cause="SPEC_FLAW", by="alice")
    assert (code, answer["done"]) == (200, True), answer
    (entry,) = liza(folder, "status", "--json").json["history"]
    assert (entry["resolution"], entry["resolved_by"], entry["cause"]) == (text.replace("\r", ""), "alice", "SPEC_FLAW")
    assert "without_terminal" not in entry
    assert not (folder / ".liza" / "CHECKPOINT").exists()
    assert not (folder / "x").exists()
    assert str(answer["command"]).startswith("liza resolve -m ")
    assert "agents may continue" in seat.client.get("/").text


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"code": ""}, 403),
        ({"code": "000000000"}, 403),
        ({"form_token": ""}, 403),
        ({"form_token": "x"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"message": "  "}, 400),
        ({"message": "nul \0"}, 400),
        ({"cause": "nobody"}, 400),
        ({"decision": "session_resume", "subject": "nul \0"}, 400),
        ({"decision": "rm"}, 400),
        ({"message": "x" * 70_000}, 400),
    ],
    ids=repr,
)
def test_what_is_not_in_order_changes_nothing(folder: Path, seat: Seat, fields: dict[str, str], code: int) -> None:
    assert seat.post(**{"decision": "resolve", "message": "decided", **fields})[0] == code
    assert status(folder) == "triggered"


def test_code_is_replaced_before_it_can_be_guessed(folder: Path, seat: Seat) -> None:
    (first,) = seat.codes
    wrong = f"{(int(first) + 1) % 10**6:06}"
    assert {seat.post(decision="resolve", message="m", code=wrong)[0] for _ in range(5)} == {403}
    assert len(seat.codes) == 2
    assert seat.post(decision="resolve", message="m", code=first)[0] == 403
    assert "wrong codes" in (folder / ".liza" / "alerts.log").read_text()
    assert seat.post(decision="resolve", message="m", code=" ".join(seat.codes[-1]))[0] == 200
    assert status(folder) == "ok"


def test_attempts_are_limited(folder: Path, seat: Seat) -> None:
    for _ in range(30):
        seat.post(decision="resolve", message="m", code="x")
    assert seat.post(decision="resolve", message="m")[0] == 403  # even with the right one
    assert status(folder) == "triggered"


def test_without_a_terminal_the_page_is_read_only(folder: Path) -> None:
    trip(folder)
    seat = Seat(folder, None)
    assert "<form" not in seat.client.get("/").text
    assert seat.post(decision="resolve", message="m", code="")[0] == 403
    assert status(folder) == "triggered"


def test_refusal_of_the_command_is_shown(folder: Path, seat: Seat) -> None:
    code, answer = seat.post(decision="session_resume", subject="nobody", message="m")
    assert (code, answer["done"]) == (200, False)
    assert "unknown session" in str(answer["output"])


def test_form_works_without_our_script(folder: Path, seat: Seat) -> None:
    page = seat.client.get("/").text
    assert re.search('<form [^>]*method="post" action="/decide"', page)
    fields = {"form_token": seat.access.form_token, "code": seat.codes[-1], "decision": "resolve", "message": "m"}
    answer = seat.client.post("/decide", data=fields, headers={"Origin": ADDRESS})
    assert (answer.status_code, answer.headers["location"]) == (303, "/#outcomes")


@pytest.mark.parametrize("name", DECISIONS)
def test_every_command_is_understood_by_liza(folder: Path, name: str) -> None:
    """Whatever a session or a claim is called, its name is never taken for an option."""
    decision = DECISIONS[name]
    values = {each.name: each.choices[0] if each.choices else each.example or "text" for each in decision.fields}
    for subject in ("name", "-m", "--help", "--", "a b") if decision.about else ("",):
        words = decision.arguments(subject, values | ({"match": "task=x"} if name == "silence" else {}))
        answer = liza(folder, *words)
        assert answer.code in (0, 1, 3), (command_line(words), answer)
        assert not answer.out.startswith("Usage")
        assert subject in answer.out + answer.err
