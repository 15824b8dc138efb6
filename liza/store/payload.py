"""Facts as JSON and back: NamedTuples as objects, every type checked, because any program may have written them."""

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from liza.errors import Refused
from liza.text import value_text


class Malformed(Refused):
    """A value is not of the type that its field has."""


def dump(value: Any) -> Any:
    """A fact with only what JSON knows."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: dump(inner) for name, inner in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(name): dump(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [dump(inner) for inner in value]
    return value


def load_fields(fields: Mapping[str, Any], /, **kinds: Any) -> dict[str, Any]:
    """These fields and no others, each of its type; one that may be None may be missing."""
    if unknown := [name for name in fields if name not in kinds]:
        raise Malformed(f"unknown field {value_text(unknown[0])}")
    return {name: load(kind, fields.get(name), name) for name, kind in kinds.items()}


def load(kind: Any, value: Any, name: str) -> Any:
    """The value as that type; `Malformed` where it is none of it."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, UnionType):
        for each in arguments:
            try:
                return load(each, value, name)
            except Malformed:
                continue
    elif origin is tuple and isinstance(value, list):
        return tuple(load(arguments[0], each, name) for each in value)
    elif origin is Mapping and isinstance(value, dict):
        return {key: load(arguments[1], each, f"{name}.{key}") for key, each in value.items()}
    elif isinstance(kind, type) and hasattr(kind, "_field_defaults") and isinstance(value, dict):
        return _fact(kind, value, name)
    elif kind is None or kind is NoneType:
        if value is None:
            return None
    elif type(value) in ((int, float) if kind is float else (kind,)):
        return value
    raise Malformed(f"{name}: expected {_words(kind)}, got {value_text(value)}")


def _fact(kind: Any, value: Mapping[str, Any], name: str) -> Any:
    hints = get_type_hints(kind)
    given = {**kind._field_defaults, **value}
    missing = [each for each in kind._fields if each not in given]
    unknown = [each for each in value if each not in hints]
    if missing or unknown:
        what = f"{missing[0]} is missing" if missing else f"unknown field {value_text(unknown[0])}"
        raise Malformed(f"{name}: {what}")
    values = {each: load(hints[each], inner, f"{name}.{each}") for each, inner in value.items()}
    return kind(**values)


def _words(kind: Any) -> str:
    return getattr(kind, "__name__", None) or str(kind)
