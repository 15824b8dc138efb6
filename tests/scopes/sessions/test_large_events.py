"""Events that are too large to be read whole, through the real hook."""

import json
import subprocess
from pathlib import Path
from typing import Any

from liza.clients.truncated_event import read_cut
from tests.cli.run import LIZA, environment, installed, liza
from tests.clients.hook import SESSION, event, failing, run, spooled

LARGE = 100 << 20
COMMAND: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "cat big.log"}, "tool_use_id": "t1"}


def large(session: str = SESSION, size: int = LARGE) -> bytes:
    """A command that printed as much, its quotes escaped and the id behind the result as Claude Code has it."""
    before = event("PostToolUse", session, tool_name="Bash", tool_input=COMMAND["tool_input"])
    head = json.dumps(before)[:-1] + ', "tool_response": {"stdout": "'
    tail = '", "stderr": "", "interrupted": false}, "tool_use_id": "t1", "duration_ms": 23}'
    line = 'a \\"tool_use_id\\": \\"other\\" line\\n'
    return (head + line * (size // len(line)) + tail).encode()


def steps(folder: Path) -> list[dict[str, Any]]:
    raw = (folder / ".liza" / "steps" / f"{SESSION}.jsonl").read_text()
    return [json.loads(line) for line in raw.splitlines()]


def test_large_result_becomes_a_step(folder: Path) -> None:
    assert run(folder, "after", large()) == (0, "", "")
    installed(folder, "watch", "--once")
    (step,) = steps(folder)
    wanted = {"session": SESSION, "tool": "Bash", "id": "t1", "outcome": "ok", "input": '{"command": "cat big.log"}'}
    assert {name: step[name] for name in wanted} == wanted
    assert step["bytes"] > LARGE
    assert "tool_use_id" in step["result"]
    assert len(step["result"].encode()) <= 4096
    assert spooled(folder) == []


def test_large_result_is_reported_once(folder: Path) -> None:
    run(folder, "after", large(size=20 << 20))
    first, second = (installed(folder, "watch", "--once") for _ in range(2))
    assert SESSION in first.out
    assert SESSION not in second.out
    assert installed(folder, "watch", "--once").code == 0


def test_memory_of_the_daemon_stays_bounded(folder: Path) -> None:
    run(folder, "after", large())
    script = (
        "import resource,sys\nfrom liza.scopes.sessions.intake import take_spool\nfrom liza.store.paths import Paths\n"
        "before=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"taken=take_spool(Paths({str(folder / '.liza')!r}), {{}})\n"
        "print(taken.events, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss-before)"
    )
    python = str(Path(LIZA).parent / "python")
    done = subprocess.run(
        [python, "-c", script], env=environment(folder), capture_output=True, text=True, check=True, timeout=60
    )
    events, kilobytes = map(int, done.stdout.split())
    assert events == 1
    assert kilobytes < 30_000


def test_batch_does_not_report_the_call_again(folder: Path) -> None:
    run(folder, "after", large(size=20 << 20))
    call = {**COMMAND, "tool_response": "x" * (20 << 20)}
    run(folder, "after", event("PostToolBatch", tool_calls=[call]))
    installed(folder, "watch", "--once")
    assert liza(folder, "sessions", "--json").json["sessions"][0]["steps"] == 1
    assert spooled(folder) == []


def test_results_of_different_sizes_differ(folder: Path) -> None:
    for size in (20 << 20, 21 << 20):
        run(folder, "after", large(size=size))
    installed(folder, "watch", "--once")
    one, other = steps(folder)
    assert one["call"] == other["call"]
    assert one["answer"] != other["answer"]


def test_stopped_session_is_held_at_a_large_call(folder: Path) -> None:
    for number in range(5):
        run(folder, "after", failing(f"t{number}"))
    installed(folder, "watch", "--once")
    given = event("PreToolUse", tool_name="Write", tool_input={"content": "x" * (20 << 20)}, tool_use_id="next")
    assert run(folder, "before", given, LIZA_HOOK_LIMIT="60.5").code == 2
    assert run(folder, "before", {**given, "session_id": "another"}).code == 0


def test_large_file_that_is_not_an_event_stays(folder: Path) -> None:
    run(folder, "after", b"[" * (17 << 20))
    run(folder, "after", failing("t1"))
    installed(folder, "watch", "--once")
    assert len(spooled(folder)) == 1
    assert len(steps(folder)) == 1


def test_every_cut_of_an_event_is_read_or_refused() -> None:
    response: dict[str, Any] = {"stdout": 'é "\\ \u2028 x', "codes": [1, 2.5, None, {"a": []}]}
    given = event("PostToolUse", **COMMAND, tool_response=response)
    raw = json.dumps(given).encode() + b" "
    whole = json.dumps(given, ensure_ascii=False).encode()
    for text in (raw, whole):
        for length in range(1, len(text)):
            found = read_cut(text[:length], text[-40:], 1 << 30)
            assert found.keys() <= {*given, "error", "tool_response"}
            session = found.get("session_id")
            assert session is None or "[cut" in session or session == SESSION
    assert read_cut(raw, b"", 1)["tool_response"] == given["tool_response"]
