"""`liza gate` without options: is there a CHECKPOINT?

Agents' hooks run this before every action, so it imports next to nothing. Such hooks block on exit code 2 and on
nothing else: whatever goes wrong here is 2, and only "continue" and "no blackboard" are 0.
"""

import os

from liza.halt import halt_reason, printable

CONTINUE = 0
STOP = 2


def answer() -> int:
    """The answer for the nearest blackboard upward, or the one that LIZA_ROOT names."""
    if os.name != "posix":
        from liza.errors import UNSUPPORTED

        return stop(*UNSUPPORTED)
    try:
        held = halt_reason()
        return CONTINUE if held is None else stop(*held)
    except KeyboardInterrupt:
        return STOP
    except BaseException as error:  # noqa: BLE001 - a gate that fails must not let anything through
        return stop(f"the gate itself failed: {type(error).__name__}: {error}", "run: liza doctor")


def stop(why: str, hint: str) -> int:
    """Say why, straight to the descriptor: whether it can be read must not change the answer."""
    try:  # noqa: SIM105 - contextlib costs a tenth of the time that Python takes to start
        os.write(2, f"liza: {printable(why)}\n  hint: {printable(hint)}\n".encode(errors="replace"))
    except OSError:
        pass
    return STOP
