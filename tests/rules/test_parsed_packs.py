"""The conditions of the packs are parsed at build time, and equal what the parser makes of them."""

from liza.rules.language import parse
from liza.rules.parsed_packs import TREES
from tests.rules.parse_packs import FILE, conditions, source


def test_parsed_packs_equal_the_parser() -> None:
    assert {text: parse(text) for text in conditions()} == TREES


def test_parsed_packs_file_is_up_to_date() -> None:
    assert FILE.read_text() == source()
