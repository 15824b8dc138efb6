"""The way in: finds the command, and is the one place where errors become text and exit codes."""

import atexit
import errno
import gc
import os
import sys

from liza.errors import LizaError, Unreadable, location, require_posix

BUG = 70
INTERRUPTED = 130
# Failures of the machine, not of the call, and how to fix them.
_OF_THE_MACHINE = {
    errno.ENOSPC: "free some disk space",
    errno.EDQUOT: "free some of your quota",
    errno.EROFS: "mount the file system for writing",
    errno.EACCES: "fix its permissions",
    errno.EPERM: "fix its permissions",
    errno.EMFILE: "allow more open files (ulimit -n)",
    errno.ENFILE: "close some programs",
    errno.EIO: "check that disk for errors",
}
FAMILIES = (
    "log",
    "loop",
    "attempt",
    "silence",
    "rules",
    "claim",
    "stage",
    "session",
    "team",
)  # commands that are called by two words


def main() -> int:
    """Run the command line that the process was started with."""
    return _leave(run(sys.argv[1:]))


def analyze() -> int:
    """`liza-analyze`."""
    return _leave(run(["analyze", *sys.argv[1:]]))


def watch() -> int:
    """`liza-watch`."""
    return _leave(run(["watch", *sys.argv[1:]]))


def resolve() -> int:
    """`liza-resolve`."""
    return _leave(run(["resolve", *sys.argv[1:]]))


def _leave(code: int) -> int:
    """End the process at once: taking a large blackboard apart in memory would take a tenth of the whole time."""
    atexit._run_exitfuncs()  # of a profiler or coverage
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return code  # a failure to print is handled, or is for Python to report
    os._exit(code)


def run(arguments: list[str]) -> int:
    """Run one command; whatever happens, the outcome is an exit code and a message that helps."""
    _open_missing_streams()
    gc.disable()  # a command is too short for reference cycles to matter; the collector takes a tenth of its time
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except LizaError as error:
        own = _own(arguments)
        if "--debug" in own:
            _print_traceback()
        _print_error(error, own)
        return error.exit_code
    except KeyboardInterrupt:
        print("liza: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        return _output_failed(None)  # its reader has gone, as in `liza ... | head`
    except OSError as error:
        if error.filename is None and error.errno in (errno.ENOSPC, errno.EIO, errno.EBADF):
            return _output_failed(error)
        if error.errno not in _OF_THE_MACHINE:
            _report_bug(error, arguments)
            return BUG
        _print_error(_machine_error(error), _own(arguments))
        return LizaError.exit_code
    except RecursionError:
        _print_error(Unreadable("something is nested too deeply", hint="write it with fewer levels"), arguments)
        return Unreadable.exit_code
    except Exception as error:  # noqa: BLE001 - the boundary: anything unexpected is a bug, and is reported as one
        _report_bug(error, arguments)
        return BUG


def _machine_error(error: OSError) -> LizaError:
    name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else None
    hint = f"{_OF_THE_MACHINE.get(error.errno or 0)}, then run the command again; to diagnose: liza doctor"
    return LizaError(error.strerror or str(error), hint=hint, file=name)


def _open_missing_streams() -> None:
    """A caller may have closed any of the three (`liza ... >&-`); Python then has None in its place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for as long as we run


def _output_failed(error: OSError | None) -> int:
    """What was printed could not be; Python would complain once more while it shuts down."""
    if error is not None:
        print(f"liza: standard output could not be written: {error.strerror}", file=sys.stderr)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


def _dispatch(arguments: list[str]) -> int:
    if arguments == ["gate"]:
        from liza.cli import bare_gate

        return bare_gate.answer()
    require_posix()
    if arguments[:1] == ["hook"]:
        from liza.cli import hook

        return hook.main(arguments[1:])
    if not arguments and "_LIZA_COMPLETE" in os.environ:
        from liza.cli import completion

        return completion.answer(os.environ["_LIZA_COMPLETE"])
    if arguments[:1] in (["log"], ["loop"], ["analyze"]):
        from liza.cli import without_click

        code = without_click.run(arguments)
        if code is not None:
            return code
    return _with_click(arguments)


def _with_click(arguments: list[str]) -> int:
    import click

    from liza.cli.group import liza

    try:
        color = False if os.environ.get("NO_COLOR") else None
        # Without complete_var click would let the environment turn any command, a gate too, into one that does nothing.
        return liza.main(arguments, "liza", complete_var="", standalone_mode=False, color=color) or 0
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.UsageError as error:
        from liza.cli import usage_errors

        raise usage_errors.usage_error(error, f"liza {_command_of(arguments)}".removesuffix(" liza")) from None
    except click.Abort:
        raise KeyboardInterrupt from None


def _own(arguments: list[str]) -> list[str]:
    """Without what follows `--`: the command that `liza run` runs has options of its own."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _print_error(error: LizaError, arguments: list[str]) -> None:
    """One line on standard error, and the hint; with --json also the envelope on standard output."""
    from liza.text import cut, printable

    for each in error.problems or (error,):
        where = location(each.file, each.line, each.column)
        print(f"liza: {cut(printable(where + each.message), 800)}", file=sys.stderr)
        if each.hint:
            print(f"  hint: {cut(printable(each.hint), 800)}", file=sys.stderr)
    if "--json" in arguments:
        from liza.cli import envelope

        envelope.write(_command_of(arguments), error.status, error.problems or (error,), **error.fields)


def _command_of(arguments: list[str]) -> str:
    """The command as it was called: `analyze`, or `log anomaly`."""
    words = [w for i, w in enumerate(arguments) if not w.startswith("-") and arguments[i - 1 : i] != ["--root"]]
    return " ".join(words[: 2 if words[:1] and words[0] in FAMILIES else 1]) or "liza"


def _report_bug(error: Exception, arguments: list[str]) -> None:
    from liza.text import printable

    kept = _save_traceback(arguments)
    message = f"a bug in liza: {type(error).__name__}: {printable(str(error))[:200]}"
    print(f"liza: {message}", file=sys.stderr)
    if "--json" in _own(arguments):
        from liza.cli import envelope

        envelope.write(_command_of(arguments), "bug", [{"message": message, "hint": kept and f"see {kept}"}])
    if "--debug" in arguments or kept is None:
        _print_traceback()
    if kept is not None:
        print(f"  hint: please report it with the traceback that was saved in {kept}", file=sys.stderr)


def _print_traceback() -> None:
    import traceback

    from liza.text import printable

    for line in traceback.format_exc().splitlines():
        print(printable(line), file=sys.stderr)


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
