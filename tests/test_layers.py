"""Imports point one way, and what decides knows neither files nor clocks."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import liza
from liza.blackboard import schema
from liza.rules.severities import SEVERITIES

PACKAGE = Path(liza.__file__).parent
MODULES = {
    ".".join(("liza", *file.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): file
    for file in sorted(PACKAGE.rglob("*.py"))
}

# From the top to the bottom; a module may import from its own layer and from those below.
LAYERS = (
    ("cli",),
    ("api", "doctor"),
    ("watch", "runner", "trials"),
    ("breaker", "protocols"),
    ("notify", "rules", "blackboard"),
    ("model", "text", "errors", "templates", "halt"),
)
_LOOPS = ("settings", "iterations", "states", "errors", "outputs")
_DISPUTES = ("settings", "rounds", "freezing", "claims", "depending", "stages", "ledger", "importing", "summary")
JUDGING = ("liza.model", "liza.text", "liza.rules", "liza.breaker.section")
PURE = (
    *(*JUDGING, "liza.protocols.scopes"),
    *(f"liza.protocols.loops.{name}" for name in _LOOPS),
    *(f"liza.protocols.disputes.{name}" for name in _DISPUTES),
)
IMPURE = {"os", "time", "pathlib", "io", "shutil", "subprocess", "socket", "random", "secrets", "tempfile", "fcntl"}


def imports(file: Path) -> Iterator[str]:
    """Every module that a file imports, at its top or inside a function; `from a import b` is both a and a.b."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import"
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def layer(module: str) -> int | None:
    """How far down a module of liza is; None for the package itself."""
    part = module.split(".")[1] if "." in module else None
    return next((depth for depth, parts in enumerate(LAYERS) if part in parts), None)


def test_every_module_has_its_layer() -> None:
    assert [name for name in MODULES if name != "liza" and layer(name) is None] == []


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_downwards(module: str) -> None:
    mine = layer(module)
    upwards = {
        name
        for name in imports(MODULES[module])
        if name in MODULES and mine is not None and (depth := layer(name)) is not None and depth < mine
    }
    assert upwards == set()


@pytest.mark.parametrize("module", [name for name in MODULES if name.split(".")[1:2] == ["rules"]])
def test_rules_do_not_know_where_records_come_from(module: str) -> None:
    assert {name for name in imports(MODULES[module]) if name.startswith("liza.blackboard")} == set()


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith(PURE)])
def test_what_decides_imports_no_files_and_no_clocks(module: str) -> None:
    assert {name.split(".")[0] for name in imports(MODULES[module])} & IMPURE == set()


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith(JUDGING)])
def test_what_judges_asks_nobody_who_could_look(module: str) -> None:
    inside = {name for name in imports(MODULES[module]) if name in MODULES}
    assert {name for name in inside if not name.startswith((*JUDGING, "liza.errors"))} <= {"liza"}


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith(PURE)])
def test_what_decides_asks_nobody_for_the_time(module: str) -> None:
    asked = {
        node.attr
        for node in ast.walk(ast.parse(MODULES[module].read_bytes()))
        if isinstance(node, ast.Attribute) and node.attr in {"now", "utcnow", "today"}
        and isinstance(node.value, ast.Name) and node.value.id in {"datetime", "date"}
    }  # fmt: skip
    opened = [
        node
        for node in ast.walk(ast.parse(MODULES[module].read_bytes()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"open", "input", "print"}
    ]
    assert (asked, opened) == (set(), [])


def test_the_schema_and_the_rules_know_the_same_severities() -> None:
    # They stand in two layers of which neither may import the other.
    assert tuple(SEVERITIES) == schema.SEVERITIES
