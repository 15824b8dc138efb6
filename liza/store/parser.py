"""YAML text to Python values: the one module that knows which parser is used.

yaml-rs reads 10,000 records in the time ruamel.yaml's round-trip loader needs for 30. It is YAML 1.2 and strict, with
a few ways of its own that are mended here, so that what it accepts in silence is refused aloud:

- a NUL ends its input; bytes that are not UTF-8 are replaced; a BOM becomes part of the first key
- timestamps stay text, as they were written; `<<` is a plain key and merges nothing; a tag it does not know is ignored
- aliases are followed, but only as far as a hand-written file needs
"""

import re
import sys
from importlib.machinery import PathFinder
from typing import Any

_COMPILED = "yaml_rs._yaml_rs"


def _parser() -> Any:
    """The compiled half of yaml-rs, which does all the work.

    The package around it imports pathlib for the sake of a type, and with it a dozen modules that take as long as the
    parser itself, in every call of a hook. So the half that is needed is loaded alone, under the name by which the
    package would find it later.
    """
    package = PathFinder.find_spec("yaml_rs")
    spec = PathFinder.find_spec(_COMPILED, package.submodule_search_locations) if package is not None else None
    if _COMPILED in sys.modules or spec is None or spec.loader is None:
        import yaml_rs._yaml_rs

        return yaml_rs._yaml_rs
    module = spec.loader.create_module(spec)
    assert module is not None
    sys.modules[_COMPILED] = module
    spec.loader.exec_module(module)
    return module


_PARSER = _parser()

BOM = b"\xef\xbb\xbf"
MAX_ALIAS_EVENTS = 100_000
MAX_DEPTH = 200

_LIMITS = _PARSER._AliasLimits(MAX_ALIAS_EVENTS, 64)
_POSITION = r"YAML parse error at line (\d+), column (\d+)"
# Flow collections are limited by the parser itself; a run of dashes opens one block sequence each and is not.
_DASHES = rf"(?:^|\n|: ) *(?:[-?:] +){{{MAX_DEPTH}}}"

# One of these is in every such run, and in few other texts: the slow look at a whole file is seldom taken.
_RUNS = ("- - - - ", "- ? ", "? - ", "? ? ")
# Each level is indented by one space at least, but for a list in a mapping, which may be at the margin of its key.
# Or many levels stand on one line, each behind its dash.
_DEEP = ("\n" + " " * (MAX_DEPTH // 2), "-  ", "?  ")


class BadYaml(ValueError):
    """The text is not YAML that liza reads; line and column count from 1 and are None where the parser names none."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


def load(text: str) -> Any:
    """The value of a YAML text. Several documents give the list of them, as the parser has it."""
    try:
        value = _PARSER._loads(text, parse_datetime=False, alias_limits=_LIMITS, duplicate_key_policy="error")
    except _PARSER.YAMLDecodeError as error:
        raise _explained(str(error)) from None
    except TypeError:
        raise BadYaml("a mapping or a list in it is used as a key") from None
    except RecursionError:
        raise BadYaml("it is nested too deeply") from None
    except ValueError as error:  # an integer of thousands of digits: Python's own guard against quadratic conversion
        raise BadYaml(str(error).split(";")[0]) from None
    if any(sign in text for sign in _DEEP) and _too_deep(value):
        raise BadYaml(f"it is nested more than {MAX_DEPTH} levels deep")
    return value


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        holders = [each for each in level if isinstance(each, dict | list)]
        level = [inner for each in holders for inner in (each.values() if isinstance(each, dict) else each)]
    return bool(level)


def decode(raw: bytes) -> str:
    """The text of a file, its BOM removed, or `BadYaml` for bytes that a parser would quietly skip or replace."""
    try:
        text = raw.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise BadYaml(f"byte 0x{raw[error.start]:02x} is not UTF-8", *_at(raw, error.start)) from None
    if "\0" in text:
        raise BadYaml("it holds a NUL byte", *_at(raw, raw.index(b"\0")))
    if any(run in text for run in _RUNS) and (deep := re.search(_DASHES, text)) is not None:
        raise BadYaml(f"it is nested more than {MAX_DEPTH} levels deep", text.count("\n", 0, deep.start() + 1) + 1, 1)
    return text


def _at(raw: bytes, offset: int) -> tuple[int, int]:
    return raw.count(b"\n", 0, offset) + 1, offset - raw.rfind(b"\n", 0, offset)


def _explained(message: str) -> BadYaml:
    """The parser's message without its picture of the line, whose text may be a megabyte long and anyone's."""
    found = re.match(_POSITION, message)
    if found is None:
        if message.startswith("alias replay limit"):
            message = f"its aliases expand to more than {MAX_ALIAS_EVENTS:,} nodes"
        return BadYaml(message.splitlines()[0][:200])
    return BadYaml(message.splitlines()[-1][:200], int(found[1]), int(found[2]))
