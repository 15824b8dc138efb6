"""Entries added to and removed from a JSON file that others wrote: every byte outside the entries stays.

An entry is inserted right behind the last one of its object or array, so removing it gives back what was there before.
"""

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from liza.errors import Refused

_BLANK = " \t\r\n"
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SCALAR = re.compile(r"[^\s,\]}]+")


class Node(NamedTuple):
    """A value with its place: `members` are the values of an object by key, or of an array by index."""

    start: int
    end: int
    value: Any
    members: "dict[Any, Node]"
    entries: "dict[Any, int]"  # where each entry begins: its key in an object, itself in an array


def add_entries(raw: str, path: tuple[str, ...], entries: list[Any], file: str) -> str:
    """The text with these entries at the end of the array at `path`, whose objects are made where there are none."""
    root = _parse(raw or "{}", file)
    text = raw or "{}"
    node, depth = root, 0
    while depth < len(path) and path[depth] in node.members:
        node, depth = node.members[path[depth]], depth + 1
        _require(text, node, dict if depth < len(path) else list, path[:depth], file)
    step = _step_of(text)
    if depth == len(path):
        return _insert(text, node, [json.dumps(each, indent=step, ensure_ascii=False) for each in entries])
    return _insert(text, node, [_member(path[depth:], list(entries), step)])


def add_member(raw: str, path: tuple[str, ...], value: Any, file: str) -> str:
    """The text with a value at `path`, where there is none, in objects that are made where there are none."""
    text = raw or "{}"
    node, depth = _parse(text, file), 0
    while depth < len(path) - 1 and path[depth] in node.members:
        node, depth = node.members[path[depth]], depth + 1
        _require(text, node, dict, path[:depth], file)
    return _insert(text, node, [_member(path[depth:], value, _step_of(text))])


def _member(path: tuple[str, ...], value: Any, step: int) -> str:
    """A key with its value, inside the objects that are made for it."""
    for key in reversed(path[1:]):
        value = {key: value}
    return f"{json.dumps(path[0])}: {json.dumps(value, indent=step, ensure_ascii=False)}"


def _insert(text: str, node: Node, inserted: list[str]) -> str:
    """The text with these at the end of an object or an array."""
    indent = _indent_of(text, node) + " " * _step_of(text)
    pieces = [("\n" + each).replace("\n", "\n" + indent) for each in inserted]
    if node.members:
        at = max(each.end for each in node.members.values())
        return text[:at] + "".join("," + each for each in pieces) + text[at:]
    at = node.start + 1
    return text[:at] + ",".join(pieces) + text[at:]


def remove_member(raw: str, path: tuple[str, ...], file: str) -> str:
    """The text without the value at `path`, and without the objects that were made for it and are empty now."""
    nodes = [_parse(raw, file)]
    for key in path:
        if key not in nodes[-1].members:
            return raw
        nodes.append(nodes[-1].members[key])
    before = [_cut(raw, nodes[-2], path[-1])]
    for depth in range(len(path) - 2, -1, -1):
        if len(nodes[depth + 1].members) > 1:
            break
        before.append(_cut(raw, nodes[depth], path[depth]))
    value = nodes[-1].value
    return next((each for each in reversed(before) if add_member(each, path, value, file) == raw), before[-1])


def remove_entries(raw: str, path: tuple[str, ...], is_ours: Callable[[Any], bool], file: str) -> str:
    """The text without our entries of the array at `path`, and without what was made for them and is empty now."""
    root = _parse(raw, file)
    nodes = [root]
    for key in path:
        if key not in nodes[-1].members:
            return raw
        nodes.append(nodes[-1].members[key])
    array = nodes[-1]
    ours = [index for index, each in array.members.items() if is_ours(each.value)] if type(array.value) is list else []
    if not ours:
        return raw
    if len(ours) < len(array.members):
        for index in reversed(ours):
            raw = _cut(raw, _parse_at(raw, path, file), index)
        return raw
    # Which of the objects around them were made for them, and which were there and empty: what gives this text back.
    values = [array.members[index].value for index in ours]
    emptied = raw[: array.start + 1] + raw[array.members[ours[-1]].end :]
    before = [emptied]
    for depth in range(len(path) - 1, -1, -1):
        if len(nodes[depth + 1].members) > 1 and depth < len(path) - 1:
            break
        before.append(_cut(raw, nodes[depth], path[depth]))
    return next((each for each in reversed(before) if add_entries(each, path, values, file) == raw), before[-1])


def _parse_at(raw: str, path: tuple[str, ...], file: str) -> Node:
    node = _parse(raw, file)
    for key in path:
        node = node.members[key]
    return node


def _cut(raw: str, node: Node, key: Any) -> str:
    """The text without one entry, and without the comma and the blanks that came with it."""
    order = list(node.members)
    at = order.index(key)
    start, end = node.entries[key], node.members[key].end
    if at > 0:
        return raw[: node.members[order[at - 1]].end] + raw[end:]
    if len(order) > 1:
        return raw[:start] + raw[node.entries[order[1]] :]
    return raw[: node.start + 1] + raw[end:]


def _require(text: str, node: Node, kind: type, path: tuple[str, ...], file: str) -> None:
    if not isinstance(node.value, kind):
        message = f"{'.'.join(path)}: expected {'an object' if kind is dict else 'an array'}"
        line, column = text.count("\n", 0, node.start) + 1, node.start - text.rfind("\n", 0, node.start)
        raise Refused(message, hint=f"correct it by hand: {file}", file=file, line=line, column=column)


def _indent_of(text: str, node: Node) -> str:
    """The indentation of the line on which a value begins."""
    line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _step_of(text: str) -> int:
    found = re.search(r"\n( +)\S", text)
    return len(found[1]) if found is not None and len(found[1]) <= 8 else 2


# --- where each value is ----------------------------------------------------------------------------------------------


def parse_object(raw: str, file: str) -> dict[str, Any]:
    """The object that a settings file is; `Refused` with line and column for anything else."""
    line, column = None, None
    try:
        value = json.loads(raw, object_pairs_hook=_without_duplicates)
        if isinstance(value, dict):
            return value
        message = "expected an object at the top"
    except json.JSONDecodeError as error:
        message, line, column = f"not valid JSON: {error.msg}", error.lineno, error.colno
    except ValueError as error:
        message = f"not valid JSON: {error}"
    raise Refused(message, hint=f"correct it by hand: {file}", file=file, line=line, column=column)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key that appears twice hides what is under the first one; clients differ in which they take."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} appears twice")
    return found


def _parse(raw: str, file: str) -> Node:
    return _node(raw, _skip(raw, 0), parse_object(raw, file))


def _skip(raw: str, at: int) -> int:
    while at < len(raw) and raw[at] in _BLANK:
        at += 1
    return at


def _node(raw: str, start: int, value: Any) -> Node:
    """The value that begins there. The text is valid JSON, so only the places are looked for."""
    members: dict[Any, Node] = {}
    entries: dict[Any, int] = {}
    if raw[start] not in "{[":
        pattern = _STRING if raw[start] == '"' else _SCALAR
        found = pattern.match(raw, start)
        assert found is not None
        return Node(start, found.end(), value, members, entries)
    at, is_object = _skip(raw, start + 1), raw[start] == "{"
    while raw[at] not in "}]":
        begin, key = at, len(members)
        if is_object:
            found = _STRING.match(raw, at)
            assert found is not None
            key = json.loads(found[0])
            at = _skip(raw, _skip(raw, found.end()) + 1)
        child = _node(raw, at, value[key])
        members[key], entries[key] = child, begin
        at = _skip(raw, child.end)
        at = _skip(raw, at + 1) if raw[at] == "," else at
    return Node(start, at + 1, value, members, entries)
