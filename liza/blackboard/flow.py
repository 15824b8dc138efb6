"""Changes inside `[...]` and `{...}`, where columns mean nothing.

People write small records so, and `yq` writes empty collections so. ruamel.yaml keeps the position of every node; it
is slow, which does not matter for the one record that is changed, and it is imported only here.
"""

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from liza.blackboard import emit
from liza.blackboard.reader import decode
from liza.blackboard.spans import CannotCut
from liza.blackboard.values import common_ends, identical

LIMIT = 1 << 18  # about a second of composing

Change = tuple[int, int, str]


def changes(raw: bytes, start: int, end: int, old: Any, new: Any) -> list[Change]:
    """What to replace in the flow collection at [start, end) so that it is `new`."""
    if end - start > LIMIT:
        raise CannotCut(f"it is written in flow style and larger than {LIMIT // 1024} KiB", start)
    text = decode(raw[start:end])
    found: list[Change] = []
    try:
        _compare(YAML(typ="rt", pure=True).compose(text), old, new, found)
    except (YAMLError, CannotCut) as error:
        if "#" in text:
            raise CannotCut("it is written in flow style with comments inside", start) from error
        return [(start, end, emit.flow(new))]

    def byte(index: int) -> int:
        return start + len(text[:index].encode())

    return [(byte(begin), byte(finish), changed) for begin, finish, changed in found]


def _compare(node: Node, old: Any, new: Any, found: list[Change]) -> None:
    if identical(old, new):
        return
    if isinstance(node, MappingNode) and isinstance(new, dict) and old and new:
        _compare_fields(node, old, new, found)
    elif isinstance(node, SequenceNode) and isinstance(new, list) and old and new:
        _compare_items(node, old, new, found)
    else:
        found.append((node.start_mark.index, node.end_mark.index, emit.flow(new)))


def _compare_fields(node: MappingNode, old: dict[str, Any], new: dict[str, Any], found: list[Change]) -> None:
    if len(node.value) != len(old) or not old.keys() <= new.keys():
        raise CannotCut("a field is to be taken out of a flow mapping", 0)
    for (_, value), key in zip(node.value, old, strict=True):
        _compare(value, old[key], new[key], found)
    added = emit.flow({key: value for key, value in new.items() if key not in old})[1:-1]
    if added:
        last = node.value[-1][1]
        end = last.end_mark.index
        gap = " , " if last.start_mark.index == end else ", "  # `{a:, b: 1}` has a key `a:` for some readers
        found.append((end, end, gap + added))


def _compare_items(node: SequenceNode, old: list[Any], new: list[Any], found: list[Change]) -> None:
    head, tail = common_ends(old, new)
    if len(node.value) != len(old) or len(new) < len(old):
        raise CannotCut("an item is to be taken out of a flow list", 0)
    paired = len(old) - head - tail
    for index in range(head, head + paired):
        _compare(node.value[index], old[index], new[index], found)
    added = "".join(", " + emit.flow(value) for value in new[head + paired : len(new) - tail])
    if added:
        if head + paired == 0:
            raise CannotCut("an item is to be put before the first of a flow list", 0)
        end = node.value[head + paired - 1].end_mark.index
        found.append((end, end, added))
