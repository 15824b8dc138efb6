"""A file that gets one line of JSON per message."""

import json
import os
from typing import NamedTuple

from liza.notify.message import Message, NotSent
from liza.store import files


class File(NamedTuple):
    """A file of the project. Agents can write rules.yaml, so nothing outside the project is written."""

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
            with open(path, "a", encoding="utf-8", opener=files.open_fd) as file:
                file.write(json.dumps(message._asdict()) + "\n")
        except files.UnsafeFile as error:
            raise NotSent(error.strerror or "it is not a regular file", retry=False) from None
        except OSError as error:
            raise NotSent(error.strerror or type(error).__name__, retry=True) from None


def is_inside_project(path: str, project: str) -> bool:
    """Whether a file is in the project and not one of the blackboard's, which have other readers."""
    inside = os.path.commonpath((path, project)) == project and path != project
    return inside and ".liza" not in os.path.relpath(path, project).split(os.sep)
