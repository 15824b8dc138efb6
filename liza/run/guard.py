"""A process that ends the agent if liza itself no longer can: after `kill -9 LIZA`, or out of memory.

A shell waits at the end of a pipe. Liza writes a line when an iteration is over, and the shell exits. If liza dies, the
pipe is closed without a line, and the shell ends the agent's process group. (The kernel's `PR_SET_PDEATHSIG` ends only
the agent's first process and not its children, and only Linux has it.)
"""

import subprocess
from contextlib import suppress
from types import TracebackType
from typing import Self

_WAITS = 'read -r over || { kill -s TERM -- "-$1"; sleep 1; kill -s KILL -- "-$1"; }'


class Guard:
    """Held while a process group is at work."""

    def __init__(self, group: int) -> None:
        self._shell: subprocess.Popen[bytes] | None = None
        with suppress(OSError):  # without a shell the work continues
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", _WAITS, "liza-guard", str(group)],
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # what stops liza from a terminal must not stop this one first
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._shell is not None:
            with suppress(OSError):  # the shell has ended
                self._shell.communicate(b"over\n")
