"""Who is let in: only with the token of this start, only at our own address."""

from pathlib import Path

import pytest

from liza.web.access import HEADERS, Access
from tests.web.site import ADDRESS, stranger, visitor

EVERY = ["/", "/status.json", "/page.js", "/nothing"]


def cookie(access: Access, value: str) -> dict[str, str]:
    return {"Cookie": f"{access.cookie_name}={value}"}


@pytest.mark.parametrize("path", EVERY)
def test_nothing_is_shown_without_the_token(folder: Path, path: str) -> None:
    client, access = stranger(folder)
    assert client.get(path).status_code == 403
    assert client.get(path, params={"token": access.token[:-1]}).status_code == 403
    assert client.get(path, headers=cookie(access, access.token)).status_code == 403
    assert client.get(path, headers={"Authorization": f"Bearer {access.cookie}"}).status_code == 403


def test_first_address_sets_a_cookie_and_loses_the_token(folder: Path) -> None:
    client, access = stranger(folder)
    answer = client.get("/", params={"token": access.token})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    attributes = answer.headers["set-cookie"].lower()
    assert "httponly" in attributes
    assert "samesite=lax" in attributes
    assert access.token not in answer.headers["set-cookie"]
    page = client.get("/")
    assert page.status_code == 200
    assert access.token not in page.text
    assert access.cookie not in page.text


def test_programs_may_send_the_token_as_bearer(folder: Path) -> None:
    client, access = stranger(folder)
    answer = client.get("/status.json", headers={"Authorization": f"Bearer {access.token}"})
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")


def test_one_time_token_opens_once(folder: Path) -> None:
    client, access = stranger(folder)
    token = access.one_time_token()
    assert [client.get("/", params={"token": token}).status_code for _ in range(2)] == [303, 403]


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8642", "", "127.0.0.1.evil.example", "10.0.0.7", "[::", "[::ffff:1.2.3.4]"]
)
def test_other_names_are_refused(folder: Path, host: str) -> None:
    """A site may have its own name lead to 127.0.0.1, and its page is then of the same origin."""
    client = visitor(folder)
    assert client.get("/", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1:9", "localhost", "LOCALHOST:8642", "[::1]:8642"])
def test_own_names_are_accepted(folder: Path, host: str) -> None:
    """The port may be another one: that of a tunnel."""
    assert visitor(folder).get("/", headers={"Host": host}).status_code == 200


def test_host_option_adds_its_own_name_alone() -> None:
    everywhere, one = Access("0.0.0.0", 1), Access("192.168.1.5", 1)
    assert everywhere.is_own_host("192.168.1.5:1")
    assert not everywhere.is_own_host("evil.example")
    assert one.is_own_host("192.168.1.5:1")
    assert not one.is_own_host("192.168.1.6:1")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://127.0.0.1:9"},
    ],
)
def test_cross_site_post_is_refused(folder: Path, headers: dict[str, str]) -> None:
    client = visitor(folder)
    assert client.post("/", headers=headers).status_code == 403
    assert client.post("/", headers={"Origin": ADDRESS}).status_code == 405


def test_guesses_are_limited_without_holding_up_those_who_are_in(folder: Path) -> None:
    client, access = stranger(folder)
    codes = [client.get("/", params={"token": "guess"}).status_code for _ in range(40)]
    assert set(codes) == {403, 429}
    assert client.get("/", headers=cookie(access, access.cookie)).status_code == 200


@pytest.mark.parametrize("path", [*EVERY, "/page.css"])
def test_every_answer_has_the_same_guarding_headers(folder: Path, path: str) -> None:
    client, _ = stranger(folder)
    for answer in (client.get(path), visitor(folder).get(path), client.get(path, headers={"Host": "evil.example"})):
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
