"""Errors in JSON: reports of tools, lines of logs, and the streams of coding agents, alone or among plain lines.

In the stream of an agent the results of its tools count and its own words do not, unless there is nothing else; a
command that was run again counts as it went the last time, and what was run last comes first. What a tool was given
to write or to look up (code, diffs, documents) is not looked at.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from liza.toolerrors import objects
from liza.toolerrors.findings import ENDED, LOGGED, Found, compiled
from liza.toolerrors.plain_text import found_in as in_text

Object = Mapping[str, Any]

_TRIES = 3  # that may fail to find a value over several lines: each can take the time of reading all that follows
_ENOUGH = 1_000  # lines that begin like JSON and are not: the rest is read as plain text
_LONG = 5_000  # characters: a longer line may be the rest of one in JSON
_START = r"[ \t]*(?:data: )?(?=\{\s*(?:$|[\"}])|\[\s*(?:$|[\[{\"\]]))"
_MORE = r"[ \t]*[^\s,].*"  # on the line of a value, behind it
# The input of a tool, and files that it shows, contain no errors.
_GIVEN = frozenset(
    ("input", "arguments", "prompt", "old_string", "new_string", "file_text", "patch", "diff", "fix", "source", "error",
     "err", "suggestions", "instructions", "system", "tools", "oldString", "newString", "tool_use_result",
     "toolUseResult", "structuredPatch", "originalFile")
)  # fmt: skip
_LOOKING = frozenset(
    ("read", "grep", "glob", "ls", "edit", "multiedit", "write", "notebookread", "notebookedit", "webfetch",
     "websearch", "todowrite", "view", "read_file", "search", "find_files", "list_directory", "str_replace_editor",
     "apply_patch")
)  # fmt: skip
_CALLS = ("tool_use", "tool_call", "function_call", "server_tool_use")
_RESULTS = ("tool_result", "function_call_output", "web_search_tool_result")
_IDS = ("tool_use_id", "call_id", "tool_call_id", "tool_id", "id")
_ANSWERS = ("content", "output", "result", "text", "error")
_RUNS = ("command_execution", "local_shell_call")
_WORDS = ("text", "agent_message", "assistant_message", "assistant", "output_text")
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning", "todo_list", "file_change", "system", "user_message")
_TEXTS = frozenset(
    ("output", "stdout", "stderr", "text", "content", "result", "message", "aggregated_output", "log", "logs", "detail",
     "traceback", "stack", "stack_trace", "exception", "exc_info", "rendered", "longrepr")
)  # fmt: skip


def found_in(text: str) -> list[Found]:
    """All errors in a text of which a part may be JSON."""
    stream = _Stream()
    plain: list[str] = []
    for part in _parts(text):
        if isinstance(part, str):
            plain.append(part)
            continue
        known = len(stream.others)
        stream.take(part)
        if len(stream.others) > known:  # else the value is left out, and the lines around it stay together
            stream.others[known:known] = in_text("\n".join(plain))
            plain.clear()
    stream.others += in_text("\n".join(plain))
    return stream.found()


def _parts(text: str) -> Iterator[Any]:
    """The lists and objects in a text, each one parsed, and the lines between them.

    An indented value with more text behind it is source code that a traceback shows, like `    {}["price"]`.
    """
    decoder = json.JSONDecoder()
    at = failed = 0
    while at < len(text) and failed < _ENOUGH:
        end = text.find("\n", at)
        end = end if end >= 0 else len(text)
        started = compiled(_START).match(text, at, end) if text[at] in "{[d \t" else None
        if started is None:
            yield _unquoted(text[at:end]) if end - at > _LONG else text[at:end]
        else:
            try:
                if failed < _TRIES:
                    value, end = decoder.raw_decode(text, started.end())
                else:
                    value = json.loads(text[started.end() : end])
            except (ValueError, RecursionError):
                failed += 1
                yield _unquoted(text[at:end])
            else:
                more = compiled(_MORE).match(text, end)
                if more and text[at] in " \t":
                    value, end = text[at : more.end()], more.end()
                yield value
        while text[end : end + 1] in (" ", "\t", "\r"):
            end += 1
        at = end + (text[end : end + 1] == "\n")
    yield text[at:]


def _unquoted(line: str) -> str:
    """The texts in a line of JSON of which the beginning or the end was cut off, each from a line of its own."""
    for quoted, plain in (('":"', '":\n'), ('": "', '":\n'), ("\\n", "\n"), ("\\t", "\t"), ('\\"', '"')):
        line = line.replace(quoted, plain)
    return line


class _Stream:
    """The errors so far, and those that later parts of a stream may still replace."""

    def __init__(self) -> None:
        self.others: list[Found] = []
        self._calls: dict[str, tuple[str, str]] = {}  # of tools, by id: the name, and what makes two calls the same
        self._runs: dict[str, list[Found]] = {}  # by call; the latest last
        self._words: list[str] = []  # the agent's own
        self._printed: list[str] = []  # what go test printed, a line an object

    def found(self) -> list[Found]:
        """All errors, those of the latest command first."""
        runs = [each for run in reversed(self._runs.values()) for each in run]
        printed = in_text("".join(self._printed)) if self._printed else []
        words = [] if self._runs else [each for text in self._words for each in in_text(text)]
        return self.others + printed + runs + words

    def take(self, value: Any) -> None:
        """Read a value and all parts of it, in order and without recursion."""
        pending: list[tuple[Any, str | None]] = [(value, None)]
        while pending:
            node, file = pending.pop()
            if isinstance(node, list):
                pending += [(each, file) for each in reversed(node)]
            elif isinstance(node, dict) and not self._is_agents(node):
                errors = objects.read(node, file)
                self.others += errors or []
                if errors is None:
                    file = objects.file_of(node) or file
                    pending += [(each, file) for key, each in reversed(node.items()) if key not in _GIVEN]
                    if not node.get("assertionResults"):  # the text of a report repeats its parts
                        texts = [each for key, each in node.items() if key in _TEXTS and isinstance(each, str)]
                        self.others += [each for text in texts for each in in_text(text)]

    def _is_agents(self, node: Object) -> bool:
        """Take an agent's text, command or result; False if the object is something else."""
        kind, role = node.get("type"), node.get("role")
        text = node.get("text") or node.get("content")
        if isinstance(node.get("Action"), str) and "Package" in node:
            self._printed.append(objects.text_of(node.get("Output")))
        elif kind in _CALLS or isinstance(node.get("function"), dict):
            self._call(node)
        elif kind == "result":
            self._end(node)
        elif kind in _RESULTS or role == "tool" or True in (node.get("is_error"), node.get("isError")):
            self._result(node)
        elif kind in _RUNS:
            output = objects.text_of(node.get("aggregated_output") or node.get("output"))
            self._run(objects.text_of(node.get("command")), output, node.get("exit_code") not in (0, None))
        elif True in (node.get("is_api_error_message"), node.get("isApiErrorMessage")):
            self.others.append(Found(ENDED, objects.first_line(objects.text_of(node.get("message")))))
        elif kind == "item.completed" and isinstance(node.get("item"), dict) and node["item"].get("type") == "error":
            self.others.append(Found(LOGGED, objects.first_line(objects.text_of(node["item"]))))  # it went on
        elif (kind in _WORDS or role == "assistant") and isinstance(text, str):
            self._words.append(text)
        else:
            return kind in _THOUGHTS or (role in ("user", "system", "developer") and isinstance(text, str))
        return True

    def _call(self, node: Object) -> None:
        function = node["function"] if isinstance(node.get("function"), dict) else node
        name = objects.text_of(function.get("name") or function.get("tool_name"))
        given = next((function[key] for key in ("input", "arguments", "parameters") if key in function), None)
        try:
            call = f"{name} {json.dumps(given, sort_keys=True)[:2000]}"
        except RecursionError:
            return  # it never equals another call
        self._calls |= {node[key]: (name, call) for key in _IDS if isinstance(node.get(key), str)}

    def _result(self, node: Object) -> None:
        number = next((node[key] for key in _IDS if isinstance(node.get(key), str)), f"number {len(self._runs)}")
        name, call = self._calls.get(number, ("", number))
        bad = True in (node.get("is_error"), node.get("isError")) or node.get("status") == "error"
        text = objects.text_of(next((node[key] for key in _ANSWERS if node.get(key)), None))
        if bad or name.lower() not in _LOOKING:
            self._run(call, text, bad)

    def _run(self, call: str, text: str, bad: bool) -> None:
        """The result of a tool call; the same call later replaces it."""
        found = in_text(text)
        if bad and not found:
            found = [Found(LOGGED, objects.first_line(compiled(r"</?tool_use_error>").sub("", text[:20_000])))]
        self._runs.pop(call, None)
        self._runs[call] = found

    def _end(self, node: Object) -> None:
        """The result of the agent; its failure is the reason why it stopped."""
        status = objects.text_of(node.get("subtype") or node.get("status"))
        text = objects.text_of(next((node[key] for key in ("result", "error", "errors") if node.get(key)), None))
        if node.get("is_error") is True or status.startswith("error"):
            found = in_text(text)
            first = found[0].text if found else objects.first_line(text) or status
            self.others.append(Found(ENDED, first, found[0].file if found else None))
        else:
            self._words.append(text)
