"""The menu of a paused run, with a person at the terminal."""

import re
from pathlib import Path

import pytest

from tests.cli.run import liza
from tests.daemon.writers import save
from tests.run.projects import IDLES, PROGRESSION, SAYS, Project
from tests.run.repositories import SETTINGS
from tests.run.terminals import Terminal


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "p", IDLES)


def at_the_menu(project: Project, *options: str) -> Terminal:
    words = ("run", "--loop", "l", *options, *project.words)
    terminal = Terminal(project.folder, *words, **SETTINGS)
    terminal.shows("[STAGNATION DETECTED] No progress for 3 iterations")
    terminal.shows("[c] Continue (reset counter)")
    terminal.shows("Choice: ")
    return terminal


def test_menu_c_resets_the_loop_and_continues(project: Project) -> None:
    with at_the_menu(project, "--max", "5") as terminal:
        terminal.types("c\n")
        assert terminal.code() == 1
    assert (project.loop["loop_count"], project.loop["trigger_count"]) == (2, 1)
    assert project.loop["history"][0]["why"] == "continued from the menu"


@pytest.mark.slow
def test_menu_s_blocks_the_task_and_ends_the_run(project: Project) -> None:
    with at_the_menu(project, "--task", "task-1") as terminal:
        terminal.types("s\n")
        assert terminal.code() == 3
    assert project.board["tasks"][0]["status"] == "BLOCKED"


def test_menu_s_without_a_task_asks_again(project: Project) -> None:
    with at_the_menu(project) as terminal:
        terminal.types("s\n")
        terminal.shows("no task was named with --task")
        terminal.shows("Choice: ")
        terminal.types("a\n")
        assert terminal.code() == 3


def test_menu_a_ends_the_run_and_leaves_the_task(project: Project) -> None:
    with at_the_menu(project, "--task", "task-1") as terminal:
        terminal.types("A\n")
        terminal.shows("to continue: liza loop reset l && liza run --resume")
        assert terminal.code() == 3
    assert project.board["tasks"][0]["status"] == "CLAIMED"
    assert project.loop["status"] == "OPEN"


@pytest.mark.parametrize(("typed", "model"), [("my-own", "my-own"), ("", "middle")])
def test_menu_r_tries_that_model_or_the_next_one(tmp_path: Path, typed: str, model: str) -> None:
    project = Project(tmp_path / "p", SAYS, rules=PROGRESSION)
    with at_the_menu(project, "--max", "5", "--model", "small") as terminal:
        terminal.types("r\n")
        terminal.shows("Model (small, middle, large) [middle]: ")
        terminal.types(f"{typed}\n")
        terminal.shows(f"model {model} in 4")
        assert terminal.code() == 1
    assert [each["model"] for each in project.recorded] == [model, model]


def test_menu_h_shows_the_context_and_asks_again(project: Project) -> None:
    with at_the_menu(project) as terminal:
        terminal.types("h\n")
        terminal.shows("# Iteration 4 of loop l")
        terminal.shows("- Iteration 3: ok, no files changed")
        terminal.shows("iterations/3/output.log")
        terminal.shows("Choice: ")
        terminal.types("what?\n")
        terminal.shows("expected c, s, a, r or h")
        terminal.types("a\n")
        assert terminal.code() == 3


@pytest.mark.slow
def test_menu_stays_open_as_time_passes(tmp_path: Path) -> None:
    """Even if the loop may probe by itself: half a word is typed, and is still there when the rest comes."""
    project = Project(tmp_path / "p", IDLES, rules="circuit_breaker: {auto_probe: true}\n")
    with at_the_menu(project) as terminal:
        terminal.types("ab")
        text = project.state.read_text()
        save(project.state, re.sub(r"last_trigger_time: \d{4}", "last_trigger_time: 2001", text))
        assert project.liza("loop", "status", "l").out.startswith("loop l: HALF_OPEN")
        with pytest.raises(AssertionError):  # the menu looks at each change of the blackboard, four times a second
            terminal.shows("Loop 4 of", patience=1.5)
        terminal.types("ort\n")
        assert terminal.code() == 3
    assert project.facts["iterations"] == 3


def test_reset_from_elsewhere_closes_the_menu(project: Project) -> None:
    with at_the_menu(project, "--max", "4") as terminal:
        assert liza(project.folder, "loop", "reset", "l").code == 0
        terminal.shows("Loop 4 of")
        assert terminal.code() == 1


def test_ctrl_c_ends_the_menu_and_the_run(project: Project) -> None:
    with at_the_menu(project) as terminal:
        terminal.types("\x03")
        assert terminal.code() == 130


def test_ctrl_d_leaves_the_run_waiting(project: Project) -> None:
    with at_the_menu(project, "--max", "4") as terminal:
        terminal.types("\x04")
        terminal.shows("paused; to continue: liza loop reset l")
        assert liza(project.folder, "loop", "reset", "l").code == 0
        assert terminal.code() == 1


@pytest.mark.slow
def test_keys_typed_while_the_agent_ran_are_dropped(tmp_path: Path) -> None:
    agent = "echo begun; while ! [ -e typed ]; do :; done"
    project = Project(tmp_path / "p", agent)
    words = ("run", "--loop", "l", *project.words)
    with Terminal(project.folder, *words, **SETTINGS) as terminal:
        terminal.shows("begun")
        terminal.types("a\n")
        (project.folder / "typed").touch()
        terminal.shows("Choice: ")
        terminal.types("h\n")
        terminal.shows("# Iteration 5 of loop l")
        terminal.types("a\n")
        assert terminal.code() == 3
