"""Outputs of real tools, each with the errors that are in it.

A file of `outputs/` begins with its origin and the errors in it, the primary one first (`# error:`, then `# file:`
and `# test:` where known); the output follows after a line `---`. `NAME.again.txt` is the error of `NAME.txt` in a
later iteration; files named `ok-*` have no error. Nearly all were made by running the tool on a small project in
`/home/dev/app`; those of programs that need a server, an account or another system are written down as they print.
"""

import os
from typing import NamedTuple

from liza.toolerrors.errors import Error

FOLDER = os.path.join(os.path.dirname(__file__), "outputs")


class Sample(NamedTuple):
    """An output and its errors."""

    name: str
    errors: tuple[Error, ...]
    text: str


def _sample(name: str) -> Sample:
    with open(os.path.join(FOLDER, f"{name}.txt"), encoding="utf-8", newline="") as file:
        header, _, text = file.read().partition("\n---\n")
    errors: list[Error] = []
    for line in header.splitlines():
        key, _, value = line.removeprefix("# ").partition(": ")
        if key == "error":
            errors.append(Error(value))
        elif key == "file":
            errors[-1] = errors[-1]._replace(file=value)
        elif key == "test":
            errors[-1] = errors[-1]._replace(test=value)
    return Sample(name, tuple(errors), text)


SAMPLES = {name: _sample(name) for name in sorted(file[:-4] for file in os.listdir(FOLDER) if file.endswith(".txt"))}
FAILING = {name: each for name, each in SAMPLES.items() if each.errors}
AGAIN = {name: f"{name}.again" for name in FAILING if f"{name}.again" in FAILING}
