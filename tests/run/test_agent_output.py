"""What coding agents answer in JSON."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.run.agent_output import Answer, answer_of
from liza.run.done_markers import claims_done, progress_in


def lines(*objects: Any) -> str:
    return "".join(json.dumps(each) + "\n" for each in objects)


def test_plain_text_is_the_agents_words() -> None:
    answer = answer_of("one\ntwo\n")
    assert answer == Answer(("one", "two"))


RESULT = {
    "type": "result", "subtype": "success", "is_error": False, "num_turns": 3, "total_cost_usd": 0.25,
    "result": "All is well.\nProgress: 60%\nDONE",
    "usage": {"input_tokens": 10, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 1000,
              "output_tokens": 5, "server_tool_use": {"web_search_requests": 0}},
}  # fmt: skip


@pytest.mark.parametrize("output", [json.dumps(RESULT), json.dumps(RESULT, indent=2), json.dumps([RESULT])])
def test_result_is_read_in_any_layout(output: str) -> None:
    answer = answer_of(output)
    assert answer.words == ("All is well.", "Progress: 60%", "DONE")
    assert (answer.failure, answer.tokens, answer.cost) == (None, 1115, 0.25)


def test_words_are_found_in_a_stream_of_messages() -> None:
    answer = answer_of(
        lines(
            {"type": "system", "subtype": "init", "tools": ["Bash"]},
            {
                "type": "assistant",
                "message": {"role": "assistant", "content": [{"type": "text", "text": "Progress: 30%"}]},
            },
            {"type": "assistant", "message": {"content": [{"type": "tool_use", "input": {"command": "pytest -x"}}]}},
        )
    )
    assert progress_in(answer.words) == 30
    assert answer.commands == ("pytest -x",)


def test_tool_results_and_prompts_are_not_the_agents_words() -> None:
    message = {
        "role": "user",
        "content": [{"type": "tool_result", "content": "DONE\n"}, {"type": "text", "text": "DONE"}],
    }
    output = lines({"type": "user", "message": message}, {"type": "assistant", "message": message})
    assert not claims_done(answer_of(output).words)


def test_items_and_turns_are_read() -> None:
    answer = answer_of(
        lines(
            {"type": "thread.started", "thread_id": "1"},
            {"type": "item.completed", "item": {"type": "command_execution", "command": "npm test", "text": "DONE"}},
            {"type": "item.completed", "item": {"type": "agent_message", "text": "<promise>COMPLETE</promise>"}},
            {"type": "turn.completed", "usage": {"input_tokens": 100, "cached_input_tokens": 50, "output_tokens": 7}},
        )
    )
    assert answer.words == ("<promise>COMPLETE</promise>",)
    assert (answer.commands, answer.tokens, answer.failure) == (("npm test",), 107, None)


def test_parts_and_steps_are_added_up() -> None:
    answer = answer_of(
        lines(
            {"type": "text", "part": {"type": "text", "text": "DONE"}},
            {"type": "step_finish", "part": {"cost": 0.5, "tokens": {"input": 10, "output": 5, "reasoning": 0}}},
            {"type": "step_finish", "part": {"cost": 0.25, "tokens": {"input": 1, "output": 1}}},
        )
    )
    assert (answer.words, answer.tokens, answer.cost) == (("DONE",), 17, 0.75)


def test_response_with_statistics_is_read() -> None:
    stats = {"models": {"m1": {"tokens": {"prompt": 5, "total": 9}}, "m2": {"tokens": {"total": 1}}}}
    answer = answer_of(json.dumps({"response": "Progress: 5%", "stats": stats}))
    assert (answer.words, answer.tokens, answer.failure) == (("Progress: 5%",), 10, None)


@pytest.mark.parametrize(
    ("answer", "failure"),
    [({"type": "result", "is_error": True, "result": "API Error: 529 overloaded"}, "API Error: 529 overloaded"),
     ({"type": "error", "message": "stream disconnected"}, "stream disconnected"),
     ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "Overloaded"),
     ({"type": "turn.failed", "error": {"message": "usage limit"}}, "usage limit"),
     ({"error": {"type": "ApiError", "message": "quota exceeded", "code": 429}}, "quota exceeded"),
     ({"error": "unauthorized"}, "unauthorized"),
     ({"type": "error", "error": {"name": "APIError", "data": {"message": "no such model"}}}, "no such model"),
     ({"is_error": True}, "is_error")],
)  # fmt: skip
def test_error_in_the_answer_is_a_failure_with_its_text(answer: dict[str, Any], failure: str) -> None:
    assert answer_of(json.dumps(answer)).failure == failure
    assert answer_of(lines({"type": "assistant", "message": {}}, answer)).failure == failure


@pytest.mark.parametrize(
    "answer",
    [{"type": "result", "is_error": False, "result": "added error handling"}, {"type": "result", "error": None},
     {"type": "assistant", "message": {"content": [{"type": "text", "text": "Error: none"}]}},
     {"type": "user", "message": {"content": [{"type": "tool_result", "is_error": True, "content": "exit 1"}]}},
     {"response": "ok", "error": {"message": "recovered"}}, {"type": "result", "is_error": "false", "result": "x"}],
)  # fmt: skip
def test_word_error_alone_is_not_a_failure(answer: dict[str, Any]) -> None:
    assert answer_of(json.dumps(answer)).failure is None


def test_recovered_error_is_not_a_failure() -> None:
    output = lines({"type": "error", "message": "Reconnecting 1/5"}, {"type": "turn.completed", "usage": {}})
    assert answer_of(output).failure is None


def test_plain_answer_that_is_only_an_api_error_is_a_failure() -> None:
    assert answer_of("API Error: 500 internal\n").failure == "API Error: 500 internal"
    assert answer_of("working\n" * 20 + "API Error: 500 internal\n").failure is None


def test_broken_json_is_text() -> None:
    assert answer_of('{"type": "result"').words == ('{"type": "result"',)
    deep = '{"a":' * 100_000
    assert answer_of(deep).words == (deep,)


KEYS = ("type", "error", "usage", "tokens", "part", "result", "message", "stats", "is_error", "command", "models",
        "input_tokens", "content", "total_cost_usd", "cost")  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(VALUES, max_size=4))
def test_any_json_is_accepted(values: list[Any]) -> None:
    answer = answer_of(lines(*values))
    assert all("\n" not in line for line in answer.words)
