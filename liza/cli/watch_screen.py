"""The picture that `liza watch` draws on a terminal: the present state, drawn again only when it has changed."""

import os
import sys
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime

import click

from liza.cli import session_table, show
from liza.daemon.daemon import Watcher
from liza.daemon.notifier import Event, EventKind
from liza.model import Reason
from liza.scopes.engine import session_rows
from liza.store import checkpoint
from liza.text import one_line, plural, printable

COLOURS = {
    EventKind.TRIPPED: "red",
    EventKind.DEGRADED: "red",
    EventKind.ALARM: "yellow",
    EventKind.RESOLVED: "green",
    EventKind.RECOVERED: "green",
}
_LAST = 50  # events that are kept; as many are shown as there is room for
_ALARMS = 5
_SHOWN_AT_ZERO = (Reason.MATCHED, Reason.OBSERVED, Reason.DISABLED, Reason.SILENCED)
# A screen of its own, so that nothing scrolls away; no cursor; and what is too long for a line ends with the line.
_BEGIN = "\x1b[?1049h\x1b[?25l\x1b[?7l"
_END = "\x1b[?7h\x1b[?25h\x1b[?1049l"


class View:
    """A screen of the terminal, for as long as it is open."""

    def __init__(self) -> None:
        self.watcher: Watcher | None = None
        self.last: deque[Event] = deque(maxlen=_LAST)
        self._drawn = ""

    def add_event(self, event: Event) -> None:
        if event.kind is not EventKind.CHECKED:  # the patterns show that
            self.last.append(event)

    def draw(self) -> None:
        """Show the present state, unless it is shown already; the size of the terminal is part of it."""
        width, height = _size()
        lines = [show.cut(line, width) for line in self.lines(width, height)]
        if os.environ.get("NO_COLOR"):
            lines = [click.unstyle(line) for line in lines]
        picture = f"{width}x{height}" + "\n".join(lines)
        if picture != self._drawn:
            begin = "" if self._drawn else _BEGIN
            rows = "".join(f"\x1b[{row};1H\x1b[0m\x1b[2K{line}" for row, line in enumerate(lines, 1))
            _write(f"{begin}{rows}\x1b[0m" + "\n\r\x1b[2K" * (height - len(lines)))
            self._drawn = picture

    def hide(self) -> None:
        """Give the terminal back, as it was."""
        if self._drawn:
            self._drawn = ""
            _write(_END)

    def lines(self, width: int, height: int) -> list[str]:
        """The lines of the picture, the most important first; the last events are at the bottom."""
        head = self._head()
        head += self._sessions(max(height - len(head), 0) // 3, width)
        patterns = self._patterns(max(height - len(head) - 2, 0))
        room = height - len(head) - len(patterns) - 1
        events = [_event_line(each, width) for each in list(self.last)[-room:]] if room > 0 else []
        return [*head, *patterns, *([""] if events else []), *events][:height]

    def _head(self) -> list[str]:
        watcher = self.watcher
        if watcher is None:
            return [show.bold("liza watch")]
        lines = [f"{show.bold('liza watch')}  {printable(watcher.paths.folder)}", *self._state(watcher)]
        seen = watcher.found.verdict.checked_at if watcher.found is not None else None
        parts = [watcher.changes.backend, f"process {os.getpid()}", f"{plural(watcher.checker.count, 'check')}"]
        parts += [f"last change {seen.astimezone():%H:%M:%S}"] if seen is not None else []
        parts += ["only observing"] if watcher.options.observe else []
        error = watcher.notifier.health.last_error
        lines.append(f"watch:   {one_line(', '.join(parts), 200)}")
        lines += [f"{show.bold('DEGRADED', 'red')}: {one_line(error, 500)}"] if error is not None else []
        active = list(watcher.notifier.active.values())
        lines += [f"alarms:  {len(active)}"] if active else []
        lines += [f"  {click.style('!', fg='yellow')} {one_line(each.text, 500)}" for each in active[-_ALARMS:]]
        return lines

    def _state(self, watcher: Watcher) -> list[str]:
        if watcher.found is None:
            return []
        halted = checkpoint.read(watcher.paths.checkpoint) is not None
        agents = show.bold("halted", "red") + " (CHECKPOINT)" if halted else "not halted"
        return [*show.state(watcher.found), f"agents:  {agents}"]

    def _sessions(self, room: int, width: int) -> list[str]:
        """The most urgent, as many as there is room for, and how many there are."""
        watcher = self.watcher
        if watcher is None or watcher.found is None:
            return []
        rows = session_table.most_urgent(
            session_rows(watcher.paths, watcher.found.snapshot.sections, watcher.checker.rules)
        )
        if not rows:
            return []
        lines = session_table.lines(rows, datetime.now(UTC), width - 2)
        shown = lines[: max(room - 1, 1)]
        more = " (all: liza sessions)" if len(shown) < len(lines) else ""
        return [f"sessions: {session_table.summary(rows)}{more}", *(f"  {line}" for line in shown)]

    def _patterns(self, room: int) -> list[str]:
        """All of them, or where there is no room those that count something."""
        found = self.watcher.found if self.watcher is not None else None
        progress = list(found.verdict.progress) if found is not None else []
        if len(progress) > room:
            progress = [each for each in progress if each.value > 0 or each.reason in _SHOWN_AT_ZERO][:room]
        lines = show.pattern_lines(progress)
        return lines if len(lines) <= room else show.pattern_lines(progress, other_groups=False)


def _size() -> tuple[int, int]:
    """As it is now: COLUMNS and LINES in the environment are those of when the shell began."""
    try:
        return os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError):
        return 80, 24


def _event_line(each: Event, width: int) -> str:
    word = click.style(f"{each.kind:<9}", fg=COLOURS.get(each.kind))
    return f"  {each.at.astimezone():%H:%M:%S}  {word}  {one_line(each.text, max(width, 20))}"


def _write(text: str) -> None:
    """At once, and past the buffer: a signal may come in the middle of it. A terminal that is gone ends nothing."""
    data = text.encode(errors="replace")
    with suppress(OSError):
        while data:
            data = data[os.write(sys.stdout.fileno(), data) :]
