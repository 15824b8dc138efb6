"""The tool calls in an agent's JSON output are steps, which the rules see over all iterations of a run."""

import json
from pathlib import Path
from typing import Any

import pytest

from liza.clients.event import Outcome
from liza.run.tool_calls import calls_of
from liza.store.paths import find
from liza.store.steps import append_lines
from tests.run.projects import Project

ERROR = "ModuleNotFoundError: No module named 'toyweb'"
CLAUDE = (
    {"type": "assistant", "session_id": "s", "message": {"content": [
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}]}},
    {"type": "user", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": ERROR}]}},
)  # fmt: skip
CODEX = (
    {"type": "item.completed", "item": {
        "id": "i", "type": "command_execution", "command": "make", "aggregated_output": ERROR, "exit_code": 2}},
)  # fmt: skip
GEMINI = (
    {"type": "tool_use", "tool_name": "run_shell_command", "tool_id": "t", "parameters": {"command": "make"}},
    {"type": "tool_result", "tool_id": "t", "status": "success", "output": ERROR},
)
OPENCODE = (
    {"type": "tool_use", "sessionID": "s", "part": {"type": "tool", "tool": "bash", "callID": "c", "state": {
        "status": "completed", "input": {"command": "make"}, "output": ERROR, "metadata": {"exit": 0}}}},
)  # fmt: skip


def output(lines: tuple[dict[str, Any], ...]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def agent(lines: tuple[dict[str, Any], ...]) -> str:
    """An agent that makes progress and prints these lines, in each iteration."""
    return f'echo "$LIZA_ITERATION" >> work.txt\ncat <<"END"\n{output(lines)}END\n'


def steps(project: Project) -> list[dict[str, Any]]:
    lines = [
        json.loads(line)
        for file in (project.folder / ".liza" / "steps").glob("*.jsonl")
        for line in file.read_text().splitlines()
    ]
    return [line for line in lines if "note" not in line]


@pytest.mark.parametrize(
    ("lines", "tool", "outcome"),
    [
        (CLAUDE, "Bash", Outcome.FAILED),
        (CODEX, "shell", Outcome.FAILED),
        (GEMINI, "run_shell_command", Outcome.UNKNOWN),
        (OPENCODE, "bash", Outcome.OK),
    ],
)
def test_calls_of_each_client(lines: tuple[dict[str, Any], ...], tool: str, outcome: Outcome) -> None:
    (call,) = calls_of(output(lines))
    assert (call.tool, call.input, call.result, call.outcome) == (tool, {"command": "make"}, ERROR, outcome)


def test_plain_text_has_no_calls() -> None:
    assert list(calls_of("make: *** [all] Error 2\n")) == []
    assert list(calls_of(output(CLAUDE[:1]))) == []  # without a result


@pytest.mark.parametrize("lines", [CLAUDE, CODEX, GEMINI])
def test_call_that_fails_over_iterations_warns_and_stops_the_run(
    tmp_path: Path, lines: tuple[dict[str, Any], ...]
) -> None:
    project = Project(tmp_path / "p", agent(lines * 3))
    result = project.run("--max", "2", "--task", "task-1")
    assert result.code == 3
    assert len(project.recorded) == 2
    assert [(each["session"], each["task"], each["outcome"]) for each in steps(project)] == [
        (project.session.name, "task-1", "failed")
    ] * 6
    assert "repeated_failure: " in result.err
    page = (project.session / "context.md").read_text()
    assert "Warning: repeated_failure_warning: " in page


def test_steps_that_a_hook_reported_are_not_entered_again(tmp_path: Path) -> None:
    project = Project(tmp_path / "p", agent(CLAUDE * 3))
    line = {"session": "s", "time": "2026-01-01T00:00:00Z", "tool": "Bash", "call": "c"}
    append_lines(find(str(project.folder)), "s", [line])
    result = project.run("--max", "2")
    assert len(project.recorded) == 2
    assert result.code == 1
    assert [each["session"] for each in steps(project)] == ["s"]


def test_steps_of_a_followed_transcript_are_evaluated_and_not_entered_again(tmp_path: Path) -> None:
    """Each iteration is a session of its own to the client, so only the run sees what repeats over them."""
    project = Project(tmp_path / "p", agent(CLAUDE * 3))
    line = {"session": "s", "time": "2026-01-01T00:00:00Z", "tool": "Bash", "call": "c"}
    line["event"] = "claude-transcript-0123456789abcdef"
    append_lines(find(str(project.folder)), "s", [line])
    result = project.run("--max", "2")
    assert result.code == 3
    assert "repeated_failure: " in result.err
    assert [each["session"] for each in steps(project)] == ["s"]


def test_run_ends_before_it_costs_more_than_its_budget(tmp_path: Path) -> None:
    """Ten cents an iteration, each a session of the client's own: at fifty the run is stopped."""
    answer = '{"type":"result","session_id":"s%s","total_cost_usd":0.1,"usage":{"output_tokens":1}}'
    agent = f"""echo "$LIZA_ITERATION" >> work.txt\nprintf '{answer}' $LIZA_ITERATION\n"""
    project = Project(tmp_path / "p", agent, rules="budgets: {session: {cost: 0.5}}\n")
    result = project.run("--max", "20")
    assert (result.code, len(project.recorded)) == (3, 5)
    assert "budgets.session.cost" in result.err
    assert "80 % of the budget" in (project.session / "context.md").read_text()
