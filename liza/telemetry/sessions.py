"""Sessions as spans, by OpenTelemetry's conventions for generative AI.

`invoke_agent` is one run of a session: from its first tool call until the model's turn is over, the session ends or is
stopped. Each tool call is an `execute_tool` below it, and the runs of a subagent are below that of the session that
started it. What agents read and write is not exported: of an error its one line.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from liza.clients.event import FAILURES
from liza.model import parse_time
from liza.scopes.sessions.spending import payer_of
from liza.scopes.sessions.step_window import StepWindow
from liza.text import one_line

# As the conventions call those whose models a client calls by default.
_PROVIDERS = {"claude": "anthropic", "codex": "openai", "gemini": "gcp.gemini"}
_LONG = 300


class _Run(NamedTuple):
    """A span that has not ended, and when it began."""

    span: Span
    began: str


class SessionSpans:
    """Makes spans of the steps that are new since the last look; of earlier ones none is made."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._counts: dict[str, int] | None = None  # steps of each session that were seen
        self._runs: dict[str, _Run] = {}

    def look(self, windows: Mapping[str, StepWindow], stopped: Collection[str]) -> None:
        if self._counts is None:
            self._counts = {name: window.count for name, window in windows.items()}
        for name, window in windows.items():
            new = window.count - self._counts.get(name, 0)
            self._counts[name] = window.count
            for step in list(window.steps)[-new:] if new > 0 else ():
                self._export_step(name, windows, step)
        for name in list(self._runs):
            known = windows.get(name)
            if known is None or known.ended or known.is_turn_over or name in stopped:
                self._end(name, known, is_stopped=name in stopped)

    def _export_step(self, name: str, windows: Mapping[str, StepWindow], step: Mapping[str, Any]) -> None:
        end = _ns(step.get("time"))
        seconds = step.get("seconds")
        start = end - int(seconds * 1e9) if isinstance(seconds, int | float) and 0 <= seconds < 1e6 else end
        run, outcome = self._run(name, windows, start, str(step.get("time"))), str(step.get("outcome"))
        call = {"gen_ai.tool.call.id": str(step["id"])} if step.get("id") else {}
        failed = {"error.type": outcome} if outcome in FAILURES else {}
        tool = one_line(step.get("tool"), 100)
        span = self._tracer.start_span(
            f"execute_tool {tool}",
            set_span_in_context(run.span),
            SpanKind.INTERNAL,
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": tool,
                "gen_ai.tool.type": "function",
                "liza.outcome": outcome,
                **_about(name, windows),
                **call,
                **failed,
            },
            start_time=start,
        )
        if failed:
            span.set_status(Status(StatusCode.ERROR, one_line(step.get("error") or outcome, _LONG)))
        span.end(end)

    def _run(self, name: str, windows: Mapping[str, StepWindow], start: int, time: str) -> _Run:
        """The run of a session; it begins with a step."""
        if name not in self._runs:
            about = windows[name].about
            parent = self._runs.get(about.get("parent", ""))
            context = set_span_in_context(parent.span) if parent is not None else None
            attributes = {"gen_ai.operation.name": "invoke_agent", **_about(name, windows)}
            attributes |= {"gen_ai.request.model": about["model"]} if "model" in about else {}
            attributes |= {"liza.task": one_line(about["task"], 100)} if "task" in about else {}
            span = self._tracer.start_span(
                f"invoke_agent {attributes['gen_ai.agent.name']}",
                context,
                SpanKind.INTERNAL,
                attributes,
                start_time=start,
            )
            self._runs[name] = _Run(span, time)
        return self._runs[name]

    def _end(self, name: str, window: StepWindow | None, *, is_stopped: bool) -> None:
        run = self._runs.pop(name)
        if window is not None:
            used = [each for each in window.usage if str(each.get("time")) >= run.began]
            for attribute, field in (("input", "tokens_in"), ("output", "tokens_out")):
                if (tokens := _sum(used, field)) is not None:
                    run.span.set_attribute(f"gen_ai.usage.{attribute}_tokens", tokens)
        if is_stopped:
            run.span.set_attribute("error.type", "stopped")
            run.span.set_status(Status(StatusCode.ERROR, "stopped by liza"))
        run.span.end(_ns(window.last if window is not None else None) or None)

    def stop(self) -> None:
        """The daemon ends, the sessions go on: what is known of them is exported."""
        for name in list(self._runs):
            self._end(name, None, is_stopped=False)


def _about(name: str, windows: Mapping[str, StepWindow]) -> dict[str, str]:
    about = windows[name].about
    client = about.get("client", "unknown")
    return {
        "gen_ai.provider.name": _PROVIDERS.get(client, client),
        "gen_ai.agent.id": name,
        "gen_ai.agent.name": one_line(about.get("name") or client, 100),
        "gen_ai.conversation.id": payer_of(name, windows),
    }


def _sum(entries: Iterable[Mapping[str, Any]], field: str) -> int | None:
    found = [value for each in entries if type(value := each.get(field)) is int]
    return sum(found) if found else None


def _ns(time: Any) -> int:
    """A time of a step as OpenTelemetry counts; 0 where it is none."""
    found: datetime | None = parse_time(time)
    return int(found.timestamp() * 1e9) if found is not None else 0
