"""Events that no client should send: each has a clear outcome, and none holds up another."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import environment, installed, liza
from tests.clients.hook import SCRIPT, SESSION, event, failing, run, spooled

OTHER = "0b9e8d7c-1111-2222-3333-444455556666"
CALL: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": "a", "tool_use_id": "t1"}
MADE = event("PostToolUse", OTHER, **CALL)


def without(*names: str, **fields: Any) -> dict[str, Any]:
    return {name: value for name, value in {**MADE, **fields}.items() if name not in names}


NO_STEP: dict[str, dict[str, Any] | bytes] = {
    "unknown event": event("TeaTime", OTHER, cup=3),
    "no calls in a batch": event("PostToolBatch", OTHER),
    "no tool": without("tool_name"),
    "a batch of numbers": event("PostToolBatch", OTHER, tool_calls=[1, None]),
}
A_STEP: dict[str, dict[str, Any] | bytes] = {
    "no input": without("tool_input"),
    "no response": without("tool_response"),
    "no id": without("tool_use_id"),
    "no folder": without("cwd"),
    "numbers": without(tool_input=5, tool_response=7, tool_use_id=9, cwd=3, duration_ms="soon"),
    "a duration that is none": without(duration_ms=float("nan")),
    "half a character": without(tool_input="\ud800", tool_response="\udfff", tool_use_id="\ud800", cwd="/\ud800"),
    "NUL": without(tool_input="\0", tool_response="\0", tool_use_id="\0", cwd="/\0"),
    "an escape sequence": without(tool_input="\x1b[2J", cwd="/\x1b[2J\n"),
}
UNREADABLE: dict[str, dict[str, Any] | bytes] = {
    "no session": without("session_id"),
    "a session that is a list": without(session_id=[OTHER]),
    "an empty session": without(session_id=""),
    "no event": without("hook_event_name"),
    "a list": b"[]",
    "half of it": json.dumps(MADE).encode()[:-9],
    "not JSON": b"rm -rf /",
    "not UTF-8": json.dumps(MADE).replace("ls", "\xff").encode("latin-1"),
    "nothing": b"",
    "deep": b"[" * 200_000,
}


@pytest.mark.parametrize(
    ("payload", "steps", "stays"),
    [
        pytest.param(payload, steps, stays, id=name)
        for group, steps, stays in ((NO_STEP, 0, 0), (A_STEP, 1, 0), (UNREADABLE, 0, 1))
        for name, payload in group.items()
    ],
)
def test_odd_event_holds_up_no_other(folder: Path, payload: dict[str, Any] | bytes, steps: int, stays: int) -> None:
    """What can be read becomes a step, what cannot be read stays and is reported; the next event is entered."""
    assert run(folder, "after", payload).code == 0
    assert run(folder, "after", failing("t2")).code == 0
    found = installed(folder, "watch", "--once")
    assert "Traceback" not in found.err
    shown = {each["session"]: each["steps"] for each in liza(folder, "sessions", "--json").json["sessions"]}
    assert (shown.get(OTHER, 0), shown[SESSION], len(spooled(folder))) == (steps, 1, stays)
    assert liza(folder, "doctor", "--json").code in (0, 1)


@pytest.mark.parametrize("name", ["../../etc/passwd", "a\nb", "x" * 10_000, "\ud800", "\0", "-rf", ".", "\x1b[2J"])
@pytest.mark.parametrize("field", ["session_id", "agent_id"])
def test_hostile_name_of_a_session_stays_in_the_folder(folder: Path, field: str, name: str) -> None:
    """A session and a subagent: their steps and their halt are one file each, and the halt holds them."""
    for number in range(5):
        assert run(folder, "after", {**failing(f"t{number}"), field: name}).code == 0
    installed(folder, "watch", "--once")
    assert [file.parent.name for file in (folder / ".liza").rglob("*.jsonl")] == ["steps"]
    assert len(list((folder / ".liza" / "stopped").iterdir())) == 1
    call = event("PreToolUse", **CALL)
    assert run(folder, "before", {**call, field: name}, LIZA_HOOK_LIMIT="60.1").code == 2
    assert run(folder, "before", {**call, "session_id": OTHER}).code == 0
    assert {path.name for path in folder.parent.iterdir()} <= {"shop", "shop.data", "shop.state"}
    assert "\x1b" not in liza(folder, "sessions").out


FULL = """
mount -t tmpfs -o size=16k tmpfs "$BOARD/spool" || exit 99
cat /dev/zero > "$BOARD/spool/.filled" 2> /dev/null
sh "$SCRIPT" claude after
code=$?
rm "$BOARD/spool/.filled"
ls -A "$BOARD/spool"
exit $code
"""


def test_full_disk_loses_a_step_and_no_agent_waits(folder: Path) -> None:
    """Nothing is left of it, and the reason is printed."""
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("only root may mount a disk on this system")
    board = folder / ".liza"
    (board / "spool").mkdir()
    shell = environment(folder, BOARD=str(board), SCRIPT=str(SCRIPT))
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", FULL], cwd=folder, env=shell, capture_output=True, timeout=60, check=False,
        input=json.dumps({**MADE, "tool_response": "x" * 50_000}).encode(),
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"liza doctor" in done.stderr


LACKING = {
    "no tool": (without("tool_name"), 0),
    "no id": (without("tool_use_id"), 1),
    "no result": (without("tool_response"), 1),
    "no error": (without("tool_response", hook_event_name="PostToolUseFailure"), 1),
    "no batch": (event("PostToolBatch", OTHER), 0),
}


@pytest.mark.parametrize(("payload", "steps"), LACKING.values(), ids=list(LACKING))
def test_session_whose_client_reports_less_is_degraded(folder: Path, payload: dict[str, Any], steps: int) -> None:
    run(folder, "after", payload)
    run(folder, "after", failing("t2"))
    installed(folder, "watch", "--once")
    shown = {each["session"]: each for each in liza(folder, "sessions", "--json").json["sessions"]}
    assert (shown[OTHER]["steps"], shown[SESSION]["degraded"]) == (steps, None)
    assert "claude" in shown[OTHER]["degraded"]
    assert "DEGRADED" in liza(folder, "sessions").out
    assert "1 DEGRADED" in liza(folder, "status").out
    assert [each["degraded"] is None for each in liza(folder, "status", "--json").json["sessions"]].count(False) == 1


def test_unknown_fields_are_ignored(folder: Path) -> None:
    run(folder, "after", {**MADE, "from_the_future": {"deep": [1]}})
    installed(folder, "watch", "--once")
    (row,) = liza(folder, "sessions", "--json").json["sessions"]
    assert (row["steps"], row["degraded"]) == (1, None)


def test_event_of_another_version_of_the_hook_is_reported(folder: Path) -> None:
    run(folder, "after", MADE)
    (name,) = spooled(folder)
    file = folder / ".liza" / "spool" / name
    file.write_bytes(file.read_bytes().replace(b"liza 1\n", b"liza 9\n", 1))
    assert "another version of liza" in installed(folder, "watch", "--once").out
    assert liza(folder, "sessions", "--json").json["sessions"] == []
