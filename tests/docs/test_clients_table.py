"""The table of real clients in docs/agents.md has every row of its script, and the versions that liza has tested."""

from liza.clients.install import CLIENTS
from tests.clients_real import table


def test_table_has_every_row_and_tested_version() -> None:
    found = table.TABLE.search(table.PAGE.read_text())
    assert found is not None
    head, _, *rows = found[0].splitlines()
    titles = [f"{table.CLIENTS[name]} {settings.tested}" for name, settings in CLIENTS.items()]
    assert [cell.strip() for cell in head.strip("|").split("|")][1:] == titles
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [first for first, *_ in cells] == list(table.ROWS)
    assert {cell for _, *others in cells for cell in others} <= {"yes", "**no**", "not run", "–"}


def test_cell_needs_every_test_to_have_passed() -> None:
    seen = {"test_a[claude]": True, "test_b[claude]": True, "test_c[claude]": False}
    assert table.cell("claude", ("test_a", "test_b"), seen) == "yes"
    assert table.cell("claude", ("test_a", "test_d"), seen) == "not run"
    assert table.cell("claude", ("test_a", "test_c"), seen) == "**no**"
    names = ("test_x[red-qwen]", "test_uninstall_of_the_plugin", "test_y")
    assert [table.client_of(name) for name in names] == ["qwen", "opencode", None]
