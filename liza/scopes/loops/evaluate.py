"""Asking the rules about loops: for the command that records an iteration, and for whoever looks at the blackboard."""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import Unreadable
from liza.model import MAPPINGS, Match, Record, Snapshot, Verdict
from liza.rules.evaluate import RuleSet, evaluate
from liza.scopes import change as changing
from liza.scopes import records as scopes
from liza.scopes.loops import derived as its
from liza.scopes.loops import states
from liza.scopes.loops.settings import Settings, rules_for, settings_of
from liza.store.document import Document
from liza.store.paths import Paths

SCOPE = scopes.Scope("loop", "loops")
DISABLED = "CIRCUIT_BREAKER_DISABLED is set: no loop is ever opened"
LISTS = ("iterations", "error_history", "history")
_LONGEST = 200  # characters of a file's name, which a file system limits to 255


class Signal(NamedTuple):
    """A rule, and how near a loop is to it."""

    rule: str
    value: float
    threshold: float
    matched: bool
    action: str
    words: str

    @property
    def warns(self) -> bool:
        """It holds, and only tells."""
        return self.matched and self.action == "ALERT"


def in_force(paths: Paths, options: Mapping[str, Any] | None = None) -> tuple[RuleSet, Settings]:
    """The rules and the numbers for loops, as the files, the environment and `options` have them."""
    from liza.scopes.rules_file import read_rules

    rules = read_rules(paths.rules, protocol=SCOPE.section, config=os.environ.get("CIRCUIT_CONFIG") or None)
    return rules, settings_of(rules, os.environ, options)


def oddities(settings: Settings) -> Iterator[str]:
    """What is to be said about the numbers each time, above all that they are turned off."""
    yield from settings.notes
    if settings.disabled:
        yield DISABLED


class Judge:
    """Asks the rules about loops, and remembers the last answer: a command needs it once more to say how near it is."""

    def __init__(self, rules: RuleSet, settings: Settings, now: datetime) -> None:
        self.rules = rules_for(rules, settings)
        self.settings = settings
        self.now = now
        self._last: tuple[int, Verdict] | None = None

    def __call__(self, records: Sequence[Record]) -> Sequence[Match]:
        """What opens a loop with these iterations."""
        found = self.verdict(records).observed
        return [match for match in found if match.rule.action == "OPEN" and match.rule.mode == "act"]

    def verdict(self, records: Sequence[Record]) -> Verdict:
        snapshot = Snapshot(b"", {}, {}, (), derived={"iterations": tuple(records)})
        found = evaluate(self.rules, snapshot, self.now)
        self._last = (len(records), found)
        return found

    def signals(self, name: str, loop: Mapping[str, Any]) -> tuple[Signal, ...]:
        """The rules that a loop is on its way to."""
        if states.status_of(loop) != states.CLOSED or loop.get("completed_at"):
            return ()
        last = self._last[1] if self._last is not None and self._last[0] == its.count_of(loop) else None
        found = last or self.verdict(its.counted(name, loop, self.settings))
        matches = {match.rule.name: match for match in found.observed}
        return tuple(
            Signal(
                each.rule.name,
                each.value,
                each.threshold,
                each.rule.name in matches,
                each.rule.action,
                states.words(matches[each.rule.name]) if each.rule.name in matches else each.rule.description,
            )
            for each in found.progress
            if each.value > 0
        )


def understood(document: Document, name: str) -> Mapping[str, Any] | None:
    """The loop by that name; `Unreadable` where its record cannot be understood, and then it counts as open."""
    found = changing.found_in(document, SCOPE, name)
    if found is None:
        return None
    where, loop = found
    for field in LISTS:
        if not isinstance(loop.get(field), list | None):
            line, column = document.locate(("loops", where, field)) or (None, None)
            hint = f"write {field} of loop {name} as a list; until then the loop counts as open"
            raise Unreadable(f"{field} is not a list", hint=hint, file=document.file, line=line, column=column)
    if loop.get("status", states.CLOSED) not in states.STATES:
        line, column = document.locate(("loops", where, "status")) or (None, None)
        hint = f"one of: {', '.join(states.STATES)}; until then the loop counts as open"
        message = f"the status of loop {name} is not known"
        raise Unreadable(message, hint=hint, file=document.file, line=line, column=column)
    return loop


# --- for whoever looks at all of them -------------------------------------------------------------------------------


def derive(section: Any, rules: RuleSet, environment: Mapping[str, str]) -> tuple[Record, ...]:
    """The iterations that rules see: those of loops that are closed and not finished."""
    settings = settings_of(rules, environment)
    found: list[Record] = []
    for _, name, loop in scopes.named(section, "loop"):
        if isinstance(loop, MAPPINGS) and states.status_of(loop) == states.CLOSED and not loop.get("completed_at"):
            records = its.derived(name, loop, settings)
            if records and not records[-1].fields["completed"]:
                found += records
    return tuple(record._replace(key=index) for index, record in enumerate(found))


def settle(section: Any, rules: RuleSet, environment: Mapping[str, str], now: datetime) -> scopes.Settled:
    """What the section is to be, as it stands."""
    settings = settings_of(rules, environment)
    judge = Judge(rules, settings, now)
    events: list[scopes.Event] = []
    archived: list[tuple[str, tuple[Mapping[str, Any], ...]]] = []

    def change(name: str, loop: Mapping[str, Any]) -> Mapping[str, Any]:
        if any(not isinstance(loop.get(field), list | None) for field in LISTS):
            return loop  # it cannot be judged, which `validate` and `status` say
        outcome = states.settled(name, loop, settings, judge, now)
        events.extend(outcome.events)
        archived.extend([(name, outcome.archived)] if outcome.archived else [])
        return outcome.record

    return scopes.Settled(scopes.each(section, "loop", change), tuple(events), tuple(archived))


def open_trips(section: Any, rules: RuleSet, environment: Mapping[str, str], now: datetime) -> dict[str, str]:
    """The loops that are open, each with its reason."""
    if settings_of(rules, environment).disabled:
        return {}
    return {
        f"loop {name} {loop.get('last_trigger_time') or loop.get('status')}": f"loop {name} is OPEN: {_reason(loop)}"
        for _, name, loop in scopes.named(section, SCOPE.name)
        if isinstance(loop, MAPPINGS) and states.status_of(loop) == states.OPEN
    }


def _reason(loop: Mapping[str, Any]) -> str:
    return str(loop.get("trigger_reason") or f"its status is {loop.get('status')!r}")


def causes(
    section: Any, rules: RuleSet, environment: Mapping[str, str], now: datetime
) -> Iterator[tuple[str, str, str]]:
    """Loops that have run for long, and a breaker that is turned off."""
    settings = settings_of(rules, environment)
    if settings.disabled:
        yield "loops_disabled", "", DISABLED
    for _, name, loop in scopes.named(section, SCOPE.name):
        if isinstance(loop, MAPPINGS):
            for signal in Judge(rules, settings, now).signals(name, loop):
                if signal.warns:
                    yield signal.rule, name, f"loop {name}: {signal.words}"


def archive(paths: Paths, name: str, iterations: Sequence[Mapping[str, Any]]) -> None:
    """Keep iterations that leave the blackboard."""
    changing.keep(paths, archive_of(paths, name), "iterations", iterations)


def archive_of(paths: Paths, name: str) -> str:
    """The file of a loop's older iterations."""
    return f"{file_of(paths, name)}.jsonl"


def file_of(paths: Paths, name: str) -> str:
    """Where files about a loop are kept, without the ending of their names: its own, whatever the loop is called."""
    written = name
    if not (name.isascii() and name.replace("-", "x").replace("_", "x").isalnum()):
        from urllib.parse import quote  # its import takes longer than recording an iteration

        written = quote(name, safe=" ")
    if len(written) > _LONGEST:
        from hashlib import sha256

        written = f"{written[: _LONGEST - 13]}-{sha256(name.encode()).hexdigest()[:12]}"
    return os.path.join(paths.runs, "loops", written)
