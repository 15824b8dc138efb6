"""The words of a loop, apart from its table, which recording an iteration does not need."""

CLOSED, OPEN, HALF_OPEN = STATUSES = ("CLOSED", "OPEN", "HALF_OPEN")
OUTCOMES = ("ok", "error", "timeout", "crash", "interrupted")
