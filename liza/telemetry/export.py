"""The SDK of OpenTelemetry, set up so that a dead collector delays nothing.

What is to be exported is put into a queue of a fixed length, which threads of the SDK send over HTTP; what does not fit
is dropped. A failure is reported to `liza status`, not logged.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from opentelemetry._logs import Logger
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import Tracer

from liza import __version__
from liza.telemetry.settings import BOTH, LOGS, TRACES

TARGET = "OpenTelemetry"  # how `liza status` calls it
_PATIENCE = 2.0  # seconds for what waits when the daemon ends

Outcome = Callable[[str, str | None], None]  # what was not reached, and why; None if it was


class _Spans(OTLPSpanExporter):
    """Reports whether the collector was reached."""

    outcome: Outcome

    def export(self, spans: Any) -> SpanExportResult:
        found = super().export(spans)
        self.outcome(f"{TARGET} traces", None if found is SpanExportResult.SUCCESS else "the collector was not reached")
        return found


class _Logs(OTLPLogExporter):
    """The same for logs."""

    outcome: Outcome

    def export(self, batch: Any) -> LogRecordExportResult:
        found = super().export(batch)
        is_sent = found is LogRecordExportResult.SUCCESS
        self.outcome(f"{TARGET} logs", None if is_sent else "the collector was not reached")
        return found


class Exporter:
    """The tracer and the logger of one daemon."""

    def __init__(self, project: str, outcome: Outcome, environment: Mapping[str, str] = os.environ) -> None:
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)
        resource = Resource.create({"service.name": "liza", "service.version": __version__, "liza.project": project})
        self._traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._logs = LoggerProvider(resource=resource, shutdown_on_exit=False)
        if environment.get(BOTH) or environment.get(TRACES):
            spans = _Spans()
            spans.outcome = outcome
            self._traces.add_span_processor(BatchSpanProcessor(spans))
        if environment.get(BOTH) or environment.get(LOGS):
            logs = _Logs()
            logs.outcome = outcome
            self._logs.add_log_record_processor(BatchLogRecordProcessor(logs))

    @property
    def tracer(self) -> Tracer:
        return self._traces.get_tracer("liza", __version__)

    @property
    def logger(self) -> Logger:
        return self._logs.get_logger("liza", __version__)

    def stop(self) -> None:
        """Send what waits, for a moment: the threads of the SDK wait longer, and end with the process."""
        end = time.monotonic() + _PATIENCE
        ending = [threading.Thread(target=each.shutdown, daemon=True) for each in (self._traces, self._logs)]
        for each in ending:
            each.start()
        for each in ending:
            each.join(max(end - time.monotonic(), 0.0))
