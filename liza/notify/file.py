"""A file that gets one line of JSON a message."""

import json
import os
import stat
from typing import NamedTuple

from liza.notify.message import Message, NotSent


class File(NamedTuple):
    """A file of the project. Agents can write rules.yaml, too, so that nothing outside of the project is written."""

    path: str
    project: str

    @property
    def name(self) -> str:
        return f"file {self.path}"

    def send(self, message: Message) -> None:
        path = os.path.realpath(os.path.join(self.project, self.path))
        if not is_own(path, os.path.realpath(self.project)):
            raise NotSent("it is a link that leads elsewhere", again=False)
        try:
            # Not waiting for the reader of a FIFO, and following no link that was put there since.
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(path, flags, 0o666)
            with open(fd, "a", encoding="utf-8") as file:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    raise NotSent("it is not a regular file", again=False)
                file.write(json.dumps(message._asdict()) + "\n")
        except OSError as error:
            raise NotSent(error.strerror or type(error).__name__, again=True) from None


def is_own(path: str, project: str) -> bool:
    """Whether a file is in the project and not one of the blackboard's, which have other readers."""
    inside = os.path.commonpath((path, project)) == project and path != project
    return inside and ".liza" not in os.path.relpath(path, project).split(os.sep)
