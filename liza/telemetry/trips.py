"""Trips as logs when they begin and end, and as spans from the trip to the decision."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from opentelemetry._logs import Logger, LogRecord, SeverityNumber
from opentelemetry.trace import Span, SpanKind, Tracer, set_span_in_context

from liza.model import parse_time
from liza.scopes.history.section import decision_on, named
from liza.text import one_line

_LONG = 500
Attributes = dict[str, str]


class TripSpans:
    """Compares what is open with what was open at the last look."""

    def __init__(self, tracer: Tracer, logger: Logger, began: datetime) -> None:
        self._tracer, self._logger = tracer, logger
        # What was open before was reported by the daemon before us. Times on the blackboard are whole seconds.
        self._began = began.replace(microsecond=0)
        self._open: dict[str, tuple[Span, Attributes]] = {}

    def look(self, trigger: Mapping[str, Any] | None, section: Any, others: Mapping[str, str], now: datetime) -> None:
        """`others` are the open trips of narrower scopes: a text by an id that begins with the kind of scope."""
        found = {**({} if trigger is None else _sprint(trigger)), **{key: _other(key, others[key]) for key in others}}
        for key in found.keys() - self._open.keys():
            self._begin(key, *found[key], now)
        for key in self._open.keys() - found.keys():
            entry = decision_on(section, {"trip_id": key}) if isinstance(section, Mapping) else None
            self._end(key, entry or {}, now)

    def _begin(self, key: str, text: str, attributes: Attributes, since: datetime | None, now: datetime) -> None:
        start = since or now
        name = f"trip {attributes.get('liza.rule') or attributes['liza.scope']}"
        span = self._tracer.start_span(name, None, SpanKind.INTERNAL, attributes, start_time=_ns(start))
        self._open[key] = (span, attributes)
        if since is None or since >= self._began:
            self._log("liza.trip", SeverityNumber.ERROR, text, attributes, span, now)

    def _end(self, key: str, entry: Mapping[str, Any], now: datetime) -> None:
        span, attributes = self._open.pop(key)
        names = {"resolution": "liza.resolution", "resolved_by": "liza.resolved_by", "cause": "liza.cause"}
        decided = {attribute: one_line(entry[name], _LONG) for name, attribute in names.items() if entry.get(name)}
        span.set_attributes(decided)
        text = decided.get("liza.resolution") or f"over: {attributes.get('liza.rule') or attributes['liza.scope']}"
        self._log("liza.resolution", SeverityNumber.INFO, text, {**attributes, **decided}, span, now)
        span.end(_ns(now))

    def _log(
        self, event: str, severity: SeverityNumber, text: str, attributes: Attributes, span: Span, now: datetime
    ) -> None:
        self._logger.emit(
            LogRecord(
                timestamp=_ns(now),
                context=set_span_in_context(span),
                severity_number=severity,
                severity_text=severity.name,
                body=text,
                attributes=attributes,
                event_name=event,
            )
        )

    def stop(self) -> None:
        """The daemon ends, the trips stay open: what is known of them is exported."""
        for span, _ in self._open.values():
            span.end()


def _sprint(trigger: Mapping[str, Any]) -> dict[str, tuple[str, Attributes, datetime | None]]:
    key = str(trigger.get("trip_id") or trigger.get("timestamp"))
    attributes = {
        "liza.scope": "sprint",
        "liza.rule": one_line(trigger.get("pattern") or "", 100),
        "liza.severity": one_line(trigger.get("severity") or "", 100),
        "liza.trip_id": one_line(key, 100),
    }
    return {key: (one_line(named(trigger), _LONG), attributes, parse_time(trigger.get("timestamp")))}


def _other(key: str, text: str) -> tuple[str, Attributes, None]:
    scope, _, rest = key.partition(" ")
    name = rest.rpartition(" ")[0]
    session = {"gen_ai.conversation.id": name} if scope == "session" else {}
    return one_line(text, _LONG), {"liza.scope": scope, "liza.name": one_line(name, 100), **session}, None


def _ns(time: datetime) -> int:
    return int(time.timestamp() * 1e9)
