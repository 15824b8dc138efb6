"""Imports point one way, and evaluation knows neither files nor clocks."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import liza
from liza.scope_names import SCOPES
from liza.scopes.table import load

PACKAGE = Path(liza.__file__).parent
MODULES = {
    ".".join(("liza", *file.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): file
    for file in sorted(PACKAGE.rglob("*.py"))
}

# From the top to the bottom; a module may import from its own layer and from those below.
LAYERS = (
    ("cli", "mcp", "web"),
    ("metrics", "telemetry"),
    ("api", "doctor", "status"),
    ("daemon", "run", "replay"),
    ("team",),
    ("check",),
    ("scopes",),
    ("rules", "schema"),
    ("clients", "toolerrors", "git", "notify"),
    ("store", "halt", "templates"),
    ("model", "text", "errors", "extras", "scope_names"),
)
# Inside scopes, in the same order: the engine knows the scopes by their rows in the table, and no scope knows another.
SIBLINGS = tuple(file.parent.name for file in sorted(PACKAGE.glob("scopes/*/scope.py")))
SCOPE_LAYERS = (
    ("validate",),
    ("sprint",),
    ("silence_record",),
    ("snapshot",),
    ("engine", "gate", "history", "degraded"),
    ("inbox",),
    ("table",),
    (*SIBLINGS, "anomalies"),
    ("change",),
    ("scope", "evaluator", "rules_file"),
    ("transition", "records", "shared"),
)
# Who may know a single scope: its own commands, and what is about that kind alone. All else goes by the engine.
PACKAGES = (*SIBLINGS, "sprint")
SCOPE_USERS = {
    "liza.check": ("sprint",),  # the pipeline: the halt of everyone comes before all narrower scopes
    "liza.api": ("sprint", "loops"),
    **dict.fromkeys(("liza.cli.resolve", "liza.cli.trip"), ("sprint",)),
    "liza.cli.stats": ("sprint", "sessions"),  # the trips, and what was used
    **dict.fromkeys(
        ("liza.cli.loop", "liza.cli.loop_record", "liza.cli.run", "liza.cli.run_output", "liza.cli.run_terminal"),
        ("loops",),
    ),
    "liza.cli.attempt": ("slices",),
    **dict.fromkeys(("liza.cli.claim", "liza.cli.stage"), ("claims",)),
    **dict.fromkeys(
        tuple(f"liza.cli.{name}" for name in ("ingest", "session", "sessions", "session_replay")), ("sessions",)
    ),
    **dict.fromkeys(("liza.metrics", "liza.telemetry"), ("sessions",)),
    "liza.metrics.facts": ("sprint",),
    "liza.mcp": ("claims", "slices"),  # its tools record attempts and rounds
    "liza.team": ("sprint",),  # only the sprint's trips are the team's
    "liza.run": ("loops", "slices", "sessions"),  # `liza run` records a loop, its tests and its tool calls
    "liza.replay": ("sessions",),  # recorded steps are played
}
LONGEST_FILE, LONGEST_FUNCTION = 350, 50
# Evaluation: it gets everything as arguments.
EVALUATES = (
    "liza.model",
    "liza.scope_names",
    "liza.text",
    "liza.rules",
    "liza.schema.rules_yaml",
    "liza.schema.severities",
    "liza.scopes.history.section",
    "liza.scopes.history.new_evidence",
)
PURE = (
    *EVALUATES,
    *(f"liza.scopes.{name}" for name in ("records", "evaluator", "transition", "scope")),
    *(
        f"liza.toolerrors.{name}"
        for name in ("errors", "plain_text", "readers", "lines", "streams", "patterns", "traces")
    ),
    *(f"liza.scopes.loops.{name}" for name in ("settings", "fields", "derived", "states")),
    *(
        f"liza.scopes.claims.{name}"
        for name in (
            "settings", "objections", "fields", "derived", "freeze", "disputes", "states", "dependencies", "parties",
            "stages", "ledger", "import_ledger", "summary",
        )
    ),
)  # fmt: skip
IMPURE = {"os", "time", "pathlib", "io", "shutil", "subprocess", "socket", "random", "secrets", "tempfile", "fcntl"}


@cache
def nodes(file: Path) -> list[ast.AST]:
    """All nodes of a file, parsed once for all tests."""
    return list(ast.walk(ast.parse(file.read_bytes())))


def modules(names: tuple[str, ...]) -> list[str]:
    """These modules and those inside them; there must be some of each."""
    found = [module for module in MODULES if module.startswith(names)]
    assert all(any(module.startswith(name) for module in found) for name in names)
    return found


def imports(file: Path) -> Iterator[str]:
    """Every module that a file imports, at its top or inside a function; `from a import b` is both a and a.b."""
    return imported(file, nodes(file))


def run_imports(file: Path) -> Iterator[str]:
    """The same without what is imported for types alone."""
    blocks = (n for n in nodes(file) if isinstance(n, ast.If) and ast.unparse(n.test).endswith("TYPE_CHECKING"))
    skipped = {id(inner) for block in blocks for each in block.body for inner in ast.walk(each)}
    return imported(file, [node for node in nodes(file) if id(node) not in skipped])


def imported(file: Path, found: list[ast.AST]) -> Iterator[str]:
    for node in found:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import"
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def layer(module: str) -> int | None:
    """The index of a module's layer; None for the package itself."""
    part = module.split(".")[1] if "." in module else None
    return next((depth for depth, parts in enumerate(LAYERS) if part in parts), None)


def test_every_module_has_a_layer() -> None:
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


def test_imports_inside_scopes_point_downwards() -> None:
    scopes = {name for name in MODULES if name.startswith("liza.scopes.")}
    depths = {part: depth for depth, parts in enumerate(SCOPE_LAYERS) for part in parts}
    assert depths.keys() == {name.split(".")[2] for name in scopes}
    wrong = {
        (module, name)
        for module in scopes
        for name in scopes.intersection(imports(MODULES[module]))
        if (mine := module.split(".")[2]) != (other := name.split(".")[2])
        and (depths[other] < depths[mine] or (depths[other] == depths[mine] and mine in SIBLINGS))
    }
    assert wrong == set()


def test_single_scopes_are_imported_by_their_own_users_only() -> None:
    inside = tuple(f"liza.scopes.{name}." for name in PACKAGES)
    outside = [m for m in MODULES if m != "liza.scopes.table" and not f"{m}.".startswith(inside)]
    found = {(m, scope) for m in outside for name in imports(MODULES[m]) if (scope := scope_of(name)) is not None}
    allowed = {(user, scope) for user, scopes in SCOPE_USERS.items() for scope in scopes}
    users = {(user, scope) for user, scope in allowed for m, name in found if is_in(m, user) and name == scope}
    strangers = {(m, name) for m, name in found if not any(is_in(m, user) and name == s for user, s in allowed)}
    assert (strangers, allowed - users) == (set(), set())


def scope_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[2] if parts[:2] == ["liza", "scopes"] and len(parts) > 2 and parts[2] in PACKAGES else None


def is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def test_imports_have_no_cycle() -> None:
    """Those inside functions count, too; only those for types alone never run."""
    graph = {name: set(run_imports(MODULES[name])) & MODULES.keys() - {name} for name in MODULES}
    TopologicalSorter(graph).prepare()


def test_imports_inside_scopes_have_no_cycle_even_for_types() -> None:
    scopes = {name for name in MODULES if name.startswith("liza.scopes")}
    TopologicalSorter({name: scopes.intersection(imports(MODULES[name])) - {name} for name in scopes}).prepare()


def test_files_and_functions_are_short() -> None:
    files = {m: length for m in MODULES if (length := len(MODULES[m].read_bytes().splitlines())) > LONGEST_FILE}
    functions = {
        f"{module}:{node.name}": length
        for module in MODULES
        for node in nodes(MODULES[module])
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or 0) - node.lineno + 1) > LONGEST_FUNCTION
    }
    assert (files, functions) == ({}, {})


def test_each_row_of_names_loads_its_scope() -> None:
    sections = [load(names).section for names in SCOPES]
    assert [(each.scope, each.name) for each in sections] == [(names.scope, names.section) for names in SCOPES]
    assert {names.section for names in SCOPES} == set(SIBLINGS)


def test_rules_do_not_import_store() -> None:
    rules = [name for name in MODULES if name.split(".")[1:2] == ["rules"]]
    assert {(m, name) for m in rules for name in imports(MODULES[m]) if name.startswith("liza.store")} == set()


def test_evaluation_imports_no_files_or_clocks() -> None:
    used = {(m, name) for m in modules(PURE) for name in imports(MODULES[m]) if name.split(".")[0] in IMPURE}
    assert used == set()


def test_evaluation_imports_only_pure_modules() -> None:
    inside = {(m, name) for m in modules(EVALUATES) for name in imports(MODULES[m]) if name in MODULES}
    allowed = (*EVALUATES, "liza.errors", "liza.schema")
    assert {(m, name) for m, name in inside if name != "liza" and not name.startswith(allowed)} == set()


def test_evaluation_reads_no_clock_and_opens_no_file() -> None:
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


# Modules that may open files without liza.store.files, and which files: none of them is under `.liza/`.
OPENERS = {
    "liza.store.files": "the one way to open what is there",
    "liza.clients.caller": "/proc",
    "liza.store.daemon_process": "/proc",
    "liza.store.filesystem": "/proc",
    "liza.store.lock": "/proc",
    "liza.doctor.inotify": "/proc",
    "liza.git.own_output": "/proc",
    "liza.store.replace": "a descriptor from liza.store.files",
    "liza.store.versions": "a descriptor from liza.store.files",
    "liza.store.inbox": "a descriptor from liza.store.files",
    "liza.store.spool": "a descriptor from liza.store.files",
    "liza.store.steps": "a descriptor from liza.store.files",
    "liza.clients.install": "the settings of a client",
    "liza.clients.hook_health": "the user's own folder",
    "liza.clients.hook_entries": "the settings of a client",
    "liza.clients.codex_trust": "the settings of a client",
    "liza.clients.recorded_sessions": "the transcripts of a client",
    "liza.cli.main": "/dev/null, and the traceback of a bug in the user's own folder",
    "liza.daemon.background": "/dev/null, and a pipe",
    "liza.daemon.watch_lock": "the user's own folder, while there is no blackboard",
    "liza.daemon.seal": "the user's own folder",
    "liza.daemon.dashboard": "the user's own folder",
    "liza.store.seal": "the user's own folder",
    "liza.templates": "shipped files",
    "liza.store.locate": "git's own files, before any blackboard is known",
    "liza.cli.replay": "a picture where the person wants it",
    "liza.cli.report": "a page where the person wants it",
    **dict.fromkeys(
        (
            "liza.cli.attempt.options", "liza.cli.options", "liza.cli.rules_test", "liza.cli.streams",
        ),
        "a file that the command line names, which may be a pipe",
    ),
    "liza.git.worktree": "the working tree",
    "liza.store.tail": "transcripts, which are the clients' own",
}  # fmt: skip


def opens(module: str) -> bool:
    """Whether a module calls os.open, or open without an opener."""
    calls = [node for node in nodes(MODULES[module]) if isinstance(node, ast.Call)]
    return any(
        (isinstance(call.func, ast.Name) and call.func.id == "open" and not {"opener"} & {k.arg for k in call.keywords})
        or ast.unparse(call.func) == "os.open"
        for call in calls
    )


def test_only_store_files_opens_blackboard_files() -> None:
    assert {module for module in MODULES if opens(module)} == set(OPENERS)
