"""`liza gate` in its bare form: is there a CHECKPOINT?

Agents' hooks run this before every action, so it imports next to nothing. Such hooks block on exit code 2 and on
nothing else: whatever goes wrong here is 2, and only "go on" and "no blackboard" are 0.
"""

import os
import sys

GO_ON = 0
STOP = 2


def main() -> int:
    """The answer for the nearest blackboard upward, or the one that LIZA_ROOT names."""
    if len(sys.argv) > 1 and sys.argv[1:] != ["gate"]:
        from liza.cli.main import run

        return run(["gate", *sys.argv[1:]])
    try:
        return answer(os.environ.get("LIZA_ROOT"))
    except KeyboardInterrupt:
        return STOP
    except BaseException as error:  # noqa: BLE001 - a gate that fails must not let anything through
        return stop(f"the gate itself failed: {type(error).__name__}: {error}", "run: liza doctor")


def answer(root: str | None) -> int:
    """0 if work may go on, else 2 with the reason on standard error."""
    folder = find(root)
    if folder is None:
        if root:
            return stop(f"LIZA_ROOT names {root}, where there is no .liza/", f"make one with: liza init --root {root}")
        return GO_ON
    path = os.path.join(folder, "CHECKPOINT")
    try:
        os.lstat(path)  # whatever it is, file, folder or dangling link: it is there
    except (FileNotFoundError, NotADirectoryError):
        return GO_ON
    return stop(
        f"halted by {path}{reason(path)}", "wait; a human reads .liza/circuit_breaker_report.md and runs: liza resolve"
    )


def find(root: str | None) -> str | None:
    """The `.liza/` folder, as liza.blackboard.paths finds it, without what that module imports."""
    if root:
        for folder in (os.path.join(root, ".liza"), root):
            if os.path.basename(os.path.abspath(folder)) == ".liza" and os.path.isdir(folder):
                return folder
        return None
    folder = os.getcwd()
    while not os.path.isdir(os.path.join(folder, ".liza")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return os.path.join(folder, ".liza")


def reason(path: str) -> str:
    """What the file says of itself, if it is one that can be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            lines = os.read(fd, 500).decode(errors="replace").splitlines()[:3]
        finally:
            os.close(fd)
    except OSError:
        return ""
    text = ", ".join(line for line in lines if line.strip())
    return f" ({''.join(c if c.isprintable() else '?' for c in text)})" if text else ""


def stop(why: str, hint: str) -> int:
    """Say why, straight to the descriptor: whether anybody can read it must not change the answer."""
    text = "".join(c if c.isprintable() else "?" for c in why)
    try:  # noqa: SIM105 - contextlib costs a tenth of the time that Python takes to start
        os.write(2, f"liza: {text}\n  hint: {hint}\n".encode(errors="replace"))
    except OSError:
        pass
    return STOP
