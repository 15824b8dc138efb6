"""Changes inside `[...]` and `{...}`, where columns mean nothing.

People write small records so, and `yq` writes empty collections so. ruamel.yaml keeps the position of every node; it
is slow, which does not matter for the one record that is changed, and it is imported only here.
"""

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from liza.store import emit
from liza.store.compare import common_ends, identical
from liza.store.parser import BadYaml, decode, load
from liza.store.spans import CannotCut

LIMIT = 1 << 18  # about a second of composing

Change = tuple[int, int, str]


def changes(raw: bytes, start: int, end: int, old: Any, new: Any) -> list[Change]:
    """What to replace in the flow collection at [start, end) so that it is `new`."""
    if end - start > LIMIT:
        raise CannotCut(f"it is written in flow style and larger than {LIMIT // 1024} KiB", start)
    text = decode(raw[start:end])
    found: list[Change] = []
    try:
        _compare(YAML(typ="rt", pure=True).compose(text), old, new, found, text)
    except (YAMLError, CannotCut) as error:
        if "#" in text:
            raise CannotCut("it is written in flow style with comments inside", start) from error
        return [(start, end, emit.flow(new))]

    if any(not changed for _, _, changed in found) and not _is(_applied(text, found), new):
        return [(start, end, emit.flow(new))]  # a field without a value, perhaps: what is cut out took a comma too many

    def byte(index: int) -> int:
        return start + len(text[:index].encode())

    return [(byte(begin), byte(finish), changed) for begin, finish, changed in found]


def _compare(node: Node, old: Any, new: Any, found: list[Change], text: str) -> None:
    if identical(old, new):
        return
    if isinstance(node, MappingNode) and isinstance(new, dict) and old and new:
        _compare_fields(node, old, new, found, text)
    elif isinstance(node, SequenceNode) and isinstance(new, list) and old and new:
        _compare_items(node, old, new, found, text)
    else:
        found.append((node.start_mark.index, node.end_mark.index, emit.flow(new)))


def _compare_fields(
    node: MappingNode, old: dict[str, Any], new: dict[str, Any], found: list[Change], text: str
) -> None:
    if len(node.value) != len(old) or old.keys().isdisjoint(new.keys()):
        raise CannotCut("none of its fields stays", 0)
    kept = [key in new for key in old]
    first = kept.index(True)
    for place, ((name, value), key) in enumerate(zip(node.value, old, strict=True)):
        if key in new:
            _compare(value, old[key], new[key], found, text)
            continue
        if place < first:  # those at the beginning take the comma behind them along, all others the one before
            begin, finish = name.start_mark.index, node.value[place + 1][0].start_mark.index
        else:
            begin, finish = node.value[place - 1][1].end_mark.index, value.end_mark.index
        if "#" in text[begin : name.start_mark.index] + text[value.end_mark.index : finish]:
            raise CannotCut("a comment is between two fields of which one is to go", 0)
        found.append((begin, finish, ""))
    added = emit.flow({key: value for key, value in new.items() if key not in old})[1:-1]
    if added:
        last = node.value[-1][1]
        end = last.end_mark.index
        gap = " , " if last.start_mark.index == end else ", "  # `{a:, b: 1}` has a key `a:` for some readers
        found.append((end, end, gap + added))


def _applied(text: str, found: list[Change]) -> str:
    for begin, finish, changed in sorted(found, reverse=True):
        text = text[:begin] + changed + text[finish:]
    return text


def _is(text: str, value: Any) -> bool:
    try:
        return identical(load(f"k: {text}"), {"k": value})
    except BadYaml:
        return False


def _compare_items(node: SequenceNode, old: list[Any], new: list[Any], found: list[Change], text: str) -> None:
    head, tail = common_ends(old, new)
    if len(node.value) != len(old) or len(new) < len(old):
        raise CannotCut("an item would be removed from a flow list", 0)
    paired = len(old) - head - tail
    for index in range(head, head + paired):
        _compare(node.value[index], old[index], new[index], found, text)
    added = "".join(", " + emit.flow(value) for value in new[head + paired : len(new) - tail])
    if added:
        if head + paired == 0:
            raise CannotCut("an item would be inserted before the first of a flow list", 0)
        end = node.value[head + paired - 1].end_mark.index
        found.append((end, end, added))
