"""Slices that others write, by hand or by program: daemon, gate and the next command evaluate them."""

import subprocess
from pathlib import Path

import pytest

from tests.cli.run import BIN, liza
from tests.daemon.daemon import Daemon, Watched, until
from tests.scopes.slices.run import Slices
from tests.store.oracle import libyaml_value

SLICES = """\
slices:
  S-1:   # written by a script
    status: ACTIVE
    attempts:
      - {test: test_a, result: failed, error: "assert 1 == 2"}
      - {test: test_a, result: failed, strategy: 'the other way'}
  S-2: {status: ACTIVE,  attempts: [{test: test_b, result: failed}]}
"""
THIRD = "      - {test: test_a, result: failed}\n"
TRIPPED = SLICES.replace("  S-2:", f"{THIRD}  S-2:")


def test_ten_concurrent_failures_count_three_and_refuse_seven(slices: Slices) -> None:
    words = [str(BIN / "liza"), "attempt", "fail", "--slice", "S-1", "--test", "t", "--files", "x"]
    running = [subprocess.Popen(words, cwd=slices.root, stdout=subprocess.DEVNULL) for _ in range(10)]
    assert sorted(each.wait() for each in running) == [0, 0] + [3] * 8
    assert slices.counts() == ({"t": 3}, 3, 0)
    assert slices.results() == ["failed"] * 3 + ["refused"] * 7
    assert [each["attempt"] for each in slices.at()["attempts"]] == list(range(1, 11))
    assert slices.actions == ["slice_stopped"]
    assert slices.reported() == ["t"]


def test_daemon_stops_slice_written_by_others(tmp_path: Path) -> None:
    board = Watched(tmp_path / "team", f"version: 1\n{SLICES}remarks:   kept   # as it is\n")
    with Daemon(board.root) as daemon:
        board.save(board.text.replace("  S-2:", f"{THIRD}  S-2:"))
        message = daemon.wait_for("tripped", "slice S-1")
        assert message == "slice S-1 is STOPPED: test 'test_a' failed 3 times in a row"
        text = board.text
        assert "    status: STOPPED\n" in text
        assert "  S-1:   # written by a script\n" in text
        assert "  S-2: {status: ACTIVE,  attempts: [{test: test_b, result: failed}]}\n" in text
        assert "remarks:   kept   # as it is\n" in text
        assert not board.checkpoint.exists(), "only the slice is stopped"
        entry = libyaml_value(board.state.read_bytes())["slices"]["S-1"]["current_trip"]["reports"][0]
        until((board.root / entry["file"]).exists, "the report is written")
        until(lambda: any("slice S-1" in line for line in board.alerts), "people are notified")
        before = board.versions()
        board.beats(6)
        assert board.versions().keys() == before.keys()
        assert board.text == text
        board.save(text.replace("status: STOPPED", "status: ACTIVE"))
        daemon.wait_for("resolved", "slice S-1")
        until(lambda: "how: by hand" in board.text, "the reset by hand is completed")
        assert daemon.stop() == 0
    assert len(daemon.reported("tripped")) == 1


def test_observing_daemon_stops_no_slice(tmp_path: Path) -> None:
    board = Watched(tmp_path / "team", f"version: 1\n{TRIPPED}")
    before = board.text
    with Daemon(board.root, "--observe") as daemon:
        board.beats(4)
        assert daemon.stop() == 0
    assert board.text == before


def test_daemon_alarms_for_infrastructure_and_scope(tmp_path: Path) -> None:
    board = Watched(tmp_path / "team", "version: 1\n")
    with Daemon(board.root) as daemon:
        infra = "{test: a, result: infra}"
        board.save(
            f"version: 1\nslices:\n  S-1:\n    attempts: [{infra}, {infra}]\n    scope_violations: [{{file: x.ts}}]\n"
        )
        daemon.wait_for("alarm", "slice S-1: 2 infrastructure errors")
        daemon.wait_for("alarm", "slice S-1 changed files that are not allowed: x.ts")
        board.save("version: 1\nslices:\n  S-1:\n    total_failed_attempts: 2\n")
        daemon.wait_for("alarm", "its counters have 2 failures, its attempts 0")
        assert daemon.stop() == 0


def test_analyze_stops_slice_like_the_daemon(slices: Slices) -> None:
    slices.write(f"version: 1\nanomalies: []\n{TRIPPED}")
    ran = slices.run("analyze")
    assert (ran.code, "slice S-1 is STOPPED: test 'test_a' failed 3 times in a row" in ran.out) == (0, True)
    assert slices.at()["status"] == "STOPPED"
    assert slices.reported() == ["test_a"]
    assert slices.report("test_a")["attempt_log"][1]["strategy"] == "the other way"
    assert "slice_stopped" in slices.actions


def test_report_uses_error_of_last_attempt(slices: Slices) -> None:
    slices.write(f"version: 1\n{TRIPPED.replace(THIRD, THIRD.replace('failed}', 'failed, error: assert 3 == 4}'))}")
    slices.run("analyze")
    assert slices.report("test_a")["actual_error"] == "assert 3 == 4"


def test_gate_and_status_evaluate_unchecked_slices(slices: Slices) -> None:
    slices.write(f"version: 1\n{TRIPPED}")
    before = slices.state.read_bytes()
    ran = slices.run("gate", "--slice", "S-1")
    assert (ran.code, "STOPPED: test 'test_a' failed 3 times" in ran.err) == (2, True)
    assert slices.run("attempt", "status").code == 3
    assert slices.state.read_bytes() == before, "showing writes nothing"


def test_uncounted_attempts_are_reported_everywhere(slices: Slices) -> None:
    slices.write(f"version: 1\nanomalies: []\n{TRIPPED.replace('result: failed', 'result: FAILED')}")
    message = "3 of its attempts are not counted (unknown result 'FAILED'); see: liza validate"
    assert message in slices.run("attempt", "status", "--slice", "S-1").out
    assert f"slice S-1: {message}" in slices.run("status").out
    assert "did you mean failed?" in slices.run("validate").out


def test_attempt_after_unchecked_trip_is_refused(slices: Slices) -> None:
    slices.write(f"version: 1\n{TRIPPED}")
    assert slices.does("fail test_a") == [3]
    assert slices.results() == ["failed"] * 3 + ["refused"]
    assert slices.reported() == ["test_a"]


# --- counters alone -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("tests: [{test_name: a, attempt_count: 3}]", ["test_trip"]),
        ("total_failed_attempts: 7", ["slice_ceiling"]),
        ("total_failed_attempts: 99999999999999999999", ["slice_ceiling"]),
        ("tests: [{test_name: a, attempt_count: 3}]\n    total_failed_attempts: 7", ["test_trip", "slice_ceiling"]),
        ("tests: [{test_name: a, attempt_count: 2}]\n    attempts: [{test: a, result: failed}]", None),
        ("tests: [{test_name: a, attempt_count: 2}]\n    attempts: [{test: a, result: passed}]", None),
        ("tests: [{test_name: a, attempt_count: '3'}]\n    total_failed_attempts: -7", None),
    ],
)
def test_higher_counter_is_trusted(slices: Slices, text: str, rules: list[str] | None) -> None:
    slices.write(f"version: 1\nanomalies: []\nslices:\n  S-1:\n    {text}\n")
    slices.run("analyze")
    record = slices.at()
    assert (record["current_trip"]["rules"] if "current_trip" in record else None) == rules


def test_attempt_corrects_lower_counters(slices: Slices) -> None:
    slices.does("fail a", "fail a")
    slices.write(slices.state.read_text().replace("attempt_count: 2", "attempt_count: 0"))
    assert slices.does("fail a") == [3]
    assert slices.counts() == ({"a": 3}, 3, 0)


def test_raised_counter_counts_with_next_attempt(slices: Slices) -> None:
    slices.does("fail a")
    slices.write(slices.state.read_text().replace("attempt_count: 1", "attempt_count: 2"))
    assert slices.does("fail a") == [3]
    assert slices.counts() == ({"a": 3}, 3, 0)
    assert len(slices.report("a")["attempt_log"]) == 3


def test_deleting_attempts_keeps_the_counts(slices: Slices) -> None:
    slices.does("fail a", "fail a")
    text = slices.state.read_text()
    start, end = text.index("    attempts:"), len(text)
    slices.write(text[:start] + "    attempts: []\n" + text[end:])
    assert slices.does("fail a") == [3]
    assert slices.report("a")["attempt_log"][0]["strategy"] == "not recorded"


# --- YAML forms -----------------------------------------------------------------------------------------------------


def test_slices_in_a_list_stay_in_the_list(slices: Slices) -> None:
    text = "slices:\n  - slice_id: S-1  # mine\n    owner:   ann\n  - {id: S-2, status: ACTIVE}\n"
    slices.write(f"version: 1\n{text}")
    assert slices.does("fail a", "fail a", "fail a") == [0, 0, 3]
    assert slices.does("fail a", name="S-2") == [0]
    assert slices.does("fail a", name="S-3") == [0]
    listed = libyaml_value(slices.state.read_bytes())["slices"]
    assert [each.get("slice_id") for each in listed] == ["S-1", None, "S-3"]
    assert (listed[0]["status"], listed[0]["owner"]) == ("STOPPED", "ann")
    assert "  - slice_id: S-1  # mine\n    owner:   ann\n" in slices.state.read_text()
    assert slices.run("gate", "--slice", "S-1").code == 2


@pytest.mark.parametrize(
    "name",
    ["S 1/ä", "..", "a.b", "--x", "3", "true", "null", "~", "#1", "a: b", "'q\"", "x" * 120, "[a]", "%41", "日本"],
)
def test_slice_may_have_any_name(slices: Slices, name: str) -> None:
    words = [f"--slice={name}", "--test", "t", "--files", "x"]
    assert slices.attempt("fail", *words).code == 0
    slices.write(slices.state.read_text().replace("attempt_count: 1", "attempt_count: 2"))
    assert slices.attempt("fail", *words).code == 3
    assert slices.run("gate", f"--slice={name}").code == 2
    assert slices.attempt("reset", f"--slice={name}", "-m", "again").code == 0
    assert slices.at(name)["status"] == "ACTIVE"
    assert len(list(slices.diagnostics.glob("*/*.yaml"))) == 1


@pytest.mark.parametrize("name", ["", "  ", "x" * 121, "a\nb", "\x1b[31m"])
def test_invalid_slice_name_is_refused(slices: Slices, name: str) -> None:
    for verb in ("fail", "start", "pass", "infra"):
        ran = slices.attempt(verb, f"--slice={name}", "--test", "t")
        assert (ran.code, "invalid slice name" in ran.err) == (1, True)
    assert slices.attempt("fail", "--slice", "S-1", "--test", " ").code == 1
    assert "slices" not in slices.state.read_text()


@pytest.mark.parametrize(
    "text",
    [
        "  S-1: {status: ACTIVE, attempts: 3}\n",
        "  S-1: {tests: {a: 1}}\n",
        "  S-1: {history: nothing}\n",
        "  S-1: {status: paused}\n",
        "  S-1: 3\n",
        "  - 3\n",
        "  words\n",
    ],
)
def test_unreadable_slice_counts_as_stopped_and_is_unchanged(slices: Slices, text: str) -> None:
    slices.write(f"version: 1\nanomalies: []\nslices:\n{text}")
    before = slices.state.read_text()
    for verb in ("start", "fail", "pass", "infra"):
        ran = slices.attempt(verb, "--slice", "S-1", "--test", "t")
        assert (ran.code, "hint: " in ran.err) == (4, True), verb
    assert slices.run("gate", "--slice", "S-1").code == 2
    assert slices.attempt("status").code == 4
    assert slices.state.read_text() == before


def test_fault_in_one_slice_does_not_affect_others(slices: Slices) -> None:
    slices.write(f"version: 1\nanomalies: []\n{TRIPPED}  S-3: {{attempts: no list}}\n")
    slices.run("analyze")
    assert slices.at("S-1")["status"] == "STOPPED"
    assert slices.at("S-3") == {"attempts": "no list"}


# --- untrusted text -------------------------------------------------------------------------------------------------

EVIL = "\x1b]0;title\x07\x1b[2J | <b> `x` *y* \u202e\ufeff\u2028 # - : {[ é 日本 \t\r end"


def test_untrusted_text_is_kept_verbatim_and_harmless(slices: Slices) -> None:
    words = ["--strategy", EVIL, "--error", f"{EVIL}\n{EVIL}", "--files", EVIL]
    slices.env["NO_COLOR"] = "1"
    for _ in range(4):
        slices.attempt("fail", "--slice", "S-1", "--test", EVIL, *words)
    slices.attempt("infra", "--slice", "S-2", "--error", EVIL)
    test = slices.at()["tests"][0]
    assert (test["test_name"], test["last_error"], test["files_touched"]) == (EVIL, f"{EVIL}\n{EVIL}", [EVIL])
    report = slices.report(EVIL)
    assert (report["actual_error"], report["test_name"]) == (f"{EVIL}\n{EVIL}", EVIL)
    for words in (["status"], ["status", "--slice", "S-1"], ["diagnose", "--slice", "S-1"]):
        slices.attempt(*words)  # `run` checks the output
    assert slices.run("validate").code == 0


@pytest.mark.parametrize(
    "text", ["\x00", "a\x00b", "\x85\u2028", "\ud7ff\ue000\uffff", "\\", "|\n  x\n", "- a\n", "\n\n"]
)
def test_odd_texts_are_kept_unchanged(slices: Slices, text: str) -> None:
    result = liza(slices.root, "attempt", "fail", "--slice", "S-1", "--test", "t", "--error", "-", stdin=text)
    assert result.code == 0, result.err
    assert slices.at()["tests"][0]["last_error"] == text


def test_invalid_utf8_becomes_escapes(slices: Slices) -> None:
    result = liza(
        slices.root, "attempt", "fail", "--slice", "S-1", "--test", b"t\xff", "--error", b"\xfe", "--files", b"f\xfd"
    )
    assert result.code == 0, result.err
    test = slices.at()["tests"][0]
    assert (test["test_name"], test["last_error"], test["files_touched"]) == ("t\\xff", "\\xfe", ["f\\xfd"])


def test_megabyte_error_is_kept_in_a_file(slices: Slices) -> None:
    text = "x" * 1_000_000
    for _ in range(3):
        liza(slices.root, "attempt", "fail", "--slice", "S-1", "--test", "t", "--error", "-", stdin=text)
    assert len(slices.state.read_text()) < 50_000
    assert "all of it is in .liza/diagnostics/S-1/error-" in slices.report("t")["actual_error"]
    files = list(slices.diagnostics.rglob("error-*.txt"))
    assert [file.read_text() for file in files] == [text]
    assert len(slices.attempt("status", "--slice", "S-1").out) < 2_000


def test_error_comes_from_a_file_or_an_option(slices: Slices) -> None:
    (slices.root / "out.txt").write_text("E   assert 1 == 2\n")
    words = ["--slice", "S-1", "--test", "t"]
    assert slices.attempt("fail", *words, "--error-file", "out.txt").code == 0
    assert slices.at()["tests"][0]["last_error"] == "E   assert 1 == 2\n"
    assert slices.attempt("fail", *words, "--error-file", "none.txt").code == 1
    assert slices.attempt("fail", *words, "--error-file", "out.txt", "--error", "x").code == 2
    assert slices.attempt("fail", *words, "stray.py").code == 2
    assert slices.counts() == ({"t": 1}, 1, 0)


def test_uncounted_attempts_are_archived_after_a_hundred(slices: Slices) -> None:
    entries = "".join(
        f"      - {{test: t{n % 7}, result: {kind}}}\n" for n, kind in enumerate(["infra", "passed"] * 60)
    )
    slices.write(f"version: 1\nslices:\n  S-1:\n    attempts:\n{THIRD}{THIRD}{entries}")
    slices.does("pass test_a")
    record = slices.at()
    assert len(record["attempts"]) == 100
    assert [each["test"] for each in record["attempts"][:2]] == ["test_a", "test_a"], "a failure is never archived"
    archived = (slices.folder / "runs" / "slices" / "S-1.jsonl").read_text().splitlines()
    assert len(archived) == 23
    assert record["total_failed_attempts"] == 2
