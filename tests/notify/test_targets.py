"""The targets in `notify:`, and all possible faults in it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.notify.desktop import Desktop
from liza.notify.file import File
from liza.notify.message import Target
from liza.notify.targets import read_targets
from liza.notify.webhook import Webhook

SECRET = "T0K3N-s3cr3t"
URL = f"https://hooks.example.com/{SECRET}"


def test_all_kinds_of_targets_are_read_without_duplicates() -> None:
    block = {
        "webhook": [URL, {"url": URL}, {"url": URL, "format": "slack"}],
        "desktop": True,
        "file": "./notices.jsonl",
    }
    found, faults = read_targets(block, {"escalation_webhook": URL}, "/team")
    expected: list[Target] = [Webhook(URL), Webhook(URL, "slack"), Desktop(), File("notices.jsonl", "/team")]
    assert found == expected
    assert faults == []


@pytest.mark.parametrize("block", [{}, None, {"webhook": None, "desktop": False, "file": None}, {"webhook": []}])
def test_targets_may_be_empty(block: Any) -> None:
    assert read_targets(block, {"escalation_webhook": None}, "/team") == ([], [])


WRONG: list[tuple[dict[str, Any], tuple[Any, ...], str, str]] = [
    ({"webhok": URL}, ("notify", "webhok"), "unknown key 'webhok'", "did you mean webhook?"),
    ({"mail": URL}, ("notify", "mail"), "unknown key 'mail'", "known: webhook, desktop, file"),
    ({"webhook": f"ftp://{SECRET}"}, ("notify", "webhook"), "notify.webhook has no usable address", "http://"),
    ({"webhook": [URL, 5]}, ("notify", "webhook", 1), "notify.webhook.1 has no usable address", "http://"),
    ({"webhook": {"url": f"{URL}/", "format": "ntfy"}}, ("notify", "webhook"), "no ntfy topic", "ntfy.sh"),
    ({"webhook": {"format": "slack"}}, ("notify", "webhook", "url"), "notify.webhook has no usable", "http://"),
    (
        {"webhook": {"url": URL, "format": "slac"}},
        ("notify", "webhook", "format"),
        "format 'slac'",
        "did you mean slack?",
    ),
    (
        {"webhook": {"url": URL, "format": ["x"]}},
        ("notify", "webhook", "format"),
        "format a list",
        "json, slack, discord",
    ),
    ({"webhook": [{"url": URL, "to": "#ops"}]}, ("notify", "webhook", 0, "to"), "unknown key 'to'", "url"),
    ({"desktop": "yes"}, ("notify", "desktop"), "notify.desktop: expected true or false", ""),
    ({"file": 5}, ("notify", "file"), "notify.file: 5", "inside the project"),
    ({"file": ""}, ("notify", "file"), "notify.file: ''", "inside the project"),
    ({"file": "/etc/passwd"}, ("notify", "file"), "notify.file: '/etc/passwd'", "inside the project"),
    ({"file": "../.bashrc"}, ("notify", "file"), "notify.file: '../.bashrc'", "inside the project"),
    ({"file": ".liza/state.yaml"}, ("notify", "file"), "notify.file: '.liza/state.yaml'", "outside .liza/"),
    ({"file": "."}, ("notify", "file"), "notify.file: '.'", "inside the project"),
]


@pytest.mark.parametrize(("block", "path", "message", "hint"), WRONG, ids=[str(path[1:]) for _, path, *_ in WRONG])
def test_fault_has_its_path_but_never_the_address(
    block: dict[str, Any], path: tuple[Any, ...], message: str, hint: str
) -> None:
    (fault,) = read_targets(block, None, "/team")[1]
    assert fault.path == path
    assert message in fault.message
    assert hint in (fault.hint or "")
    assert SECRET not in f"{fault.message}{fault.hint}"


def test_address_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM_HOOK", URL)
    block = {"webhook": {"env": "TEAM_HOOK", "format": "slack"}}
    assert read_targets(block, None, "/team") == ([Webhook(URL, "slack")], [])
    monkeypatch.delenv("TEAM_HOOK")
    (fault,) = read_targets(block, None, "/team")[1]
    assert (fault.path, fault.message) == (("notify", "webhook", "env"), "environment variable 'TEAM_HOOK' is not set")
    assert fault.level == "warning"


def test_invalid_environment_value_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM_HOOK", SECRET)
    (fault,) = read_targets({"webhook": {"env": "TEAM_HOOK"}}, None, "/team")[1]
    assert SECRET not in f"{fault.message}{fault.hint}"


def test_fault_in_one_target_keeps_the_others() -> None:
    found, faults = read_targets({"webhook": ["nowhere", URL], "desktop": 1, "file": "notices.jsonl"}, None, "/team")
    expected: list[Target] = [Webhook(URL), File("notices.jsonl", "/team")]
    assert found == expected
    assert len(faults) == 2


def test_webhook_on_the_blackboard_is_checked() -> None:
    (fault,) = read_targets({}, {"escalation_webhook": f"ftp://{SECRET}"}, "/team")[1]
    assert fault.path == ("config", "escalation_webhook")
    assert SECRET not in fault.message


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just(URL),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["url", "format", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["webhook", "desktop", "file", "other"]), VALUES), VALUES)
def test_any_value_gives_a_target_or_a_fault(block: dict[str, Any], config: Any) -> None:
    found, faults = read_targets(block, config, "/team")
    assert all(place.name for place in found)
    assert SECRET not in "".join([place.name for place in found] + [fault.message for fault in faults])
