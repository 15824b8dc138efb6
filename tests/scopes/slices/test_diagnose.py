"""The diagnostic report: written at the trip with all known fields, and completed by the agent."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import Result, liza
from tests.scopes.slices.run import Slices

ERROR = "FAILED tests/test_a.py::a\nE       assert 500 == 409\n\x1b[31m1 failed\x1b[0m | <b>in</b> 0.1s"
ANSWER = {
    "test_expectation": "409 when the email is in the database already",
    "best_hypothesis": "the constraint is raised before the check",
    "specific_question": "which key does contract C-12 mean?",
    "recovery_options": [{"option": "clarify the contract", "risk": "low"}],
}
FIELDS = [
    "test_expectation", "actual_error", "attempt_log", "cumulative_files_modified", "scope_violations",
    "best_hypothesis", "specific_question", "recovery_options",
]  # fmt: skip


@pytest.fixture
def stopped(slices: Slices) -> Slices:
    """A slice stopped at its third failure, each attempt with another strategy."""
    for number in range(1, 4):
        words = ["--strategy", f"strategy {number}", "--error", ERROR, "--files", f"src/{number}.py", "src/shared.py"]
        slices.attempt("fail", "--slice", "S-1", "--test", "a", *words)
    return slices


def diagnose(slices: Slices, answer: Any, *words: str) -> Result:
    (slices.root / "answer.yaml").write_text(answer if isinstance(answer, str) else json.dumps(answer))
    return slices.attempt("diagnose", "--slice", "S-1", "--from", "answer.yaml", *words)


def test_known_fields_are_filled_in_and_others_requested(stopped: Slices) -> None:
    report = stopped.report("a")
    assert [name for name in report if name in FIELDS] == FIELDS
    assert report["actual_error"] == ERROR
    assert report["attempt_log"][1] == {
        "attempt": 2,
        "strategy": "strategy 2",
        "files": ["src/2.py", "src/shared.py"],
        "result": "assert 500 == 409",
    }
    assert len(report["attempt_log"]) == 3
    assert report["cumulative_files_modified"] == ["src/1.py", "src/shared.py", "src/2.py", "src/3.py"]
    assert (report["scope_violations"], "scope_violations" in report["not_applicable"]) == ([], True)
    assert {name for name in FIELDS if report[name] is None} == set(ANSWER)
    assert report["complete"] is False
    status = stopped.run("attempt", "status").out
    assert "the agent fills it in: liza attempt diagnose --slice S-1 --test a --from FILE" in status


def test_each_failing_test_has_a_report_at_the_ceiling(slices: Slices) -> None:
    slices.does("fail a", "fail a", "fail b", "pass b", "fail b", "fail c", "pass c", "fail c", "fail d")
    assert slices.reported() == ["a", "b", "c", "d"]
    assert [len(slices.report(test)["attempt_log"]) for test in "abcd"] == [2, 2, 2, 1]
    assert len(list(slices.diagnostics.rglob("*.yaml"))) == 4


def test_passing_test_has_no_report_at_the_ceiling(slices: Slices) -> None:
    slices.does("fail a", "fail a", "fail b", "fail b", "pass b", "fail c", "fail c", "fail d")
    assert slices.reported() == ["a", "c", "d"]


def test_all_requested_fields_complete_the_report(stopped: Slices) -> None:
    ran = diagnose(stopped, ANSWER, "--by", "coder-1")
    assert (ran.code, ran.out.startswith("complete: .liza/diagnostics/S-1/")) == (0, True)
    report = stopped.report("a")
    assert report["complete"] is True
    assert {name: report[name] for name in ANSWER} == ANSWER
    assert report["actual_error"] == ERROR
    assert stopped.at()["current_trip"]["reports"][0]["complete"] is True
    assert "(complete)" in stopped.run("attempt", "status").out
    assert stopped.actions[-1] == "slice_diagnosed"


@pytest.mark.parametrize("text", [None, "", "best_hypothesis: only this\n"])
def test_deleted_or_emptied_report_is_not_complete(stopped: Slices, text: str | None) -> None:
    diagnose(stopped, ANSWER)
    (file,) = stopped.diagnostics.rglob("*.yaml")
    file.unlink()
    if text is not None:
        file.write_text(text)
    shown = stopped.run("attempt", "status").out
    assert "(complete)" not in shown
    assert "the agent fills it in" in shown
    (entry,) = stopped.run("attempt", "status", "--slice", "S-1", "--json").json["trip"]["reports"]
    assert (entry["complete"], entry.get("missing", False)) == (False, not text)


@pytest.mark.parametrize("field", ANSWER)
def test_missing_field_is_named(stopped: Slices, field: str) -> None:
    before = stopped.report("a")
    ran = diagnose(stopped, {name: value for name, value in ANSWER.items() if name != field})
    assert ran.code == 1
    assert f"liza: answer.yaml: {field} is missing\n" in ran.err
    assert ran.err.count("liza: ") == 1
    assert stopped.report("a") == before


def test_all_missing_fields_are_named_at_once(stopped: Slices) -> None:
    ran = diagnose(stopped, "remarks: none\n", "--json")
    assert ran.code == 1
    assert [each["message"].split()[0] for each in ran.json["problems"]] == [*ANSWER, "'remarks'"]


@pytest.mark.parametrize("nothing", ["", "  ", "n/a", "N/A.", "none", "TBD", "-", "unknown", "not applicable"])
def test_empty_field_needs_a_reason(stopped: Slices, nothing: str) -> None:
    answer: dict[str, Any] = {**ANSWER, "best_hypothesis": nothing}
    ran = diagnose(stopped, answer)
    assert (ran.code, "best_hypothesis is empty, and not_applicable" in ran.err) == (1, True)
    reasons = {"not_applicable": {"best_hypothesis": nothing}}
    assert diagnose(stopped, {**answer, **reasons}).code == 1
    reasons = {"not_applicable": {"best_hypothesis": "the logs of the database are gone"}}
    assert diagnose(stopped, {**answer, **reasons}).code == 0


def test_report_in_which_nothing_applies_is_not_complete(stopped: Slices) -> None:
    reasons = dict.fromkeys(ANSWER, "it does not apply to this test")
    ran = diagnose(stopped, {"not_applicable": reasons})
    assert (ran.code, "specific_question" in ran.err) == (1, True)
    one = {"specific_question": ANSWER["specific_question"]}
    assert diagnose(stopped, {**one, "not_applicable": reasons}).code == 0


@pytest.mark.parametrize("options", [[], [{}], [{"option": "x"}], [{"option": "", "risk": "low"}], ["retry"]])
def test_recovery_option_needs_a_risk(stopped: Slices, options: Any) -> None:
    ran = diagnose(stopped, {**ANSWER, "recovery_options": options})
    assert (ran.code, "recovery_options" in ran.err) == (1, True)


def test_recorded_errors_and_attempts_are_not_overwritten(stopped: Slices) -> None:
    answer = {
        **ANSWER,
        "actual_error": "some test failed",
        "attempt_log": [{"attempt": 1, "strategy": "none of mine", "files": [], "result": "409, but another message"}],
        "cumulative_files_modified": ["docs/api.md"],
        "scope_violations": [{"file": "docs/api.md", "justification": "the contract names it"}],
    }
    assert diagnose(stopped, answer).code == 0
    report = stopped.report("a")
    assert report["actual_error"] == ERROR
    first, second = report["attempt_log"][:2]
    assert (first["strategy"], first["result"]) == ("strategy 1", "409, but another message")
    assert second["result"] == "assert 500 == 409"
    assert set(report["cumulative_files_modified"]) == {
        "docs/api.md",
        "src/1.py",
        "src/2.py",
        "src/3.py",
        "src/shared.py",
    }
    assert report["scope_violations"] == answer["scope_violations"]


def test_printed_report_can_be_filled_in_and_returned(stopped: Slices) -> None:
    printed = stopped.run("attempt", "diagnose", "--slice", "S-1")
    assert printed.code == 1, "something is missing"
    text = printed.out
    for name, value in ANSWER.items():
        text = text.replace(f"{name}: null", f"{name}: {json.dumps(value)}")
    assert diagnose(stopped, text).code == 0
    again = stopped.run("attempt", "diagnose", "--slice", "S-1")
    assert (again.code, "complete: true" in again.out) == (0, True)


def test_answer_may_come_from_stdin(stopped: Slices) -> None:
    result = liza(stopped.root, "attempt", "diagnose", "--slice", "S-1", "--from", "-", stdin=json.dumps(ANSWER))
    assert result.code == 0, result.err
    result = liza(stopped.root, "attempt", "diagnose", "--slice", "S-1", "--from", "-", stdin="[")
    assert result.err.startswith("liza: standard input:1:")


@pytest.mark.parametrize("text", ["", "- a\n", "a: [\n", "\x00", "just words\n"])
def test_invalid_answer_is_refused_with_position(stopped: Slices, text: str) -> None:
    ran = diagnose(stopped, text)
    assert ran.code == 1
    assert ran.err.startswith("liza: answer.yaml")
    assert "hint: " in ran.err


def test_answer_about_another_test_is_refused(stopped: Slices) -> None:
    ran = diagnose(stopped, {**ANSWER, "test_name": "b"})
    assert (ran.code, "it is about 'b', the report about 'a'" in ran.err) == (1, True)


def test_one_of_several_reports_must_be_named(slices: Slices) -> None:
    slices.does("fail a", "fail a", "fail b", "fail b", "fail c", "fail c", "fail d")
    ran = diagnose(slices, ANSWER)
    assert (ran.code, "several reports: 'a', 'b', 'c', 'd'" in ran.err) == (1, True)
    ran = diagnose(slices, ANSWER, "--test", "e")
    assert (ran.code, "no report on 'e'" in ran.err) == (1, True)
    assert diagnose(slices, {**ANSWER, "actual_error": "assert 1 == 2"}, "--test", "b").code == 1, "no files are known"
    answer = {**ANSWER, "actual_error": "assert 1 == 2", "cumulative_files_modified": ["src/b.py"]}
    assert diagnose(slices, answer, "--test", "b").code == 0
    assert [entry.get("complete") for entry in slices.at()["current_trip"]["reports"]] == [None, True, None, None]


def test_running_slice_needs_no_report(slices: Slices) -> None:
    slices.does("fail a")
    ran = diagnose(slices, ANSWER)
    assert (ran.code, "has no report to fill in: it is not stopped" in ran.err) == (1, True)
    ran = slices.attempt("diagnose", "--slice", "S-2", "--from", "answer.yaml")
    assert (ran.code, "unknown slice 'S-2'" in ran.err) == (1, True)


def test_trip_does_not_wait_for_an_unwritable_report(slices: Slices) -> None:
    slices.diagnostics.write_text("in the way")
    assert slices.does("fail a", "fail a") == [0, 0]
    ran = slices.attempt("fail", "--slice", "S-1", "--test", "a")
    assert (ran.code, "could not be written: " in ran.out) == (3, True)
    assert slices.at()["status"] == "STOPPED"
    slices.diagnostics.unlink()
    slices.does("fail a")
    assert slices.reported() == ["a"], "the next command writes it"


def test_report_outside_its_folder_is_not_accessed(stopped: Slices) -> None:
    victim = stopped.root / "victim.yaml"
    file = stopped.at()["current_trip"]["reports"][0]["file"]
    stopped.write(stopped.state.read_text().replace(file, ".liza/diagnostics/../../victim.yaml"))
    stopped.does("fail a")
    ran = diagnose(stopped, {**ANSWER, "actual_error": "x", "cumulative_files_modified": ["a"], "attempt_log": ["a"]})
    assert (ran.code, "is not in .liza/diagnostics/" in ran.err) == (1, True)
    assert not victim.exists()


def test_own_template_is_used_unless_it_drops_a_field(slices: Slices, tmp_path: Path) -> None:
    shipped = (Path(__file__).parents[3] / "templates" / "diagnostic.yaml").read_text()
    slices.env["LIZA_TEMPLATES"] = str(tmp_path)
    (tmp_path / "diagnostic.yaml").write_text(f"# ours\n{shipped}")
    slices.does("fail a", "fail a", "fail a")
    file = slices.root / slices.at()["current_trip"]["reports"][0]["file"]
    assert file.read_text().startswith("# ours\n")
    for bad in (shipped.replace('{{ "attempt_log" | field(report.attempt_log) }}', ""), "{{ nothing.at.all }}", "{%"):
        (tmp_path / "diagnostic.yaml").write_text(bad)
        file.unlink()
        slices.does("fail a")
        assert "so this is the shipped one" in file.read_text()
        assert slices.report("a")["test_name"] == "a"
