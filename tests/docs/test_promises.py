"""docs/promises.md names tests that exist, and for every promise at least one."""

import ast
import re

from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "promises.md").read_text()
PROMISES = dict(re.findall(r"^## (\d+\. .+?)$\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
ROWS = [row for text in PROMISES.values() for row in re.findall(r"^\| (?!guarantee |-)(.+) \|$", text, re.MULTILINE)]
NAMED = re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE)


def names_in(file: str) -> set[str]:
    """The names of the tests in a file, without running or importing it."""
    tree = ast.parse((ROOT / "tests" / file).read_bytes())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def test_every_named_test_exists() -> None:
    known = {(file, name) for file in {file for file, _ in NAMED} for name in names_in(file)}
    assert set(NAMED) - known == set()


def test_all_promises_are_listed() -> None:
    assert [title.partition(".")[0] for title in PROMISES] == list("12345678")


def test_every_clause_names_its_tests_and_how_it_was_broken() -> None:
    """A row has three cells, none of them empty; the second names tests and nothing else."""
    shape = r"[^|]+ \| (?:`[\w/]+\.py::test_\w+`(?:<br>)?)+ \| (?:(?! \| ).)+"
    assert [row for row in ROWS if not re.fullmatch(shape, row)] == []
    assert len(ROWS) > 50
