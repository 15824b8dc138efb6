"""What sessions used: from an event to the sum that a rule compares."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from liza.clients.usage import Usage, read_usage
from liza.model import format_time
from liza.scopes.sessions.step import usage_line
from liza.store.paths import Paths
from liza.store.steps import append_lines
from tests.cli.run import installed, liza, new_board
from tests.clients.hook import SESSION, event, failing, run
from tests.store.oracle import libyaml_value

RULES = """
rules:
  - name: session_tokens
    condition: sum(tokens, usage, per(session)) >= 1000
    action: STOP
    summary: "{count} tokens"
  - {name: warn_tokens, condition: "sum(tokens, usage, per(session)) >= 600", action: WARN}
  - {name: sprint_tokens, condition: "sum(tokens, usage) >= 5000", severity: SCOPE_FLAW}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "shop"
    new_board(project)
    (project / ".liza" / "rules.yaml").write_text(RULES)
    return project


def use(folder: Path, tokens: int, session: str = SESSION, **fields: Any) -> None:
    usage = {"input_tokens": tokens - 1, "output_tokens": 1}
    assert run(folder, "note", event("Stop", session, usage=usage, **fields)).code == 0


def look(folder: Path) -> None:
    installed(folder, "watch", "--once")


def sessions(folder: Path) -> dict[str, Any]:
    return {each["session"]: each for each in liza(folder, "sessions", "--json").json["sessions"]}


def lines(folder: Path, session: str = SESSION) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / ".liza" / "steps" / f"{session}.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("given", "tokens"),
    [
        ({"input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 1}, 18),
        ({"input_tokens": 10, "cached_input_tokens": 5, "output_tokens": 2, "reasoning_output_tokens": 1}, 12),
        ({"input_tokens": "10", "output_tokens": 2}, 2),
        ({"input_tokens": -1}, None),
        ({"input_tokens": True}, None),
        ({}, None),
        ("10", None),
    ],
)
def test_formats_of_clients_come_to_the_same_fields(given: Any, tokens: int | None) -> None:
    found = read_usage(given, "opus", 0.5)
    assert (found.as_fields()["tokens"] if found else None) == tokens


def test_usage_is_kept_beside_the_steps(folder: Path) -> None:
    run(folder, "after", failing("t1"))
    use(folder, 100, model="claude-x", total_cost_usd=0.25)
    look(folder)
    (found,) = [line for line in lines(folder) if line.get("note") == "usage"]
    wanted = {"tokens": 100, "tokens_in": 99, "tokens_out": 1, "tokens_cached": 0, "model": "claude-x", "cost": 0.25}
    assert {name: found[name] for name in wanted} == wanted
    row = sessions(folder)[SESSION]
    assert (row["steps"], row["tokens"], row["cost"]) == (1, 100, 0.25)


def test_secrets_in_usage_are_masked(folder: Path) -> None:
    use(folder, 100, model="sk-ant-0123456789abcdef0123")
    look(folder)
    assert b"0123456789abcdef" not in (folder / ".liza" / "steps" / f"{SESSION}.jsonl").read_bytes()


def test_session_above_its_sum_is_warned_then_stopped(folder: Path) -> None:
    before = event("PreToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="t1")
    use(folder, 600)
    look(folder)
    assert "additionalContext" in run(folder, "before", before).out
    use(folder, 400)
    look(folder)
    assert sessions(folder)[SESSION]["session_status"] == "STOPPED"
    assert "1000 tokens" in str(sessions(folder)[SESSION]["reason"])
    assert run(folder, "before", before, LIZA_HOOK_LIMIT="60.5").code == 2
    assert liza(folder, "session", "resume", SESSION, "-m", "go on", "--by", "ann").code == 0
    use(folder, 1)
    look(folder)
    assert sessions(folder)[SESSION]["session_status"] == "ACTIVE"


def test_sum_over_all_sessions_halts_everyone_and_again_when_worse(folder: Path) -> None:
    paths = Paths(str(folder / ".liza"))
    now = format_time(datetime.now(UTC))
    for number in range(5):
        append_lines(paths, f"s{number}", [usage_line(f"s{number}", now, Usage(899, 0))])
    assert liza(folder, "analyze").code == 0
    append_lines(paths, "s6", [usage_line("s6", now, Usage(1, 0)), {"session": "s6", "note": "usage", "tokens": "9"}])
    assert liza(folder, "analyze").code == 0
    append_lines(paths, "s6", [usage_line("s6", now, Usage(0, 1004))])
    found = liza(folder, "analyze")
    assert found.code == 3
    assert "expected a number" in found.out
    assert liza(folder, "resolve", "-m", "worth it", "--by", "ann").code == 0
    assert liza(folder, "analyze").code == 0
    history: Any = libyaml_value((folder / ".liza" / "state.yaml").read_bytes())
    trips = [each for each in history["circuit_breaker"]["history"] if each.get("pattern")]
    assert [each["evidence"] for each in trips] == [{"sprint_tokens": "sum(tokens)=5500"}]
    append_lines(paths, "s7", [usage_line("s7", now, Usage(1, 0))])
    assert liza(folder, "analyze").code == 3


def test_usage_of_sessions_that_ended_days_ago_still_counts(folder: Path) -> None:
    import os

    paths = Paths(str(folder / ".liza"))
    now = format_time(datetime.now(UTC))
    append_lines(paths, "old", [usage_line("old", now, Usage(5000, 0))])
    os.utime(folder / ".liza" / "steps" / "old.jsonl", (1_700_000_000, 1_700_000_000))
    assert liza(folder, "analyze").code == 3
    assert sessions(folder) == {}
