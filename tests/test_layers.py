"""Imports point one way, and what decides knows neither files nor clocks."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

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
    ("model", "text", "errors", "templates", "halt", "locate", "files"),
)
_LOOPS = ("settings", "iterations", "states", "errors", "outputs")
_DISPUTES = (
    "settings", "objections", "rounds", "freezing", "claims", "depending", "parties", "stages", "ledger",
    "importing", "summary",
)  # fmt: skip
JUDGING = ("liza.model", "liza.text", "liza.rules", "liza.breaker.section")
PURE = (
    *(*JUDGING, "liza.protocols.scopes"),
    *(f"liza.protocols.loops.{name}" for name in _LOOPS),
    *(f"liza.protocols.disputes.{name}" for name in _DISPUTES),
)
IMPURE = {"os", "time", "pathlib", "io", "shutil", "subprocess", "socket", "random", "secrets", "tempfile", "fcntl"}


@cache
def nodes(file: Path) -> list[ast.AST]:
    """A file, taken apart once for all tests."""
    return list(ast.walk(ast.parse(file.read_bytes())))


def modules(names: tuple[str, ...]) -> list[str]:
    """These, and what is inside them; there must be some of each."""
    found = [module for module in MODULES if module.startswith(names)]
    assert all(any(module.startswith(name) for module in found) for name in names)
    return found


def imports(file: Path) -> Iterator[str]:
    """Every module that a file imports, at its top or inside a function; `from a import b` is both a and a.b."""
    for node in nodes(file):
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


def test_imports_point_downwards() -> None:
    upwards = {
        (module, name)
        for module in MODULES
        for name in imports(MODULES[module])
        if name in MODULES
        and (mine := layer(module)) is not None
        and (depth := layer(name)) is not None
        and depth < mine
    }
    assert upwards == set()


def test_rules_do_not_know_where_records_come_from() -> None:
    rules = [name for name in MODULES if name.split(".")[1:2] == ["rules"]]
    assert {(m, name) for m in rules for name in imports(MODULES[m]) if name.startswith("liza.blackboard")} == set()


def test_what_decides_imports_no_files_and_no_clocks() -> None:
    used = {(m, name) for m in modules(PURE) for name in imports(MODULES[m]) if name.split(".")[0] in IMPURE}
    assert used == set()


def test_what_judges_asks_nobody_who_could_look() -> None:
    inside = {(m, name) for m in modules(JUDGING) for name in imports(MODULES[m]) if name in MODULES}
    allowed = (*JUDGING, "liza.errors")
    assert {(m, name) for m, name in inside if name != "liza" and not name.startswith(allowed)} == set()


def test_what_decides_asks_nobody_for_the_time() -> None:
    used = {
        (module, ast.unparse(node))
        for module in modules(PURE)
        for node in nodes(MODULES[module])
        if (isinstance(node, ast.Attribute) and node.attr in {"now", "utcnow", "today"}
            and isinstance(node.value, ast.Name) and node.value.id in {"datetime", "date"})
        or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            and node.func.id in {"open", "input", "print"})
    }  # fmt: skip
    assert used == set()


# Who may open files without liza.files, and what: none of it is under `.liza/`.
OPENERS = {
    "liza.files": "the one way to open what is there",
    "liza.blackboard.agents": "/proc",
    "liza.blackboard.daemon": "/proc",
    "liza.blackboard.filesystem": "/proc",
    "liza.blackboard.lock": "/proc",
    "liza.doctor.inotify": "/proc",
    "liza.runner.own_output": "/proc",
    "liza.blackboard.storage": "a descriptor from liza.files",
    "liza.blackboard.versions": "a descriptor from liza.files",
    "liza.blackboard.inbox": "a descriptor from liza.files",
    "liza.cli.main": "/dev/null, and the traceback of a bug in the user's own folder",
    "liza.watch.background": "/dev/null, and a pipe",
    "liza.watch.lease": "the user's own folder, while there is no blackboard",
    "liza.watch.seal": "the user's own folder",
    "liza.runner.seal": "the user's own folder",
    "liza.templates": "shipped files",
    "liza.locate": "git's own files, before any blackboard is known",
    "liza.cli.replay": "a picture where the person wants it",
    **dict.fromkeys(
        (
            "liza.cli.attempt.deciding", "liza.cli.attempt.options", "liza.cli.claim.reading", "liza.cli.iteration",
            "liza.cli.options", "liza.cli.record", "liza.cli.testing",
        ),
        "a file that the command line names, which may be a pipe",
    ),
    **dict.fromkeys(
        ("liza.runner.evidence", "liza.runner.git", "liza.runner.patch", "liza.runner.worktree"), "the work tree"
    ),
}  # fmt: skip


def opens(module: str) -> bool:
    """Whether a module calls os.open, or open without an opener."""
    calls = [node for node in ast.walk(ast.parse(MODULES[module].read_bytes())) if isinstance(node, ast.Call)]
    return any(
        (isinstance(call.func, ast.Name) and call.func.id == "open" and not {"opener"} & {k.arg for k in call.keywords})
        or ast.unparse(call.func) == "os.open"
        for call in calls
    )


def test_only_files_opens_what_is_under_the_blackboard() -> None:
    assert {module for module in MODULES if opens(module)} == set(OPENERS)


def test_the_schema_and_the_rules_know_the_same_severities() -> None:
    # They stand in two layers of which neither may import the other.
    assert tuple(SEVERITIES) == schema.SEVERITIES
