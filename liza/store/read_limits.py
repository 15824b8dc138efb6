"""How much of a file is read: agents write here, and a small file can stand for gigabytes.

Size, aliases and values are looked at before anything is parsed, records and texts before anything is evaluated. Over a
limit a file is `Unreadable`, which is DEGRADED. The defaults are far beyond any sprint; `limits:` in rules.yaml raises
them, an environment variable like LIZA_LIMIT_RECORDS sets them. Rules.yaml is looked at only once a default is passed,
so that a hook that reads a small blackboard does not read a second file.
"""

import os
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from liza.errors import Unreadable
from liza.model import Path
from liza.scope_names import ON_BOARD

_LOG = 10  # the log is append-only and rarely parsed: this many times the size and values of the blackboard
_INNER = {each.section: each.stream for each in ON_BOARD}  # records inside those of a section
# Where a node may begin. A false alarm only makes the estimate larger. Led by the sign, which is quick to search for.
_ANCHOR = rb"&(?<=[\s\[{,:]&)([^\s,\[\]{}]+)"  # compiled when needed: few files have any
_ALIAS = rb"\*(?<=[\s\[{,:]\*)([^\s,\[\]{}]+)"
_MOST_STARS = 300_000  # more aliases than the parser follows, three times over
_MOST_LOOKED_AT = 100_000_000  # bytes, all anchored nodes together: more are made to cost time
_TOO_MANY = 1 << 50
_AT_ONCE = 1_000  # values
_PIECE = 1 << 16  # bytes


class Limits(NamedTuple):
    """What a file of the blackboard may come to."""

    file_bytes: int = 10_000_000
    alias_bytes: int = 10_000_000  # of the text that aliases stand for
    values: int = 500_000  # by the signs that part them: commas, brackets and line ends
    records: int = 20_000
    text: int = 2_000_000  # characters


DEFAULT = Limits()
_MEANT = {
    "file_bytes": "bytes",
    "alias_bytes": "bytes of expanded aliases",
    "values": "values",
    "records": "records",
    "text": "characters in one string",
}


def check_size(size: int, file: str) -> None:
    """`Unreadable` for a file that is too large to be read; asked before a byte of it is."""
    _require("file_bytes", size, file)


def is_too_large(size: int, file: str) -> bool:
    try:
        check_size(size, file)
    except Unreadable:
        return True
    return False


def check_raw(raw: bytes, file: str) -> None:
    """`Unreadable` for bytes that would come to too much when parsed."""
    if len(raw) > _smallest("values"):
        _require("values", _count_separators(raw), file)
    if b"&" in raw and b"*" in raw:
        expanded, at = _alias_bytes(raw)
        _require("alias_bytes", expanded, file, lambda: (raw.count(b"\n", 0, at) + 1, at - raw.rfind(b"\n", 0, at)))


def _count_separators(raw: bytes) -> int:
    """Piece by piece: a copy of all of it would take as long again, for fresh memory."""
    pieces = (raw[start : start + _PIECE] for start in range(0, len(raw), _PIECE))
    return len(raw) - sum(len(piece.translate(None, b"\n,[{")) for piece in pieces)


def check_data(raw: bytes, data: Any, file: str, locate: Any, changed: Any) -> bool:
    """`Unreadable` for more records, or a longer text, than is evaluated. `locate` gives a path its line and column.

    Texts are looked for in `changed` only. Returns whether one is over the default, and allowed by a raised limit.
    """
    if len(raw) > 4 * (most := _smallest("records")):
        over = next((path for path, number in _counted(data) if number > most), None)
        if over is not None:
            *_, (_, number) = _counted(data)
            _require("records", number, file, lambda: locate(over))
    if len(raw) <= (most := _smallest("text")):
        return False
    has_aliases = b"&" in raw and b"*" in raw  # text that is in the file once may be in the data many times
    longest = _longest(changed, _TOO_MANY if has_aliases else len(raw) - most)
    if longest > most:
        _require("text", longest, file, lambda: locate(_path_of_text(data, longest)))
    return longest > most


def _smallest(name: str) -> int:
    return int(getattr(_with_environment(DEFAULT), name))


def _require(name: str, found: int, file: str, where: Any = lambda: None) -> None:
    if found <= _smallest(name):
        return
    limit = getattr(limits_for(file), name) * (_LOG if file.endswith("log.yaml") and name != "text" else 1)
    if found <= limit:
        return
    from shlex import quote

    line, column = where() or (None, None)
    raised = f"limits: {{{name}: {found}}} in {os.path.join(os.path.dirname(file), 'rules.yaml')}"
    if name == "file_bytes":
        fix = f"move old records out of it, or the whole file: mv {quote(file)} {quote(file)}.large"
    else:
        fix = "move old records out of it"
    raise Unreadable(
        f"too large to be evaluated: {found:,} {_MEANT[name]}, the limit is {limit:,}",
        hint=f"{fix}; to raise the limit: {raised}",
        file=file,
        line=line,
        column=column,
    )


def limits_for(file: str) -> Limits:
    """The limits for a file: the environment beats the rules.yaml beside it, which can only raise a default."""
    from liza.store import files
    from liza.store.parser import BadYaml, decode, load

    rules, given = os.path.join(os.path.dirname(file), "rules.yaml"), None
    if file != rules and os.path.lexists(rules):
        try:
            data = load(decode(files.read_resolved(rules, DEFAULT.file_bytes)))
            given = data.get("limits") if isinstance(data, Mapping) else None
        except (OSError, Unreadable, BadYaml):
            given = None  # reported where the rules are read
    found = given if isinstance(given, Mapping) else {}
    raised = {name: max(found[name], getattr(DEFAULT, name)) for name in Limits._fields if type(found.get(name)) is int}
    return _with_environment(DEFAULT._replace(**raised))


def _with_environment(limits: Limits) -> Limits:
    given = {name: os.environ.get(f"LIZA_LIMIT_{name.upper()}", "") for name in Limits._fields}
    return limits._replace(**{name: int(text) for name, text in given.items() if text.isdecimal() and len(text) < 16})


def _alias_bytes(raw: bytes) -> tuple[int, int]:
    """About how much text the aliases in a file expand to, and where the largest one is.

    The node of an anchor is taken to reach to the next line that is indented no further; an alias inside of it counts
    with what that one expands to, so that aliases of aliases multiply here as they do in the parser.
    """
    anchors = [(found.start(), found[1]) for found in re.finditer(_ANCHOR, raw)]
    if not anchors:
        return 0, 0
    if raw.count(b"*") > _MOST_STARS:
        return _TOO_MANY, raw.index(b"*")
    known: dict[bytes, tuple[int, int]] = {}  # start and end of each node
    ends: dict[int, int] = {}  # by the line on which a node begins
    looked_at = at = total = largest = where = before = line = 0
    offsets, totals = [0], [0]  # of all aliases so far
    for alias in re.finditer(_ALIAS, raw):
        while at < len(anchors) and anchors[at][0] < alias.start():
            start, name = anchors[at]
            if (newline := raw.rfind(b"\n", before, start)) >= 0:  # from there: a line may be megabytes long
                line = newline + 1
            before = start
            if line not in ends:
                ends[line] = _node_end(raw, line)
                looked_at += ends[line] - line
            known[name] = (start, ends[line])
            at += 1
        if alias[1] not in known:
            continue
        start, end = known[alias[1]]
        end = min(end, alias.start())  # what is not complete has no alias yet
        known[alias[1]] = (start, end)
        size = end - start + _up_to(end, offsets, totals) - _up_to(start, offsets, totals)
        total += size
        if size > largest:
            largest, where = size, alias.start()
        offsets.append(alias.start())
        totals.append(total)
        if total > _TOO_MANY or looked_at > _MOST_LOOKED_AT:
            return _TOO_MANY, alias.start()
    return total, where


def _up_to(offset: int, offsets: list[int], totals: list[int]) -> int:
    """What the aliases before a place stand for, together."""
    return totals[bisect_left(offsets, offset) - 1] if offset else 0


def _node_end(raw: bytes, line: int) -> int:
    """Where the block ends that begins on a line: at the next one that is indented no further."""
    text = raw[line : line + 1000]
    indent = len(text) - len(text.lstrip(b" -"))
    following = re.compile(rb"\n(?! {%d})[ ]*[^\s#]" % (indent + 1)).search(raw, line)
    return following.start() if following is not None else len(raw)


def _counted(data: Any) -> Iterator[tuple[Path, int]]:
    """The number of records in a file, growing section by section: the last place is where it became too many."""
    total = 0
    for name, section in data.items() if isinstance(data, dict) else [(None, data)]:
        path: Path = (name,) if name is not None else ()
        if not isinstance(section, list | dict):
            continue
        total += len(section)
        yield path, total
        inner = _INNER.get(name) if isinstance(name, str) else None
        if inner is not None:
            records = section.values() if isinstance(section, dict) else section
            held = [record[inner] for record in records if isinstance(record, dict) and inner in record]
            total += sum(len(each) for each in held if isinstance(each, list | dict))
            yield path, total


def _longest(value: Any, enough: int = _TOO_MANY) -> int:
    """The length of the longest text in a value, keys among them.

    The search ends once there are `enough` characters in shorter texts: no longer one fits into the rest of the file.
    """
    longest = total = 0
    pending = [[value]]
    while pending and total - longest < enough:
        level = pending.pop()  # some at once: there may be a million values
        keyed = [each for each in level if type(each) is dict]
        lengths = [len(each) for each in level if type(each) is str]
        # Most records have the same keys, so each is measured once, and none is counted.
        keys = [len(each) for each in set(chain.from_iterable(keyed)) if type(each) is str]
        longest, total = max([longest, *lengths, *keys]), total + sum(lengths)
        listed = [each for each in level if type(each) is list]
        inner = list(chain.from_iterable([*map(dict.values, keyed), *listed]))
        pending += [inner[start : start + _AT_ONCE] for start in range(0, len(inner), _AT_ONCE)]
    return longest


def _path_of_text(value: Any, length: int) -> Path:
    """Where the text of that length is; a key is where its mapping is."""
    path: Path = ()
    while isinstance(value, list | dict):
        inside = list(value.items() if isinstance(value, dict) else enumerate(value))
        found = next(((key, each) for key, each in inside if _longest(each) == length), None)
        if found is None:
            break
        path, value = (*path, found[0]), found[1]
    return path
