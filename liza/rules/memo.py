"""What a judgement remembers of the one before it, so that a record more does not cost judging all of them again."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from liza.model import MAPPINGS, Record, Snapshot
from liza.rules.acknowledged import Acknowledged
from liza.rules.evaluate import Compiled, Result, RuleSet
from liza.rules.windows import Window, stream


def memory() -> dict[Any, Any]:
    """A memo for `evaluate` that remembers also what was found."""
    return {"recall": Recall()}


class Recall:
    """What one judgement leaves for the next, while anomalies are only added to a blackboard.

    A rule that only counts sees the same as before, unless it counts one of those that were added. Everything else is
    judged anew; whenever anything but the anomalies is different, so is everything.
    """

    def __init__(self) -> None:
        self._rules: RuleSet | None = None
        self._now: datetime | None = None
        self._entries: list[Any] = []
        self._rest: tuple[Any, ...] = ()
        self._begin([])

    def _begin(self, records: Sequence[Record]) -> None:
        self.records = list(records)
        self.windows: dict[str, Window] = {}
        self._results: dict[str, Result] = {}

    def renew(self, rules: RuleSet, snapshot: Snapshot, now: datetime) -> None:
        """Find out what is different from the last time."""
        section = snapshot.sections.get("anomalies")
        entries = section if isinstance(section, list) else []
        # A window holds all that its rules look at, so all of it must be the same. What was not parsed anew is the
        # same object, which makes this quick.
        rest = ({name: value for name, value in snapshot.sections.items() if name != "anomalies"}, snapshot.log)
        known = len(self._entries)
        same = rules is self._rules and self._now is not None and self._now <= now and rest == self._rest
        if same and entries[:known] == self._entries:
            added = [Record("anomalies", i, e) for i, e in enumerate(entries[known:], known) if isinstance(e, MAPPINGS)]
            self.records += added
            for window in self.windows.values():
                window.extend(added, now)
        else:
            self._begin(stream(snapshot, "anomalies"))
        self._rules, self._now, self._entries, self._rest = rules, now, entries, rest

    def result(self, compiled: Compiled, window: Window, history: Acknowledged) -> Result | None:
        """What a rule found the last time, if it would find the same now."""
        known, added = self._results.get(compiled.rule.name), window.added
        if known is None or len(history.fresh(compiled.rule.name, added)) < len(added):
            return None
        return None if any(compiled.condition.counts(record, window.world) for record in added) else known

    def keep(self, compiled: Compiled, window: Window, result: Result) -> None:
        """Remember what a rule found, if it can be of use."""
        if window.is_fixed:
            self.windows[window.text] = window
            if compiled.condition.only_counts and compiled.condition.streams == {"anomalies"}:
                self._results[compiled.rule.name] = result
