"""`liza silence add`, as a person at a shell uses it."""

import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import LIZA, Result, environment, liza, new_board

NOW = "2025-01-18T17:30:00Z"
RULE = "external_service_outage"
WHY = ("-m", "known outage", "--by", "ann", "--now", NOW)
BLOCKED = "- {timestamp: 2025-01-18T14:00:00Z, task: T, reporter: r, type: external_blocker, blocker_service: stripe}\n"
STATE = "version: 1\nanomalies:\n" + BLOCKED.replace("T,", "task-1,", 1) + BLOCKED.replace("T,", "task-2,", 1)


def board(folder: Path, more: str = "") -> Path:
    """A blackboard on which one pattern matches; returns its state.yaml."""
    return new_board(folder, STATE + more)


def add(folder: Path, *words: str, length: str = "2h") -> Result:
    return liza(folder, "silence", "add", RULE, *(words or ("blocker_service=stripe",)), "--for", length, *WHY)


def listed(folder: Path, *words: str, now: str = NOW) -> list[dict[str, Any]]:
    answer = liza(folder, "silence", "list", "--json", "--now", now, *words).json
    assert (answer["schema"], answer["command"], answer["status"]) == (1, "silence list", "ok")
    found = answer["silences"]
    assert isinstance(found, list)
    return found


def states(folder: Path, *words: str, now: str = NOW) -> dict[str, str]:
    return {each["id"]: each["state"] for each in listed(folder, *words, now=now)}


# --- add --------------------------------------------------------------------------------------------------------------


def test_add_shows_the_silence_and_what_it_hides(tmp_path: Path) -> None:
    board(tmp_path)
    result = add(tmp_path)
    assert (result.code, result.err) == (0, "")
    first, second = result.out.splitlines()
    assert first == (
        f"added: {RULE} (blocker_service=stripe) until 2025-01-18T19:30:00Z by ann: known outage [silence-1]"
    )
    assert second.startswith(f"silenced: {RULE} 2 of 2 (stripe) ")


def test_add_without_match_is_reported(tmp_path: Path) -> None:
    board(tmp_path)
    result = add(tmp_path, "blocker_service=paypal")
    assert result.code == 0
    assert "no match of external_service_outage" in result.out
    assert liza(tmp_path, "analyze", "--now", NOW).code == 3


def test_json_of_add(tmp_path: Path) -> None:
    board(tmp_path / "some")
    answer = add(tmp_path / "some", "blocker_service=stripe", "task=task-1", "--json").json
    assert (answer["schema"], answer["command"], answer["status"]) == (1, "silence add", "added")
    assert (answer["problems"], answer["silenced"]) == ([], [])
    assert answer["silence"] == {
        "id": "silence-1",
        "rule": RULE,
        "match": {"blocker_service": "stripe", "task": "task-1"},
        "created": NOW,
        "until": "2025-01-18T19:30:00Z",
        "reason": "known outage",
        "by": "ann",
    }
    board(tmp_path / "all")
    everything = add(tmp_path / "all", "--all", "--json").json
    assert (everything["silence"]["all"], "match" in everything["silence"]) == (True, False)
    assert [(each["rule"], each["silence"]["id"]) for each in everything["silenced"]] == [(RULE, "silence-1")]


def test_default_author_is_the_user(tmp_path: Path) -> None:
    board(tmp_path)
    words = ("silence", "add", RULE, "--all", "--for", "1h", "-m", "x", "--json")
    assert liza(tmp_path, *words, LOGNAME="carol").json["silence"]["by"] == "carol"
    assert liza(tmp_path, *words, "--by", " dan ", LOGNAME="carol").json["silence"]["by"] == "dan"


LENGTHS = {"1s": "17:30:01", "90s": "17:31:30", "30m": "18:00:00", "1.5h": "19:00:00", " 2h ": "19:30:00"}


@pytest.mark.parametrize(("length", "until"), LENGTHS.items())
def test_silence_lasts_the_given_time(tmp_path: Path, length: str, until: str) -> None:
    board(tmp_path)
    assert add(tmp_path, "--all", "--json", length=length).json["silence"]["until"] == f"2025-01-18T{until}Z"


@pytest.mark.parametrize("length", ["24h", "1d", "1440m", "86400s"])
def test_a_day_is_the_longest(tmp_path: Path, length: str) -> None:
    board(tmp_path)
    assert add(tmp_path, "--all", length=length).code == 0
    assert states(tmp_path, now="2025-01-19T17:29:59Z") == {"silence-1": "in force"}


@pytest.mark.parametrize("length", ["86401s", "24.1h", "2d", "9" * 400 + "d"])
def test_more_than_a_day_is_refused(tmp_path: Path, length: str) -> None:
    file = board(tmp_path)
    result = add(tmp_path, "--all", length=length)
    assert result.code == 1
    assert "at most 24 hours" in result.err
    assert "--for 24h" in result.hint()
    assert file.read_text() == STATE


@pytest.mark.parametrize(
    "length",
    ["0m", "0h", "0", "-1h", "1e9d", "inf", "nan", "", " ", "2", "h", "2 h", "two hours", "500ms", "999ms", "0.5s"],
)
def test_invalid_duration_is_refused(tmp_path: Path, length: str) -> None:
    file = board(tmp_path)
    result = add(tmp_path, "--all", length=length)
    assert result.code == 2
    assert f"--for: expected a duration, got {length!r}" in result.err
    assert file.read_text() == STATE


@pytest.mark.parametrize("reason", ["", " ", "\n\t"])
def test_reason_is_required(tmp_path: Path, reason: str) -> None:
    file = board(tmp_path)
    result = liza(tmp_path, "silence", "add", RULE, "--all", "--for", "1h", "-m", reason)
    assert result.code == 1
    assert "a silence needs a reason" in result.err
    assert result.hint()
    assert file.read_text() == STATE


def test_silencing_everything_needs_all(tmp_path: Path) -> None:
    file = board(tmp_path)
    result = liza(tmp_path, "silence", "add", RULE, "--for", "1h", *WHY)
    assert result.code == 1
    assert "--all" in result.hint()
    result = add(tmp_path, "blocker_service=stripe", "--all")
    assert (result.code, bool(result.hint())) == (2, True)
    assert file.read_text() == STATE


@pytest.mark.parametrize("missing", ["--for", "-m"])
def test_duration_and_reason_are_required(tmp_path: Path, missing: str) -> None:
    file = board(tmp_path)
    given = {"--for": "1h", "-m": "x"}
    del given[missing]
    result = liza(tmp_path, "silence", "add", RULE, "--all", *(word for pair in given.items() for word in pair))
    assert result.code == 2
    assert missing in result.err
    assert file.read_text() == STATE


WORDS = {
    "no equals sign": "stripe",
    "no field": "=stripe",
    "a blank field": " =stripe",
    "no value": "blocker_service=",
    "a blank value": "blocker_service= ",
    "only the sign": "=",
}


@pytest.mark.parametrize("word", WORDS.values(), ids=WORDS.keys())
def test_word_without_field_or_value_is_refused(tmp_path: Path, word: str) -> None:
    file = board(tmp_path)
    result = add(tmp_path, word)
    assert result.code == 2
    assert "FIELD=VALUE" in result.err
    assert file.read_text() == STATE


def test_duplicate_field_is_refused(tmp_path: Path) -> None:
    file = board(tmp_path)
    for words in (("task=a", "task=b"), ("task=a", "blocker_service=stripe", " task =a")):
        result = add(tmp_path, *words)
        assert (result.code, result.err.splitlines()[0]) == (2, "liza: task is given twice")
        assert result.hint() == "for either of two values, add two silences"
    assert file.read_text() == STATE


def test_value_may_contain_equals_signs(tmp_path: Path) -> None:
    board(tmp_path, BLOCKED.replace("stripe", "'a=b=c'") * 2)
    answer = add(tmp_path, "blocker_service=a=b=c", "--json").json
    assert answer["silence"]["match"] == {"blocker_service": "a=b=c"}
    assert [each["key"] for each in answer["silenced"]] == ["a=b=c"]


def test_misspelt_rule_gets_a_suggestion(tmp_path: Path) -> None:
    file = board(tmp_path)
    for name in ("external_service_outag", "EXTERNAL_SERVICE_OUTAGE"):
        result = liza(tmp_path, "silence", "add", name, "--all", "--for", "1h", *WHY)
        assert (result.code, result.hint()) == (1, f"did you mean {RULE}?")
    result = liza(tmp_path, "silence", "add", "zzz", "--all", "--for", "1h", *WHY)
    assert result.code == 1
    assert result.hint()
    assert file.read_text() == STATE


def test_disabled_rule_cannot_be_silenced(tmp_path: Path) -> None:
    file = board(tmp_path)
    (tmp_path / ".liza" / "rules.yaml").write_text(f"rules:\n- {{name: {RULE}, enabled: false}}\n")
    result = add(tmp_path, "--all")
    assert result.code == 1
    assert result.err.startswith(f"liza: the rule {RULE} is disabled\n")
    assert result.hint()
    assert file.read_text() == STATE


def test_custom_rule_can_be_silenced(tmp_path: Path) -> None:
    board(tmp_path)
    own = "{name: ours, severity: SPEC_FLAW, condition: 'count(type=external_blocker) >= 1'}"
    (tmp_path / ".liza" / "rules.yaml").write_text(f"rules:\n- {own}\n- {{name: {RULE}, enabled: false}}\n")
    assert liza(tmp_path, "silence", "add", "ours", "type=external_blocker", "--for", "1h", *WHY).code == 0
    assert liza(tmp_path, "analyze", "--now", NOW).code == 0
    assert liza(tmp_path, "analyze", "--now", "2025-01-18T18:30:00Z").code == 3


@pytest.mark.parametrize("now", ["", "nonsense", "17:30", "2025-13-01T00:00:00Z", "9999-01-01T00:00:00Z", "0500-01-01"])
@pytest.mark.parametrize("command", [("add", RULE, "--all", "--for", "2h", "-m", "x"), ("list",), ("expire", "x")])
def test_invalid_time_is_refused(tmp_path: Path, command: tuple[str, ...], now: str) -> None:
    file = board(tmp_path)
    result = liza(tmp_path, "silence", *command, "--now", now)
    assert result.code == 2
    assert result.err.startswith("liza: --now: ")
    assert file.read_text() == STATE


def test_time_in_another_zone_is_stored_in_utc(tmp_path: Path) -> None:
    board(tmp_path)
    words = ("silence", "add", RULE, "--all", "--for", "1h", "-m", "x", "--now", "2025-01-18T17:30:00.999+02:00")
    made = liza(tmp_path, *words, "--json").json["silence"]
    assert (made["created"], made["until"]) == ("2025-01-18T15:30:00Z", "2025-01-18T16:30:00Z")


def test_add_to_malformed_section_is_refused(tmp_path: Path) -> None:
    for number, section in enumerate(("silences: none\n", "silences: 5\n", "silences: {a: {rule: x}}\n")):
        file = board(tmp_path / str(number), section)
        result = add(tmp_path / str(number))
        assert result.code == 1
        assert "silences" in result.hint()
        assert file.read_text() == STATE + section


def test_used_id_is_not_assigned_again(tmp_path: Path) -> None:
    board(tmp_path, "silences:\n- {id: silence-2}\n- {id: silence-1, rule: x}\n- text\n- {id: silence-4}\n")
    assert [add(tmp_path, "--json", "--all").json["silence"]["id"] for _ in range(2)] == ["silence-3", "silence-5"]


@pytest.mark.slow
def test_concurrent_silences_get_separate_ids(tmp_path: Path) -> None:
    board(tmp_path)
    words = [LIZA, "silence", "add", RULE, "--all", "--for", "1h", *WHY]
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                subprocess.Popen(words, cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.DEVNULL)
            )
            for _ in range(6)
        ]
        assert [each.wait() for each in running] == [0] * 6
    assert states(tmp_path) == {f"silence-{number}": "in force" for number in range(1, 7)}
    log = (tmp_path / ".liza" / "log.yaml").read_text()
    assert sorted(log.count(f"silence-{number}:") for number in range(1, 7)) == [1] * 6
    assert liza(tmp_path, "validate").code == 0


def test_concurrent_expire_happens_once(tmp_path: Path) -> None:
    board(tmp_path)
    add(tmp_path)
    words = [LIZA, "silence", "expire", "silence-1", "--now", NOW]
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                subprocess.Popen([*words, "--by", str(n)], cwd=tmp_path, env=environment(tmp_path), **_QUIET)
            )
            for n in range(4)
        ]
        assert sorted(each.wait() for each in running) == [0, 1, 1, 1]
    text = (tmp_path / ".liza" / "state.yaml").read_text()
    assert (text.count("expired_at:"), text.count("expired_by:")) == (1, 1)
    assert (tmp_path / ".liza" / "log.yaml").read_text().count("action: unsilenced") == 1


_QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@pytest.mark.parametrize("rule", ["gossip_loop", "test_trip", "no_file_changes", "repeated_failure", "task_blocked"])
def test_rule_that_halts_no_one_is_refused_with_the_reason(tmp_path: Path, rule: str) -> None:
    board(tmp_path)
    ran = liza(tmp_path, "silence", "add", rule, "--all", "--for", "1h", "-m", "known", "--json")
    assert (ran.code, ran.json["status"]) == (1, "refused")
    assert ran.json["problems"][0]["hint"]
