"""docs/promises.md names tests that exist, and for every promise at least one."""

import ast
import re

import pytest

from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "promises.md").read_text()
PROMISES = dict(re.findall(r"^## (\d+\. .+?)$\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
ROWS = [row for text in PROMISES.values() for row in re.findall(r"^\| (?!guarantee |-)(.+) \|$", text, re.MULTILINE)]
NAMED = re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE)


def names_in(file: str) -> set[str]:
    """The names of the tests in a file, without running or importing it."""
    tree = ast.parse((ROOT / "tests" / file).read_bytes())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


@pytest.mark.parametrize("file", sorted({file for file, _ in NAMED}))
def test_every_test_that_is_named_exists(file: str) -> None:
    assert {name for each, name in NAMED if each == file} - names_in(file) == set()


def test_every_promise_is_there() -> None:
    assert [title.partition(".")[0] for title in PROMISES] == list("12345678")


@pytest.mark.parametrize("row", ROWS)
def test_every_clause_has_a_test_that_notices_and_how_it_was_broken(row: str) -> None:
    clause, tests, broken = row.split(" | ")
    assert clause
    assert broken
    assert re.fullmatch(r"(?:`[\w/]+\.py::test_\w+`(?:<br>)?)+", tests), "a clause that no test notices"
