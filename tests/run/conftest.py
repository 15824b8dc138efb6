"""Shared by the tests with git: no settings but their own, and a repository with one file of each kind."""

from pathlib import Path

import pytest

from tests.run.repositories import commit, repository


@pytest.fixture(autouse=True)
def isolated_git_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with a file to change, one to delete, one to move, a program and a link."""
    made = repository(tmp_path / "a team's repo", kept="1\n", changed="1\n", deleted="1\n", moved="a longer text\n" * 9)
    (made / "src").mkdir()
    (made / "src" / "program").write_text("#!/bin/sh\n")
    (made / "link").symlink_to("kept")
    (made / ".gitignore").write_text("*.o\nsecret\n")
    commit(made)
    return made
