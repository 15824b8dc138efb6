"""A missing program skips the tests that need it, and fails them in CI."""

import os

import pytest
from hypothesis import settings

from tests.tools import TOOLS, needs, needs_all_in


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a shell and nothing else."""
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("CI", raising=False)


@pytest.mark.parametrize("tool", TOOLS)
def test_missing_tool_skips_and_is_named(tool: str) -> None:
    with pytest.raises(pytest.skip.Exception, match=tool):
        needs(tool)


def test_missing_tool_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="jq"):
        needs("jq")


def test_scripts_need_the_tools_they_call() -> None:
    with pytest.raises(pytest.skip.Exception, match="not installed: jq, tmux"):
        needs_all_in("yq -Y . state.yaml; tmux new-session -d")
    needs_all_in("liza status; vimdiff a b")


def test_generated_cases_are_deterministic() -> None:
    assert settings().derandomize == (os.environ.get("HYPOTHESIS_PROFILE", "quick") == "quick")
