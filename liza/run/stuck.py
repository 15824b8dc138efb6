"""The calls of all iterations of a run, and what they used, as one session: the rules about sessions hold for it.

An agent whose client reports its calls through a hook, or in a transcript that is followed, has steps already, and they
are not entered twice. What only a transcript reports is still evaluated here: its session is that of one iteration.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from liza.clients.event import Event, Kind
from liza.model import Match, Record, format_time
from liza.run.iteration import Done
from liza.run.tool_calls import calls_of
from liza.schema.actions import Action
from liza.scopes.evaluator import Evaluator
from liza.scopes.rules_file import rules_in_force
from liza.scopes.sessions.monitor import evaluator_for
from liza.scopes.sessions.spending import Terms, records_of, terms_of, usage_of
from liza.scopes.sessions.states import trip_reason
from liza.scopes.sessions.step import steps_of, usage_line
from liza.scopes.sessions.step_window import StepWindow
from liza.scopes.sessions.tools import tools_of
from liza.store.paths import Paths
from liza.store.spool import is_from_hook
from liza.store.steps import append_lines, read_tail


class StuckResult(NamedTuple):
    """What the rules about sessions say after an iteration; None where none matched."""

    stop: str | None = None
    warning: str | None = None


class RunSteps:
    """The steps of one run, and what it used."""

    def __init__(self, paths: Paths, session: str, about: Mapping[str, str]) -> None:
        self.paths, self.session, self.about = paths, session, about
        self._window = StepWindow(session)
        self._used: dict[str, StepWindow] = {}  # by the client's own sessions

    def add(self, done: Done) -> StuckResult:
        """Enter the usage and the calls of an iteration, and evaluate the rules after each."""
        is_hooked, is_followed = self._is_reported(done.answer.session)
        is_reported = is_hooked or is_followed
        calls = () if is_hooked else tuple(calls_of(done.ran.output))
        if not calls and done.answer.usage is None:
            return StuckResult()
        now = datetime.now(UTC)
        rules, _ = rules_in_force(self.paths.rules)
        event = Event("run", "stream", Kind.AFTER, self.session, calls=calls)
        lines = [
            {**step, **self.about} for step in steps_of(event, format_time(now), tools_of(rules.blocks.get("tools")))
        ]
        self._enter_usage(done, format_time(now), is_reported, is_followed)
        evaluator, matches = evaluator_for(rules, now), list[Match]()
        for line in lines:
            self._window.add(line)
            matches += _acting(evaluator, self._window.records())
        matches += _acting(evaluator, (*self._window.records(), *self._used_so_far(terms_of(rules))))
        # A run that is between two iterations is not silent.
        end = {"time": format_time(now), "session": self.session, "note": "end"}
        if lines and not is_followed:
            append_lines(self.paths, self.session, [*lines, end])
        return StuckResult(_reason(matches, Action.STOP), _reason(matches, Action.WARN))

    def _enter_usage(self, done: Done, time: str, is_reported: bool, is_followed: bool) -> None:
        """Enter what an iteration used; the run pays for the client's own sessions."""
        usage, session = done.answer.usage, done.answer.session or self.session
        if usage is not None:
            parent = self.session if session != self.session else None
            line = usage_line(session, time, usage, parent=parent, **self.about)
            line |= {} if is_reported else {"seconds": round(done.ran.seconds, 3)}
            if not is_followed:
                append_lines(self.paths, session, [line])
            self._used.setdefault(session, StepWindow(session)).add(line)

    def _used_so_far(self, terms: Terms) -> tuple[Record, ...]:
        windows = (self._window, *self._used.values())
        return records_of(entry for each in windows for entry in usage_of(each, self.session, terms))

    def _is_reported(self, session: str | None) -> tuple[bool, bool]:
        """Whether steps of the client's own session were entered by a hook, and whether by its transcript."""
        lines = read_tail(self.paths, session) if session is not None else ()
        events = {str(line.get("event")) for line in lines if "note" not in line}
        return any(map(is_from_hook, events)), not all(map(is_from_hook, events))


def _acting(evaluator: Evaluator[None], records: Sequence[Record]) -> list[Match]:
    return [match for match in evaluator.verdict(records).observed if match.rule.mode == "act"]


def _reason(matches: list[Match], action: Action) -> str | None:
    return next((f"{m.rule.name}: {trip_reason(m)}" for m in matches if m.rule.action == action), None)
