"""liza installed as its users do it, and what it leaves in the settings of a client."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_install import built, run
from tests.clients_real.lab import Lab, failing, wait, working

THEIRS = {
    "claude": '{ "permissions": {"allow": ["Bash"]},\n   "hooks": {"PostToolUse": [{"hooks":[ HOOK ]}]}}\n',
    "qwen": '{"hooks":\n  {"PostToolUse": [ {"hooks": [HOOK]} ]},\n "$version": 4 }',  # else it formats the file anew
    "gemini": '{"hooks":\n  {"AfterTool": [ {"hooks": [HOOK]} ]}\n}',
    "codex": '{"hooks":\n  {"PostToolUse": [ {"hooks": [HOOK]} ]}\n}',
}
FILES = {
    "claude": ".claude/settings.local.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "qwen": ".qwen/settings.json",
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`pip install` of the wheel into an empty venv."""
    folder = tmp_path_factory.mktemp("installed")
    wheel = built(folder)
    run(sys.executable, "-m", "venv", "venv", folder=folder)
    run(folder / "venv" / "bin" / "pip", "install", "--quiet", wheel, folder=folder)
    return folder / "venv" / "bin" / "liza"


def test_four_lines_protect_a_client(lab: Lab, client: str, program: Path) -> None:
    """README: pip install, init, install; the session's start starts the daemon."""
    lab.program = program
    lab.path = f"{program.parent}:{lab.path.partition(':')[2]}"
    lab.set_up(client)
    agent = lab.start(client, [failing()] * 10)
    wait(lambda: lab.is_held(agent), "its next call is held")
    assert lab.ran("a") <= 5
    assert lab.sessions()[agent.session]["session_status"] == "STOPPED"


def test_deleted_venv_still_blocks(lab: Lab, client: str, program: Path) -> None:
    lab.program = program
    lab.set_up(client)
    lab.path = lab.path.partition(":")[2]
    (lab.board / "CHECKPOINT").write_text("2026-01-01T00:00:00Z\n")
    venv = program.parents[1]
    away = venv.rename(venv.with_name("away"))
    try:
        agent = lab.start(client, [working("a", 0)])
        agent.finish()
    finally:
        away.rename(venv)
    assert (len(agent.requests), lab.ran("a")) == (0, 0)


@pytest.mark.parametrize("client", FILES)
def test_uninstall_restores_settings_with_hooks_of_others(lab: Lab, client: str) -> None:
    lab.set_up()
    file = lab.project / FILES[client]
    file.parent.mkdir()
    theirs = {"type": "command", "command": f"cat > /dev/null; echo seen >> {lab.project}/theirs"}
    original = THEIRS[client].replace("HOOK", json.dumps(theirs)).encode()
    file.write_bytes(original)
    assert lab.liza("install", client).code == 0
    lab.start(client, [working("a", 0)]).finish()
    assert (lab.project / "theirs").read_text() == "seen\n"
    assert hooked(lab, client) == 1
    assert lab.liza("install", client, "--uninstall").code == 0
    assert file.read_bytes() == original
    lab.start(client, [working("a", 0)]).finish()
    assert (lab.project / "theirs").read_text() == "seen\nseen\n"
    assert hooked(lab, client) == 1
    assert subprocess.run(["git", "status", "--porcelain"], cwd=lab.project, check=True, capture_output=True).stdout


def test_uninstall_of_the_plugin_leaves_those_of_others(lab: Lab) -> None:
    """opencode has a folder of plugins, each a file."""
    lab.set_up()
    plugins = lab.project / ".opencode" / "plugins"
    plugins.mkdir(parents=True)
    theirs = f"""import {{ appendFileSync }} from "fs"
export const Theirs = async () => ({{
  "tool.execute.after": async () => appendFileSync("{lab.project}/theirs", "seen\\n"),
}})
"""
    (plugins / "theirs.js").write_text(theirs)
    assert lab.liza("install", "opencode").code == 0
    lab.start("opencode", [working("a", 0)]).finish()
    assert (lab.project / "theirs").read_text() == "seen\n"
    assert len(list((lab.board / "steps").iterdir())) == 1
    assert lab.liza("install", "opencode", "--uninstall").code == 0
    assert {file.name: file.read_text() for file in plugins.iterdir()} == {"theirs.js": theirs}
    lab.start("opencode", [working("a", 0)]).finish()
    assert (lab.project / "theirs").read_text() == "seen\nseen\n"
    assert len(list((lab.board / "steps").iterdir())) == 1


def hooked(lab: Lab, client: str) -> int:
    """How many sessions the hook has reported; others are known from their transcripts."""
    return sum(f'"{client}-after-' in file.read_text() for file in (lab.board / "steps").iterdir())
