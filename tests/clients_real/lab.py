"""A project with a blackboard, a home folder of its own, liza's hook in it, and real clients at work."""

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.cli.run import BIN, LIZA, Result, environment
from tests.clients_real import clients
from tests.clients_real.clients import Agent, Options, Place
from tests.clients_real.turns import Scripts, Shell, Turn
from tests.daemon.daemon import until

PATIENCE = 60.0
OPTIONS = Options(seconds=0.5)  # real models take longer for a turn
WARNING = "liza: "  # how every text of the hook for the model begins
ERROR = "No module named 'shop_orders'"


class Lab:
    """One project and its agents. `close` ends all that was started."""

    def __init__(self, folder: Path) -> None:
        self.project, self.home = folder / "shop", folder / "home"
        self.board = self.project / ".liza"
        self.program = Path(LIZA)
        self.path = f"{BIN}:{clients.NODE}:/usr/bin:/bin"
        self.agents: list[Agent] = []
        for each in (self.project, self.home):
            each.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=self.project, check=True)  # Codex works in repositories only

    def set_up(self, *names: str, rules: str = "") -> None:
        """The blackboard, and the hook for these clients."""
        assert self.liza("init").code == 0
        if rules:
            (self.board / "rules.yaml").write_text(rules)
        for name in names:
            assert self.liza("install", name).code == 0

    def liza(self, *words: str, **env: str) -> Result:
        done = subprocess.run(
            [self.program, *words], cwd=self.project, env=environment(self.project, HOME=str(self.home), **env),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        return Result(done.returncode, done.stdout, done.stderr)

    def start(
        self, client: str, turns: Sequence[Turn] | Scripts, options: Options = OPTIONS, folder: Path | None = None,
        **env: str,
    ) -> Agent:  # fmt: skip
        """Start a client with what its model does, turn by turn; for each of several conversations, by its prompt."""
        scripts = {clients.PROMPT: turns} if isinstance(turns, Sequence) else turns
        env.setdefault("LIZA_AGENT", f"{client}-{len(self.agents)}")
        agent = clients.start(
            client, Place(self.project, self.home, self.path, folder or self.project), scripts, options, **env
        )
        self.agents.append(agent)
        return agent

    def close(self) -> None:
        for agent in self.agents:
            agent.close()
        self.liza("watch", "--stop")
        for pid in self.processes():
            os.kill(pid, 9)  # hooks of clients that were ended

    def processes(self, *words: str, name: str = "") -> list[int]:
        """The processes with our home folder, and with that LIZA_AGENT, whose command line has all of these words."""
        wanted = {f"HOME={self.home}".encode(), *({f"LIZA_AGENT={name}".encode()} if name else ())}
        found = []
        for entry in Path("/proc").iterdir():
            try:
                command = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                environment = (entry / "environ").read_bytes().split(b"\0")
            except (OSError, ValueError):
                continue
            if wanted <= set(environment) and set(words) <= set(command):
                found.append(int(entry.name))
        return found

    def is_held(self, agent: Agent) -> bool:
        """Whether a hook of this agent waits for a decision: the same one for a second."""
        held = self._hooks(agent)
        if not held:
            return False
        time.sleep(1)
        return bool(held & self._hooks(agent))

    def _hooks(self, agent: Agent) -> set[int]:
        return {pid for kind in ("before", "after", "request") for pid in self.processes("hook", kind, name=agent.name)}

    def sessions(self) -> dict[str, Any]:
        """What liza knows of each session, by its id."""
        return {each["session"]: each for each in self.liza("sessions", "--json").json["sessions"]}

    def ran(self, name: str) -> int:
        """How often the command of that name was run."""
        file = self.project / f"ran-{name}"
        return len(file.read_text().splitlines()) if file.exists() else 0


def failing(name: str = "a") -> Shell:
    """A command that fails with the same error each time, and counts its runs."""
    return Shell(f"echo run >> ran-{name}; python3 -c 'import shop_orders'")


def working(name: str, number: int) -> Shell:
    """A command that succeeds, each time with another result."""
    return Shell(f"echo run >> ran-{name}; echo item {number} is done")


def wait(holds: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    return until(holds, what, seconds)


def observe(holds: Callable[[], Any], seconds: float) -> None:
    """Look for some time whether something stays as it is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert holds()
        time.sleep(0.02)
