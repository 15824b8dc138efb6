"""Secrets in what a client reports."""

import pytest

from liza.clients.secrets import MASK, mask


@pytest.mark.parametrize(
    "text",
    [
        "export API_KEY={} && run",
        "curl -H 'Authorization: Bearer {}'",
        '{{"OPENAI_API_KEY": "{}"}}',
        "git clone https://me:{}@example.org/x",
        "DB_PASSWORD: {}",
        "aws-secret='{}'",
    ],
)
def test_value_of_a_secret_is_masked(text: str) -> None:
    masked = mask(text.format("hunter2hunter2"))
    assert ("hunter2" in masked, MASK in masked) == (False, True)


@pytest.mark.parametrize(
    "key",
    ["sk-ant-api03-abcdefghijklmnop", "ghp_abcdefghijklmnopqrstuvwx", "AKIAABCDEFGHIJKLMNOP", "xoxb-1234567890-abc"],
)
def test_known_key_format_is_masked(key: str) -> None:
    assert mask(f"found {key} in the log") == f"found {MASK} in the log"


@pytest.mark.parametrize(
    "text",
    [
        "key: value", "for key in keys: x = token_count", "TOKEN=$OTHER", "monkey=banana", "tokens: 1234567",
        "password = os.environ['PW']", "",
    ],
)  # fmt: skip
def test_ordinary_text_is_kept(text: str) -> None:
    assert mask(text) == text
