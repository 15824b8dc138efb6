"""Inside an agent liza refuses decisions reserved for a person, and a decision without a terminal is alarmed."""

import json
from pathlib import Path
from typing import Any

import pytest

import liza as api
from liza.clients.caller import VARIABLES
from liza.errors import Refused
from tests.cli.run import liza, new_board, on_a_terminal
from tests.daemon.daemon import Daemon
from tests.run.projects import Project
from tests.store.oracle import libyaml_value

CLEARED = 'env -i PATH="$PATH" HOME="$HOME" '
ANOMALY = "{timestamp: '2026-01-01T00:00:00Z', task: t, reporter: r, type: retry_loop, details: {error_pattern: boom}}"
STATE = f"""\
version: 1
anomalies: [{", ".join([ANOMALY] * 3)}]
loops:
  l: {{status: OPEN, trigger_reason: No progress, loop_count: 3, history: [{{opened: '2026-01-01T00:00:00Z'}}]}}
claims:
  C-1:
    text: it holds
    status: DISPUTED
"""
DECISIONS = {
    "resolve": ("resolve", "-m", "decided", "--by", "ann"),
    "loop reset": ("loop", "reset", "l", "--by", "ann"),
    "loop probe": ("loop", "probe", "l", "--by", "ann"),
    "silence add": ("silence", "add", "retry_cluster", "--all", "--for", "1h", "-m", "known"),
    "silence expire": ("silence", "expire", "silence-1"),
    "claim override": ("claim", "resolve", "C-1", "--override", "ACCEPTED", "-m", "so", "--by", "ann"),
}


def board(folder: Path) -> dict[str, Any]:
    found = libyaml_value((folder / ".liza" / "state.yaml").read_bytes())
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("words", DECISIONS.values(), ids=DECISIONS)
@pytest.mark.parametrize("variable", VARIABLES)
def test_persons_decision_is_refused_inside_agent(tmp_path: Path, variable: str, words: tuple[str, ...]) -> None:
    state = new_board(tmp_path, STATE)
    assert liza(tmp_path, "analyze").code == 3
    before = state.read_bytes()
    ran = liza(tmp_path, *words, "--json", **{variable: "1"})
    assert (ran.code, json.loads(ran.out)["status"], state.read_bytes()) == (1, "refused", before)
    assert variable in ran.out
    assert (tmp_path / ".liza" / "CHECKPOINT").exists()


def test_read_commands_are_allowed_inside_agent(tmp_path: Path) -> None:
    new_board(tmp_path, STATE)
    commands = (("silence", "list"), ("loop", "list"), ("loop", "status", "l"), ("status",), ("analyze",))
    assert [liza(tmp_path, *words, CLAUDECODE="1").code for words in commands] == [0, 3, 3, 0, 3]


def test_empty_variable_is_not_an_agent(tmp_path: Path) -> None:
    new_board(tmp_path, STATE)
    assert liza(tmp_path, "loop", "reset", "l", CLAUDECODE="").code == 0


def test_api_cannot_resolve_inside_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_board(tmp_path, STATE)
    monkeypatch.setenv("CLAUDECODE", "1")
    with pytest.raises(Refused):
        api.resolve("decided", by="ann", root=tmp_path)


@pytest.mark.parametrize("environment", ["", CLEARED], ids=["inherited", "cleared"])
def test_agent_cannot_reset_its_own_loop(tmp_path: Path, environment: str) -> None:
    """With a cleared environment `liza run` is found among the ancestor processes."""
    project = Project(tmp_path / "p", f"{environment}liza loop reset l -m more --by ann; echo nothing")
    ran = project.run("--on-stagnation", "abort", "--max", "9")
    assert (ran.code, project.facts["iterations"], project.loop["status"]) == (3, 3, "OPEN")


def test_agent_of_another_board_may_decide_here(tmp_path: Path) -> None:
    """The tests themselves, and a demo, may run below `liza run`."""
    new_board(tmp_path / "other", STATE)
    project = Project(tmp_path / "p", f"cd '{tmp_path / 'other'}'; {CLEARED}liza loop reset l --by ann")
    project.run("--max", "1")
    assert board(tmp_path / "other")["loops"]["l"]["status"] == "CLOSED"


def test_agents_step_is_recorded_as_an_agents(tmp_path: Path) -> None:
    new_board(tmp_path, "version: 1\n")
    assert liza(tmp_path, "claim", "add", "C-2", "--text", "it holds", CLAUDECODE="1").code == 0
    assert liza(tmp_path, "claim", "kill", "C-2", "-m", "wrong", CLAUDECODE="1").code == 0
    log = libyaml_value((tmp_path / ".liza" / "log.yaml").read_bytes())
    assert log[-1]["inside_agent"] == "CLAUDECODE"
    killed = board(tmp_path)["claims"]["C-2"]["history"][-1]
    assert str(killed["by"]).startswith("an agent of ")


# --- without a terminal ---------------------------------------------------------------------------------------------


def entry(folder: Path) -> dict[str, Any]:
    found = board(folder)["circuit_breaker"]["history"][-1]
    assert isinstance(found, dict)
    return found


def alarms(folder: Path) -> list[str]:
    lines = (folder / ".liza" / "alerts.log").read_text().splitlines()
    return [line for line in lines if line.split()[1] == "alarm"]


def test_resolution_without_terminal_is_alarmed(tmp_path: Path) -> None:
    new_board(tmp_path, STATE)
    liza(tmp_path, "analyze")
    assert liza(tmp_path, *DECISIONS["resolve"]).code == 0
    assert entry(tmp_path)["without_terminal"] is True
    assert len(alarms(tmp_path)) == 1


@pytest.mark.parametrize("decision", ["loop reset", "loop probe", "claim override"])
def test_narrower_decision_without_terminal_is_alarmed(tmp_path: Path, decision: str) -> None:
    """Nothing else reveals an agent that left its process group and cleared its environment."""
    new_board(tmp_path, STATE)
    assert liza(tmp_path, *DECISIONS[decision]).code == 0
    assert len(alarms(tmp_path)) == 1
    assert "ann" in alarms(tmp_path)[0]


def test_loop_reset_at_terminal_is_not_alarmed(tmp_path: Path) -> None:
    new_board(tmp_path, STATE)
    assert on_a_terminal(tmp_path, *DECISIONS["loop reset"]).code == 0
    assert not (tmp_path / ".liza" / "alerts.log").exists()


def test_resolution_at_terminal_is_not_alarmed(tmp_path: Path) -> None:
    new_board(tmp_path, STATE)
    liza(tmp_path, "analyze")
    assert on_a_terminal(tmp_path, *DECISIONS["resolve"]).code == 0
    assert "without_terminal" not in entry(tmp_path)
    assert alarms(tmp_path) == []


def test_daemon_alarms_resolution_without_terminal(tmp_path: Path) -> None:
    """The daemon was started by an agent but serves everyone: it drops the agent's variables."""
    new_board(tmp_path, STATE)
    with Daemon(tmp_path, wait="tripped", env=dict.fromkeys(VARIABLES, "1")) as daemon:
        assert liza(tmp_path, *DECISIONS["resolve"]).code == 0
        daemon.wait_for("alarm", "without a terminal")
    log = libyaml_value((tmp_path / ".liza" / "log.yaml").read_bytes())
    assert all("inside_agent" not in each for each in log)
