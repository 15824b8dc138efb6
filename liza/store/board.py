"""One blackboard: reading it, and changing it under its lock."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypeVar

from liza.errors import LizaError, LockTimeout, Unreadable, Unwritable
from liza.halt import trip_id_of
from liza.store import versions
from liza.store.document import Document, parse
from liza.store.paths import Paths, find
from liza.text import shell_quoted

T = TypeVar("T")
_LOOKS = 5  # at a file that is being written, until it is the same before and after
_PATIENCE = 30.0  # seconds; how long a change is tried against programs that replace the file without the lock


class BeingWritten(Unreadable):
    """Another program has the file open for writing: what is in it now may be half of what will be."""


class Board:
    """The blackboard in one `.liza/` folder."""

    def __init__(self, paths: Paths, *, blocking: bool = True) -> None:
        self.paths = paths
        self.blocking = blocking  # waits for the lock; the daemon never does, or it would not see what comes meanwhile
        self._postponed: list[Callable[[], None]] = []
        self.changes = 0  # that are in place: an error behind one does not mean that nothing was written
        self.rescued: list[str] = []  # versions saved from an interrupted write, for the caller to report
        self.shared: object = None  # what is remembered of a team's records; see liza.scopes.shared
        self.stuck: list[str] = []  # what was there at the last write and cannot be removed, with what fixes it

    @classmethod
    def find(cls, root: str | None = None) -> "Board":
        return cls(find(root))

    def read(
        self, previous: Document | None = None, *, whole: versions.Identity | None = None, reject_unstable: bool = False
    ) -> Document:
        """The document as it is now. What reads like a part of `previous` is read twice before it is accepted.

        `BeingWritten` instead of what may be half a save, with `reject_unstable`, for a caller that will read again.
        """
        try:
            reading = versions.read_stable(self.paths.state, whole=whole, reject_unstable=reject_unstable)
            if reject_unstable and reading.unstable:
                raise self._being_written("another program has it open for writing")
            document = self._document(reading, previous)
            if previous is not None and _shrunk(previous, document):
                document = self._looked_at_twice(previous)
            return document
        except Unreadable as error:
            raise self.with_backup(error) from None

    def with_backup(self, error: Unreadable) -> Unreadable:
        """A file that cannot be read, with the last copy that could: for a person to put back, never for us."""
        from liza.store.backups import newest_backup

        copy = newest_backup(self.paths)
        if copy is not None and error.file == self.paths.state and "backups" not in (error.hint or ""):
            command = f"cp {shell_quoted(copy)} {shell_quoted(self.paths.state)}"
            restore = f"or restore the last backup, which lacks later changes: {command}"
            error.hint = "; ".join(part for part in (error.hint, restore) if part)
        return error

    def _looked_at_twice(self, previous: Document) -> Document:
        """What seems to be less than it was. A writer in place may pause halfway for longer than a reader can
        wait; but it has the file open for as long, so that something is gone is only accepted when no program has."""
        for _ in range(_LOOKS):
            reading = versions.read_stable(self.paths.state, again=True)
            document = self._document(reading, previous)
            written = _shrunk(previous, document) and versions.is_being_written(self.paths.state)
            if versions.is_current(self.paths.state, reading):
                break
        if written:
            raise self._being_written(
                "there is less in it than before, and another program still has it open for writing"
            )
        return document

    def _being_written(self, message: str) -> BeingWritten:
        return BeingWritten(message, hint=f"see who writes it with: fuser -v {self.paths.state}", file=self.paths.state)

    def _document(self, reading: versions.Reading, previous: Document | None = None) -> Document:
        if previous is None:
            document = parse(reading.raw, self.paths.state)
        else:
            from liza.store.follow import follow  # only repeated readers need it

            document = follow(previous, reading.raw, self.paths.state)
        if "circuit_breaker" not in document.data and (reports := self._reports()) and not self._is_halted_by(reports):
            # A breaker that has tripped before does not lose its section by itself: what we see is not all of the file.
            raise Unreadable(
                f"there is no circuit_breaker section, yet {self.paths.reports}/ holds reports of earlier trips",
                hint="restore the section from a backup or from git; to start over, move the old reports away",
                file=self.paths.state,
            )
        return document

    def sweep(self) -> None:
        """Take away what interrupted commands left beside the files; those of state.yaml wait for a held lock."""
        from liza.store import checkpoint, replace
        from liza.store.lock import Lock

        self.stuck = list(self._odd_folders())
        if replace.has_leftovers(self.paths.state):
            with suppress(LizaError), Lock(self.paths.lock, timeout=0.0):
                self._sweep()
        checkpoint.sweep(self.paths.checkpoint)
        for folder in (self.paths.folder, self.paths.reports, self.paths.inbox):
            replace.sweep_drafts(folder)

    def _sweep(self) -> None:
        from liza.store import replace

        self.stuck = list(self._odd_folders())
        self.rescued += replace.sweep(self.paths.state, self.paths.backups, self.stuck)

    def _odd_folders(self) -> Iterator[str]:
        """What has the name of a folder of ours and is none: nothing can be kept there."""
        for path in (self.paths.backups, self.paths.reports):
            if os.path.lexists(path) and (os.path.islink(path) or not os.path.isdir(path)):
                name = shell_quoted(path)
                yield f"{path}: not a folder, so nothing is stored there; to fix: mv {name} {name}.odd"

    def change(self, edit: Callable[[Document], tuple[bytes, T]], *, blocking: bool = True) -> T:
        """Put the bytes that `edit` makes of the document in its place, and return what else it computed.

        `edit` is called again with the newer document whenever another program got in between, so only what its last
        call returns counts. Without `blocking`, `LockTimeout` at once where another process holds the lock.
        """
        from liza.store import replace  # many commands, and every gate, only read
        from liza.store.lock import Lock

        with Lock(self.paths.lock, None if blocking and self.blocking else 0.0):
            self._sweep()
            started = time.monotonic()
            while True:
                try:
                    seen = versions.read_stable(self.paths.state)
                    document = self._document(seen)
                except Unreadable as error:
                    raise self.with_backup(error) from None
                raw, computed = edit(document)
                if raw == document.raw:
                    self.changes += 1
                    return computed
                try:
                    replace.replace(self.paths.state, seen, raw)
                    self.changes += 1
                    return computed
                except replace.Changed:
                    self._sweep()  # what another program saved over a version that it had not seen is kept
                    if time.monotonic() - started > _PATIENCE:
                        raise Unwritable(
                            f"other programs kept writing it for {_PATIENCE:g} s; nothing was written",
                            hint=f"have them take the lock: flock -x {self.paths.lock} -c '...'",
                            file=self.paths.state,
                        ) from None

    def rewrite(self, edit: Callable[[Document], bytes]) -> None:
        """`change`, where nothing but the bytes is wanted."""
        self.change(lambda document: (edit(document), None))

    def run_or_postpone(self, step: Callable[[], None]) -> None:
        """Run a step that takes the lock; without `blocking` it may be postponed to a later `catch_up`, in order."""
        self._postponed.append(step)
        self.catch_up()

    def catch_up(self) -> None:
        """Do what could not be done while another process held the lock."""
        while self._postponed:
            try:
                self._postponed[0]()
            except LockTimeout:
                if not self.blocking:
                    return
                self._postponed.clear()
                raise
            except BaseException:
                del self._postponed[0]
                raise
            del self._postponed[0]

    @property
    def is_behind(self) -> bool:
        return bool(self._postponed)

    def _reports(self) -> list[str]:
        """The names of the archived reports; they begin with their time, so the newest is the last.

        What is kept beside them is no sign of a trip that was entered: a large trip's evidence is written before it.
        """
        try:
            names = sorted(os.listdir(self.paths.reports))
        except OSError:
            return []
        return [name for name in names if name[0] != "." and name.endswith(".md") and ".edited." not in name]

    def _is_halted_by(self, reports: list[str]) -> bool:
        """Whether the newest report is of the trip that halts the agents now. That trip could not be entered when it
        was made, so the section has never been there; the next check completes it."""
        halted_by = trip_id_of(self.paths.checkpoint)
        return halted_by is not None and f"-{halted_by}" in reports[-1]


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
