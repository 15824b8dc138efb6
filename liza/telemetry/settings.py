"""Whether anything is exported: the environment variables of OpenTelemetry decide, as for every program."""

from collections.abc import Mapping

TRACES, LOGS = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"
BOTH = "OTEL_EXPORTER_OTLP_ENDPOINT"


def is_wanted(environment: Mapping[str, str]) -> bool:
    """Whether an endpoint is set, and the SDK is not switched off."""
    is_off = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    return not is_off and any(environment.get(name) for name in (BOTH, TRACES, LOGS))
