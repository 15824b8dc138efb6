"""Start git: the one place that builds its command line and its environment.

Agents can write `.git/config` and `.gitattributes`, and git runs what they name: filters, hooks, a file system monitor,
diff programs, transports. All of that is switched off for every git that liza starts. Filters have arbitrary names, so
the configuration is read just before; one that is entered in the milliseconds between is missed.
"""

import os
import shlex
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from liza.errors import Refused

TIME_LIMIT = 30.0  # seconds for one question to git
LONG_LIMIT = 600.0  # for a command that may read a large working tree whole

_QUIETLY = (
    "--no-optional-locks",
    "--no-pager",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.quotePath=false",
    "-c", "core.askPass=",
    "-c", "credential.helper=",
    "-c", "protocol.allow=never",  # a partial clone fetches nothing by ssh or a remote helper
    "-c", "log.showSignature=false",
    "-c", "submodule.recurse=false",
    "-c", "advice.addEmbeddedRepo=false",
    "-c", "core.safecrlf=false",
)  # fmt: skip
# The only variables of git that do not select a repository. A hook of git sets the others.
_KEPT = ("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
         "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH")  # fmt: skip
# Commands that never pass a file of the working tree through a filter. For any other the filters are looked up.
_UNFILTERED = frozenset({
    "cat-file", "check-attr", "commit-tree", "config", "diff-tree", "for-each-ref", "log", "ls-files", "ls-tree",
    "merge-base", "read-tree", "reset", "rev-parse", "symbolic-ref", "update-ref", "write-tree",
})  # fmt: skip
_AUTHOR = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in
           (("NAME", "liza"), ("EMAIL", "liza@localhost"))}  # fmt: skip
_OFF = {"clean": "", "smudge": "", "process": "", "required": "false"}


class Start(NamedTuple):
    """The command line and the environment of one git."""

    words: list[str]
    environment: dict[str, str]


def start(folder: str, *words: str) -> Start:
    """A git that runs no program that a repository configures."""
    verb = next(word for word in words if not word.startswith("-"))
    names = () if verb in _UNFILTERED else filters(folder)
    return Start(["git", *_QUIETLY, "-C", folder, *words], {**_environment(), **_without(names)})


def filters(folder: str) -> tuple[str, ...]:
    """The names of all filters that are configured for a working tree."""
    answer = ask(folder, "config", "-z", "--name-only", "--get-regexp", r"^filter\.") or b""
    keys = (os.fsdecode(key).removeprefix("filter.").rpartition(".") for key in answer.split(b"\0") if key)
    return tuple(dict.fromkeys(name for name, dot, _ in keys if dot))


def _without(names: Iterable[str]) -> dict[str, str]:
    """Variables that switch these filters off. With -c, a name could not contain a `=`."""
    settings = [(f"filter.{name}.{key}", value) for name in names for key, value in _OFF.items()]
    numbered = {f"GIT_CONFIG_KEY_{at}": key for at, (key, _) in enumerate(settings)}
    numbered |= {f"GIT_CONFIG_VALUE_{at}": value for at, (_, value) in enumerate(settings)}
    return {"GIT_CONFIG_COUNT": str(len(settings)), **numbered} if settings else {}


def _environment() -> dict[str, str]:
    """Variables for git: no other repository, no prompts, no optional locks."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
    return {**kept, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}


def ask(folder: str, *words: str, limit: int | None = None) -> bytes | None:
    """The output of git, at most `limit` bytes; None if it fails, takes too long or is missing."""
    import signal
    import subprocess
    import threading

    git = start(folder, *words)
    try:
        process = subprocess.Popen(
            git.words,
            env={**git.environment, "GIT_LITERAL_PATHSPECS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # its children are ended with it
        )
    except OSError:
        return None

    def end() -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(TIME_LIMIT, end)
    timer.daemon = True
    timer.start()
    try:
        assert process.stdout is not None
        with process.stdout as stream:
            answer = stream.read() if limit is None else stream.read(limit)
        if limit is not None and len(answer) == limit:
            end()
            process.wait()
            return answer
        return answer if process.wait() == 0 else None
    except BaseException:
        end()
        process.wait()
        raise
    finally:
        timer.cancel()


def line(folder: str, *words: str) -> str | None:
    """The output of git without its line break; None if it fails."""
    answer = ask(folder, *words)
    return None if answer is None else os.fsdecode(answer.removesuffix(b"\n"))


def run(top: str, *words: str, index: str | None = None, objects: str | None = None, stdin: Iterable[str] = ()) -> str:
    """The output of git, given these paths on its standard input; `Refused` with its reason if it fails."""
    git = start(top, *words)
    environment = {**git.environment, **_AUTHOR}
    hint = f"see: git -C {shlex.quote(top)} status"
    if index is not None:
        environment["GIT_INDEX_FILE"] = index
    if objects is not None:
        environment |= {"GIT_OBJECT_DIRECTORY": objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES": _objects(top)}
    import subprocess

    try:
        done = subprocess.run(
            git.words,
            env=environment,
            input=b"".join(os.fsencode(path) + b"\0" for path in stdin),
            capture_output=True,
            timeout=LONG_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Refused(f"git {words[0]} took longer than {LONG_LIMIT:g} s", hint=hint) from None
    except OSError as error:
        raise Refused(f"git could not be started: {error.strerror}", hint="install git") from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        why = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1])
        raise Refused(f"git {words[0]} failed in {top}: {why}", hint=hint)
    return os.fsdecode(done.stdout)


def _objects(top: str) -> str:
    path = os.path.join(top, line(top, "rev-parse", "--git-path", "objects") or "")
    return f'"{path}"' if path.startswith('"') or ":" in path else path
