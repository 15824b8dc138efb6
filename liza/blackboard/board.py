"""One blackboard: reading it, and changing it under its lock."""

import os
import time
from collections.abc import Callable
from contextlib import suppress

from liza.blackboard import storage, versions
from liza.blackboard.document import Document, parse
from liza.blackboard.lock import Lock
from liza.blackboard.paths import Paths, find
from liza.errors import LizaError, Refused, Unreadable

_LOOKS = 5  # at a file that is being written, until it is the same before and after
_PATIENCE = 30.0  # seconds; how long a change is tried against programs that replace the file without the lock


class BeingWritten(Unreadable):
    """Somebody has the file open for writing: what is in it now may be the half of what will be."""


class Board:
    """The blackboard in one `.liza/` folder."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self.rescued: list[str] = []  # versions saved from an interrupted write, for the caller to tell about

    @classmethod
    def find(cls, root: str | None = None) -> "Board":
        return cls(find(root))

    def read(
        self, previous: Document | None = None, *, whole: versions.Identity | None = None, patient: bool = False
    ) -> Document:
        """The document as it is now. What reads like a part of `previous` is looked at twice before it is believed.

        `BeingWritten` instead of what may be half a save, for a caller that is patient and will look again.
        """
        try:
            reading = versions.read(self.paths.state, whole=whole, patient=patient)
            if patient and reading.unsettled:
                raise self._being_written("somebody has it open for writing")
            document = self._document(reading, previous)
            if previous is not None and _shrunk(previous, document):
                document = self._looked_at_twice(previous)
            return document
        except Unreadable as error:
            raise self.with_backup(error) from None

    def with_backup(self, error: Unreadable) -> Unreadable:
        """A file that cannot be read, with the last copy that could: for a person to put back, never for us."""
        from shlex import quote

        from liza.blackboard.backups import last

        copy = last(self.paths)
        if copy is not None and error.file == self.paths.state and "backups" not in (error.hint or ""):
            command = f"cp {quote(copy)} {quote(self.paths.state)}"
            restore = f"or go back to the last copy, without what was written since: {command}"
            error.hint = "; ".join(part for part in (error.hint, restore) if part)
        return error

    def _looked_at_twice(self, previous: Document) -> Document:
        """What seems to be less than it was. A writer in place may stand still half way for longer than anybody can
        wait; but it has the file open for as long, so what is gone is only believed when nobody has."""
        for _ in range(_LOOKS):
            reading = versions.read(self.paths.state, again=True)
            document = self._document(reading, previous)
            written = _shrunk(previous, document) and versions.is_being_written(self.paths.state)
            if versions.is_in_place(self.paths.state, reading):
                break
        if written:
            raise self._being_written("there is less in it than before, and somebody still has it open for writing")
        return document

    def _being_written(self, message: str) -> BeingWritten:
        return BeingWritten(message, hint=f"see who writes it with: fuser -v {self.paths.state}", file=self.paths.state)

    def _document(self, reading: versions.Reading, previous: Document | None = None) -> Document:
        if previous is None:
            document = parse(reading.raw, self.paths.state)
        else:
            from liza.blackboard.following import follow  # only who reads again and again needs it

            document = follow(previous, reading.raw, self.paths.state)
        if "circuit_breaker" not in document.data and self._has_reports():
            # A breaker that has tripped before does not lose its section by itself: what we see is not all of the file.
            raise Unreadable(
                f"there is no circuit_breaker section, yet {self.paths.reports}/ holds reports of earlier trips",
                hint="restore the section from a backup or from git; to start anew, move the old reports away",
                file=self.paths.state,
            )
        return document

    def sweep(self) -> None:
        """Take away what an interrupted write left, as each change does; whoever has the lock now will do it then."""
        if storage.has_left(self.paths.state):
            with suppress(LizaError), Lock(self.paths.lock, timeout=0.0):
                self.rescued += storage.sweep(self.paths.state, self.paths.backups)

    def change(self, edit: Callable[[Document], bytes], *, waits: bool = True) -> tuple[Document, bytes]:
        """Put the bytes that `edit` makes of the document in its place; returns both, the old document first.

        `edit` is called again with the newer document whenever another program got in between. Who does not wait gets a
        `LockTimeout` at once where somebody holds the lock.
        """
        with Lock(self.paths.lock, None if waits else 0.0):
            self.rescued += storage.sweep(self.paths.state, self.paths.backups)
            started = time.monotonic()
            while True:
                try:
                    seen = versions.read(self.paths.state)
                    document = self._document(seen)
                except Unreadable as error:
                    raise self.with_backup(error) from None
                raw = edit(document)
                if raw == document.raw:
                    return document, raw
                try:
                    storage.replace(self.paths.state, seen, raw)
                    return document, raw
                except storage.Changed:
                    if time.monotonic() - started > _PATIENCE:
                        raise Refused(
                            f"other programs kept writing it for {_PATIENCE:g} s; nothing was written",
                            hint=f"have them take the lock: flock -x {self.paths.lock} -c '...'",
                            file=self.paths.state,
                        ) from None

    def _has_reports(self) -> bool:
        try:
            with os.scandir(self.paths.reports) as entries:
                return next(entries, None) is not None
        except (FileNotFoundError, NotADirectoryError):
            return False


def _shrunk(before: Document, after: Document) -> bool:
    """Fewer sections, or fewer records in one: perhaps deleted, perhaps a file that is only half written yet."""
    return any(
        name not in after.data
        or (
            isinstance(value, list | dict)
            and (not isinstance(after.data[name], list | dict) or len(after.data[name]) < len(value))
        )
        for name, value in before.data.items()
    )
