"""Rewrite liza/rules/parsed_packs.py after a condition in a pack or the language has changed: `make packs`."""

from pathlib import Path

import liza.rules
from liza.rules.language import parse
from liza.store.parser import load

FOLDER = Path(liza.rules.__file__).parent
FILE = FOLDER / "parsed_packs.py"
_HEAD = '''"""The conditions of the shipped packs, parsed beforehand: written by `make packs`, not by hand.

By their text, so that a pack that says something else is parsed as any other file is.
"""
# ruff: noqa: E501, F401, I001
# fmt: off

import re

from liza.rules.syntax_tree import (
    Aggregate, All, Any_, Comparison, Distinct, Field, Filter, Grouping, Metric, Node, Not, Param,
)

TREES: dict[str, Node] = {
'''


def conditions() -> list[str]:
    """Every condition in the packs, as written."""
    packs = [load(file.read_text()) for file in sorted((FOLDER / "packs").glob("*.yaml"))]
    return list(dict.fromkeys(rule["condition"] for pack in packs for rule in pack["rules"]))


def source() -> str:
    """The text of the file."""
    return _HEAD + "".join(f"    {text!r}: {parse(text)!r},\n" for text in conditions()) + "}\n"


if __name__ == "__main__":
    FILE.write_text(source())
