"""The lines of an agent on a terminal: JSON as what it says, colours kept, nothing else obeyed."""

import json

from hypothesis import given
from hypothesis import strategies as st

from liza.cli.agent_lines import harmless, readable

CODES = ("[31m", "[1;32m", "[38;5;8m", "[0m", "[8m", "[5m", "]0;x\x07", "[2J")
COLOURS = st.sampled_from([f"\x1b{code}" for code in CODES])


def test_json_line_is_what_the_agent_says_and_does() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "pytest -q"}}
    said = {"type": "assistant", "message": {"content": [{"type": "text", "text": "I run\nthe tests."}, call]}}
    assert readable(json.dumps(said)) == ["I run", "the tests.", "● Bash  pytest -q"]
    result = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": "Exit code 1\nKeyError: price"}
    (line,) = readable(json.dumps({"type": "user", "message": {"content": [result]}}))
    assert line == "  ✗ KeyError: price  (and 1 more line)"
    assert readable(json.dumps({"type": "system", "subtype": "init"})) == []


def test_command_of_codex_is_shown_with_its_outcome() -> None:
    item = {"type": "command_execution", "command": "ls", "aggregated_output": "a\n", "exit_code": 0}
    (line,) = readable(json.dumps({"type": "item.completed", "item": item}))
    assert line.startswith("  └ ls")


def test_text_that_is_not_json_is_shown_as_it_is() -> None:
    assert readable("{ this is a sentence") == ["{ this is a sentence"]
    assert readable("50%\r100%") == ["100%"]
    assert readable("\x1b[32mok\x1b[0m") == ["\x1b[32mok\x1b[0m"]


@given(st.lists(st.one_of(COLOURS, st.text(max_size=10)), max_size=8))
def test_terminal_obeys_nothing_but_colours(parts: list[str]) -> None:
    shown = harmless("".join(parts))
    for piece in shown.split("\x1b")[1:]:
        code = piece.partition("m")[0]
        assert code.startswith("[")
        assert set(code[1:]) <= set("0123456789;")
    assert "\x1b[8m" not in shown
    assert "\x1b[5m" not in shown
    assert all(each.isprintable() for each in shown.replace("\x1b", ""))
