"""A memo for repeated evaluations: one more record does not cost an evaluation of all of them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from liza.model import MAPPINGS, Record, Snapshot
from liza.rules.acknowledged import Acknowledged
from liza.rules.evaluate import Compiled, Result, RuleSet
from liza.rules.windows import Window, stream_records


def new_memo() -> dict[Any, Any]:
    """A memo for `evaluate` that also keeps the results of the previous evaluation."""
    return {"previous": PreviousEvaluation()}


class PreviousEvaluation:
    """The results of one evaluation, reused by the next while anomalies are only added to the blackboard.

    A monotone rule has the same result as before unless it counts one of the added records. Every other rule is
    evaluated again; when anything but the anomalies has changed on the blackboard, all are.
    """

    def __init__(self) -> None:
        self._rules: RuleSet | None = None
        self._now: datetime | None = None
        self._entries: list[Any] = []
        self._rest: tuple[Any, ...] = ()
        self._derived: Mapping[str, Sequence[Record]] = {}
        self._reset([])

    def _reset(self, records: Sequence[Record]) -> None:
        self.records = list(records)
        self.windows: dict[str, Window] = {}
        self._results: dict[str, Result] = {}

    def update(self, rules: RuleSet, snapshot: Snapshot, now: datetime) -> None:
        """Take in the records that were added since the last call, or start over if anything else changed."""
        section = snapshot.sections.get("anomalies")
        entries = section if isinstance(section, list) else []
        # A window holds everything its rules read, so all of it must be equal. What was not parsed again is the same
        # object, which makes the comparison fast.
        rest = ({name: value for name, value in snapshot.sections.items() if name != "anomalies"}, snapshot.log)
        known = len(self._entries)
        same = rules is self._rules and self._now is not None and self._now <= now and rest == self._rest
        is_derived_changed = snapshot.derived != self._derived  # steps, for example, are in files of their own
        if same and entries[:known] == self._entries and not (is_derived_changed and len(entries) > known):
            added = [Record("anomalies", i, e) for i, e in enumerate(entries[known:], known) if isinstance(e, MAPPINGS)]
            self.records += added
            if is_derived_changed:
                self.windows = {}  # they hold all streams; the results that are kept are about anomalies alone
            for window in self.windows.values():
                window.extend(added, now)
        else:
            self._reset(stream_records(snapshot, "anomalies"))
        self._rules, self._now, self._entries, self._rest = rules, now, entries, rest
        self._derived = snapshot.derived

    def result(self, compiled: Compiled, window: Window, history: Acknowledged) -> Result | None:
        """The previous result of a rule, if it would be the same now."""
        known, added = self._results.get(compiled.rule.name), window.added
        if known is None or len(history.fresh(compiled.rule.name, added)) < len(added):
            return None
        if any(compiled.condition.counts(record, window.context) for record in added):
            return None
        self.windows[window.text] = window
        return known

    def keep(self, compiled: Compiled, window: Window, result: Result) -> None:
        """Keep the result of a rule, if it can be reused."""
        if window.is_fixed:
            self.windows[window.text] = window
            if compiled.condition.is_monotone and compiled.condition.streams == {"anomalies"}:
                self._results[compiled.rule.name] = result
