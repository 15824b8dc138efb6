"""What is read in transcripts: the same as hooks report."""

import json
from typing import Any

import pytest

from liza.clients.event import Call, Event, Kind, Outcome
from liza.clients.transcript import client_of, new_transcript, parse_line
from liza.scopes.sessions.step import steps_of
from tests.clients.transcripts import (
    FAILED,
    ClaudeWriter,
    CodexWriter,
    Line,
    gemini_answer,
    gemini_head,
    qwen_answer,
    qwen_line,
    qwen_report,
    raw,
)

CLAUDE, CODEX = ClaudeWriter("/home/dev/shop"), CodexWriter("/home/dev/shop")


def read(client: str, lines: list[Line]) -> list[Event]:
    transcript = new_transcript(client, "")
    return [event for line in lines for event in transcript.read(json.loads(json.dumps(line)))]


def calls(client: str, lines: list[Line]) -> list[Call]:
    return [call for event in read(client, lines) for call in event.calls]


def used(client: str, lines: list[Line]) -> dict[str | None, int]:
    events = read(client, lines)
    return {each.usage.id: each.usage.tokens_in + each.usage.tokens_out for each in events if each.usage is not None}


@pytest.mark.parametrize(
    ("text", "about", "outcome", "result"),
    [
        ("fine", {"stdout": "fine", "stderr": ""}, Outcome.OK, "fine"),
        ("fine", None, Outcome.OK, "fine"),
        ("(Bash completed with no output)", {"stdout": "", "stderr": ""}, Outcome.OK, ""),
        ("(Bash completed with no output)", None, Outcome.OK, ""),
        ("Exit code 2\nboom", "Error: Exit code 2\nboom", Outcome.FAILED, "Exit code 2\nboom"),
        ("<tool_use_error>String to replace not found</tool_use_error>", "Error", Outcome.REFUSED, None),
        ("PreToolUse:Bash hook error: [gate]: halted", "Error", Outcome.REFUSED, None),
        ("Permission to use Bash has been denied.", "Error", Outcome.REFUSED, None),
    ],
)
def test_claude_results(text: str, about: Any, outcome: Outcome, result: str | None) -> None:
    lines = CLAUDE.tool("t1", "Bash", {"command": "x"}, text, about, ok=outcome is Outcome.OK)
    (found,) = calls("claude", lines)
    assert found == Call("t1", "Bash", {"command": "x"}, text if result is None else result, outcome)


def test_claude_result_has_what_the_hook_is_given() -> None:
    """So a session that changes from one source to the other still has equal results."""
    given = {"type": "text", "file": {"content": "x = 1", "filePath": "/a.py"}}
    lines = CLAUDE.tool("t1", "Read", {"file_path": "/a.py"}, "1\tx = 1", given)
    (found,) = calls("claude", lines)
    assert json.loads(str(found.result)) == given


GIVEN = {"command": "make"}
EDIT = {"file_path": "/a.py", "old_string": "x", "new_string": "y"}
REFUSED = "<tool_use_error>String to replace not found in file.</tool_use_error>"
SAME = {
    "ok": (
        CLAUDE.tool("t1", "Bash", GIVEN, "fine", {"stdout": "fine", "stderr": "", "interrupted": False}),
        {"hook_event_name": "PostToolUse", "tool_response": {"stdout": "fine", "stderr": "", "interrupted": False}},
    ),
    "failed": (
        CLAUDE.tool("t1", "Bash", GIVEN, f"Exit code 1\n{FAILED}", f"Error: Exit code 1\n{FAILED}", ok=False),
        {"hook_event_name": "PostToolUseFailure", "error": f"Exit code 1\n{FAILED}"},
    ),
    "refused": (
        CLAUDE.tool("t1", "Edit", EDIT, REFUSED, "Error: String to replace not found in file.", ok=False),
        {"hook_event_name": "PostToolBatch", "tool_calls": [
            {"tool_name": "Edit", "tool_input": EDIT, "tool_use_id": "t1", "tool_response": REFUSED}]},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "payload"), SAME.values(), ids=list(SAME))
def test_claude_step_is_that_of_its_hook(lines: list[Line], payload: dict[str, Any]) -> None:
    from liza.clients.claude import read_event

    call = {"tool_name": "Bash", "tool_input": lines[0]["message"]["content"][0]["input"], "tool_use_id": "t1"}
    common = {"session_id": CLAUDE.session, "cwd": "/home/dev/shop", "model": "model-a"}
    (hooked,) = steps_of(read_event({**call, **common, **payload}), "2026-01-01T00:00:00Z")
    (found,) = [event for event in read("claude", lines) if event.calls]
    assert list(steps_of(found, "2026-01-01T00:00:00Z")) == [hooked]


def test_claude_parallel_calls() -> None:
    use = [{"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": f"c{n}"}} for n in (1, 2)]
    results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": f"r{n}"} for n in (2, 1)]
    lines = [
        CLAUDE.answer(use[0], message="m1"),
        CLAUDE.answer(use[1], message="m1"),
        CLAUDE.line("user", message={"role": "user", "content": results}, toolUseResult={"stdout": "other"}),
    ]
    assert [(call.id, call.result) for call in calls("claude", lines)] == [("t2", "r2"), ("t1", "r1")]


def test_claude_message_in_several_lines_is_counted_once() -> None:
    lines = [CLAUDE.answer(tokens=tokens, message="m1") for tokens in (20, 20, 50)] + [CLAUDE.answer(message="m2")]
    assert used("claude", lines) == {"m1": 50, "m2": 100}
    assert sum(each.usage is not None for each in read("claude", lines)) == 3


def test_claude_subagent_is_a_session_of_its_parent() -> None:
    agent = ClaudeWriter("/home/dev/shop", agent="a0ff")
    (found,) = [event for event in read("claude", agent.call("t1")) if event.calls]
    assert (found.session, found.parent, found.cwd) == ("a0ff", agent.session, "/home/dev/shop")


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_end_of_turn(client: str) -> None:
    made = CLAUDE if client == "claude" else CODEX
    assert [each.kind for each in read(client, [*made.begin(), *made.end()])][-1] is Kind.TURN


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_subagent_ends_with_its_answer(client: str) -> None:
    made = ClaudeWriter("/d", agent="a0ff") if client == "claude" else CodexWriter("/d", "child", parent="root")
    assert [each.kind for each in read(client, [*made.begin(), *made.end()])][-1] is Kind.END


def test_interruption_ends_the_turn() -> None:
    text = {"type": "text", "text": "[Request interrupted by user for tool use]"}
    lines = [CLAUDE.line("user", message={"role": "user", "content": [text]})]
    assert [each.kind for each in read("claude", lines)] == [Kind.TURN]
    lines = [*CODEX.begin(), CODEX.line("event_msg", type="turn_aborted", reason="interrupted")]
    assert [each.kind for each in read("codex", lines)] == [Kind.TURN]


# --- Codex ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "text", "code", "outcome"),
    [
        ("pytest -q", "fine", 0, Outcome.OK),
        ("pytest -q", FAILED, 1, Outcome.FAILED),
        ("sleep 0.7; false", "", 1, Outcome.FAILED),
        ("cd shop && rg orders", "", 1, Outcome.UNKNOWN),
        ("git diff --quiet", "", 1, Outcome.UNKNOWN),
        ("rg orders", "", 2, Outcome.FAILED),
    ],
)
def test_codex_commands(command: str, text: str, code: int, outcome: Outcome) -> None:
    lines = [CODEX.asked("c1", command), CODEX.ended("c1", command, text, code), CODEX.printed("c1", text, code)]
    wanted = Call("c1", "Bash", {"command": command}, text, outcome, 1.5, code)
    assert calls("codex", [*CODEX.begin(), *lines]) == [wanted]
    assert calls("codex", [*CODEX.begin(), lines[0], lines[2]]) == [wanted]  # a version without such items


def test_codex_step_is_that_of_its_hook() -> None:
    from liza.clients.codex import read_event

    payload = {
        "session_id": CODEX.session, "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "c1",
        "tool_input": {"command": "pytest -q"}, "tool_response": FAILED, "cwd": "/home/dev/shop", "model": "model-b",
    }  # fmt: skip
    (hooked,) = steps_of(read_event(payload), "2026-01-01T00:00:00Z")
    found = [event for event in read("codex", [*CODEX.begin(), *CODEX.call("c1")]) if event.calls]
    (step,) = steps_of(found[0], "2026-01-01T00:00:00Z")
    assert {key: step[key] for key in step if key not in ("exit_code", "seconds")} == hooked
    assert (step["exit_code"], step["seconds"]) == (1, 1.5)


def test_codex_command_that_still_runs_is_reported_when_it_ends() -> None:
    running = CODEX.line(
        "response_item",
        type="function_call_output",
        call_id="c1",
        output="Process running with session ID 7\nOutput:\n",
    )
    look = {"name": "write_stdin", "arguments": '{"session_id": 7}', "call_id": "c2"}
    lines = [
        *CODEX.begin(),
        CODEX.asked("c1", "make"),
        running,
        CODEX.line("response_item", type="function_call", **look),
        CODEX.printed("c2", "", 0),
    ]
    assert calls("codex", lines) == []
    assert [call.exit_code for call in calls("codex", [*lines, CODEX.ended("c1", "make", "done", 0)])] == [0]


def test_codex_programs_report_the_commands_that_they_run() -> None:
    program = CODEX.line("response_item", type="custom_tool_call", name="exec", input="tools.exec()", call_id="c1")
    change = {"type": "FileChange", "id": "e2", "changes": {"/a.py": {"type": "add"}}, "status": "completed"}
    lines = [
        *CODEX.begin(),
        program,
        CODEX.ended("e1", "ls", "a.py", 0),
        CODEX.line("event_msg", type="item_completed", item=change),
        CODEX.line(
            "response_item", type="custom_tool_call_output", call_id="c1", output=[{"text": "Script completed"}]
        ),
    ]
    found = calls("codex", lines)
    assert [(call.id, call.tool, call.outcome) for call in found] == [
        ("e1", "Bash", Outcome.OK),
        ("e2", "apply_patch", Outcome.OK),
    ]


@pytest.mark.parametrize(
    ("output", "outcome", "code"),
    [
        ("Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.", Outcome.OK, 0),
        ('{"output": "Success.", "metadata": {"exit_code": 0, "duration_seconds": 0.1}}', Outcome.OK, 0),
        ("Exit code: 1\nWall time: 0 seconds\nOutput:\nFailed to find expected lines", Outcome.FAILED, 1),
        ("anything", Outcome.UNKNOWN, None),
    ],
)
def test_codex_patches(output: str, outcome: Outcome, code: int | None) -> None:
    lines = [
        *CODEX.begin(),
        CODEX.line("response_item", type="custom_tool_call", name="apply_patch", input="*** Begin", call_id="p1"),
        CODEX.line("response_item", type="custom_tool_call_output", call_id="p1", output=output),
    ]
    (found,) = calls("codex", lines)
    assert found == Call("p1", "apply_patch", {"command": "*** Begin"}, output, outcome, exit_code=code)


def test_codex_tokens_are_counted_once() -> None:
    made = CodexWriter("/home/dev/shop")
    first, second = made.used(100), made.used(50)
    wanted = {"total 100": 100, "total 150": 50}
    for lines in ([*first, *second], [first[0], second[0]], [first[1], second[1], second[1]]):
        assert used("codex", [*made.begin(), *lines]) == wanted


def test_codex_subagent_is_a_session_of_its_parent() -> None:
    made = CodexWriter("/home/dev/shop", "child", parent="root")
    found = read("codex", [*made.begin(), *made.call("c1"), *CodexWriter("/elsewhere").begin()])
    assert {(event.session, event.parent, event.cwd) for event in found} == {("child", "root", "/home/dev/shop")}


# --- what was used, alone ---------------------------------------------------------------------------------------------

CALLED: Line = {"id": "c1", "name": "run_shell_command", "args": {}, "status": "success"}


def test_gemini_answer_that_is_written_again_is_counted_once() -> None:
    answers = [gemini_answer("a", 100), gemini_answer("a", 100, CALLED), gemini_answer("b", 50, text="Done.")]
    events = read("gemini", [gemini_head("s"), *answers])
    assert [each.usage and (each.usage.id, *each.usage[:4]) for each in events] == [
        ("a", 90, 10, 6, "model-c"),
        ("b", 40, 10, 6, "model-c"),
        None,
    ]
    assert (events[-1].kind, {each.session for each in events}) == (Kind.TURN, {"s"})


def test_qwen_answers_are_counted_by_their_reports_with_those_of_subagents() -> None:
    asked = qwen_answer("s", "/x", 100, {"functionCall": {"name": "agent"}})
    reports = [qwen_report("s", "/x", "r1", 100), asked, qwen_report("s", "/x", "r2", 70, subagent_name="helper")]
    assert used("qwen", reports) == {"r1": 100, "r2": 70}
    last = qwen_answer("s", "/x", 30, {"text": "Done."})
    assert list(used("qwen", [asked, last]).values()) == [100, 30]  # of a version without reports
    assert [each.kind for each in read("qwen", [*reports, last])] == [Kind.NOTE, Kind.NOTE, Kind.TURN]


@pytest.mark.parametrize("value", [None, True, -1, 10**400, float("nan"), "9", [], {}, [None], {"uiEvent": 3}])
def test_hostile_counts_are_none(value: Any) -> None:
    names = ("input", "output", "total", "input_token_count", "output_token_count", "total_token_count")
    bad: list[Any] = [
        value,
        dict.fromkeys(names, value),
        {"event.name": "x.api_response", **dict.fromkeys(names, value)},
    ]
    for each in bad:
        gemini = {**gemini_answer("a", 100), "tokens": each, "model": value, "id": value, "content": value}
        assert not used("gemini", [gemini_head("s"), gemini, {**gemini, "type": value}, {**gemini, "toolCalls": value}])
        lines = [qwen_line("s", "/x", "system", systemPayload={"uiEvent": each}), qwen_line("s", "/x", "system")]
        odd = {"usageMetadata": each, "message": each, "systemPayload": value}
        assert not used("qwen", [*lines, qwen_line("s", "/x", "assistant", **odd), {**lines[0], "sessionId": value}])


# --- other versions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_unknown_lines_and_fields_are_ignored(client: str) -> None:
    made = CLAUDE if client == "claude" else CODEX
    lines = [*made.begin(), *made.call("t1")]
    more = [{**line, "new": {"deep": [1]}} for line in lines]
    odd: list[Line] = [made.line("from-the-future", message=3), {"type": "summary"}, {"payload": []}]
    assert calls(client, [*odd, *more, *odd]) == calls(client, lines)
    assert all(event.missing is None for event in read(client, [*lines, *odd]))


def test_missing_fields_are_named() -> None:
    results: list[Line] = [{"type": "tool_result", "content": "x"}]
    broken = [
        ("claude", CLAUDE.line("assistant")),
        ("claude", CLAUDE.answer({"type": "tool_use", "name": "Bash"})),
        ("claude", CLAUDE.line("user", message={"content": results})),
        ("codex", CODEX.line("response_item", type="function_call", name="exec_command")),
        ("codex", CODEX.line("event_msg", type="item_completed", item={"type": "CommandExecution", "id": "c1"})),
    ]
    for client, line in broken:
        begin = CODEX.begin() if client == "codex" else []
        assert [event.missing for event in read(client, [*begin, line]) if event.missing], line


def test_hostile_lines_are_survived() -> None:
    deep = b'{"type": ' + b"[" * 100_000
    for line in (b"", b"{", b"[]", b"null", b"\xff\xfe", deep, b'{"type": "user", "sessionId": 3}'):
        found = parse_line(line)
        assert found is None or list(new_transcript("claude", "").read(found)) == []
    values: list[Any] = [None, 3, "x", [], {}, [None], {"content": [None, 3]}, {"content": {"type": "tool_use"}}]
    for value in values:
        for kind in ("assistant", "user"):
            read("claude", [CLAUDE.line(kind, message=value, toolUseResult=value)])
        for kind in ("session_meta", "response_item", "event_msg", "token_usage_record", "turn_context"):
            for inner in ("function_call", "function_call_output", "item_completed", "token_count"):
                fields = {
                    "type": inner,
                    "call_id": "c1",
                    "name": "shell",
                    "item": value,
                    "info": value,
                    "output": value,
                }
                read("codex", [*CODEX.begin(), CODEX.line(kind, **fields, arguments=value, usage=value, git=value)])


def test_client_is_known_by_a_line() -> None:
    assert client_of(CLAUDE.begin()[0]) == "claude"
    assert client_of(CODEX.begin()[0]) == "codex"
    assert client_of({"display": "a prompt", "project": "/home/dev"}) is None
    assert parse_line(raw(CLAUDE.begin()[:1])) is not None
