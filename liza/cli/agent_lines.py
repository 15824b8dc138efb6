"""What an agent prints, as a terminal may show it: JSON lines as what they say, colours kept, nothing else obeyed."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from liza.text import cut, one_line, plural, printable

_COLOUR_CODE = re.compile(r"(\x1b\[[0-9;]*m)")
_HIDING = {"5", "6", "7", "8"}  # blinking, reversed or concealed: a text could look like liza's, or like nothing
_LONGEST = 300  # characters of a tool's input and of the first line of its result


def harmless(line: str) -> str:
    """A line of the agent's with its colours, and nothing else in it that the terminal obeys."""
    shown = line.rstrip("\r").rpartition("\r")[2].expandtabs()
    parts = _COLOUR_CODE.split(shown)
    return "".join(_colour(part) if index % 2 else printable(part) for index, part in enumerate(parts))


def _colour(code: str) -> str:
    numbers = code[2:-1].split(";")
    return "" if numbers[0] not in ("38", "48") and not _HIDING.isdisjoint(numbers) else code


def readable(line: str) -> list[str]:
    """The lines to show for one line of output: a JSON object as what the agent says and does, all else as it is."""
    if not line.lstrip().startswith("{"):
        return [harmless(line)]
    from liza.run.agent_output import json_values

    value = next(json_values(line), line)
    return [harmless(line)] if isinstance(value, str) else [printable(each) for each in _said(value)]


def _said(value: Mapping[str, Any]) -> Iterator[str]:
    from liza.run.agent_output import texts_of
    from liza.run.tool_calls import asked_in, results_in
    from liza.toolerrors.errors import headline

    for text in texts_of(value):
        yield from text.splitlines()
    for tool, given in asked_in(value):
        yield f"● {tool}  {one_line(_input_text(given), _LONGEST)}"
    for failed, result in results_in(value):
        first, *others = [each for each in result.splitlines() if each.strip()] or ["(no output)"]
        first = headline(result) or first if failed else first  # not just `Exit code 1`
        more = f"  (and {plural(len(others), 'more line')})" if others else ""
        yield f"  {'✗' if failed else '└'} {cut(one_line(first, _LONGEST), _LONGEST)}{more}"


def _input_text(given: Any) -> str:
    """The input of a call: the text of a single field, else each field by name."""
    if isinstance(given, Mapping):
        command = given.get("command") or given.get("file_path") or given.get("path")
        if isinstance(command, str):
            return command
        return ", ".join(f"{name}: {each}" for name, each in given.items())
    return str(given or "")
