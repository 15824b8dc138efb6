"""docs/schema.md has what the tables of the schema have."""

import re
from collections.abc import Iterator

import pytest

from liza.schema import log, state
from liza.schema.walker import Each, Named, Records, Shape, Table
from tests.docs import schema

PAGE = schema.PAGE.read_text(encoding="utf-8")


def fields(shape: Shape) -> Iterator[str]:
    """The names of all fields of a table and of those inside it."""
    table = shape.table if isinstance(shape, Each | Named | Records) else shape
    for name, inner in table.fields.items() if isinstance(table, Table) else ():
        yield name
        yield from fields(inner)


def test_the_table_of_anomaly_types_is_that_of_the_schema() -> None:
    assert schema.renewed(PAGE) == PAGE, "renew it with: make snapshots"


@pytest.mark.parametrize("name", state.SECTIONS)
def test_every_field_of_a_section_is_documented(name: str) -> None:
    assert f"| `{name}` |" in PAGE
    text = schema.section(PAGE, name)
    assert [each for each in fields(state.SECTIONS[name]) if not re.search(rf"\b{each}\b", text)] == []


def test_every_field_of_the_log_is_documented() -> None:
    text = PAGE.partition("## `log.yaml`")[2]
    assert [each for each in fields(log.ENTRY) if f"`{each}`" not in text] == []
