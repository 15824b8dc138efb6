"""`liza ingest`: transcripts that nobody followed become sessions that ended, each step once."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from liza.store import steps, tail
from liza.store.paths import Paths
from tests.cli.run import Result, installed, liza, on_a_terminal
from tests.clients.hook import event, run
from tests.clients.transcripts import CODEX_SESSION, SESSION, ClaudeWriter, CodexWriter, append, place, raw, writer


def ingest(folder: Path, *places: Path | str) -> Result:
    return liza(folder, "ingest", *map(str, places), "--json")


def transcript(folder: Path, client: str, failures: int = 6) -> Path:
    made = writer(client, "/home/dev/shop")
    file = place(folder.parent / "other", made)
    failing = [line for number in range(failures) for line in made.call(f"t{number}")]
    append(file, [*made.begin(), *failing, *made.end()])
    return file


def lines(folder: Path, session: str) -> list[dict[str, Any]]:
    return [dict(line) for line in steps.read_all(Paths(str(folder / ".liza")), session).lines]


def made_steps(folder: Path, session: str) -> list[dict[str, Any]]:
    return [line for line in lines(folder, session) if "call" in line]


@pytest.mark.parametrize(("client", "session"), [("claude", SESSION), ("codex", CODEX_SESSION)])
def test_ingested_session_can_be_replayed_and_explained(folder: Path, client: str, session: str) -> None:
    file = transcript(folder, client)
    (found,) = ingest(folder, file).json["transcripts"]
    wanted = {"client": client, "sessions": [session], "steps": 6, "usage": 7 if client == "claude" else 6, "broken": 0}
    assert {name: found[name] for name in wanted} == wanted
    replayed = liza(folder, "replay", "--session", session[:8], "--json").json
    trips = {each["rule"]: each["steps"] for each in replayed["replays"][0]["sessions"]}
    assert (trips["repeated_failure_warning"], trips["repeated_failure"]) == (3, 5)
    assert liza(folder, "rules", "explain", "repeated_failure", "--session", session, "--json").code == 0
    (row,) = liza(folder, "sessions", "--all", "--json").json["sessions"]
    assert (row["session"], row["state"], row["steps"], row["client"]) == (session, "ended", 6, client)
    assert liza(folder, "sessions", "--json").json["sessions"] == []
    listed = liza(folder, "sessions").out
    assert ("sessions --all" in listed, "liza install" in listed) == (True, False)
    for command in ("stop", "resume"):
        ran = liza(folder, "session", command, session[:8], "-m", "x")
        assert (ran.code, "has ended" in ran.err, "sessions --all" in ran.hint()) == (1, True, True)


def test_steps_that_cannot_be_read_are_a_problem_in_the_list(folder: Path) -> None:
    (folder / ".liza/steps").touch()
    ran = liza(folder, "sessions")
    assert (ran.code, ran.out.startswith("! "), "liza install" in ran.out) == (0, True, False)


def test_ingested_session_stops_nobody_and_raises_no_alarm(folder: Path) -> None:
    for number in range(4):  # four sessions with the same error at the same time halt everyone while they run
        made = ClaudeWriter("/home/dev/shop", f"{number}-old", clock=None)
        made.clock.start = None
        append(folder / "old" / f"{number}.jsonl", [line for n in range(6) for line in made.call(f"t{n}")])
    assert len(ingest(folder, folder / "old").json["transcripts"]) == 4
    for command in (("watch", "--once"), ("analyze",)):
        assert installed(folder, *command).code == 0
    assert not (folder / ".liza" / "stopped").exists()
    assert not (folder / ".liza" / "CHECKPOINT").exists()
    assert not (folder / ".liza" / "alerts.log").exists()


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_repeated_ingest_adds_nothing_and_a_longer_transcript_the_rest(folder: Path, client: str) -> None:
    made = writer(client, "/home/dev/shop")
    file = place(folder, made)
    append(file, [*made.begin(), *made.call("t1")])
    ingest(folder, file)
    before = lines(folder, made.session)
    other = folder / "copy.jsonl"
    other.write_bytes(file.read_bytes())
    for each in (file, other, folder):
        assert sum(found["steps"] + found["usage"] for found in ingest(folder, each).json["transcripts"]) == 0
    assert lines(folder, made.session) == before
    append(file, made.call("t2"))
    (found,) = ingest(folder, file).json["transcripts"]
    assert found["steps"] == 1
    assert [step["id"] for step in made_steps(folder, made.session)] == ["t1", "t2"]


def test_subagents_are_sessions_of_their_parent(folder: Path) -> None:
    made, agent = ClaudeWriter("/home/dev/shop"), ClaudeWriter("/home/dev/shop", agent="a0ff")
    for each in (made, agent):
        append(place(folder / "other", each), [*each.begin(), *each.call("t1")])
    found = ingest(folder, folder / "other").json["transcripts"]
    assert [each["sessions"] for each in found] == [[SESSION], ["a0ff"]]
    rows = liza(folder, "sessions", "--all", "--json").json["sessions"]
    assert {row["session"]: row["parent"] for row in rows} == {SESSION: None, "a0ff": SESSION}


def test_session_that_a_hook_reported_gets_only_what_the_hook_lacks(folder: Path) -> None:
    """Codex's hook gives no exit code and no tokens; the command printed nothing that looks like an error."""
    made = CodexWriter("/home/dev/shop")
    given = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "t1", "tool_response": "red\n"}
    run(folder, "after", event("PostToolUse", made.session, **given), client="codex")
    installed(folder, "watch", "--once")
    (before,) = made_steps(folder, made.session)
    assert (before["outcome"], "exit_code" in before) == ("unknown", False)
    append(place(folder, made), [*made.begin(), *made.call("t1", "make", "red\n")])
    (found,) = ingest(folder, place(folder, made)).json["transcripts"]
    assert (found["steps"], found["usage"]) == (0, 1)
    assert len(made_steps(folder, made.session)) == 1
    (row,) = liza(folder, "sessions", "--json").json["sessions"]
    assert (row["steps"], row["tokens"], row["state"], row["last_error"]) == (1, 100, "running", "red")
    assert ingest(folder, place(folder, made)).json["transcripts"][0]["usage"] == 0


# --- bad input --------------------------------------------------------------------------------------------------------


def test_damaged_transcript_gives_what_can_be_read(folder: Path) -> None:
    made = ClaudeWriter("/home/dev/shop")
    good, bad = raw([*made.begin(), *made.call("t1")]), b'{"type": "user", \n\xff\xfe\x00\n[1]\nnull\n\n'
    invalid = raw(made.call("t2", text="exit \x00 \u202e \x1b[31m")).replace(b"pytest", b"py\xfftest")
    cut = raw(made.call("t3"))[:-40]  # while it is written, or for good
    file = folder / "damaged.jsonl"
    file.write_bytes(good + bad + invalid + cut)
    (found,) = ingest(folder, file).json["transcripts"]
    assert (found["steps"], found["broken"]) == (2, 5)
    shown = liza(folder, "sessions", "--all").out
    assert ("\x1b[31m" in shown, "\x00" in shown, "\u202e" in shown) == (False, False, False)


def test_secrets_are_masked(folder: Path) -> None:
    made = ClaudeWriter("/home/dev/shop")
    secret = "sk-ant-0123456789abcdef0123"
    append(place(folder, made), [*made.begin(), *made.call("t1", f"curl -H 'x: {secret}'", f"Exit code 1\n{secret}")])
    assert ingest(folder, place(folder, made)).json["transcripts"][0]["steps"] == 1
    (file,) = (folder / ".liza" / "steps").iterdir()
    assert secret not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600


def test_line_that_is_too_long_is_skipped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from liza.scopes.sessions import ingest as module

    monkeypatch.setattr(module, "LONGEST", 4096)
    made = ClaudeWriter("/home/dev/shop")
    file = folder / "long.jsonl"
    append(
        file, [*made.begin(), *made.call("t1", text="x" * 5000), *made.call("t2", text="y" * 12_288), *made.call("t3")]
    )
    found = module.ingest(Paths(str(folder / ".liza")), str(file))
    assert (found.steps, found.broken) == (1, 2)


def test_what_is_no_transcript_is_refused_or_skipped(folder: Path) -> None:
    others = folder / "others"
    others.mkdir()
    (others / "history.jsonl").write_text('{"display": "a prompt"}\n')
    (others / "empty.jsonl").write_text("")
    (others / "link.jsonl").symlink_to(transcript(folder, "claude"))
    os.mkfifo(others / "pipe.jsonl")
    found = ingest(folder, others)
    assert (found.code, found.json["transcripts"], found.json["skipped"]) == (0, [], 4)
    for name in ("history.jsonl", "empty.jsonl", "pipe.jsonl", "missing.jsonl"):
        refused = liza(folder, "ingest", str(others / name))
        assert (refused.code, bool(refused.hint())) == (1, True)
    assert ingest(folder, others / "link.jsonl").json["transcripts"][0]["steps"] == 6


def test_session_is_whatever_a_transcript_calls_it(folder: Path) -> None:
    made = ClaudeWriter("/home/dev/shop", "../../../etc/passwd\x1b[2J")
    append(folder / "odd.jsonl", made.call("t1"))
    assert ingest(folder, folder / "odd.jsonl").json["transcripts"][0]["steps"] == 1
    assert len(os.listdir(folder / ".liza" / "steps")) == 1
    assert "\x1b[2J" not in liza(folder, "ingest", str(folder / "odd.jsonl")).out


def test_progress_is_shown_on_a_terminal_only(folder: Path) -> None:
    file = transcript(folder, "claude")
    assert "%" in on_a_terminal(folder, "ingest", str(file)).out
    quiet = liza(folder, "ingest", str(file))
    assert (quiet.err, "%" in quiet.out) == ("", False)


def test_large_transcript_is_read_in_bounded_memory(folder: Path) -> None:
    import tracemalloc

    from liza.scopes.sessions.ingest import ingest as enter

    made = ClaudeWriter("/home/dev/shop")
    file = folder / "large.jsonl"
    for number in range(40):
        append(file, made.call(f"t{number}", text=f"{number} " + "x" * (1 << 20), ok=True))
    tracemalloc.start()
    found = enter(Paths(str(folder / ".liza")), str(file))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.steps == 40
    assert peak < 24 << 20
    assert json.dumps(found.problem) == "null"
    assert tail.LONGEST >= 1 << 20
