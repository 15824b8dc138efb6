"""The live view of `liza watch`: still while idle, resized with the terminal, removed at the end."""

import subprocess
from collections.abc import Iterator

import click
import pytest

from liza.cli import show
from tests.cli.run import BIN
from tests.daemon.daemon import RETRIES, STATE, TICK, Watched, environment, run, until
from tests.daemon.writers import save
from tests.tools import needs

BLOCKED = STATE.replace("status:   CLAIMED", "status: BLOCKED\n    blocked_reason: no access")


class Terminal:
    """A separate terminal in which `liza watch` runs."""

    def __init__(self, board: Watched, width: int = 80, height: int = 24) -> None:
        needs("tmux")
        self.socket = str(board.root / "tmux")
        self.env = {**environment(board.root), "TERM": "xterm-256color"}
        command = f"echo before; {BIN}/liza watch {board.root} --interval {TICK}; echo code $?; exec sleep 100"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), command)

    def tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self.socket, *words], env=self.env, capture_output=True, check=True, text=True
        )
        return done.stdout

    @property
    def lines(self) -> list[str]:
        return self.tmux("capture-pane", "-p").rstrip("\n").split("\n")

    def shows(self, *words: str) -> list[str]:
        """Wait until the screen shows all this; its lines."""
        found: list[str] = until(lambda: self._has(words), f"it shows {words}")
        return found

    def _has(self, words: tuple[str, ...]) -> list[str] | None:
        lines = self.lines
        return lines if all(word in "\n".join(lines) for word in words) else None


@pytest.fixture
def terminal(board: Watched) -> Iterator[Terminal]:
    terminal = Terminal(board)
    try:
        yield terminal
    finally:
        run(board.root, "watch", "--stop")
        terminal.tmux("kill-server")


def test_view_shows_the_current_state(board: Watched, terminal: Terminal) -> None:
    lines = terminal.shows("breaker: OK", "agents:  not halted", "external_service_outage  0 of 2")
    assert lines[0].startswith("liza watch  /")
    assert "before" not in lines
    save(board.state, BLOCKED)
    terminal.shows("alarms:  1", "! A task is blocked: task-2: blocked reason no access")
    board.report_anomalies(*RETRIES)
    lines = terminal.shows("TRIGGERED: retry_cluster", "agents:  halted", "● retry_cluster            3 of 3")
    assert "tripped" in lines[-1]
    save(board.state, "anomalies: [\n")
    terminal.shows("DEGRADED: ")


def test_view_follows_the_size_of_the_terminal(board: Watched, terminal: Terminal) -> None:
    terminal.shows("breaker: OK", "external_service_outage")
    for width, height in ((40, 10), (20, 4), (120, 30)):
        terminal.tmux("resize-window", "-x", str(width), "-y", str(height))
        lines = until(lambda: (lines := terminal.lines)[1:2] == ["breaker: OK"] and lines, "it is drawn anew")
        assert [line.startswith("liza watch") for line in lines] == [True] + [False] * (len(lines) - 1)
        assert len(lines) <= height
    terminal.shows("external_service_outage")


def test_small_view_shows_the_last_event(board: Watched, terminal: Terminal) -> None:
    terminal.tmux("resize-window", "-x", "60", "-y", "9")
    board.report_anomalies(*RETRIES)
    lines = terminal.shows("TRIGGERED", "tripped")
    assert "tripped" in lines[-1]
    assert "○" not in "".join(lines)


def test_last_events_stay_on_the_terminal_at_the_end(board: Watched, terminal: Terminal) -> None:
    terminal.shows("breaker: OK")
    board.report_anomalies(*RETRIES)
    terminal.shows("tripped")
    terminal.tmux("send-keys", "C-c")
    lines = terminal.shows("before", "code 0")
    assert any("  tripped    retry_cluster (ARCHITECTURE_FLAW)" in line for line in lines)
    assert not any(line.startswith("breaker:") for line in lines)


def test_idle_view_is_not_redrawn(board: Watched, terminal: Terminal) -> None:
    terminal.shows("breaker: OK")
    board.beats(3)
    output = board.root / "output"
    terminal.tmux("pipe-pane", f"cat > {output}")
    board.beats(6)
    terminal.tmux("pipe-pane")
    assert output.read_bytes() == b""


@pytest.mark.parametrize("width", range(1, 30))
def test_long_line_is_cut_and_keeps_its_colours(width: int) -> None:
    line = f"{show.bold('DEGRADED', 'red')}: state.yaml is not readable"
    cut = show.cut(line, width)
    plain = click.unstyle(line)
    assert click.unstyle(cut) == plain[: width - 1] + "…"
    assert cut.startswith(click.style("", bold=True, fg="red", reset=False))
    assert cut.count("\x1b[0m") == 1, "what follows has no colour"
    assert show.cut(line, len(plain)) == line
