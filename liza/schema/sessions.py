"""What belongs into the section `sessions`."""

from liza.schema import kinds
from liza.schema.kinds import OneOf
from liza.schema.walker import Table

ACTIVE, STOPPED = STATUSES = ("ACTIVE", "STOPPED")
SESSION = Table({"status": OneOf(STATUSES), "current_trip": kinds.mapping, "history": kinds.sequence})
