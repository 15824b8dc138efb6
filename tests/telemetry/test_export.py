"""Trips and sessions in OpenTelemetry, received by a real collector; and collectors that are not there."""

import json
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from tests.cli.run import liza
from tests.clients.hook import SESSION, event, failing, spooled
from tests.clients.hook import run as run_hook
from tests.daemon.daemon import RETRIES, Daemon, Watched, until
from tests.daemon.served import hanging, refusing
from tests.telemetry.collector import collector, values

SUBAGENT = "agent-5"
# Milliseconds, and seconds.
FAST = {"OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_BLRP_SCHEDULE_DELAY": "50", "OTEL_EXPORTER_OTLP_TIMEOUT": "0.2"}


def done(call: str, **fields: Any) -> dict[str, Any]:
    """A call that went well."""
    given: dict[str, Any] = {
        "tool_name": "Read",
        "tool_input": {"file_path": call},
        "tool_response": "text",
        "tool_use_id": call,
    }
    return event("PostToolUse", **given, **fields)


def test_trips_and_sessions_arrive_by_the_conventions(tmp_path: Path) -> None:
    with collector() as found:
        board = Watched(tmp_path / "team")
        with Daemon(board.root, env={"OTEL_EXPORTER_OTLP_ENDPOINT": found.url, **FAST}) as daemon:
            board.beats(2)
            usage = {"usage": {"input_tokens": 100, "output_tokens": 7}, "model": "claude-sonnet-4-5"}
            for payload in (
                {**done("read-1", duration_ms=1500), **usage},
                failing("call-1"),
                done("read-2", agent_id=SUBAGENT),
                event("SubagentStop", agent_id=SUBAGENT),
                event("Stop"),
            ):
                assert run_hook(board.root, "after", payload, LIZA_AGENT="coder-7", LIZA_TASK="task-3").code == 0
            until(lambda: [each for each in found.spans if each.name == "invoke_agent coder-7"], "the run is over")
            board.report_anomalies(*RETRIES)
            trip = board.halted()["trip"]
            until(lambda: found.logs, "the trip is logged")
            assert liza(board.root, "resolve", "-m", "use a queue", "--by", "ann").code == 0
            until(lambda: len(found.logs) == 2 and found.spans[-1].name.startswith("trip"), "it is over")
            assert daemon.stop() == 0
    assert {(each["service.name"], each["liza.project"]) for each in found.resources} == {("liza", "team")}
    runs = {values(each)["gen_ai.agent.id"]: each for each in found.spans if each.name == "invoke_agent coder-7"}
    run = runs[SESSION]
    about = {"gen_ai.conversation.id": SESSION, "gen_ai.agent.name": "coder-7", "gen_ai.provider.name": "anthropic"}
    used = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 7}
    expected = {"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": "claude-sonnet-4-5"}
    assert {**about, **used, **expected}.items() <= values(run).items()
    tools = {values(each)["gen_ai.tool.call.id"]: each for each in found.spans if each.name.startswith("execute_tool")}
    read, failed = tools["read-1"], tools["call-1"]
    call = {**about, "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "Read"}
    assert call.items() <= values(read).items()
    assert (read.parent_span_id, read.end_time_unix_nano - read.start_time_unix_nano) == (run.span_id, 1_500_000_000)
    assert run.start_time_unix_nano <= read.start_time_unix_nano <= run.end_time_unix_nano
    assert (failed.status.code, values(failed)["error.type"]) == (Status.STATUS_CODE_ERROR, "failed")
    assert values(tools["read-2"])["gen_ai.conversation.id"] == SESSION  # of a subagent
    assert runs[SUBAGENT].parent_span_id == run.span_id
    span, begun, ended = found.span("trip retry_cluster"), found.log("liza.trip"), found.log("liza.resolution")
    assert values(span)["liza.trip_id"] == values(begun)["liza.trip_id"] == values(ended)["liza.trip_id"] == trip
    assert (values(ended)["liza.resolution"], values(ended)["liza.resolved_by"]) == ("use a queue", "ann")
    assert begun.span_id == ended.span_id == span.span_id


def test_stopped_session_ends_with_an_error_and_is_logged(tmp_path: Path) -> None:
    with collector() as found:
        board = Watched(tmp_path / "team")
        with Daemon(board.root, env={"OTEL_EXPORTER_OTLP_ENDPOINT": found.url, **FAST}) as daemon:
            board.beats(2)
            for number in range(5):
                assert run_hook(board.root, "after", failing(f"call-{number}"), LIZA_ON_HALT="block").code == 0
            until(lambda: [each for each in found.spans if each.name == "invoke_agent claude"], "the run is over")
            until(lambda: found.logs, "the stop is logged")
            assert daemon.stop() == 0
    run, log = found.span("invoke_agent claude"), found.log("liza.trip", **{"liza.scope": "session"})
    assert (run.status.code, values(run)["error.type"]) == (Status.STATUS_CODE_ERROR, "stopped")
    assert values(log)["gen_ai.conversation.id"] == SESSION
    assert "pytest" not in json.dumps([str(each) for each in found.spans])  # what agents write is not exported


@pytest.mark.parametrize("kind", ["dead", "hanging"])
def test_collector_that_does_not_answer_delays_nothing_and_is_reported(tmp_path: Path, kind: str) -> None:
    """Although it has spans to export when the trip comes."""
    with hanging() if kind == "hanging" else refusing() as endpoint:
        patient = {"OTEL_EXPORTER_OTLP_TIMEOUT": "30"} if kind == "hanging" else {}
        board = Watched(tmp_path / "team")
        with Daemon(board.root, env={"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, **FAST, **patient}) as daemon:
            board.beats(2)
            for payload in (failing("call-1"), event("Stop")):
                assert run_hook(board.root, "after", payload).code == 0
            until(lambda: not spooled(board.root), "the daemon has read them")
            board.report_anomalies(*RETRIES)
            until(board.checkpoint.exists, "the agents are halted", patience=1.5)
            if kind == "dead":
                until(lambda: "OpenTelemetry logs" in str(board.facts["not_sent"]), "it is reported")
                assert daemon.stop() == 0
                assert daemon.errors() == ""
