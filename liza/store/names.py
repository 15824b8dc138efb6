"""Names on the blackboard at a glance, for completion with TAB.

Only the section that is asked for is read, cut out by its key at the start of a line, so that a large blackboard takes
hardly longer than a small one. That is no way to decide anything: what cannot be read so has no names.
"""

import re
from collections.abc import Mapping

from liza.errors import Unreadable
from liza.store.parser import BadYaml, decode, load
from liza.store.paths import Paths
from liza.store.versions import read_stable

_NEXT = re.compile(rb"\n(?=[^\s#-])")  # the items of a list may stand at the start of a line, too
# Agents choose these names, and the shell puts what is chosen on a person's command line as it is.
_HARMLESS = re.compile(r"\w[\w.@%+/-]*")


def read_names(paths: Paths, section: str) -> list[str]:
    """The names in a section, in its order; those that a shell might take for something else are left out."""
    try:
        value = load(decode(_cut(read_stable(paths.state).raw, section.encode())))
    except (Unreadable, BadYaml):
        return []
    held = value.get(section) if isinstance(value, Mapping) else None
    found = list(held) if isinstance(held, Mapping) else [_name(each) for each in held or ()]
    return [name for name in found if isinstance(name, str) and _HARMLESS.fullmatch(name)]


def _cut(raw: bytes, section: bytes) -> bytes:
    start = 0 if raw.startswith(section + b":") else raw.find(b"\n" + section + b":") + 1
    if start == 0 and not raw.startswith(section + b":"):
        return b""
    end = _NEXT.search(raw, start)
    return raw[start : end.start() if end is not None else len(raw)]


def _name(record: object) -> object:
    return record.get("id", record.get("name")) if isinstance(record, Mapping) else None
