"""Reading the blackboard repeatedly: only what has changed, and no half of a save."""

from datetime import datetime

from liza.daemon.changes import Changes
from liza.daemon.health import GRACE, STILL
from liza.store.board import BeingWritten, Board
from liza.store.document import Document
from liza.store.follow import only_adds


class Reader:
    """Remembers the last document that could be evaluated, and how long a writer has had the file open."""

    def __init__(self, board: Board, changes: Changes) -> None:
        self._board = board
        self._changes = changes
        self.document: Document | None = None
        self._written: datetime | None = None

    def read(self, now: datetime) -> Document:
        """The blackboard, and no half of a save; but a writer that never closes it does not prevent the evaluation."""
        whole = self._changes.moved_into_place()
        try:
            document = self._board.read(self.document, whole=whole, reject_unstable=True)
        except BeingWritten as error:
            self._written = min(self._written or now, now)
            if self.waits_for_writer(now):
                raise
            if (now - self._written).total_seconds() >= STILL:
                return self._board.read(None, whole=whole)  # whatever it has lost: it was left like this
            document = self._board.read(self.document, whole=whole)
            if not only_adds(self.document, document):
                raise error from None  # half a save may last long; what is only longer may be evaluated
            return document
        self._written = None
        return document

    def waits_for_writer(self, now: datetime) -> bool:
        return self._written is not None and (now - self._written).total_seconds() < GRACE

    def is_foreign(self, document: Document) -> bool:
        """Whether another program changed the blackboard: something outside the breaker's own section is different."""
        if self.document is None:
            return False
        names = {*self.document.data, *document.data} - {"circuit_breaker"}
        return any(self.document.data.get(name) != document.data.get(name) for name in names)
