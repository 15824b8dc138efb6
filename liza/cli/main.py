"""The way in: finds the command, and is the one place where errors become text and exit codes."""

import os
import sys
from typing import TYPE_CHECKING

from liza.errors import LizaError

if TYPE_CHECKING:
    import click

BUG = 70
INTERRUPTED = 130


def main() -> int:
    """Run the command line that the process was started with."""
    return run(sys.argv[1:])


def run(arguments: list[str]) -> int:
    """Run one command; whatever happens, the outcome is an exit code and a message that helps."""
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except LizaError as error:
        if "--debug" in arguments:
            _print_traceback()
        _tell(error, arguments)
        return error.exit_code
    except KeyboardInterrupt:
        print("liza: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone (`liza ... | head`). Python would complain again while it shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # noqa: BLE001 - the boundary: what was not expected is a bug, and is said to be one
        _report_bug(error, arguments)
        return BUG


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] == ["log"]:
        from liza.cli import quick

        code = quick.log(arguments[1:])
        if code is not None:
            return code
    return _with_click(arguments)


def _with_click(arguments: list[str]) -> int:
    import click

    from liza.cli.group import liza

    try:
        return liza.main(arguments, prog_name="liza", standalone_mode=False) or 0
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.UsageError as error:
        error.show()
        return 2
    except click.ClickException as error:
        error.show()
        return 1
    except click.Abort:
        raise KeyboardInterrupt from None


def _tell(error: LizaError, arguments: list[str]) -> None:
    """One line on standard error, and the hint; with --json also the envelope on standard output."""
    from liza.text import printable

    print(f"liza: {printable(str(error))}", file=sys.stderr)
    if error.hint:
        print(f"  hint: {printable(error.hint)}", file=sys.stderr)
    if "--json" in arguments:
        from liza.cli import envelope

        command = next((word for word in arguments if not word.startswith("-")), "liza")
        envelope.write(command, error.status, [envelope.problem_of(error)])


def _report_bug(error: Exception, arguments: list[str]) -> None:
    from liza.text import printable

    kept = _save_traceback(arguments)
    print(f"liza: a bug in liza: {type(error).__name__}: {printable(str(error))[:200]}", file=sys.stderr)
    if "--debug" in arguments or kept is None:
        _print_traceback()
    if kept is not None:
        print(f"  hint: please report it with the traceback that was saved in {kept}", file=sys.stderr)


def _print_traceback() -> None:
    import traceback

    traceback.print_exc()


def _save_traceback(arguments: list[str]) -> str | None:
    """Outside the blackboard: a bug must not write where other programs are watching."""
    import platform
    import tempfile
    import traceback

    from liza import __version__

    home = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    for folder in (os.path.join(home, "liza"), tempfile.gettempdir()):
        try:
            os.makedirs(folder, exist_ok=True)
            fd, path = tempfile.mkstemp(prefix="liza-bug-", suffix=".txt", dir=folder)
            with open(fd, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"liza {__version__}, Python {platform.python_version()}, {platform.platform()}\n")
                file.write(f"arguments: {arguments!r}\n\n{traceback.format_exc()}")
            return path
        except OSError:
            continue
    return None


if TYPE_CHECKING:
    _ = click
