"""`liza silence list` and `liza silence expire`, and what all three commands share."""

import json
from pathlib import Path

import pytest

from tests.cli.run import liza, on_a_terminal
from tests.cli.test_silence import NOW, RULE, STATE, add, board, listed, states
from tests.cli.test_untrusted_text import NASTY, harmless

# --- list -------------------------------------------------------------------------------------------------------------

SEVERAL = """\
silences:
- {id: over, rule: retry_cluster, all: true, created: 2025-01-18T10:00:00Z, until: 2025-01-18T12:00:00Z, reason: r}
- {id: now, rule: retry_cluster, match: {a: t}, created: 2025-01-18T17:00:00Z, until: 2025-01-18T20:00:00Z, reason: r}
- {id: soon, rule: retry_cluster, all: true, created: 2025-01-18T19:00:00Z, until: 2025-01-18T20:00:00Z, reason: r}
- {id: bad, rule: retry_cluster, all: true, created: 2025-01-18T17:00:00Z, until: 2025-01-18T20:00:00Z}
"""


def test_list_shows_active_and_invalid_silences(tmp_path: Path) -> None:
    file = board(tmp_path, SEVERAL)
    assert states(tmp_path) == {"now": "in force", "bad": "invalid"}
    every = {"over": "ended", "now": "in force", "soon": "to come", "bad": "invalid"}
    assert states(tmp_path, "--all") == states(tmp_path, "-a") == every
    assert states(tmp_path, "--all", now="2025-01-18T19:30:00Z") == every | {"soon": "in force"}
    assert file.read_text() == STATE + SEVERAL


def test_list_as_text(tmp_path: Path) -> None:
    board(tmp_path, SEVERAL)
    result = liza(tmp_path, "silence", "list", "--now", NOW)
    assert result.code == 0
    good, bad = result.out.splitlines()
    assert good.startswith("in force  retry_cluster (a=t) until 2025-01-18T20:00:00Z")
    assert good.endswith("[now]")
    assert bad == "! bad is not active: it has no reason"
    lines = liza(tmp_path, "silence", "list", "--all", "--now", NOW).out.splitlines()
    assert [line.split("  ")[0] for line in lines[:3]] == ["ended", "in force", "to come"]


def test_list_shows_every_field(tmp_path: Path) -> None:
    board(tmp_path, SEVERAL.replace("reason: r}", "reason: r, ticket: OPS-1}"))
    (found, _) = listed(tmp_path)
    assert (found["ticket"], found["match"], found["fault"]) == ("OPS-1", {"a": "t"}, None)


def test_fields_of_a_silence_cannot_fake_its_state(tmp_path: Path) -> None:
    board(tmp_path, "silences: [{id: 1, rule: x, state: in force, fault: null}]\n")
    (found,) = listed(tmp_path)
    assert (found["id"], found["state"], found["fault"]) == (1, "invalid", "it has no reason")


@pytest.mark.parametrize("words", [(), ("--all",)])
def test_malformed_section_is_not_listed_as_empty(tmp_path: Path, words: tuple[str, ...]) -> None:
    board(tmp_path, "silences: none\n")
    fault = "silences: expected a list, got 'none'"
    result = liza(tmp_path, "silence", "list", "--now", NOW, *words)
    assert (result.code, result.out) == (0, f"! silences is not active: {fault}\n")
    assert listed(tmp_path, *words) == [{"state": "invalid", "fault": fault}]


def test_empty_list_is_one_line(tmp_path: Path) -> None:
    for number, section in enumerate(("", "silences:\n", "silences: []\n", "silences: {}\n")):
        board(tmp_path / str(number), section)
        for words in ((), ("--all",)):
            result = liza(tmp_path / str(number), "silence", "list", *words)
            assert (result.code, len(result.out.splitlines())) == (0, 1)
        assert listed(tmp_path / str(number)) == []


# --- expire -----------------------------------------------------------------------------------------------------------


def test_expire_ends_a_silence_now(tmp_path: Path) -> None:
    board(tmp_path)
    add(tmp_path)
    later = "2025-01-18T18:00:00Z"
    result = liza(tmp_path, "silence", "expire", "silence-1", "--by", "bob", "--now", later)
    assert (result.code, result.err) == (0, "")
    assert "silence-1" in result.out
    assert states(tmp_path, now="2025-01-18T17:59:59Z") == {"silence-1": "in force"}
    assert states(tmp_path, "--all", now=later) == {"silence-1": "ended"}
    (found,) = listed(tmp_path, "--all")
    assert (found["expired_at"], found["expired_by"]) == (later, "bob")
    assert found["until"] == "2025-01-18T19:30:00Z", "a silence is never edited"


def test_json_of_expire(tmp_path: Path) -> None:
    board(tmp_path)
    add(tmp_path)
    answer = liza(tmp_path, "silence", "expire", "silence-1", "--by", "bob", "--now", NOW, "--json").json
    assert (answer["schema"], answer["command"], answer["status"]) == (1, "silence expire", "expired")
    assert (answer["silence"]["id"], answer["silence"]["rule"], answer["silence"]["expired_at"]) == (
        "silence-1",
        RULE,
        NOW,
    )
    assert answer["silence"]["expired_by"] == "bob"
    (found,) = listed(tmp_path, "--all")
    assert {name: found[name] for name in answer["silence"]} == answer["silence"], "the answer must equal the record"


@pytest.mark.parametrize("name", ["over", "bad", "unknown", "", "-1"])
def test_inactive_silence_cannot_be_expired(tmp_path: Path, name: str) -> None:
    file = board(tmp_path, SEVERAL)
    result = liza(tmp_path, "silence", "expire", "--now", NOW, "--", name)
    assert result.code == 1
    assert result.hint()
    assert file.read_text() == STATE + SEVERAL
    assert not (tmp_path / ".liza" / "log.yaml").exists()


TWO_HOURS = f"rule: {RULE}, all: true, created: 2025-01-18T17:00:00Z, until: 2025-01-18T20:00:00Z, reason: r"


def test_of_two_equal_ids_the_active_one_is_expired(tmp_path: Path) -> None:
    over = f"- {{{TWO_HOURS}, id: s, expired_at: 2025-01-18T17:01:00Z}}\n"
    file = board(tmp_path, f"silences:\n{over}- {{{TWO_HOURS}, id: s}}\n")
    assert liza(tmp_path, "silence", "expire", "s", "--by", "bob", "--now", NOW).code == 0
    assert f"\n{over}" in file.read_text(), "the one that had ended was changed"
    assert [each.get("expired_at") for each in listed(tmp_path, "--all")] == ["2025-01-18T17:01:00Z", NOW]
    assert liza(tmp_path, "analyze", "--now", NOW).code == 3
    assert liza(tmp_path, "silence", "expire", "s", "--now", NOW).code == 1


@pytest.mark.parametrize(("name", "expired"), [("1", 2), ("b", 1), ("a", 0)])
def test_numeric_id_is_not_a_position(tmp_path: Path, name: str, expired: int) -> None:
    board(tmp_path, "silences:\n" + "".join(f"- {{{TWO_HOURS}, id: {each}}}\n" for each in ("a", "b", 1)))
    assert liza(tmp_path, "silence", "expire", name, "--now", NOW).code == 0
    assert [place for place, each in enumerate(listed(tmp_path, "--all")) if "expired_at" in each] == [expired]


def test_future_silence_can_be_expired(tmp_path: Path) -> None:
    board(tmp_path, SEVERAL)
    assert states(tmp_path, "--all")["soon"] == "to come"
    result = liza(tmp_path, "silence", "expire", "soon", "--by", "bob", "--now", NOW)
    assert (result.code, result.err) == (0, "")
    assert states(tmp_path, "--all")["soon"] == "ended", "also before it would have begun"
    assert states(tmp_path, "--all", now="2025-01-18T19:30:00Z")["soon"] == "ended"
    assert liza(tmp_path, "silence", "expire", "soon", "--now", NOW).code == 1


def test_unknown_id_hint_lists_active_ids(tmp_path: Path) -> None:
    board(tmp_path, SEVERAL)
    hint = liza(tmp_path, "silence", "expire", "unknown", "--now", NOW).hint()
    assert "active: now;" in hint


def test_expired_silence_can_be_added_again(tmp_path: Path) -> None:
    board(tmp_path)
    for number in (1, 2):
        assert add(tmp_path, "--all", "--json").json["silence"]["id"] == f"silence-{number}"
        assert liza(tmp_path, "analyze", "--now", NOW).code == 0
        assert liza(tmp_path, "silence", "expire", f"silence-{number}", "--now", NOW).code == 0
    assert liza(tmp_path, "analyze", "--now", NOW).code == 3


# --- all three --------------------------------------------------------------------------------------------------------


def test_command_line_words_are_escaped_and_kept(tmp_path: Path) -> None:
    board(tmp_path)
    words = ("silence", "add", RULE, f"{NASTY}={NASTY}", "--for", "1h", "-m", NASTY, "--by", NASTY, "--now", NOW)
    result = on_a_terminal(tmp_path, *words)
    assert result.code == 0
    assert harmless(result.out), ascii(result.out)
    (found,) = listed(tmp_path)
    assert (found["reason"], found["by"], found["match"]) == (NASTY, NASTY, {NASTY: NASTY})
    for call in (("list",), ("expire", NASTY), ("add", NASTY, "--all", "--for", "1h", "-m", "x"), (NASTY,)):
        result = on_a_terminal(tmp_path, "silence", *call)
        assert harmless(result.out), ascii(result.out)


def test_long_reason_is_kept_whole_and_shown_short(tmp_path: Path) -> None:
    board(tmp_path)
    reason = "because " * 10_000
    result = liza(tmp_path, "silence", "add", RULE, "--all", "--for", "1h", "-m", reason, "--now", NOW)
    assert result.code == 0
    assert len(result.out) < 1000
    assert len(liza(tmp_path, "silence", "list", "--now", NOW).out) < 1000
    assert listed(tmp_path)[0]["reason"] == reason.strip()


@pytest.mark.parametrize(
    "reason", ["yes", "null", "12:30", "a: b # c", "- x", "two\nlines", "'\"", "{a: [", "2025-01-18"]
)
def test_reason_is_read_back_unchanged(tmp_path: Path, reason: str) -> None:
    board(tmp_path)
    words = ("silence", "add", RULE, f"task={reason}", "--for", "1h", "-m", reason, "--by", reason, "--now", NOW)
    assert liza(tmp_path, *words).code == 0
    (found,) = listed(tmp_path)
    assert (found["reason"], found["by"], found["match"]) == (reason, reason, {"task": reason})
    assert json.dumps(found)
    assert liza(tmp_path, "validate").code == 0
