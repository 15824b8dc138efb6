"""A collector on loopback: OTLP over HTTP, decoded with the official protobuf package."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector:
    """What has arrived, in order: spans and logs, each with its attributes as a dictionary."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.spans: list[Any] = []
        self.logs: list[Any] = []
        self.resources: list[dict[str, Any]] = []

    def span(self, name: str) -> Any:
        (found,) = (span for span in self.spans if span.name == name)
        return found

    def log(self, event: str, **has: str) -> Any:
        (found,) = (log for log in self.logs if log.event_name == event and has.items() <= values(log).items())
        return found


def values(source: Any) -> dict[str, Any]:
    """The attributes of a span, a log or a resource."""
    return {each.key: getattr(each.value, str(each.value.WhichOneof("value"))) for each in source.attributes}


@contextmanager
def collector() -> Iterator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.headers["Content-Type"] == "application/x-protobuf"
            if self.path == "/v1/traces":
                for traced in ExportTraceServiceRequest.FromString(body).resource_spans:
                    found.resources.append(values(traced.resource))
                    found.spans += [span for scope in traced.scope_spans for span in scope.spans]
            else:
                assert self.path == "/v1/logs"
                for logged in ExportLogsServiceRequest.FromString(body).resource_logs:
                    found.logs += [log for scope in logged.scope_logs for log in scope.log_records]
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found = Collector(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
