"""The table of anomaly types in docs/schema.md, made from the schema. `make snapshots` renews it."""

import re

from liza.schema import anomalies
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "schema.md"
HEADER = "| type | required details | also compared, if present |\n|---|---|---|\n"


def table() -> str:
    """One row a type."""
    rows = ["| " + " | ".join(map(_quoted, row)).rstrip() + " |" for row in anomalies.rows()]
    return HEADER + "\n".join(rows) + "\n"


def renewed(page: str) -> str:
    """The page with the present table."""
    start = page.index(HEADER)
    return page[:start] + table() + page[page.index("\n\n", start) + 1 :]


def section(page: str, name: str) -> str:
    """What the page has under the last heading with this name."""
    return re.split(r"^##+ ", page.rpartition(f"### {name}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def _quoted(names: str) -> str:
    return re.sub(r"\b(?!or\b)\w+", lambda word: f"`{word[0]}`", names)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
