"""The job of `liza run`, and the session that keeps its state and output."""

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import Refused
from liza.model import format_time
from liza.run.process import Limits
from liza.store import files, seal
from liza.store.files import open_fd
from liza.store.paths import Paths
from liza.text import shell_quoted, value_text

_NAME = re.compile(r"[\w-][\w.-]{0,99}")


class Job(NamedTuple):
    """A command that is run repeatedly, and how its result is checked."""

    loop: str
    command: tuple[str, ...]
    cwd: str
    task: str | None = None
    model: str | None = None  # the one to begin with
    maximum: int | None = None  # iterations
    limits: Limits = Limits()
    plan: str | None = None
    optional_sections: tuple[str, ...] = ()
    verify: str | None = None  # a shell command that must succeed before completion is accepted
    test: str | None = None  # one that is run after every iteration that changed a file
    require: tuple[str, ...] = ()
    workdirs: tuple[str, ...] = ()  # the worktrees that are measured; the folder of the run if empty
    stagnation_threshold: str | None = None  # as given, like the next two
    on_stagnation: str | None = None
    project: str | None = None

    @property
    def has_evidence(self) -> bool:
        """Whether a claim of completion can be checked at all."""
        return bool(self.verify or self.test or self.require or self.plan)

    def command_line(self, number: int, model: str | None, context_file: str) -> list[str]:
        """The command with its placeholders filled in; any other braces stay as they are."""
        filled = {"{iteration}": str(number), "{model}": model or "", "{context_file}": context_file}
        return [re.sub("|".join(map(re.escape, filled)), lambda found: filled[found[0]], word) for word in self.command]

    def dump(self) -> dict[str, Any]:
        return {**self._asdict(), "limits": self.limits._asdict()}

    @classmethod
    def load(cls, value: Mapping[str, Any]) -> "Job":
        """Restore a job from the values that `dump` made; TypeError or KeyError for anything else."""
        lists = {name: tuple(value[name]) for name in ("command", "optional_sections", "require", "workdirs")}
        return cls(**{**value, **lists, "limits": Limits(**value["limits"])})


class Session(NamedTuple):
    """The folder of one run and those that resumed it."""

    folder: str  # .liza/runs/NAME

    @property
    def name(self) -> str:
        return os.path.basename(self.folder)

    @property
    def context_file(self) -> str:
        return os.path.join(self.folder, "context.md")

    @property
    def progress_file(self) -> str:
        return os.path.join(self.folder, "progress")

    def iteration(self, number: int) -> str:
        """The folder of one iteration, created if needed."""
        folder = os.path.join(self.folder, "iterations", str(number))
        try:
            files.make_folders(os.path.dirname(folder), folder)
        except OSError as error:
            raise _not_written(folder, error) from None
        return folder

    def save(self, facts: Mapping[str, Any]) -> None:
        path = os.path.join(self.folder, "session.json")
        plain = {"schema": 1, "session": self.name, **json.loads(json_of(facts))}
        try:
            files.write_atomically(path, json_of({**plain, "seal": seal.seal(*self._sealed(plain))}))
        except OSError as error:
            raise _not_written(path, error) from None

    def write_context(self, text: str) -> None:
        """Write the page for the next iteration."""
        try:
            files.write_atomically(self.context_file, text.encode(errors="backslashreplace"))
        except OSError as error:
            raise _not_written(self.context_file, error) from None

    def is_as_written(self, facts: Mapping[str, Any]) -> bool:
        """Whether liza saved these facts in this folder for this user, so that they may be run."""
        return seal.is_sealed(facts.get("seal"), *self._sealed(facts))

    def _sealed(self, facts: Mapping[str, Any]) -> tuple[bytes, bytes]:
        """The sealed values, with the folder: a seal of one session is not valid in another."""
        plain = {name: facts.get(name) for name in ("job", "model", "model_place")}  # the model is put into the command
        return os.fsencode(os.path.realpath(self.folder)), json.dumps(plain, sort_keys=True).encode()

    def facts(self) -> dict[str, Any]:
        """The saved facts; `Refused` if they cannot be continued from."""
        path = os.path.join(self.folder, "session.json")
        try:
            with open(path, encoding="utf-8", opener=open_fd) as file:
                found = json.load(file)
            if not isinstance(found, dict) or found.get("schema") != 1:
                raise ValueError("not the record of a run")
            Job.load(found["job"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            hint = "start a new run: liza run ... -- COMMAND"
            raise Refused(f"the run cannot be resumed: {error}", hint=hint, file=path) from None
        return found


def _not_written(path: str, error: OSError) -> Refused:
    folder = os.path.dirname(path)
    is_begun = os.path.isfile(os.path.join(folder, "session.json"))
    again = (
        f"to continue: liza run --resume {shell_quoted(os.path.basename(folder))}"
        if is_begun
        else "run the same command again"
    )
    hint = f"free disk space or fix the permissions there, then {again}"
    return Refused(f"the run cannot be saved: {error.strerror}", hint=hint, file=path)


def begin(paths: Paths, now: datetime) -> Session:
    """A new session, named by its time."""
    runs = os.path.abspath(paths.runs)
    stem = now.strftime("%Y%m%d-%H%M%S")
    try:
        files.make_folder(runs)
        with files.Folder(runs) as held:
            for attempt in range(1, 1000):
                name = stem if attempt == 1 else f"{stem}-{attempt}"
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=held.fd)
                    return Session(os.path.join(runs, name))
    except OSError as error:
        raise _not_written(runs, error) from None
    raise Refused("no run can be started: a thousand were started in this second", file=runs)


def resumed(paths: Paths, name: str) -> Session:
    folder = os.path.join(os.path.abspath(paths.runs), name)
    if _NAME.fullmatch(name) is None or not os.path.isfile(os.path.join(folder, "session.json")):
        names = _sessions(paths)
        hint = f"the latest runs: {', '.join(names[-3:])}" if names else "no run exists yet"
        raise Refused(f"unknown run {value_text(name)}", hint=hint, file=paths.runs)
    return Session(folder)


def _sessions(paths: Paths) -> list[str]:
    with suppress(OSError):
        found = [entry for entry in os.scandir(paths.runs) if os.path.isfile(os.path.join(entry.path, "session.json"))]
        return [entry.name for entry in sorted(found, key=lambda entry: (entry.stat().st_mtime, entry.name))]
    return []


def json_of(value: Any) -> bytes:
    return (json.dumps(value, indent=2, default=_plain) + "\n").encode()


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return format_time(value)
    raise TypeError(f"{type(value).__name__} in a JSON file")
