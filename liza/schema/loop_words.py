"""The words of a loop, apart from its table: whoever records an iteration needs no table."""

CLOSED, OPEN, HALF_OPEN = STATUSES = ("CLOSED", "OPEN", "HALF_OPEN")
OUTCOMES = ("ok", "error", "timeout", "crash")
