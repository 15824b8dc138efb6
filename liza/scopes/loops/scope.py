"""The loops as a scope of the engine: what a check, a gate and the inbox ask of them."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from liza.model import Record
from liza.schema.loop_statuses import CLOSED, OPEN
from liza.scopes.evaluator import Evaluator
from liza.scopes.loops import derived, evaluate, states
from liza.scopes.loops.fields import LOOPS, status_of
from liza.scopes.loops.settings import Settings, settings_of
from liza.scopes.scope import Alarm, Entries, OpenTrip, Scope, Sections, status_hint
from liza.scopes.transition import Reconciled
from liza.store.paths import Paths


def _derive(name: str, loop: Mapping[str, Any], settings: Settings) -> Sequence[Record]:
    """The iterations of a loop that is closed and not completed."""
    if status_of(loop) != CLOSED or loop.get("completed_at"):
        return ()
    records = derived.derive_iterations(name, loop, settings)
    return () if records and records[-1].fields["completed"] else records


def _open_trip(loop: Mapping[str, Any], settings: Settings) -> OpenTrip | None:
    if settings.disabled or status_of(loop) != OPEN:
        return None
    since = loop.get("last_trigger_time") or loop.get("status")
    return OpenTrip(str(since), OPEN, str(loop.get("trigger_reason") or f"its status is {loop.get('status')!r}"))


def _alarms(name: str, loop: Mapping[str, Any], evaluator: Evaluator[Settings]) -> Iterator[Alarm]:
    """A loop that has run for long."""
    for signal in evaluate.signals(name, loop, evaluator):
        if signal.warns:
            yield Alarm(signal.rule, name, f"loop {name}: {signal.text}")


def _section_alarms(sections: Sections, settings: Settings) -> Iterator[Alarm]:
    """A breaker that is turned off."""
    if settings.disabled:
        yield Alarm("loops_disabled", "", evaluate.DISABLED)


def _entries() -> Entries:
    from liza.scopes.loops.record import enter_iteration

    return {"iteration": enter_iteration}


def _follow_up(paths: Paths, done: Reconciled, now: datetime) -> None:
    """Enter what a check did to loops into their event logs, which no trip waits for."""
    from liza.scopes.loops import event_log

    for event in done.events:
        event_log.log_events(paths, event.name, (event,), now)


SCOPE: Scope[Settings] = Scope(
    section=LOOPS,
    settings_of=settings_of,
    evaluator_for=evaluate.evaluator_for,
    derive=_derive,
    reconcile=lambda name, loop, evaluator, sections: states.reconcile_record(name, loop, evaluator),
    open_trip=_open_trip,
    alarms=_alarms,
    section_alarms=_section_alarms,
    rules_of=lambda paths: evaluate.load_rules(paths)[0],
    how_to_continue=lambda name, loop: status_hint("loop status", name),
    # One that has cooled down, which its status alone does not show.
    may_try=lambda loop, settings, now: states.effective_status(loop, settings, now) != OPEN,
    notes=evaluate.setting_warnings,
    entries=_entries,
    follow_up=_follow_up,
)
