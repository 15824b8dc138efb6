"""Starting git: the one place that builds its command line and its environment.

Agents can write `.git/config` and `.gitattributes`, and git runs what they name: filters, hooks, a file system monitor,
diff programs, transports. All of that is switched off for every git that liza starts. Filters have names of their own,
so the configuration is read just before; one that is entered in the milliseconds between is not known.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

TIME_LIMIT = 30.0  # seconds for one question to git

_QUIETLY = (
    "--no-optional-locks",
    "--no-pager",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.quotePath=false",
    "-c", "core.askPass=",
    "-c", "credential.helper=",
    "-c", "protocol.allow=never",  # no transport: neither ssh nor a remote helper fetches what a partial clone lacks
    "-c", "log.showSignature=false",
    "-c", "submodule.recurse=false",
    "-c", "advice.addEmbeddedRepo=false",
    "-c", "core.safecrlf=false",
)  # fmt: skip
# Of git's own variables only these say nothing about which repository is meant. A hook of git sets the others.
_KEPT = ("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
         "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH")  # fmt: skip
# Commands that never read or write a file of the work tree through a filter. For any other the filters are looked up.
_UNFILTERED = frozenset({
    "cat-file", "check-attr", "commit-tree", "config", "diff-tree", "for-each-ref", "log", "ls-files", "ls-tree",
    "merge-base", "read-tree", "reset", "rev-parse", "symbolic-ref", "update-ref", "write-tree",
})  # fmt: skip
_OFF = {"clean": "", "smudge": "", "process": "", "required": "false"}


class Start(NamedTuple):
    """How one git is started."""

    words: list[str]
    environment: dict[str, str]


def start(folder: str, *words: str) -> Start:
    """The words and the environment of a git that runs nothing of what a repository configures."""
    verb = next(word for word in words if not word.startswith("-"))
    names = () if verb in _UNFILTERED else filters(folder)
    return Start(["git", *_QUIETLY, "-C", folder, *words], {**_environment(), **_without(names)})


def filters(folder: str) -> tuple[str, ...]:
    """The filters that are configured for a work tree, by whomever."""
    answer = ask(folder, "config", "-z", "--name-only", "--get-regexp", r"^filter\.") or b""
    keys = (os.fsdecode(key).removeprefix("filter.").rpartition(".") for key in answer.split(b"\0") if key)
    return tuple(dict.fromkeys(name for name, dot, _ in keys if dot))


def _without(names: Iterable[str]) -> dict[str, str]:
    """Settings that switch these filters off. By variables, because with -c a name could not have a `=` in it."""
    settings = [(f"filter.{name}.{key}", value) for name in names for key, value in _OFF.items()]
    numbered = {f"GIT_CONFIG_KEY_{at}": key for at, (key, _) in enumerate(settings)}
    numbered |= {f"GIT_CONFIG_VALUE_{at}": value for at, (_, value) in enumerate(settings)}
    return {"GIT_CONFIG_COUNT": str(len(settings)), **numbered} if settings else {}


def _environment() -> dict[str, str]:
    """What git is started with: nothing of another repository's, no prompts, no lock that is not needed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
    return {**kept, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}


def ask(folder: str, *words: str, limit: int | None = None) -> bytes | None:
    """What git answers, no more than `limit` bytes of it; None where it fails, takes too long or is not there."""
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
            start_new_session=True,  # whatever it starts is ended with it
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
