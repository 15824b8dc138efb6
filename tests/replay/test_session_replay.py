"""Sessions played back: the warnings and stops that the rules would have made, after each step."""

import os
from pathlib import Path
from typing import Any

from tests.cli.run import installed, liza
from tests.clients.hook import SESSION, failing, run

OTHER = "0b9e8d7c-1111-2222-3333-444455556666"


def fail(folder: Path, times: int, session: str = SESSION, start: int = 0) -> None:
    for number in range(start, start + times):
        assert run(folder, "after", failing(f"{session}-{number}", session), LIZA_AGENT=f"coder-{session[0]}").code == 0


def played(folder: Path, *words: str) -> list[list[dict[str, Any]]]:
    found = liza(folder, "replay", "--json", *words)
    assert found.code == 0
    return [each["sessions"] for each in found.json["replays"]]


def state_of(folder: Path) -> dict[str, bytes]:
    kept = (os.path.join(path, name) for path, _, names in os.walk(folder / ".liza") for name in names)
    return {name: Path(name).read_bytes() for name in kept}


def test_playback_finds_what_the_daemon_did(folder: Path) -> None:
    for number in range(5):
        fail(folder, 1, start=number)
        installed(folder, "watch", "--once")
    before = state_of(folder)
    (found,) = played(folder)
    assert state_of(folder) == before, "a replay writes nothing"
    stops = [each for each in found if each["action"] == "STOP"]
    assert [(each["session"], each["name"]) for each in stops] == [(SESSION, "coder-7")]
    (row,) = liza(folder, "sessions", "--json").json["sessions"]
    assert row["reason"] == stops[0]["reason"]
    assert stops[0]["steps"] == row["steps"]
    assert any(each["action"] == "WARN" for each in found)


def test_other_numbers_are_compared(folder: Path) -> None:
    fail(folder, 5)
    installed(folder, "watch", "--once")
    before, after = played(folder, "--set", "repeated_failure.threshold=99")
    stops = [[each["rule"] for each in some if each["action"] == "STOP"] for some in (before, after)]
    assert "repeated_failure" in stops[0]
    assert "repeated_failure" not in stops[1]
    one = ("replay", "--session", SESSION, "--set")
    assert liza(folder, *one, "repeated_failure.threshold=99").out.splitlines()[-1].endswith(" 1 session stop fewer")
    assert " as many " in liza(folder, *one, "repeated_failure.threshold=4").out.splitlines()[-1]


def test_decision_lets_the_session_start_over(folder: Path) -> None:
    fail(folder, 5)
    installed(folder, "watch", "--once")
    assert liza(folder, "session", "resume", SESSION, "-m", "go on", "--by", "ann").code == 0
    resumed = liza(folder, "sessions", "--json").json
    assert resumed["sessions"][0]["session_status"] == "ACTIVE"
    (found,) = played(folder, "--session", "coder-7")
    assert sum(each["action"] == "STOP" for each in found) == 1


def test_one_session_is_explained_as_it_was(folder: Path) -> None:
    fail(folder, 5)
    fail(folder, 2, OTHER)
    installed(folder, "watch", "--once")
    found = liza(folder, "rules", "explain", "repeated_failure", "--session", OTHER[:6], "--json").json
    assert (found["moments"], [each["matches"] for each in found["groups"]]) == ([], [False])
    stuck = liza(folder, "rules", "explain", "repeated_failure", "--session", SESSION, "--json").json
    assert stuck["moments"][0]["session"] == SESSION
    assert [each["matches"] for each in stuck["groups"]] == [True]
    early = ["--session", SESSION, "--now", "2020-01-01T00:00:00Z", "--json"]
    assert liza(folder, "rules", "explain", "repeated_failure", *early).json["groups"] == []
    assert liza(folder, "rules", "explain", "repeated_failure", "--session", "nobody").code == 1


def test_newest_of_many_calls_is_named(folder: Path) -> None:
    """Records of steps are shown in their order, also from the ninth to the tenth."""
    for number in range(12):
        step = failing(f"t{number}", command=f"make part-{number:02}")
        run(folder, "after", {**step, "error": f"part {number}: no rule"})
    installed(folder, "watch", "--once")
    found = liza(folder, "rules", "explain", "failure_storm_warning", "--session", SESSION)
    shown = [found.out.index(f"make part-{number:02}") for number in range(12)]
    assert shown == sorted(shown)
    assert "part 11: no rule" in found.out
