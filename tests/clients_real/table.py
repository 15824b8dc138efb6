"""The table of docs/agents.md: what was seen to work with which client, as the last runs of its tests have it.

The tests leave their outcomes in `build/clients/outcomes.json`; `python -m tests.clients_real.table` writes the table.
A cell that was not run with this version keeps none of an earlier one.
"""

import json
import re
import subprocess
from collections.abc import Mapping
from functools import cache
from typing import Any

from tests.clients_real.packages import FOLDER, PROGRAMS
from tests.docs.pages import ROOT

OUTCOMES = FOLDER / "outcomes.json"
PAGE = ROOT / "docs" / "agents.md"
CLIENTS = {
    "claude": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "qwen": "Qwen Code",
    "opencode": "opencode",
}
# What each row says, and the tests that show it: by the beginning of their names.
ROWS = {
    "the same failing command: warned by the fourth call, stopped by the fifth": ("test_same_failing",),
    "the same error in three sessions halts everyone": ("test_same_error",),
    "halted midway: the next call waits, and continues within 2 s of the decision": ("test_held_agent",),
    "a call that waits too long is refused, never let through": ("test_hold_at_its_limit",),
    "a prompt is refused while halted, and nothing is asked of the model": ("test_prompt_is_refused",),
    "subagents are held with the session that started them": ("test_calls_of_a_subagent",),
    "without liza, its Python or its venv, a halt still blocks": ("test_liza_is_missing", "test_deleted_venv"),
    "a budget of $0.50 stops a session before it has cost $0.60": ("test_budget_of",),
    "the daemon is killed: that is reported, or another is started, and a halt still holds": ("test_daemon_is_killed",),
    "a hook that does not run because the client does not trust it is reported": ("test_untrusted_hook",),
    "normal work is left alone: red tests between edits, reading again, polling a job": (
        "test_red_tests", "test_file_read_again", "test_files_formatted", "test_job_in", "test_log_of_a_job",
    ),
    "its agents report a problem and read decisions (MCP)": ("test_agent_reports",),
    "install, then uninstall: what others put there stays to the byte": ("test_uninstall",),
}  # fmt: skip
ALWAYS_TRUSTED = ("claude", "opencode")  # without a terminal, they run hooks in any folder
TABLE = re.compile(r"^\| \| Claude Code \d[^\n]*\n(?:\|[^\n]*\n)*", re.MULTILINE)
Outcomes = dict[str, dict[str, bool]]  # by client and version, whether each test passed


@cache
def version_of(client: str) -> str:
    """The version of an installed client."""
    done = subprocess.run([PROGRAMS / client, "--version"], capture_output=True, text=True, check=True, timeout=60)
    found = re.search(r"\d+\.\d+\.\d+", done.stdout)
    assert found is not None, done.stdout
    return found[0]


def client_of(test: str) -> str | None:
    """The client that a test is about, by its parameters or its name."""
    parameters = re.split(r"[\[\]-]", test)
    return next((name for name in CLIENTS if name in parameters), "opencode" if "of_the_plugin" in test else None)


def read_outcomes() -> Outcomes:
    return json.loads(OUTCOMES.read_text()) if OUTCOMES.exists() else {}


def keep(passed: Mapping[str, bool]) -> None:
    """Add the outcomes of a run, by the names of its tests."""
    known = read_outcomes()
    for test, did in passed.items():
        if (client := client_of(test)) is not None:
            known.setdefault(f"{client} {version_of(client)}", {})[test] = did
    OUTCOMES.write_text(json.dumps(known, indent=1, sort_keys=True))


def cell(client: str, tests: tuple[str, ...], outcomes: Mapping[str, bool]) -> str:
    """One cell: every test has to be there, and to have passed."""
    if tests == ("test_untrusted_hook",) and client in ALWAYS_TRUSTED:
        return "–"
    found = [[passed for test, passed in outcomes.items() if test.startswith(name)] for name in tests]
    if any(False in each for each in found):
        return "**no**"
    return "yes" if all(found) else "not run"


def table(outcomes: Outcomes, versions: Mapping[str, str]) -> str:
    """The rows of the table."""
    titles = [f"{CLIENTS[name]} {version}" for name, version in versions.items()]
    lines = [f"| | {' | '.join(titles)} |", "|---" * (len(titles) + 1) + "|"]
    for title, tests in ROWS.items():
        cells = [cell(name, tests, outcomes.get(f"{name} {version}", {})) for name, version in versions.items()]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def write() -> None:
    """Bring the page up to what was seen."""
    page = PAGE.read_text()
    assert TABLE.search(page), "docs/agents.md has no table to write"
    text = table(read_outcomes(), {name: version_of(name) for name in CLIENTS})
    PAGE.write_text(TABLE.sub(lambda found: text, page))
    print(text)


def outcomes_of(reports: Mapping[str, list[Any]]) -> dict[str, bool]:
    """Whether each test passed, from the reports of its phases; one that was skipped says nothing."""
    return {
        name: all(each.outcome == "passed" for each in phases)
        for name, phases in reports.items()
        if all(each.outcome != "skipped" for each in phases)
    }


if __name__ == "__main__":
    write()
