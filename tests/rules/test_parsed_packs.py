"""The conditions of the packs are parsed at build time, and equal what the parser makes of them."""

import pytest

from liza.rules.language import parse
from liza.rules.load import PACKS
from liza.rules.parsed_packs import TREES
from liza.schema import rules_yaml as schema
from liza.schema.walker import walk
from liza.store.parser import load
from tests.rules.parse_packs import FILE, conditions, source


def test_parsed_packs_equal_the_parser() -> None:
    assert {text: parse(text) for text in conditions()} == TREES


def test_parsed_packs_file_is_up_to_date() -> None:
    assert FILE.read_text() == source()


@pytest.mark.parametrize("pack", PACKS)
def test_shipped_packs_satisfy_the_schema(pack: str) -> None:
    """Of a shipped pack `load` does not check it: that would cost every command the tables."""
    file = FILE.parent / "packs" / f"{pack}.yaml"
    assert list(walk(load(file.read_text()), (), schema.FILE)) == []
