"""The body that a webhook gets, and the handling of its answer."""

import socket
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.notify.message import Message, NotSent
from liza.notify.webhook import Webhook, is_webhook_url
from tests.daemon.served import dead, hanging, webhook

SECRET = "T0K3N-s3cr3t"
HELLO = Message(
    "tripped", "liza: tripped in team", "retry_cluster (ARCHITECTURE_FLAW)", "2025-01-18T14:32:00Z", "/team"
)
ODD = HELLO._replace(text="<!channel> <@U1> <http://evil|click> @everyone @here <@&5> [x](http://evil) *b* `c` & \\")


def refused(url: str) -> NotSent:
    """Why a message cannot be sent there."""
    with pytest.raises(NotSent) as error:
        Webhook(url).send(HELLO)
    return error.value


# --- forms ----------------------------------------------------------------------------------------------------------


def test_json_has_all_fields() -> None:
    with webhook() as hooks:
        Webhook(f"{hooks.url}/hook").send(HELLO)
    assert hooks.bodies == [HELLO._asdict()]
    assert hooks.headers[0]["Content-Type"] == "application/json"


def test_chat_message_is_one_line_with_the_title() -> None:
    with webhook() as hooks:
        Webhook(hooks.url, "slack").send(HELLO)
        Webhook(hooks.url, "discord").send(HELLO)
    slack, discord = hooks.bodies
    assert slack["text"] == "liza: tripped in team: retry_cluster (ARCHITECTURE_FLAW)"
    assert discord["content"] == r"liza\: tripped in team\: retry\_cluster \(ARCHITECTURE\_FLAW\)"


def test_agents_text_mentions_no_user_in_slack() -> None:
    body = Webhook("http://host", "slack").body(ODD)
    assert not {"<", ">"} & set(body["text"])
    assert "&lt;!channel&gt;" in body["text"]
    assert "&amp; \\" in body["text"]
    assert (body["mrkdwn"], body["link_names"], body["unfurl_links"]) == (False, False, False)


def test_agents_text_mentions_no_user_in_discord() -> None:
    body = Webhook("http://host", "discord").body(ODD)
    assert body["allowed_mentions"] == {"parse": []}
    assert r"\@everyone" in body["content"]
    assert r"\[x\]\(http\://evil\)" in body["content"]


@given(st.text(alphabet=st.sampled_from("ab\\`*_@<>[]()"), min_size=0, max_size=5000))
def test_long_discord_text_is_cut_without_splitting_an_escape(text: str) -> None:
    content = Webhook("http://host", "discord").body(HELLO._replace(text=text))["content"]
    assert len(content) <= 2000
    plain = content.replace("\\\\", "").removesuffix("…")
    assert not plain.endswith("\\")


def test_credentials_in_the_address_become_a_header() -> None:
    with webhook() as hooks:
        host = hooks.url.removeprefix("http://")
        Webhook(f"http://ann:p%40ss@{host}/hook").send(HELLO)
    assert hooks.headers[0]["Authorization"] == "Basic YW5uOnBAc3M="
    assert hooks.paths == ["/hook"]


def test_ntfy_message_has_its_topic_reason_command_and_dashboard() -> None:
    message = HELLO._replace(text="reason\nrun: liza resolve", dashboard="http://127.0.0.1:8642/")
    with webhook() as hooks:
        host = hooks.url.removeprefix("http://")
        Webhook(f"http://:tk_{SECRET}@{host}/push/team-7?x=1", "ntfy").send(message)
        Webhook(f"{hooks.url}/team-7", "ntfy").send(HELLO._replace(kind="resolved", text="é" * 5000))
    first, second = hooks.bodies
    assert (hooks.paths, hooks.headers[0]["Authorization"]) == (["/push/?x=1", "/"], f"Basic {encoded(SECRET)}")
    assert first == {"topic": "team-7", "title": HELLO.title, "message": message.text, "priority": 5,
                     "click": "http://127.0.0.1:8642/"}  # fmt: skip
    assert (second["priority"], len(second["message"].encode()) <= 4096) == (3, True)


def encoded(token: str) -> str:
    return b64encode(f":tk_{token}".encode()).decode()


# --- answers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504, 400, 401, 403, 404, 410])
def test_only_temporary_errors_are_retried(code: int) -> None:
    with webhook(code) as hooks:
        error = refused(hooks.url)
    assert (error.why, error.retry) == (f"it answered {code}", code == 429 or code >= 500)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_redirect_is_not_followed_and_not_taken_for_sent(code: int) -> None:
    with webhook() as other, webhook(code, location=other.url) as hooks:
        error = refused(hooks.url)
    assert error.why == f"it answered {code}"
    assert other.asked == 0


def test_refused_connection_is_retried() -> None:
    error = refused(dead())
    assert (error.why, error.retry) == ("no connection (ConnectionRefusedError)", True)


def test_unknown_host_is_reported_without_its_address() -> None:
    error = refused(f"http://no-such-host.invalid/{SECRET}")
    assert (error.why, error.retry) == ("no connection (gaierror)", True)


def test_target_without_tls_gets_no_connection() -> None:
    with webhook() as hooks:
        error = refused(f"{hooks.url.replace('http', 'https')}/{SECRET}")
    assert error.retry
    assert error.why in ("no connection (SSLError)", "no connection (ConnectionResetError)")
    assert hooks.bodies == []


def test_missing_answer_is_not_retried_because_it_may_have_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("liza.notify.webhook.TIMEOUT", 0.2)
    with hanging() as url:
        error = refused(url)
    assert (error.why, error.retry) == ("no answer (TimeoutError), so it may have arrived", False)


def test_cut_connection_is_not_retried_because_it_may_have_arrived() -> None:
    with cutting() as url:
        error = refused(url)
    assert error.why.startswith("no answer (")
    assert not error.retry


@contextmanager
def cutting() -> Iterator[str]:
    """An address that reads what is sent and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def hang_up() -> None:
            connection, _ = listening.accept()
            connection.recv(1 << 16)
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/{SECRET}"
        thread.join()


# --- addresses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "http://h", "https://hooks.example.com/services/T/B/x", "http://[::1]:8080/x", "http://a:b@h:1/?k=v#f",
    ],
)  # fmt: skip
def test_valid_addresses(url: str) -> None:
    assert is_webhook_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "", "h", "ftp://h/", "file:///etc/passwd", "http://", "http:///x", "http://[x", "http://h:99999/", "http://h:x/",
        "http://h/a b", "http://h/\n", "http://h/ü", None, 5, ["http://h"], {"url": "http://h"}, "http://h:0/",
    ],
    ids=repr,
)  # fmt: skip
def test_invalid_addresses(url: object) -> None:
    assert not is_webhook_url(url)


@given(st.text())
def test_name_of_an_address_hides_its_secrets(text: str) -> None:
    url = f"https://{SECRET}@host/{SECRET}?{text}"
    if is_webhook_url(url):
        assert Webhook(url).name == "webhook https://host/…"
