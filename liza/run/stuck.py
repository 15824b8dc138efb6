"""The calls of all iterations of a run as the steps of one session, so that the rules about sessions hold for it.

An agent whose client reports its calls through a hook has steps already, and they are not entered twice.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from liza.clients.event import Event, Kind
from liza.model import Match, format_time
from liza.run.iteration import Done
from liza.run.tool_calls import calls_of
from liza.schema.actions import Action
from liza.scopes.rules_file import rules_in_force
from liza.scopes.sessions.monitor import evaluator_for
from liza.scopes.sessions.states import trip_reason
from liza.scopes.sessions.step import steps_of
from liza.scopes.sessions.step_window import StepWindow
from liza.scopes.sessions.tools import tools_of
from liza.store.paths import Paths
from liza.store.steps import append_lines, read_tail


class Judged(NamedTuple):
    """What the rules about sessions say after an iteration; None where none matched."""

    stop: str | None = None
    warning: str | None = None


class RunSteps:
    """The steps of one run."""

    def __init__(self, paths: Paths, session: str, about: Mapping[str, str]) -> None:
        self.paths, self.session, self.about = paths, session, about
        self._window = StepWindow(session)

    def add(self, done: Done) -> Judged:
        """Enter the calls of an iteration and evaluate the rules after each."""
        calls = tuple(calls_of(done.ran.output))
        if not calls or self._is_reported(done.answer.session):
            return Judged()
        now = datetime.now(UTC)
        rules, _ = rules_in_force(self.paths.rules)
        event = Event("run", "stream", Kind.AFTER, self.session, calls=calls)
        lines = [
            {**step, **self.about} for step in steps_of(event, format_time(now), tools_of(rules.blocks.get("tools")))
        ]
        matches: list[Match] = []
        evaluator = evaluator_for(rules, now)
        for line in lines:
            self._window.add(line)
            found = evaluator.verdict(self._window.records()).observed
            matches += [match for match in found if match.rule.mode == "act"]
        # A run that is between two iterations is not silent.
        end = {"time": format_time(now), "session": self.session, "note": "end"}
        append_lines(self.paths, self.session, [*lines, end])
        return Judged(_reason(matches, Action.STOP), _reason(matches, Action.WARN))

    def _is_reported(self, session: str | None) -> bool:
        """Whether a hook has entered steps of the client's own session."""
        return session is not None and any("note" not in line for line in read_tail(self.paths, session))


def _reason(matches: list[Match], action: Action) -> str | None:
    return next((f"{m.rule.name}: {trip_reason(m)}" for m in matches if m.rule.action == action), None)
