"""The conditions of the packs are not parsed when a command runs, and are what they say all the same."""

from liza.rules.language import parse
from liza.rules.parsed_packs import TREES
from tests.rules.parse_packs import FILE, conditions, source


def test_every_condition_of_the_packs_is_there_as_the_parser_has_it() -> None:
    assert {text: parse(text) for text in conditions()} == TREES


def test_the_file_is_what_make_packs_writes() -> None:
    assert FILE.read_text() == source()
