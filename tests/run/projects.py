"""A project with a repository, a blackboard and a scripted agent, and `liza run` in it as a separate process."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cli.run import Result, environment, liza, new_board
from tests.daemon.daemon import PATIENCE, until
from tests.run.repositories import SETTINGS, repository
from tests.served import server
from tests.store.oracle import libyaml_value

STATE = """\
# a team's board
version: 1
tasks:
  - {id: task-1,   status: CLAIMED, description: Implement authentication}  # the first
  - id: task-2
    status: MERGED
"""

WORKS = """\
echo "iteration $LIZA_ITERATION of $LIZA_LOOP"
echo "$LIZA_ITERATION" >> work.txt
echo "Progress: $((LIZA_ITERATION * 25))%"
"""
IDLES = "echo nothing to do"
SAYS = "echo model $LIZA_MODEL in $LIZA_ITERATION"
PROGRESSION = "stagnation: {escalation: {enabled: true, model_progression: [small, middle, large]}}\n"  # rules
FAILS = """\
echo "$LIZA_ITERATION" >> work.txt
echo "src/auth.js:42"
echo "TypeError: undefined is not a function"
exit 1
"""
CLAIMS = """\
echo "$LIZA_ITERATION" >> work.txt
echo DONE
"""
CRASHES = """\
echo "$LIZA_ITERATION" >> work.txt
kill -SEGV $$
"""
HANGS = """\
echo $$ >> pids
echo begun
sh -c 'echo $$ >> pids; exec sleep 100' &
wait
"""
REFUSED = """\
echo "$LIZA_ITERATION" >> work.txt
cat <<'END'
{"type":"system","subtype":"init"}
{"type":"result","is_error":true,"result":"API Error: 529 overloaded","usage":{"input_tokens":7,"output_tokens":0}}
END
"""


class Project:
    """A folder in which an agent works."""

    def __init__(self, folder: Path, agent: str = "", state: str = STATE, rules: str = "", git: bool = True) -> None:
        self.folder = repository(folder, readme__md="a project\n") if git else folder
        self.state = new_board(folder, state)
        if rules:
            (folder / ".liza" / "rules.yaml").write_text(rules)
        self.agent = folder / ".git" / "agent.sh" if git else folder.parent / f"{folder.name}-agent.sh"
        self.agent.write_text(agent)

    @property
    def words(self) -> tuple[str, ...]:
        return ("--", "sh", str(self.agent))

    def run(self, *options: str, **env: str) -> Result:
        """`liza run` to its end."""
        return self.liza("run", "--loop", "l", *options, *self.words, **env)

    def liza(self, *words: str, **env: str) -> Result:
        return liza(self.folder, *words, **SETTINGS, **env)

    @contextmanager
    def running(self, *options: str, **env: str) -> Iterator["Running"]:
        """`liza run` in the background."""
        process = Running(self, *options, **env)
        try:
            yield process
        finally:
            process.end()

    @property
    def board(self) -> dict[str, Any]:
        found = libyaml_value(self.state.read_bytes())
        assert isinstance(found, dict)
        return found

    @property
    def loop(self) -> dict[str, Any]:
        """The loop on the blackboard."""
        loop = self.board.get("loops", {}).get("l", {})
        assert isinstance(loop, dict)
        return loop

    @property
    def recorded(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.loop.get("iterations", [])
        return found

    @property
    def session(self) -> Path:
        """The last session."""
        return sorted(path.parent for path in (self.folder / ".liza" / "runs").glob("*/session.json"))[-1]

    @property
    def facts(self) -> dict[str, Any]:
        found = json.loads((self.session / "session.json").read_text())
        assert isinstance(found, dict)
        return found

    def iteration(self, number: int) -> Path:
        return self.session / "iterations" / str(number)

    def kept(self, number: int, name: str) -> dict[str, Any]:
        found = json.loads((self.iteration(number) / f"{name}.json").read_text())
        assert isinstance(found, dict)
        return found

    def pids(self) -> list[int]:
        """The process ids that an agent has recorded."""
        return [int(each) for each in (self.folder / "pids").read_text().split()]


class Running:
    """`liza run` as a process that can be inspected and stopped."""

    def __init__(self, project: Project, *options: str, **env: str) -> None:
        self.project = project
        self.out, self.err = project.folder.parent / "out.txt", project.folder.parent / "err.txt"
        words = ("run", "--loop", "l", *options, *project.words)
        within = environment(project.folder, **SETTINGS, **env)
        for file in (self.out, self.err):
            file.write_bytes(b"")
        self.process = server().start(words, project.folder, within, self.out, self.err)

    def wait_for(self, text: str) -> None:
        """Wait until this text is on its standard error."""

        def printed() -> bool:
            found = text in self.err.read_text()
            assert found or self.process.poll() is None, f"it ended without {text!r}: {self.err.read_text()}"
            return found

        until(printed, f"{text!r} on standard error")

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def code(self) -> int:
        return self.process.wait(PATIENCE)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def lines(result: Result, beginning: str) -> list[str]:
    """The lines on standard error that begin with this text."""
    return [line for line in result.err.splitlines() if line.startswith(beginning)]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # gone before the file was opened, or before it was read
        return False
