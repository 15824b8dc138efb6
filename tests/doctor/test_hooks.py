"""The hooks of clients, as the doctor sees them."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from liza.clients.codex_trust import hook_digest
from liza.clients.install import CLIENTS
from liza.doctor.finding import Level
from tests.cli.run import installed, liza


def findings(folder: Path) -> list[dict[str, Any]]:
    """What is wrong with the hooks."""
    found = liza(folder, "doctor", "--json").json["findings"]
    wrong = [each for each in found if each["about"] == "hooks" and each["level"] != Level.OK]
    assert all(each["hint"] for each in wrong)
    return wrong


def levels(folder: Path) -> list[str]:
    found = liza(folder, "doctor", "--json").json["findings"]
    return [each["level"] for each in found if each["about"] == "hooks"]


def test_installed_hook_is_ok(folder: Path) -> None:
    assert installed(folder, "install", "claude").code == 0
    assert set(levels(folder)) == {Level.OK}


@pytest.mark.parametrize("missing", ["hook.sh", "program"])
def test_incomplete_hook_is_an_error_until_installed(folder: Path, missing: str) -> None:
    installed(folder, "install", "claude")
    (folder / ".local/share/liza" / missing).unlink()
    assert Level.ERROR in levels(folder)
    installed(folder, "install", "claude")
    assert Level.ERROR not in levels(folder)


def test_deleted_program_is_an_error(folder: Path) -> None:
    installed(folder, "install", "claude")
    (folder / ".local/share/liza/program").write_text("/nonexistent/venv/bin/liza\n")
    assert Level.ERROR in levels(folder)


def test_program_that_cannot_start_is_an_error(folder: Path) -> None:
    installed(folder, "install", "claude")
    broken = folder.parent / "liza"
    broken.write_text("#!/nonexistent/venv/bin/python\n")
    broken.chmod(0o755)
    (folder / ".local/share/liza/program").write_text(f"{broken}\n")
    assert Level.ERROR in levels(folder)
    (hook,) = liza(folder, "status", "--json").json["hooks"]
    assert len(hook["problems"]) == 1


def test_events_without_a_daemon_are_an_error(folder: Path) -> None:
    installed(folder, "install", "claude")
    spool = folder / ".liza" / "spool"
    spool.mkdir()
    (spool / "claude-after-000001").write_text("{}")
    assert [each["level"] for each in findings(folder)] == [Level.ERROR]


def test_hook_of_another_version_is_a_warning(folder: Path) -> None:
    installed(folder, "install", "claude")
    (folder / ".local/share/liza/hook.sh").write_text("exit 0  # older\n")
    file = folder / ".claude/settings.local.json"
    settings = json.loads(file.read_text())
    del settings["hooks"]["PostToolBatch"]
    file.write_text(json.dumps(settings))
    assert [each["level"] for each in findings(folder)] == [Level.WARNING, Level.WARNING]
    installed(folder, "install", "claude")
    assert findings(folder) == []


def test_disabled_hooks_of_claude_are_an_error(folder: Path) -> None:
    installed(folder, "install", "claude")
    (folder / ".claude/settings.json").write_text('{"disableAllHooks": true}')
    assert [each["level"] for each in findings(folder)] == [Level.ERROR]


def test_unreadable_settings_are_named_and_hide_no_other_client(folder: Path) -> None:
    installed(folder, "install", "codex")
    (folder / ".claude").mkdir()
    file = folder / ".claude/settings.json"
    file.write_text('{"hooks": ')
    assert str(file) in [each["file"] for each in findings(folder)]
    assert len(findings(folder)) > 1  # Codex has not been trusted


# --- Codex ------------------------------------------------------------------------------------------------------------

# As Codex 0.169 lists it for this hook.
COMMAND = (
    "[ -r /tmp/liza/hk/home/.local/share/liza/hook.sh ] || { echo 'liza: its hook is missing; to fix: liza install'"
    " >&2; exit 2; }; exec sh /tmp/liza/hk/home/.local/share/liza/hook.sh codex before"
)
DIGEST = "sha256:d3d3b5ce9660bcc2075afdd8f50a481d2f9e73340e77b4ed8daa40d6780f3012"


def test_digest_is_that_of_codex() -> None:
    entry = {"hooks": [{"type": "command", "command": COMMAND, "timeout": 86400}]}
    assert hook_digest("pre_tool_use", entry) == DIGEST


def trust(folder: Path, *, project: str = "trusted", more: str = "") -> None:
    """What Codex writes when a person has reviewed the hooks."""
    file = folder / ".codex/hooks.json"
    lines = [f'[projects."{folder}"]', f'trust_level = "{project}"']
    for event, entries in json.loads(file.read_text())["hooks"].items():
        label = "".join(f"_{char.lower()}" if char.isupper() else char for char in event).lstrip("_")
        for position, entry in enumerate(entries):
            lines += [f'[hooks.state."{file}:{label}:{position}:0"]', f'trusted_hash = "{hook_digest(label, entry)}"']
    (folder / ".codex/config.toml").write_text("\n".join([*lines, more, ""]))


def test_reviewed_hook_of_codex_is_ok(folder: Path) -> None:
    installed(folder, "install", "codex")
    project, hooks = findings(folder)
    assert all("trust" in each["message"] and "trust" in each["hint"] for each in (project, hooks))  # one word for it
    trust(folder)
    assert findings(folder) == []


def test_hook_of_codex_that_lost_its_trust_is_an_error(folder: Path) -> None:
    installed(folder, "install", "codex")
    trust(folder)
    file = folder / ".codex/hooks.json"
    text = file.read_text()
    settings = json.loads(text)
    settings["hooks"]["PreToolUse"].insert(0, {"hooks": [{"type": "command", "command": "true"}]})
    file.write_text(json.dumps(settings))
    (moved,) = findings(folder)
    assert (moved["level"], "PreToolUse" in moved["message"]) == (Level.ERROR, True)
    file.write_text(text.replace("exec sh", "exec  sh"))
    changed = findings(folder)[-1]
    assert changed["level"] == Level.ERROR
    assert changed["message"] != moved["message"]


@pytest.mark.parametrize("more", ["[features]\nhooks = false", "[features"])
def test_switched_off_or_broken_settings_of_codex_are_an_error(folder: Path, more: str) -> None:
    installed(folder, "install", "codex")
    trust(folder, more=more)
    (finding,) = findings(folder)
    assert (finding["level"], finding["file"]) == (Level.ERROR, str(folder / ".codex/config.toml"))


def test_untrusted_project_of_codex_is_an_error(folder: Path) -> None:
    installed(folder, "install", "codex")
    trust(folder, project="untrusted")
    assert [each["level"] for each in findings(folder)] == [Level.ERROR]


# --- sessions that clients have recorded themselves -------------------------------------------------------------------


def transcript(folder: Path, cwd: Path, version: str) -> None:
    """The beginning of what Claude Code writes of a session."""
    file = folder / ".claude/projects/-shop/1e21232d-0f64-4425-b913-51a569383651.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    line = {"cwd": str(cwd), "sessionId": file.stem, "version": version}
    file.write_text(f'{{"type": "queue-operation", "sessionId": "{file.stem}"}}\n{json.dumps(line)}\n')


def test_session_that_ran_without_the_hook_is_a_warning(folder: Path) -> None:
    installed(folder, "install", "claude")
    inner = folder / "packages" / "a"
    inner.mkdir(parents=True)
    transcript(folder, inner, CLIENTS["claude"].tested)
    (finding,) = findings(folder)
    assert (finding["level"], str(inner) in finding["message"]) == (Level.WARNING, True)
    transcript(folder, folder.parent, CLIENTS["claude"].tested)  # not a folder of this blackboard
    assert findings(folder) == []


def test_linked_worktree_belongs_to_the_blackboard(folder: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(folder)]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"], ["worktree", "add", "-q", "../two"]):
        subprocess.run([*git, *words], check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"})
    installed(folder, "install", "claude")
    transcript(folder, folder.parent / "two", CLIENTS["claude"].tested)
    assert [each["level"] for each in findings(folder)] == [Level.WARNING]


def test_client_newer_than_tested_is_a_warning(folder: Path) -> None:
    installed(folder, "install", "claude")
    transcript(folder, folder.parent, "99.0.1")
    (finding,) = findings(folder)
    assert (finding["level"], "99.0.1" in finding["message"]) == (Level.WARNING, True)


def test_version_last_seen_is_shown_with_the_tested_one(folder: Path) -> None:
    installed(folder, "install", "claude")
    transcript(folder, folder.parent, "2.0.14")
    found = liza(folder, "doctor", "--json").json["findings"]
    (shown,) = (each for each in found if "2.0.14" in each["message"])
    assert (shown["about"], shown["level"], CLIENTS["claude"].tested in shown["message"]) == ("hooks", Level.OK, True)


# --- Gemini CLI -------------------------------------------------------------------------------------------------------


def trust_folder(folder: Path, **levels: str) -> None:
    """What Gemini CLI writes when a person has answered whether it is to trust a folder."""
    (folder / ".gemini/trustedFolders.json").write_text(json.dumps(levels))


@pytest.mark.parametrize(
    ("levels", "wrong"),
    [
        ({}, 1),
        ({"shop": "TRUST_FOLDER"}, 0),
        ({"shop/a": "TRUST_PARENT"}, 0),
        ({"": "TRUST_FOLDER"}, 0),
        ({"": "TRUST_FOLDER", "shop": "DO_NOT_TRUST"}, 1),
        ({"sho": "TRUST_FOLDER"}, 1),
    ],
)
def test_folder_that_gemini_does_not_trust_is_an_error(folder: Path, levels: dict[str, str], wrong: int) -> None:
    installed(folder, "install", "gemini")
    trust_folder(folder, **{str(folder.parent / name): level for name, level in levels.items()})
    assert [each["level"] for each in findings(folder)] == [Level.ERROR] * wrong


def test_folder_trust_that_is_switched_off_needs_no_trust(folder: Path) -> None:
    installed(folder, "install", "gemini")  # the folder is the home of its user
    file = folder / ".gemini/settings.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "security": {"folderTrust": {"enabled": False}}}))
    assert findings(folder) == []


@pytest.mark.parametrize("by", ["all", "command"])
def test_disabled_hooks_of_gemini_are_an_error(folder: Path, by: str) -> None:
    installed(folder, "install", "gemini")
    trust_folder(folder, **{str(folder): "TRUST_FOLDER"})
    assert findings(folder) == []
    file = folder / ".gemini/settings.json"
    settings = json.loads(file.read_text())
    command = settings["hooks"]["BeforeTool"][0]["hooks"][0]["command"]
    settings["hooksConfig"] = {"enabled": False} if by == "all" else {"disabled": [command]}
    file.write_text(json.dumps(settings))
    assert [each["level"] for each in findings(folder)] == [Level.ERROR]


def test_gemini_session_without_the_hook_is_a_warning(folder: Path) -> None:
    """Its transcript does not name its folder: a file beside it does."""
    installed(folder, "install", "gemini")
    trust_folder(folder, **{str(folder): "TRUST_FOLDER"})
    inner = folder / "packages" / "a"
    inner.mkdir(parents=True)
    chats = folder / ".gemini/tmp/a/chats"
    chats.mkdir(parents=True)
    (chats.parent / ".project_root").write_text(str(inner))
    (chats / "session-2026-11-18T08-11-895f9695.jsonl").write_text('{"sessionId":"895f9695","kind":"main"}\n')
    (finding,) = findings(folder)
    assert (finding["level"], str(inner) in finding["message"]) == (Level.WARNING, True)


# --- Qwen Code --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("more", "wrong"), [({}, 0), ({"security": {"folderTrust": {"enabled": True}}}, 1)])
def test_qwen_folder_needs_trust_only_where_enabled(folder: Path, more: dict[str, Any], wrong: int) -> None:
    installed(folder, "install", "qwen")
    file = folder / ".qwen/settings.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **more}))
    assert [each["level"] for each in findings(folder)] == [Level.ERROR] * wrong


def test_disabled_hooks_of_qwen_are_an_error(folder: Path) -> None:
    installed(folder, "install", "qwen")
    file = folder / ".qwen/settings.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "disableAllHooks": True}))
    assert [each["level"] for each in findings(folder)] == [Level.ERROR]
