"""Start real coding agents, each with a scripted model on loopback and with nothing of this machine's environment."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.clients_real.model import Model
from tests.clients_real.packages import FOR_PLUGINS, PROGRAMS
from tests.clients_real.turns import Request, Scripts

PROMPT = "Fix the order page."
NODE = Path(shutil.which("node") or "node").parent
ALLOWED = ("Bash", "Write", "Read", "Agent", "TaskOutput", "mcp__liza")


class Place(NamedTuple):
    """Where a client runs."""

    project: Path
    home: Path
    path: str  # its PATH
    folder: Path  # where it starts


class Agent:
    """A running client. What it asked its model is in `model`."""

    def __init__(self, client: str, name: str, model: Model, process: "subprocess.Popen[bytes]", out: Path) -> None:
        self.client, self.name, self.model, self.process, self.out = client, name, model, process, out

    @property
    def session(self) -> str:
        """The id that the client gave its session; empty as long as it has not printed it."""
        for line in self.out.read_text(errors="replace").splitlines():
            event = json.loads(line) if line.startswith("{") and line.endswith("}") else {}
            if found := event.get("session_id") or event.get("thread_id") or event.get("sessionID"):
                return str(found)
        return ""

    @property
    def requests(self) -> list[Request]:
        return self.model.requests

    def finish(self, seconds: float = 90) -> None:
        """Wait until the client has ended by itself."""
        self.process.wait(seconds)

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def close(self) -> None:
        if self.is_running:
            os.killpg(self.process.pid, signal.SIGKILL)  # it leads a group of its own
            self.process.wait(30)
        self.model.close()


SUBAGENTS = "gpt-5"  # Codex offers it subagents, and tools of MCP servers, without a search for tools
CODE = "gpt-6.1-sol"  # Codex gives it one tool, for programs that call the others


class Options(NamedTuple):
    """What tests choose."""

    seconds: float = 0.0  # that the model takes for a turn
    trusts: bool = True  # Codex runs hooks that were not reviewed
    model: str = "gpt-5.5"  # of Codex, which chooses the tools by it


def start(client: str, place: Place, scripts: Scripts, options: Options, **env: str) -> Agent:
    """Start a client on a prompt."""
    model = Model(scripts, options.seconds)
    begin = {"claude": _claude, "codex": _codex, "gemini": _gemini, "qwen": _qwen, "opencode": _opencode}[client]
    words, variables = begin(place, model.url, options)
    name = env["LIZA_AGENT"]
    out, err = (place.home / f"{name}.{end}" for end in ("out", "err"))
    shell = {"PATH": place.path, "HOME": str(place.home), "LANG": "C.UTF-8", "TERM": "xterm", **variables, **env}
    with open(out, "wb") as prints, open(err, "wb") as complains:
        process = subprocess.Popen(
            [PROGRAMS / client, *words], cwd=place.folder, env=shell, stdin=subprocess.DEVNULL, stdout=prints,
            stderr=complains, start_new_session=True,
        )  # fmt: skip
    return Agent(client, name, model, process, out)


def _claude(place: Place, url: str, options: Options) -> tuple[list[str], dict[str, str]]:
    quiet = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER")
    variables = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "dummy", **dict.fromkeys(quiet, "1")}
    return ["-p", PROMPT, "--output-format", "stream-json", "--verbose", "--allowedTools", *ALLOWED], variables


def _codex(place: Place, url: str, options: Options) -> tuple[list[str], dict[str, str]]:
    file = place.home / ".codex" / "config.toml"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        file.write_text(f'[projects."{place.project}"]\ntrust_level = "trusted"\n')
    provider = {"name": "scripted", "base_url": f"{url}/v1", "wire_api": "responses", "env_key": "SCRIPTED_KEY"}
    settings = {f"model_providers.scripted.{key}": value for key, value in provider.items()}
    settings |= {"model_provider": "scripted", "model": options.model}
    words = [word for key, value in settings.items() for word in ("-c", f"{key}={json.dumps(value)}")]
    trust = ["--dangerously-bypass-hook-trust"] if options.trusts else []
    # Its sandbox needs rights that a container may not have, and is not what is tested.
    words = ["exec", "--json", "--sandbox", "danger-full-access", *trust, *words, PROMPT]
    return words, {"SCRIPTED_KEY": "dummy"}


def _gemini(place: Place, url: str, options: Options) -> tuple[list[str], dict[str, str]]:
    """Its own detection of loops is off, as it ends a session before liza can be seen to stop it."""
    folder = place.home / ".gemini"
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "model": {"disableLoopDetection": True}}
    trusted = {str(place.project): "TRUST_FOLDER"} if options.trusts else {}
    for name, value in (("settings.json", settings), ("trustedFolders.json", trusted)):
        if not (folder / name).exists():
            folder.mkdir(exist_ok=True)
            (folder / name).write_text(json.dumps(value))
    variables = {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_TELEMETRY_ENABLED": "false"}
    return ["-p", PROMPT, "-m", "gemini-2.5-flash", "--yolo", "--output-format", "stream-json"], variables


def _qwen(place: Place, url: str, options: Options) -> tuple[list[str], dict[str, str]]:
    """Its own detection of loops is off, too."""
    file = place.home / ".qwen" / "settings.json"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"model": {"skipLoopDetection": True}}))
    variables = {"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "scripted"}
    return ["-p", PROMPT, "--yolo", "--output-format", "stream-json"], variables


def _opencode(place: Place, url: str, options: Options) -> tuple[list[str], dict[str, str]]:
    folder = place.home / ".config" / "opencode"
    provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": f"{url}/v1", "apiKey": "dummy"}}
    models = {"scripted": {"name": "scripted", "tool_call": True, "limit": {"context": 100_000, "output": 8_000}}}
    settings = {"provider": {"scripted": {**provider, "models": models}}, "model": "scripted/scripted"}
    folder.mkdir(parents=True, exist_ok=True)
    off = ("AUTOUPDATE", "MODELS_FETCH", "DEFAULT_PLUGINS", "LSP_DOWNLOAD")
    for each in (folder, place.project / ".opencode"):
        _with_package(each)
    variables = {f"OPENCODE_DISABLE_{name}": "1" for name in off}
    variables["OPENCODE_CONFIG_CONTENT"] = json.dumps(settings)  # each agent has a model of its own
    if not (place.home / ".local" / "share" / "opencode" / "opencode.db").exists():
        # Two that make its database at once fail.
        shell = {"PATH": place.path, "HOME": str(place.home), **variables}
        command = (PROGRAMS / "opencode", "session", "list")
        subprocess.run(command, cwd=place.home, env=shell, capture_output=True, check=True, timeout=60)
    return ["run", "--format", "json", "--auto", PROMPT], variables


def _with_package(folder: Path) -> None:
    """Beside plugins it installs a package for them, which ours does not need, and which takes up to a minute."""
    if folder.is_dir() and not (folder / "node_modules").exists():
        for name in ("package.json", "package-lock.json"):
            shutil.copy(FOR_PLUGINS / name, folder / name)
        (folder / "node_modules").symlink_to(FOR_PLUGINS / "node_modules")
