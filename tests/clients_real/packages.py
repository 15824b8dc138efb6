"""Install the coding agents of `package.json` from npm: `python -m tests.clients_real.packages`.

They go into `build/clients/`, and are installed again only after `package.json` has changed.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import ROOT

WANTED = Path(__file__).with_name("package.json")
FOLDER = ROOT / "build" / "clients"
PROGRAMS = FOLDER / "node_modules" / ".bin"
CLAUDE_SETUP = FOLDER / "node_modules" / "@anthropic-ai" / "claude-code" / "install.cjs"
FOR_PLUGINS = FOLDER / "opencode"  # what opencode installs beside plugins


def install() -> None:
    """Bring `build/clients/` up to `package.json`."""
    done = FOLDER / "installed.json"
    if done.is_file() and done.read_bytes() == WANTED.read_bytes():
        return
    missing = [tool for tool in ("node", "npm") if shutil.which(tool) is None]
    if missing:
        sys.exit(f"not installed: {', '.join(missing)}. On Debian or Ubuntu: apt-get install nodejs npm")
    FOLDER.mkdir(parents=True, exist_ok=True)
    shutil.copy(WANTED, FOLDER / "package.json")
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"], cwd=FOLDER, check=True)
    # npm may be set to skip install scripts, and without its own claude is a stub.
    subprocess.run(["node", CLAUDE_SETUP.name], cwd=CLAUDE_SETUP.parent, check=True)
    wanted = json.loads((FOLDER / "node_modules" / "opencode-ai" / "package.json").read_text())["version"]
    FOR_PLUGINS.mkdir(exist_ok=True)
    (FOR_PLUGINS / "package.json").write_text(json.dumps({"dependencies": {"@opencode-ai/plugin": wanted}}))
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"], cwd=FOR_PLUGINS, check=True)
    shutil.copy(WANTED, done)


if __name__ == "__main__":
    install()
    for name in ("claude", "codex", "gemini", "qwen", "opencode"):
        subprocess.run([PROGRAMS / name, "--version"], check=True)
