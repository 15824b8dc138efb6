"""A command imports only what it uses: agents' hooks pay for every import many times a minute."""

from pathlib import Path

import pytest

from tests.cli.run import installed, new_board

WEB = ("liza.web", "starlette", "uvicorn", "sse_starlette", "anyio", "markdown_it")
EXTRAS = (
    *WEB,
    "liza.team",
    "psycopg",
    "liza.mcp",
    "mcp",
    "mcp_types",
    "pydantic",
    "prometheus_client",
    "opentelemetry",
    "asyncio",
)
HEAVY = (*EXTRAS, "yaml_rs", "ruamel", "rich", "watchdog", "filelock", "jinja2", "rapidfuzz", "lark", "yaml")


def imported(folder: Path, *words: str) -> set[str]:
    """The modules that the real `liza` has imported when it ends."""
    (folder / "sitecustomize.py").write_text(
        "import atexit, os, sys\n"
        "def note():\n"
        "    with open(os.environ['IMPORTED'], 'w') as file:\n"
        "        file.write('\\n'.join(sys.modules))\n"
        "atexit.register(note)\n"
    )
    file = folder / "imported.txt"
    result = installed(folder, *words, PYTHONPATH=str(folder), IMPORTED=str(file))
    assert result.code == 0, result.err
    return set(file.read_text().splitlines())


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_help_imports_no_command_and_nothing_heavy(tmp_path: Path, words: list[str]) -> None:
    modules = imported(tmp_path, *words)
    assert "liza.cli.group" in modules
    assert not modules & {*HEAVY, "liza.store", "liza.cli.log", "liza.cli.validate", "liza.cli.init"}


PLAIN = {
    "anomaly": ["log", "anomaly", "--type", "workaround", "--task", "t", "--reporter", "r", "what=two words", "n=3"],
    "entry": ["log", "entry", "--agent", "a", "--action", "x", "--detail", "some words"],
}


@pytest.mark.parametrize("words", PLAIN.values(), ids=PLAIN.keys())
def test_plain_recording_imports_neither_click_nor_waiting(tmp_path: Path, words: list[str]) -> None:
    new_board(tmp_path, "anomalies:\n- task: t0\n")
    modules = imported(tmp_path, *words)
    assert "yaml_rs._yaml_rs" in modules
    assert not modules & {
        *WEB,
        "pathlib",
        "click",
        "ruamel",
        "filelock",
        "dataclasses",
        "rich",
        "watchdog",
        "jinja2",
        "rapidfuzz",
    }
    assert not modules & {"inspect", "difflib", "subprocess", "tempfile", "logging", "asyncio"}


def test_validate_imports_neither_daemon_nor_oracle(tmp_path: Path) -> None:
    new_board(tmp_path)
    assert not imported(tmp_path, "validate") & {"ruamel", "rich", "watchdog", "filelock", "jinja2", "rapidfuzz"}


@pytest.mark.parametrize("command", ["analyze", "status"])
def test_checks_import_nothing_of_the_page(tmp_path: Path, command: str) -> None:
    new_board(tmp_path)
    assert not imported(tmp_path, command) & {*WEB}
