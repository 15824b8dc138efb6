"""YAML text to Python values: the one module that knows which parser is used.

yaml-rs reads 10,000 records in the time ruamel.yaml's round-trip loader needs for 30. It is YAML 1.2 and strict, with
a few deviations that are handled here, so that nothing is accepted silently:

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

    The package around it imports pathlib for a type, and with it a dozen modules that take as long to load as the
    parser itself, on every call of a hook. So only the compiled half is loaded, under the name that the package uses.
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

_MOST_BITS = 1000  # of an integer: about 300 digits
# Only where a run begins, or each of its characters would be the start of a search.
_DIGITS = r"(?<![0-9A-Fa-f_])[0-9A-Fa-f_]{250}"
# The parser takes seconds for an integer of a million digits, and four times as long for twice as many.
_RUN = r"(?<![0-9_])[0-9_]{6001}"
# A search of the whole text takes as long as parsing it, so it is done only where every 8th character allows for a run
# that long: of digits, or of what opens a level.
_EVERY = 8
_ALIKE = bytes.maketrans(b"123456789ABCDEFabcdef_" + b"-?:", b"0" * 22 + b" " * 3)

_LIMITS = _PARSER._AliasLimits(MAX_ALIAS_EVENTS, 64)
_POSITION = r"YAML parse error at line (\d+), column (\d+)"
_DUPLICATE = r"duplicate mapping key: '(.+)'"
# The parser limits the depth of flow collections, but not of a run of dashes, each of which opens a block sequence.
_DASHES = rf"(?:^|\n|: ) *(?:[-?:] +){{{MAX_DEPTH}}}"


class BadYaml(ValueError):
    """The text is not YAML that liza reads; line and column count from 1 and are None where the parser gives none."""

    def __init__(
        self, message: str, line: int | None = None, column: int | None = None, duplicate_key: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.duplicate_key = duplicate_key  # where that is what is wrong


def load(text: str) -> Any:
    """The value of a YAML text; several documents give a list of their values."""
    sample = _sample(text)
    if _may_indent(sample, 2 * MAX_DEPTH) and (deep := re.search(_DASHES, text)) is not None:
        raise BadYaml(f"nested more than {MAX_DEPTH} levels deep", text.count("\n", 0, deep.start() + 1) + 1, 1)
    has_digits = b"0" * (250 // _EVERY) in sample
    if has_digits and (run := re.search(_RUN, text)) is not None:
        raise BadYaml("more than 6,000 digits in a row", text.count("\n", 0, run.start()) + 1)
    try:
        value = _PARSER._loads(text, parse_datetime=False, alias_limits=_LIMITS, duplicate_key_policy="error")
    except _PARSER.YAMLDecodeError as error:
        raise _bad_yaml(str(error)) from None
    except TypeError:
        raise BadYaml("a mapping or a list is used as a key") from None
    except RecursionError:
        raise BadYaml("nested too deeply") from None
    except ValueError as error:  # an integer of thousands of digits: Python's own guard against quadratic conversion
        raise BadYaml(str(error).split(";")[0]) from None
    # Each level takes a column at least, except a list in a mapping, which may start in the column of its key.
    if _may_indent(sample, MAX_DEPTH // 2) and _too_deep(value):
        raise BadYaml(f"nested more than {MAX_DEPTH} levels deep")
    if has_digits and re.search(_DIGITS, text):
        return _spell_huge_integers(value)
    return value


def _spell_huge_integers(value: Any) -> Any:
    """The same with integers of hundreds of digits as text, in hexadecimal.

    Python prints none of thousands of digits and makes no float of one with hundreds: any use of it would fail, far
    from here, and a record that an agent wrote so would keep a halt from coming.
    """
    if isinstance(value, list):
        return [_spell_huge_integers(each) for each in value]
    if isinstance(value, dict):
        return {_spell_huge_integers(key): _spell_huge_integers(each) for key, each in value.items()}
    return hex(value) if type(value) is int and value.bit_length() > _MOST_BITS else value


def _sample(text: str) -> bytes:
    """Every 8th character: digits as 0, what indents or opens a level as a space."""
    return text[::_EVERY].encode("utf-8", "surrogatepass").translate(_ALIKE)


def _may_indent(sample: bytes, columns: int) -> bool:
    """Whether as many columns may lie before the text of some line, with what opens a level among them."""
    return b" " * (columns // _EVERY) in sample


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        holders = [each for each in level if isinstance(each, dict | list)]
        level = [inner for each in holders for inner in (each.values() if isinstance(each, dict) else each)]
    return bool(level)


def decode(raw: bytes) -> str:
    """The text of a file without its BOM; `BadYaml` for bytes that a parser would silently skip or replace."""
    try:
        text = raw.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise BadYaml(f"byte 0x{raw[error.start]:02x} is not UTF-8", *_at(raw, error.start)) from None
    if "\0" in text:
        raise BadYaml("contains a NUL byte", *_at(raw, raw.index(b"\0")))
    return text


def _at(raw: bytes, offset: int) -> tuple[int, int]:
    return raw.count(b"\n", 0, offset) + 1, offset - raw.rfind(b"\n", 0, offset)


def _bad_yaml(message: str) -> BadYaml:
    """The parser's message without the source line it quotes, which is untrusted and may be a megabyte long."""
    found = re.match(_POSITION, message)
    if found is None:
        if message.startswith("alias replay limit"):
            message = f"its aliases expand to more than {MAX_ALIAS_EVENTS:,} nodes"
        duplicate = re.match(_DUPLICATE, message)
        return BadYaml(message.splitlines()[0][:200], duplicate_key=duplicate[1] if duplicate is not None else None)
    return BadYaml(message.splitlines()[-1][:200], int(found[1]), int(found[2]))
