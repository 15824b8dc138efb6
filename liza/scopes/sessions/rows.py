"""The list of sessions, running and stopped ones, and which of them is meant by a name."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from liza.errors import Refused
from liza.model import MAPPINGS, parse_time
from liza.scopes.records import named_records
from liza.scopes.scope import ASKED, ENDED, HALTED, HOOK, RUNNING, STREAM, TRANSCRIPT, SessionRow, Spent
from liza.scopes.sessions.fields import SESSIONS, STOPPED, open_trip, status_of
from liza.scopes.sessions.spending import SHIPPED, Terms, spent_in, usage_of
from liza.scopes.sessions.step_window import StepWindow
from liza.store.document import Document
from liza.text import did_you_mean, value_text

OUTCOMES = 50  # steps of a session whose outcome is listed
LEFT = 1800.0  # seconds after its last answer, after which a session without a hook has ended
SHORTEST = 4  # characters of an id that name a session


def session_rows(section: Any, sessions: Mapping[str, StepWindow], terms: Terms = SHIPPED) -> list[SessionRow]:
    """The sessions that were active lately or are stopped, the one with the newest step first."""
    records = {
        name: record
        for _, name, record in named_records(section, SESSIONS.scope)
        if isinstance(record, MAPPINGS) and (status_of(record) == STOPPED or name in sessions)
    }
    names = {*sessions, *records}
    rows = [_row(name, sessions.get(name), records.get(name, {}), terms) for name in names if name]
    return sorted(rows, key=lambda row: (row.last or "", row.session), reverse=True)


def ended_rows(windows: Iterable[StepWindow], terms: Terms) -> list[SessionRow]:
    """Sessions of which nothing is expected any more."""
    return [_row(each.session, each, {}, terms) for each in windows]


def _row(name: str, window: StepWindow | None, record: Mapping[str, Any], terms: Terms) -> SessionRow:
    about = {**{key: text for key, text in record.items() if isinstance(text, str)}, **(window.about if window else {})}
    status = status_of(record)
    last = window.steps[-1] if window is not None and window.steps else None
    errors = [step["error"] for step in window.steps if step.get("error")] if window is not None else []
    return SessionRow(
        session=name,
        client=about.get("client", ""),
        name=about.get("name", ""),
        task=about.get("task", ""),
        parent=about.get("parent"),
        status=status,
        state=_state(window, status),
        steps=window.count if window is not None else 0,
        started=window.started if window is not None else None,
        last=window.last if window is not None else None,
        last_step=f"{last.get('tool')} {last.get('input')}" if last is not None else None,
        last_error=str(errors[-1]) if errors else None,
        reason=str((open_trip(record) or {}).get("reason")) if status == STOPPED else None,
        used=spent_in(usage_of(window, name, terms)) if window is not None else Spent(),
        source=_source(window) if window is not None else "",
        degraded=window.degraded if window is not None else None,
        outcomes=_outcomes(window) if window is not None else (),
    )


def _outcomes(window: StepWindow) -> tuple[str, ...]:
    return tuple(str(step.get("outcome") or "unknown") for step in list(window.steps)[-OUTCOMES:])


def _state(window: StepWindow | None, status: str) -> str:
    """A session that no hook reports, such as one known from its transcript, cannot be held: it is only asked."""
    if window is None or window.ended:
        return ENDED
    if status == STOPPED:
        return HALTED if window.is_hooked else ASKED
    return ENDED if _is_left(window) else RUNNING


def _is_left(window: StepWindow) -> bool:
    """Whether no one continued a session after its last answer: a transcript does not say when it ends."""
    last = parse_time(window.last)
    is_waiting = window.is_turn_over and _source(window) == TRANSCRIPT
    return is_waiting and last is not None and (datetime.now(UTC) - last).total_seconds() > LEFT


def _source(window: StepWindow) -> str:
    return HOOK if window.is_hooked else TRANSCRIPT if window.events else STREAM


def find_session(
    document: Document, sessions: Mapping[str, StepWindow], wanted: str,
    ingested: Callable[[str], Iterable[StepWindow]] = lambda start: (),
) -> str:  # fmt: skip
    """The id of the session that is meant: by its id, the beginning of it, or its name; of one that was ingested by its
    id or the beginning of it."""
    rows = session_rows(document.data.get(SESSIONS.name), sessions)
    exact = [row.session for row in rows if wanted in (row.session, row.name)]
    found = exact or [row.session for row in rows if len(wanted) >= SHORTEST and row.session.startswith(wanted)]
    running = [row.session for row in rows if row.session in found and row.state != ENDED]
    if len(found) == 1 or len(running) == 1:
        return (found if len(found) == 1 else running)[0]
    if not found and len(wanted) >= SHORTEST:
        found = [each.session for each in ingested(wanted)]
        if len(found) == 1:
            return found[0]
    if found:
        hint = f"name one of them by its id: {', '.join(sorted(found))}"
        raise Refused(f"{len(found)} sessions are called {value_text(wanted)}", hint=hint)
    if len(wanted) < SHORTEST:
        hint = f"give its name, or at least {SHORTEST} characters of its id; list them with: liza sessions"
        raise Refused(f"unknown session {value_text(wanted)}", hint=hint)
    labels = [label for row in rows for label in (row.session, row.name) if label]
    meant = did_you_mean(wanted, labels, "list them with: liza sessions")
    raise Refused(f"unknown session {value_text(wanted)}", hint=meant)
