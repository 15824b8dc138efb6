"""Oracles: the value of a file according to ruamel.yaml and libyaml, and where its sections begin."""

import re
from collections.abc import Hashable
from typing import Any, ClassVar

import yaml as pyyaml  # type: ignore[import-untyped]
from hypothesis import settings
from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor

# For properties that ask it: it takes a hundred times as long as liza does.
ASKED = settings(max_examples=max(settings().max_examples // 3, 1))


class _Text(SafeConstructor):
    """Timestamps stay the text they are, as in liza's reader."""


_Text.add_constructor("tag:yaml.org,2002:timestamp", SafeConstructor.construct_yaml_str)


def ruamel_value(raw: bytes) -> Any:
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = _Text
    return yaml.load(raw.decode().removeprefix("\ufeff"))


class _Core(pyyaml.CSafeLoader):  # type: ignore[misc]
    """libyaml with the plain values of YAML 1.2: only true and false are booleans, and a time stays a text."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}

    def construct_mapping(self, node: pyyaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, pyyaml.ScalarNode)]
        assert len(keys) == len(set(keys)), f"a key appears twice: {keys}"
        found: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return found


for _tag, _plain, _begins in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", list("-+.")),
    ("merge", "<<", ["<"]),
):
    _Core.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_plain})$"), _begins)
_Core.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(loader.construct_scalar(node)))


def libyaml_value(raw: bytes) -> Any:
    """The same as `ruamel_value`, in a tenth of the time; what libyaml refuses is left to that one."""
    try:
        return pyyaml.load(raw, _Core)
    except pyyaml.YAMLError:
        return ruamel_value(raw)


def section_spans(raw: bytes) -> dict[str, tuple[int, int]]:
    """For each section its first byte, and where the line of the next one begins."""
    text = raw.decode()
    root = YAML(typ="rt", pure=True).compose(text.removeprefix("\ufeff"))
    shift = len(raw) - len(text.removeprefix("\ufeff").encode())
    body = text.removeprefix("\ufeff")
    starts = [(str(key.value), shift + len(body[: key.start_mark.index].encode())) for key, _ in root.value]
    ends = [raw.rfind(b"\n", 0, start) + 1 for _, start in starts[1:]] + [len(raw)]
    return {name: (start, end) for (name, start), end in zip(starts, ends, strict=True)}
