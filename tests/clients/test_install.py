"""Installing the hook: settings of others stay as they are, and an uninstall gives back what was there."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.clients.json_edit import add_entries, remove_entries
from tests.cli.run import installed, new_board

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
_ENTRIES = st.fixed_dictionaries({"matcher": st.text(max_size=3), "hooks": st.lists(_VALUES, max_size=2)})
_EVENTS = st.dictionaries(st.sampled_from(["PreToolUse", "Stop", "X"]), st.lists(_ENTRIES, max_size=3), max_size=3)
_DOCUMENTS = st.fixed_dictionaries({}, optional={"a": _VALUES, "hooks": _EVENTS, "z": _VALUES})
_PATH = ("hooks", "PreToolUse")


@given(_DOCUMENTS, st.sampled_from([None, 1, 2, 4]), st.integers(1, 3))
def test_removing_what_was_added_gives_back_every_byte(
    document: dict[str, Any], indent: int | None, count: int
) -> None:
    before = json.dumps(document, indent=indent)
    ours = [{"liza": number} for number in range(count)]
    after = add_entries(before, _PATH, ours, "settings.json")
    expected = json.loads(before)
    expected.setdefault("hooks", {}).setdefault("PreToolUse", []).extend(ours)
    assert json.loads(after) == expected
    assert remove_entries(after, _PATH, lambda each: "liza" in each, "settings.json") == before


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "shop"
    new_board(project)
    return project


ORIGINAL = """{
    "permissions": {"allow": ["Bash"]},
  "hooks": {"Stop": [{"hooks": [{"type":"command","command":"say done"}]}]}
}
"""


@pytest.mark.parametrize("client", ["claude", "codex"])
@pytest.mark.parametrize("original", [None, ORIGINAL, "{}", "{ }\n"])
def test_uninstall_restores_the_settings(folder: Path, client: str, original: str | None) -> None:
    file = folder / (".claude/settings.local.json" if client == "claude" else ".codex/hooks.json")
    if original is not None:
        file.parent.mkdir()
        file.write_text(original)
    assert installed(folder, "install", client).code == 0
    text = file.read_text()
    assert {"PreToolUse", "PostToolUse", "UserPromptSubmit"} <= json.loads(text)["hooks"].keys()
    assert installed(folder, "install", client).code == 0
    assert file.read_text() == text
    assert installed(folder, "install", client, "--uninstall").code == 0
    assert (file.read_text() if file.exists() else None) == original


def test_dry_run_writes_nothing(folder: Path) -> None:
    assert installed(folder, "install", "claude", "--dry-run").code == 0
    assert not (folder / ".claude").exists()
    assert not (folder / ".local").exists()


def test_installed_line_runs_the_hook(folder: Path) -> None:
    assert installed(folder, "install", "claude").code == 0
    hooks = json.loads((folder / ".claude/settings.local.json").read_text())["hooks"]
    command = hooks["PreToolUse"][0]["hooks"][0]["command"]
    assert subprocess.run(["sh", "-c", command], cwd=folder, input=b"{}", check=False).returncode == 0
    (folder / ".liza" / "CHECKPOINT").touch()
    assert subprocess.run(["sh", "-c", command], cwd=folder, input=b"{}", check=False, stderr=-1).returncode == 2
    (folder / ".liza" / "CHECKPOINT").unlink()
    (folder / ".local/share/liza/hook.sh").unlink()
    assert subprocess.run(["sh", "-c", command], cwd=folder, input=b"{}", check=False, stderr=-1).returncode == 2


def test_committed_settings_hold_no_path_of_this_machine(folder: Path) -> None:
    assert installed(folder, "install", "claude", "--project").code == 0
    assert str(folder) not in (folder / ".claude/settings.json").read_text()


def test_broken_settings_are_refused_and_kept(folder: Path) -> None:
    file = folder / ".claude/settings.local.json"
    file.parent.mkdir()
    file.write_text('{"hooks": ')
    assert installed(folder, "install", "claude").code == 1
    assert file.read_text() == '{"hooks": '
