"""A file that gets one line of JSON per message."""

import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from liza.model import Fault, Path
from liza.notify.message import Message, NotSent
from liza.notify.settings import shown
from liza.store import files


class File(NamedTuple):
    """A file of the project. Agents can write rules.yaml, and most of the text of a message.

    So nothing is written outside the project, in hidden files and folders (a shell's or git's own), or behind what
    another program wrote, as a script.
    """

    path: str
    project: str

    @property
    def name(self) -> str:
        return f"file {self.path}"

    def send(self, message: Message) -> None:
        path = os.path.realpath(os.path.join(self.project, self.path))
        if not is_inside_project(path, os.path.realpath(self.project)):
            raise NotSent("it is a link that leads elsewhere", retry=False)
        try:
            with open(path, "a+", encoding="utf-8", opener=files.open_fd) as file:
                file.seek(0)
                if file.read(1) not in ("", "{"):
                    raise NotSent("it contains something other than messages", retry=False)
                file.write(json.dumps(message._asdict()) + "\n")
        except files.UnsafeFile as error:
            raise NotSent(error.strerror or "it is not a regular file", retry=False) from None
        except OSError as error:
            raise NotSent(error.strerror or type(error).__name__, retry=True) from None


def is_inside_project(path: str, project: str) -> bool:
    """Whether a file is in the project, and neither hidden nor one of the blackboard's."""
    inside = os.path.commonpath((path, project)) == project and path != project
    return inside and not any(part.startswith(".") for part in os.path.relpath(path, project).split(os.sep))


def read(given: Any, path: Path, project: str) -> Iterator[File | Fault]:
    if given is None:
        return
    usable = isinstance(given, str) and bool(given.strip()) and "\0" not in given and "://" not in given
    if not usable or not is_inside_project(os.path.normpath(os.path.join(project, given)), project):
        hint = "a path like notices.jsonl, inside the project, outside .liza/ and not hidden"
        yield Fault(path, f"{'.'.join(map(str, path))}: {shown(given)} is not allowed", hint)
    else:
        yield File(os.path.normpath(given), project)
