"""`liza mcp`: the tools and resources, bad input, and clients that go away."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp_types import INVALID_PARAMS

from tests.cli.run import LIZA, anomalies, environment, installed, liza
from tests.mcp.session import Session, talk

ERROR = "serialization failure on nested entity"


def test_agent_reports_is_halted_and_reads_the_decision(folder: Path) -> None:
    async def say(session: Session) -> None:
        for task in ("task-1", "task-2", "task-3"):
            details = {"error_pattern": ERROR, "count": 3}
            added = await session.call("report_anomaly", type="retry_loop", task=task, details=details)
            assert (added["recorded"], added["warnings"]) == (True, [])
        near = (await session.call("status"))["near"][0]
        assert (near["rule"], near["count"], near["trips_at"]) == ("retry_cluster", 3, 3)
        assert liza(folder, "analyze").code == 3
        halted = await session.call("why_halted")
        assert (halted["may_continue"], halted["trip"]["pattern"]) == (False, "retry_cluster")
        assert ERROR in await session.read(halted["report"])
        assert "retry_cluster" in await session.read("liza://rules")
        assert (await session.call("decisions", about=ERROR))["decisions"] == []
        assert liza(folder, "resolve", "-m", "entities are flattened", "--by", "ann").code == 0
        assert (await session.call("why_halted"))["may_continue"] is True
        (found,) = (await session.call("decisions", about="nested entity fails"))["decisions"]
        assert (found["on"], found["decision"], found["by"]) == ("retry_cluster", "entities are flattened", "ann")
        assert (await session.call("decisions", about="payment provider timeouts"))["decisions"] == []

    talk(folder, say, LIZA_AGENT="coder-7")
    assert {each["reporter"] for each in anomalies(folder)} == {"coder-7"}


def test_slice_and_claim_are_stopped(folder: Path) -> None:
    assert liza(folder, "claim", "add", "C-001", "--text", "caching helps").code == 0

    async def say(session: Session) -> None:
        await session.call("record_attempt", slice="S-3", test="test_x", result="started", strategy="cache it")
        for number in (1, 2, 3):
            done = await session.call("record_attempt", slice="S-3", test="test_x", result="failed", error="E  1 == 2")
            assert (done["failures_in_a_row"], done["may_continue"]) == (number, number < 3)
        assert (await session.call("why_halted", slice="S-3"))["may_continue"] is False
        objection = {"text": "the benchmark has no warm-up", "response": "it is warm enough as it is"}
        rounds = [await session.call("record_round", claim="C-001", objections=[objection]) for _ in range(3)]
        assert [each["may_continue"] for each in rounds] == [True, True, False]
        assert liza(folder, "attempt", "reset", "--slice", "S-3", "-m", "drop the cache", "--by", "ann").code == 0
        (found,) = (await session.call("decisions", about="S-3 cache"))["decisions"]
        assert (found["on"], found["decision"]) == ("slice S-3", "drop the cache")

    talk(folder, say)


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("report_anomaly", {}, "type"),
    ("report_anomaly", {"type": 5, "task": "t"}, "type"),
    ("report_anomaly", {"type": "retry_loop", "task": "t", "tsak": "t"}, "tsak"),
    ("report_anomaly", {"type": "retry_loop", "task": "t", "details": ["a"]}, "details"),
    ("report_anomaly", {"type": "retry_loop", "task": "t", "details": {"count": 3}}, "error_pattern"),
    ("report_anomaly", {"type": "note", "task": "t", "details": {"what": "x" * 3_000_000}}, "details"),
    ("report_anomaly", {"type": "note"}, "LIZA_TASK"),
    ("record_attempt", {"slice": "S", "test": "t", "result": "broken"}, "result"),
    ("record_attempt", {"slice": "S", "test": "t", "result": "failed", "error": "x" * 3_000_000}, "error"),
    ("record_attempt", {"slice": "S", "result": "failed"}, "test"),
    ("record_round", {"claim": "C-404", "objections": [{"text": "a", "response": "b"}]}, "C-404"),
    ("record_round", {"claim": "C-404", "objections": []}, "objections"),
    ("decisions", {"limit": 10**9}, "limit"),
]


def test_bad_input_is_named_and_changes_nothing(folder: Path) -> None:
    before = (folder / ".liza" / "state.yaml").read_bytes()

    async def say(session: Session) -> None:
        for tool, arguments, named in BAD:
            is_error, text = await session.ask(tool, **arguments)
            assert (is_error, named in text, len(text) < 1_000) == (True, True, True), text
            assert not any(words in text for words in ("Field ", "Input ", "Extra ", "Value error")), text
        writing = {"report_anomaly", "record_attempt", "record_round"}
        listed = (await session.client.list_tools()).tools
        assert {each.name for each in listed} == {*writing, "status", "why_halted", "decisions"}  # none that resolves
        assert {each.name for each in listed if each.annotations and not each.annotations.read_only_hint} == writing
        for name in ("resolve", "session_resume", "report_anomali"):
            with pytest.raises(MCPError) as error:
                await session.ask(name)
            assert (error.value.code, "report_anomaly" in error.value.message) == (INVALID_PARAMS, True)
        with pytest.raises(MCPError, match="liza://report"):
            await session.read("liza://state")
        assert (await session.call("status"))["state"] == "ok"

    talk(folder, say)
    assert (folder / ".liza" / "state.yaml").read_bytes() == before


def test_without_a_blackboard_the_answer_says_how_to_get_one(tmp_path: Path) -> None:
    async def say(session: Session) -> None:
        is_error, text = await session.ask("status")
        assert (is_error, "liza init" in text) == (True, True)
        assert liza(tmp_path, "init").code == 0
        assert (await session.call("status"))["state"] == "ok"

    talk(tmp_path, say)


def test_client_that_disconnects_ends_it(folder: Path) -> None:
    """At once, within a message, after nonsense, and without reading the answer."""
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening}).encode() + b"\n"
    pipe = subprocess.PIPE
    servers = {
        sent: subprocess.Popen([LIZA, "mcp"], cwd=folder, env=environment(folder), stdin=pipe, stdout=pipe, stderr=pipe)
        for sent in (b"", hello[:60], b"no json\n\xff\n", hello)
    }
    for sent, server in servers.items():
        assert server.stdout is not None
        if sent == hello:
            server.stdout.close()
            server.stdout = None
        out, err = server.communicate(sent, timeout=30)
        assert (server.returncode, b"Traceback" in err) == (0, False), err
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in (out or b"").splitlines())


def test_without_its_packages_the_command_to_install_them_is_given(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text("import sys\nsys.modules['mcp'] = None\n")
    done = installed(folder, "mcp", PYTHONPATH=str(folder))
    assert (done.code, done.hint().endswith("-m pip install 'liza[mcp]'")) == (1, True)
    assert installed(folder, "install", "claude", "--mcp", PYTHONPATH=str(folder)).hint() == done.hint()
