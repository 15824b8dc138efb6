"""The program `liza-gate`: without options the bare gate, else the command in `gate_options.py`."""

import os
import sys

from liza.cli import bare_gate


def main() -> int:
    if os.name == "posix" and len(sys.argv) > 1 and sys.argv[1:] != ["gate"]:
        from liza.cli.main import run

        return run(["gate", *sys.argv[1:]])
    return bare_gate.answer()
