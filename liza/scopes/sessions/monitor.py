"""The sessions of a blackboard, polled whenever something happened: intake, evaluation, and what follows.

The order is that of every trip: the halt file of the session first, which waits for no lock; then the record in
`state.yaml`; then the log. What could not be written is written by the next poll, because the halt file says what of.
"""

import os
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from liza.clients.transcript import FOLLOWED
from liza.errors import LockTimeout, Unwritable
from liza.model import MAPPINGS, Match, Problem, Record, Snapshot, format_time
from liza.rules.evaluate import RuleSet, evaluate
from liza.rules.load import EVERYONE
from liza.schema.actions import Action
from liza.schema.rules_yaml import KEEP_STEPS
from liza.scopes.change import change_record
from liza.scopes.evaluator import Evaluator
from liza.scopes.records import find_record, mappings_of, named_records
from liza.scopes.rules_file import follows_transcripts
from liza.scopes.scope import Polled, SessionRow
from liza.scopes.sessions import states
from liza.scopes.sessions.fields import SESSIONS, STOPPED, open_trip, status_of
from liza.scopes.sessions.follow_transcripts import Follower
from liza.scopes.sessions.intake import Intake, aside_problems, take_spool
from liza.scopes.sessions.rows import ended_rows, session_rows
from liza.scopes.sessions.spending import Entry, Terms, payer_of, records_of, terms_of, usage_of
from liza.scopes.sessions.step_window import STEPS, USAGE, StepWindow
from liza.scopes.sessions.step_windows import StepWindows
from liza.scopes.sessions.tools import SHIPPED, Tools, tools_of
from liza.scopes.transition import Event, Transition
from liza.store import spool, steps
from liza.store.board import Board
from liza.store.document import Document
from liza.store.paths import Paths
from liza.store.session_halt import (
    STOP,
    WARN,
    SessionHalt,
    list_session_halts,
    remove_session_halt,
    write_session_halt,
)
from liza.text import file_name, number_text

MOST = 100  # sessions that one poll evaluates, so that no halt waits for thousands; the others have their turn first
ENTERED = 20  # stops that one poll enters on the blackboard; their halt files are there already
_PRUNE_EVERY = timedelta(hours=1)  # between two deletions of steps that are too old


class Monitor:
    """The sessions of one blackboard. A cache of their files and no more: a new one finds the same."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self.windows = StepWindows(paths)
        self._is_read = False
        self._stepped: dict[str, None] = {}  # sessions with steps that were not evaluated yet, in turn
        self._pruned: datetime | None = None
        self._follower = Follower(paths)

    @property
    def sessions(self) -> Mapping[str, StepWindow]:
        return self.windows.sessions

    def take(self, tools: Tools = SHIPPED, *, follows: bool = False) -> Intake:
        """Enter what waits in the spool, and what transcripts have got if they are followed."""
        if not self._is_read:
            self.windows.refresh()
            self._is_read = True
        taken = take_spool(self.paths, self.sessions, tools)
        changed = self.windows.refresh()
        if follows:  # after the spool, which says of which sessions a hook reports
            followed = self._follower.take(self.sessions, tools)
            error = taken.error or followed.error
            taken = taken._replace(waiting=taken.waiting + followed.has_more, error=error)
            changed |= self.windows.refresh() if followed.lines else frozenset()
        return taken._replace(sessions=changed)

    def streams(
        self, sections: Mapping[str, Any], rules: RuleSet, now: datetime | None
    ) -> dict[str, tuple[Record, ...]]:
        """The streams `steps` and `usage` for the rules about all sessions: of steps what still counts."""
        self._refresh()
        section, wanted = sections.get(SESSIONS.name), rules.streams
        found: dict[str, tuple[Record, ...]] = {}
        if STEPS in wanted:
            records: list[Record] = []
            idle = self._idle(section)
            for name, window in self.sessions.items():
                records += window.records(_since(section, name), name in idle)
            found[STEPS] = tuple(records)
        if USAGE in wanted:
            found[USAGE] = records_of(self.usage(terms_of(rules, now, sections)))
        return found

    def _idle(self, section: Any) -> Container[str]:
        """The sessions that are halted, those that they started, and those that wait for one that they started."""
        if os.path.lexists(self.paths.checkpoint):
            return self.sessions
        parents = {name: window.about.get("parent", "") for name, window in self.sessions.items()}
        idle = {name for name in {*parents, *parents.values()} if status_of(_record(section, name) or {}) == STOPPED}
        while more := {name for name, parent in parents.items() if parent in idle} - idle:
            idle |= more
        return idle | {parents[name] for name, window in self.sessions.items() if not window.ended}

    def rows(self, section: Any, rules: RuleSet, *, ended: bool = False) -> list[SessionRow]:
        """The sessions that were active lately or are stopped, and if asked those that were ingested."""
        self._refresh()
        terms = terms_of(rules)
        return session_rows(section, self.sessions, terms) + ended_rows(self.windows.ingested() if ended else (), terms)

    def _refresh(self) -> None:
        """Read what is new; the next poll evaluates it."""
        new = self.windows.refresh()
        self._stepped |= dict.fromkeys(sorted(new) if self._is_read else ())

    def usage(self, terms: Terms) -> Iterator[Entry]:
        """What all sessions used, as far as it is kept."""
        self._refresh()
        everyone = {**self.windows.idle_sessions(), **self.sessions}
        for name, window in everyone.items():
            yield from usage_of(window, payer_of(name, everyone), terms)

    def problems(self) -> list[Problem]:
        """What was put aside, and files of steps that cannot be read."""
        found = (*self.windows.unreadable, *self.windows.vanished.values())
        return [*aside_problems(self.paths), *(each.as_problem() for each in found)]

    def poll(self, board: Board, document: Document, rules: RuleSet, now: datetime) -> Polled:
        """Enter what hooks have reported, stop or warn the sessions for which a rule matches, and bring halt files and
        records together."""
        self._prune(rules, now)
        taken = self.take(tools_of(rules.blocks.get("tools")), follows=follows_transcripts(rules.blocks))
        self._stepped |= dict.fromkeys(sorted(taken.sessions))
        section = document.data.get(SESSIONS.name)
        events: list[Event] = []
        late, failed, again = False, taken.error, list[str]()
        everyone = self._matches_of_everyone(document, rules, now) if self._stepped else []
        stepped = [name for name in self._stepped if name in self.sessions]
        payers = sorted({payer_of(name, self.sessions) for name in stepped})
        turns = list(dict.fromkeys((*stepped, *payers)))
        for name in turns[:MOST]:
            try:
                events += self._act(name, everyone, section, rules, now)
            except Unwritable as error:
                failed = failed or error
                again.append(name)
        stops = [halt for halt in list_session_halts(self.paths.stopped) if halt.action == STOP]
        missing = [halt for halt in stops if not _is_recorded(section, halt)]
        for halt in missing[:ENTERED]:
            try:
                events += self._enter(board, halt, now)
            except LockTimeout:
                late = True
                break
        self._stepped = dict.fromkeys((*turns[MOST:], *again))
        notes = (*taken.notes, *(event.text for event in events if event.kind == "warned"))
        problems = (*taken.problems, *self.problems())
        has_more = taken.waiting > 0 or len(turns) > MOST or len(missing) > ENTERED
        return Polled(tuple(events), notes, problems, bool(taken.sessions), late, has_more, failed)

    def _prune(self, rules: RuleSet, now: datetime) -> None:
        """Delete steps that are too old, or too many, now and then."""
        if self._pruned is not None and timedelta() <= now - self._pruned < _PRUNE_EVERY:
            return
        self._pruned = now
        kept = {**{name: limit.default for name, limit in KEEP_STEPS.items()}, **rules.blocks.get("keep_steps", {})}
        with suppress(OSError):
            gone = steps.prune(self.paths, days=kept["days"], most_bytes=int(kept["megabytes"] * 1e6))
            self.windows.forget(gone)
            spool.prune(self.paths, days=kept["days"])

    def _act(
        self, name: str, everyone: Sequence[Match], section: Any, rules: RuleSet, now: datetime
    ) -> Iterator[Event]:
        """Stop a session, else warn it: by the first match in the pack, whose text is shown."""
        record = _record(section, name)
        if record is not None and status_of(record) == STOPPED:
            return
        found = [*self._matches(name, section, rules, now), *everyone]
        stop = next((match for match in found if match.rule.action == Action.STOP), None)
        if stop is not None:
            self._stop(name, stop, section, now)
            return
        for match in reversed(states.warnings_in(found)):
            yield from self._warn(name, match, _since(section, name), now)

    def _matches(self, name: str, section: Any, rules: RuleSet, now: datetime) -> list[Match]:
        window, since = self.sessions[name], _since(section, name)
        evaluator = evaluator_for(rules, now)
        used = self.used_by(name, terms_of(rules), since) if USAGE in evaluator.rules.streams else ()
        found = evaluator.verdict((*window.records(since), *used)).observed
        return [match for match in found if match.rule.mode == "act"]

    def used_by(self, name: str, terms: Terms, since: str) -> tuple[Record, ...]:
        """What a session and its subagents used since a person let it continue; a subagent itself pays for nothing."""
        paying = (each for own, each in self.sessions.items() if payer_of(own, self.sessions) == name)
        return records_of(entry for window in paying for entry in usage_of(window, name, terms, since))

    def _matches_of_everyone(self, document: Document, rules: RuleSet, now: datetime) -> list[Match]:
        """The warnings that every session at work is given, about what all have used together."""
        chosen = rules.of_scope(rules.scoped.get(EVERYONE, ()))
        if not chosen.rules:
            return []
        derived = self.streams(document.data, chosen, now)
        found = evaluate(chosen, Snapshot(b"", {}, document.data, (), derived=derived), now).observed
        return [match for match in found if match.rule.mode == "act"]

    def _stop(self, name: str, match: Match, section: Any, now: datetime) -> None:
        """Halt a session: its halt file. It is entered on the blackboard afterwards."""
        trip = states.trip_id_of(name, match, _record(section, name))
        window, reason = self.sessions[name], states.trip_reason(match)
        if not window.is_hooked and (client := window.about.get("client")) in FOLLOWED:
            reason = f"{reason} (nothing holds it: liza install {client})"
        halt = SessionHalt(name, STOP, reason, match.rule.name, trip, format_time(now))
        write_session_halt(self.paths.stopped, file_name(name), halt)

    def _warn(self, name: str, match: Match, since: str, now: datetime) -> Iterator[Event]:
        """Have the next answer to the client say what repeats, once for each cause until it is resumed."""
        window, reason = self.sessions[name], states.trip_reason(match)
        budget = number_text(match.threshold) if match.numbers else ""  # one that was raised is another
        cause = " ".join(filter(None, (match.rule.name, match.key, since, budget)))
        if cause in window.warned:
            return
        window.warned.add(cause)
        steps.append_lines(
            self.paths, name, [{"session": name, "time": format_time(now), "note": "warned", "cause": cause}]
        )
        if window.is_hooked:
            halt = SessionHalt(name, WARN, reason, match.rule.name, time=format_time(now))
            write_session_halt(self.paths.stopped, file_name(name), halt)
        label = states.label_of(name, window.about)
        yield Event("session", name, "warned", f"session {label} is warned: {reason}", window.about.get("task"))

    def _enter(self, board: Board, halt: SessionHalt, now: datetime) -> tuple[Event, ...]:
        """Enter a stop on the blackboard, once, from its halt file."""
        about = self.sessions[halt.session].about if halt.session in self.sessions else {}

        def change(document: Document, record: Mapping[str, Any] | None) -> Transition:
            known = {**about, **(record or {})}
            return states.stop_session(halt.session, known, [halt.pattern or "by hand"], halt.reason, halt.trip, now)

        return change_record(board, SESSIONS, halt.session, change, now).events


def evaluator_for(rules: RuleSet, now: datetime) -> Evaluator[None]:
    return Evaluator(rules.of_scope(rules.scoped.get("sessions", ())), None, STEPS, Action.STOP, now)


@cache
def monitor_of(paths: Paths) -> Monitor:
    """The monitor of a blackboard: one for each, because it has read the files already."""
    return Monitor(paths)


def sync_halts(paths: Paths, section: Any) -> list[str]:
    """Make the halt files those of the sessions that are STOPPED on the blackboard; returns what was restored."""
    restored: list[str] = []
    there = {halt.session: halt for halt in list_session_halts(paths.stopped) if halt.action == STOP}
    for _, name, record in named_records(section, SESSIONS.scope):
        if not isinstance(record, MAPPINGS) or not name:
            continue
        trip = open_trip(record) or {}
        if status_of(record) == STOPPED and name not in there:
            rules = trip.get("rules")
            pattern = str(rules[0]) if isinstance(rules, list | tuple) and rules else "by hand"
            halt = SessionHalt(name, STOP, str(trip.get("reason") or ""), pattern, str(trip.get("trip_id") or ""))
            write_session_halt(paths.stopped, file_name(name), halt._replace(time=str(trip.get("stopped") or "")))
            restored.append(name)
        elif status_of(record) != STOPPED and name in there and _was_resumed(record, there[name]):
            remove_session_halt(paths.stopped, file_name(name))
    return restored


def _was_resumed(record: Mapping[str, Any], halt: SessionHalt) -> bool:
    """Whether the trip of a halt file is in the session's history: a person has decided on it."""
    return any(run.get("trip_id") == halt.trip for run in mappings_of(record, "history"))


def _is_recorded(section: Any, halt: SessionHalt) -> bool:
    """Whether a stop is on the blackboard, open or decided on."""
    record = _record(section, halt.session)
    if record is None:
        return False
    return (open_trip(record) or {}).get("trip_id") == halt.trip or _was_resumed(record, halt)


def _record(section: Any, name: str) -> Mapping[str, Any] | None:
    found = find_record(section, name, SESSIONS.scope)
    return found[1] if found is not None else None


def _since(section: Any, name: str) -> str:
    """Steps before a person let the session continue no longer count."""
    return str((_record(section, name) or {}).get("resumed") or "")
