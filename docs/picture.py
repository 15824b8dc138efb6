"""Draw docs/trip.svg, the picture in the README: `python docs/picture.py`. It shows real output of liza.

The commands run on a pseudo-terminal with a copy of the example blackboard; rich renders their output as SVG.
"""

import os
import pty
import shutil
import struct
import subprocess
import sys
import tempfile
from fcntl import ioctl
from io import StringIO
from pathlib import Path
from termios import TIOCSWINSZ

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).parent.parent
WIDTH = 112
COMMANDS = (
    "liza log anomaly --type retry_loop --task task-6 --reporter coder-3 count=3 \\\n    "
    'error_pattern="serialization failure on nested entity at line 8"',
    "liza analyze",
    "liza-gate   # what an agent's hook calls before every call",
    'liza resolve -m "ADR-003: nested entities are flattened on import" --by alice',
    "liza-gate && echo the agents continue",
)
COLORS = ("0d1117", "ff7b72", "3fb950", "d29922", "58a6ff", "bc8cff", "39c5cf", "c9d1d9")
# Rich's frame without its web fonts: a browser must fetch nothing.
FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>a trip, and what follows</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: system-ui, sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix" xml:space="preserve">
{matrix}
</g>
</g>
</svg>
"""


def session() -> str:
    """Return the commands and their terminal output, in order."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / ".liza.example", Path(folder, ".liza"))
        return "\n".join(f"\033[36m$ {command}\033[0m\n{_typed(command, folder)}" for command in COMMANDS)


def _typed(command: str, folder: str) -> str:
    terminal, side = pty.openpty()
    ioctl(side, TIOCSWINSZ, struct.pack("HHHH", 40, WIDTH, 0, 0))
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LIZA_", "NO_COLOR", "COLUMNS"))}
    env = {**clean, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "TERM": "xterm-256color"}
    process = subprocess.Popen(["sh", "-c", command], cwd=folder, env=env, stdin=side, stdout=side, stderr=side)
    os.close(side)
    seen = b""
    try:
        while piece := os.read(terminal, 1 << 16):
            seen += piece
    except OSError:
        pass  # EIO: the command has ended
    process.wait()
    return seen.decode().replace("\r\n", "\n").replace(os.path.realpath(folder) + "/", "")


def picture(text: str) -> str:
    colors = [(color[0], color[1], color[2]) for color in map(bytes.fromhex, COLORS)]
    theme = TerminalTheme(colors[0], colors[-1], colors)
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
    console.print(Text.from_ansi(text), soft_wrap=False)
    return console.export_svg(title="a trip, and what follows", theme=theme, code_format=FRAME, unique_id="trip")


if __name__ == "__main__":
    (ROOT / "docs" / "trip.svg").write_text(picture(session()), encoding="utf-8")
