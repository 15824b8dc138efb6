"""When to check again although nothing has changed."""

from datetime import datetime, timedelta


class Schedule:
    """The earliest of the moments that were asked for."""

    def __init__(self) -> None:
        self.due: datetime | None = None

    def check_in(self, seconds: float, now: datetime) -> None:
        """Check again after this time, or sooner."""
        moment = now + timedelta(seconds=max(seconds, 0.0))
        self.due = moment if self.due is None else min(self.due, moment)

    def is_due(self, now: datetime) -> bool:
        return self.due is not None and now >= self.due

    def clear(self) -> None:
        self.due = None

    def restart(self, now: datetime) -> None:
        """After the clock was set back: nothing is to wait until the clock is again where it was."""
        self.due = now if self.due is not None else None

    def seconds_left(self, now: datetime, longest: float) -> float:
        return longest if self.due is None else min(max((self.due - now).total_seconds(), 0.01), longest)


class LastCheck:
    """When a check was last recorded on the blackboard: after another program's change, once in `pause` seconds."""

    def __init__(self, pause: float) -> None:
        self._pause = pause
        self._recorded: datetime | None = None
        self._is_changed = False

    def note_change(self, is_foreign: bool) -> None:
        self._is_changed = self._is_changed or is_foreign

    def is_due(self, now: datetime) -> bool:
        """Whether this check is to be recorded; never the first one."""
        if self._recorded is None:
            self._recorded = now
        return self._is_changed and (now - self._recorded).total_seconds() >= self._pause

    def set_recorded(self, now: datetime) -> None:
        self._recorded, self._is_changed = now, False

    def seconds_left(self, now: datetime) -> float | None:
        """Until a change that is not recorded yet may be; None without one."""
        if not self._is_changed or self._recorded is None:
            return None
        return self._pause - (now - self._recorded).total_seconds()

    def restart(self, now: datetime) -> None:
        """After the clock was set back."""
        self._recorded = min(self._recorded, now) if self._recorded is not None else None
