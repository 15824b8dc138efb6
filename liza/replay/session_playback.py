"""Play back the steps of a session: when would it have been warned or stopped, evaluated after each step?

As in a playback of the blackboard, a session that was stopped is evaluated again once a person has resumed it. What it
really did after a stop that did not happen does not count.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from liza.model import MAPPINGS, Match, parse_time
from liza.rules.evaluate import RuleSet
from liza.scopes.evaluator import Evaluator
from liza.scopes.records import list_of
from liza.scopes.sessions.spending import records_of, terms_of, usage_of
from liza.scopes.sessions.states import trip_reason, warnings_in
from liza.scopes.sessions.step_window import STEPS, USAGE, StepWindow


class SessionTrip(NamedTuple):
    """A warning or a stop as it would have been."""

    at: datetime
    session: str
    name: str  # as people call it, or empty
    steps: int  # that it had made
    match: Match
    reason: str


def play_session(
    rules: RuleSet, session: str, lines: Iterable[Mapping[str, Any]], record: Mapping[str, Any]
) -> Iterator[SessionTrip]:
    """What the rules about sessions would have done; `record` is the session on the blackboard, with its decisions."""
    chosen = rules.of_scope([each for each in rules.scoped.get("sessions", ()) if each.rule.mode == "act"])
    decisions = sorted(str(run.get("resumed")) for run in list_of(record, "history") if isinstance(run, MAPPINGS))
    window, warned, stopped = StepWindow(session), set[str](), ""
    terms, reads_usage = terms_of(rules), USAGE in chosen.streams
    for line in lines:
        before = window.changes
        window.add(line)
        time = str(line.get("time"))
        at = parse_time(time)
        if at is None or window.changes == before:
            continue
        since = max((each for each in decisions if each < time), default="")
        if stopped and since < stopped:
            continue
        stopped = ""
        records = window.records(since)
        if reads_usage:
            records = (*records, *records_of(usage_of(window, session, terms, since)))
        found = Evaluator(chosen, None, STEPS, "STOP", at).verdict(records).observed
        warnings = warnings_in(found)
        for match in found:
            cause = f"{match.rule.name} {match.key}"
            if match.rule.action == "WARN" and (cause in warned or match not in warnings):
                continue
            if match.rule.action == "STOP":
                stopped = time
            warned.add(cause)
            label = window.about.get("name", "")
            yield SessionTrip(at, session, label, window.count, match, trip_reason(match))
