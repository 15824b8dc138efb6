"""A systemd user unit that runs the daemon of one blackboard."""

import os
import re

from liza import templates
from liza.store.paths import Paths
from liza.text import printable


def systemd_unit(paths: Paths, program: str) -> str:
    """The unit; `program` is the path of liza."""
    folder = paths.project
    text = templates.read_template("liza-watch.service").replace("@NAME@", printable(folder).replace("%", "%%"))
    # In its arguments a dollar sign is the beginning of a variable, in the name of the program it is not.
    text = text.replace("@FOLDER@", _quoted(folder).replace("$", "$$"))
    return text.replace("@LIZA@", _quoted(program))


def _quoted(path: str) -> str:
    """A path as one word of a unit, whatever is in it."""
    if re.fullmatch(r"[\w/.,:+@=-]+", path):
        return path
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{"".join(char if char.isprintable() else _bytes_of(char) for char in escaped)}"'


def _bytes_of(char: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(char))
