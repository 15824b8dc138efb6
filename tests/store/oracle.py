"""ruamel.yaml as the second opinion: what a file says, and where its sections begin."""

from typing import Any

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


def section_spans(raw: bytes) -> dict[str, tuple[int, int]]:
    """For each section its first byte, and where the line of the next one begins."""
    text = raw.decode()
    root = YAML(typ="rt", pure=True).compose(text.removeprefix("\ufeff"))
    shift = len(raw) - len(text.removeprefix("\ufeff").encode())
    body = text.removeprefix("\ufeff")
    starts = [(str(key.value), shift + len(body[: key.start_mark.index].encode())) for key, _ in root.value]
    ends = [raw.rfind(b"\n", 0, start) + 1 for _, start in starts[1:]] + [len(raw)]
    return {name: (start, end) for (name, start), end in zip(starts, ends, strict=True)}
