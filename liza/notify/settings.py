"""What is wrong with a target in `notify:`. A fault names no address, because addresses hold secrets."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from liza.model import Fault, Path
from liza.text import suggestion, value_text


def unknown_keys(given: Mapping[Any, Any], path: Path, known: Sequence[str]) -> Iterator[Fault]:
    for key in given:
        if key not in known:
            text = f"unknown key {shown(key)} in {'.'.join(map(str, path))}"
            yield Fault((*path, str(key)), text, suggestion(key, known, "known"))


def shown(value: Any) -> str:
    """The value, unless it is an address under the wrong key."""
    return "an address" if "://" in str(value) else value_text(value)
