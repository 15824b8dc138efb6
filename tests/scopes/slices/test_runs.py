"""Attempts as a test runner reports them: imported from its report, or run by liza."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.run import BIN, Result, environment
from tests.daemon.daemon import until
from tests.run.repositories import SETTINGS, repository
from tests.scopes.slices.run import Slices

REPORTS = Path(__file__).parents[2] / "toolerrors" / "reports"
FAILING = "test_conflict_on_duplicate_email"


def junit(slices: Slices, report: str | Path, *words: str) -> Result:
    """Import the report of a new run: the same bytes with a later time."""
    file = REPORTS / report
    if file.is_file():
        copy = slices.root / "imported.xml"
        copy.write_bytes(file.read_bytes())
        os.utime(copy, (slices.now.timestamp(), slices.now.timestamp()))
        file = copy
    return slices.attempt("junit", str(file), "--slice", "S-1", *words)


def run(slices: Slices, *words: str) -> Result:
    """`liza attempt exec` with the command."""
    return slices.attempt("exec", "--slice", "S-1", *words)


def write(slices: Slices, *cases: str) -> Path:
    """A report of one run."""
    file = slices.root / "report.xml"
    file.write_text(f"<testsuite name='s'>{''.join(cases)}</testsuite>")
    return file


# --- from a report --------------------------------------------------------------------------------------------------


def test_failing_suite_without_open_tests_stops_nothing(slices: Slices) -> None:
    slices.does("start other")
    for _ in range(4):
        ran = junit(slices, "pytest.xml")
        assert ran.code == 0
    assert slices.counts()[1] == 0
    assert set(slices.results()) == {"observed", "infra"}
    entry = next(each for each in slices.at()["attempts"] if each["result"] == "observed")
    assert (entry["passed"], entry["failed"], entry["errors"], entry["skipped"]) == (2, 4, 3, 2)
    assert FAILING in entry["failing"]


def test_open_tests_count(slices: Slices) -> None:
    slices.does(f"start {FAILING}", "start test_needs_the_database", "start test_later", "start not_in_it")
    ran = junit(slices, "pytest.xml", "--strategy", "check before insert")
    assert ran.code == 0
    counts, total, infra = slices.counts()
    assert (counts[FAILING], total, infra) == (1, 1, 1)
    failed, broken, observed = slices.at()["attempts"]
    assert (failed["test"], failed["result"], failed["strategy"]) == (FAILING, "failed", "check before insert")
    assert failed["error"].startswith("AssertionError: endpoint returns 409")
    assert (broken["test"], broken["result"]) == ("test_needs_the_database", "infra")
    assert observed["result"] == "observed"
    error = next(test for test in slices.at()["tests"] if test["test_name"] == FAILING)["last_error"]
    assert "E       assert 500 == 409" in error
    assert junit(slices, "pytest.xml").code == 0
    assert junit(slices, "pytest.xml").code == 3
    assert slices.reported() == [FAILING]


def test_named_tests_count_without_a_start(slices: Slices) -> None:
    assert junit(slices, "pytest.xml", "--test", FAILING, "--test", "test_lists_users").code == 0
    assert slices.counts() == ({FAILING: 1, "test_lists_users": 0}, 1, 0)


def test_pass_clears_the_test_and_closes_it(slices: Slices) -> None:
    slices.does("fail test_lists_users", "fail test_lists_users")
    junit(slices, "pytest.xml")
    assert slices.counts() == ({"test_lists_users": 0}, 2, 0)
    report = write(slices, "<testcase name='test_lists_users'><failure/></testcase>")
    junit(slices, report)
    assert slices.counts() == ({"test_lists_users": 1}, 3, 0), "it fails again, and that counts without a start"


def test_collection_error_is_infrastructure_for_open_tests(slices: Slices) -> None:
    slices.does("start test_x", "start test_y")
    assert [junit(slices, "pytest-collection.xml").code for _ in range(4)] == [0] * 4
    assert slices.counts() == ({"test_x": 0, "test_y": 0}, 0, 8)
    assert "No module named 'nosuchmodule'" in slices.at()["attempts"][0]["error"]


def test_failures_of_one_run_are_evaluated_together(slices: Slices) -> None:
    names = [f"t{n}" for n in range(4)]
    slices.does(*(f"start {name}" for name in names))
    report = write(slices, *(f"<testcase name='{name}'><failure/></testcase>" for name in names))
    assert [junit(slices, report).code for _ in range(2)] == [0, 3]
    assert slices.counts() == (dict.fromkeys(names, 2), 8, 0)
    assert slices.at()["current_trip"]["rules"] == ["slice_ceiling"]
    assert slices.reported() == names


def test_report_after_a_trip_counts_nothing(slices: Slices) -> None:
    slices.does("fail a", "fail a", "fail a")
    ran = junit(slices, "pytest.xml", "--test", "test_lists_users")
    assert (ran.code, "refused and not counted" in ran.out) == (3, True)
    assert slices.counts() == ({"a": 3}, 3, 0)
    assert slices.results()[3:] == ["refused", "observed"]


def test_uncounted_tests_are_reported(slices: Slices) -> None:
    report = write(slices, "<testcase classname='a' name='x'/>", "<testcase classname='b' name='x'/>")
    ran = junit(slices, report, "--test", "x", "--test", "none", "--json")
    messages = [each["message"] for each in ran.json["problems"]]
    assert messages == [
        "x matches several tests, so none of them counts: a::x, b::x",
        "none is not in the report, so it does not count",
    ]


def test_unusable_report_changes_nothing(slices: Slices) -> None:
    slices.does("start a")
    board = slices.state.read_bytes()
    bomb = slices.root / "bomb.xml"
    bomb.write_text('<!DOCTYPE r [<!ENTITY a "b">]><testsuite name="&a;"/>')
    for file in (bomb, slices.root / "none.xml", slices.root):
        ran = junit(slices, file)
        assert ran.code == 1
        assert "hint: " in ran.err
    assert slices.state.read_bytes() == board


def test_report_text_is_escaped_and_kept_whole_in_a_file(slices: Slices) -> None:
    slices.does("start x")
    report = write(slices, f"<testcase name='x'><failure>\x1b[31m&lt;b&gt; {'long ' * 10_000}end</failure></testcase>")
    assert junit(slices, report).code == 0
    error = slices.at()["tests"][0]["last_error"]
    assert "characters are left out here; all of it is in .liza/diagnostics/S-1/error-" in error
    file = next(slices.diagnostics.rglob("error-*.txt"))
    assert file.read_text() == f"\ufffd[31m<b> {'long ' * 10_000}end"
    slices.run("attempt", "status", "--slice", "S-1")


# --- run by liza ----------------------------------------------------------------------------------------------------

SUITE = """\
import pytest
def test_good():
    assert True
def test_bad():
    assert 500 == 409
@pytest.fixture
def database():
    raise ConnectionError("no database")
def test_unlucky(database):
    pass
"""


@pytest.fixture
def suite(slices: Slices) -> Slices:
    (slices.root / "test_it.py").write_text(SUITE)
    slices.env |= {"PYTEST_ADDOPTS": "-p no:cacheprovider", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return slices


def test_pytest_is_run_with_a_report(suite: Slices) -> None:
    suite.does("fail test_bad", "start test_unlucky", "start test_good")
    ran = run(suite, "--strategy", "first", "--", "pytest", "-q", "test_it.py")
    assert ran.code == 1, "the command failed, and the slice goes on"
    assert "1 failed, 1 passed, 1 error" in ran.out
    assert suite.counts() == ({"test_bad": 2, "test_unlucky": 0, "test_good": 0}, 2, 1)
    ran = run(suite, "--", str(BIN / "python"), "-m", "pytest", "-q", "test_it.py::test_good")
    assert ran.code == 0
    ran = run(suite, "--json", "--", "pytest", "-q")
    assert (ran.code, ran.json["exit_code"]) == (3, 1)
    assert list(suite.root.glob("*.xml")) == []


def test_stopped_slice_runs_nothing(suite: Slices) -> None:
    suite.does("fail a", "fail a", "fail a")
    ran = run(suite, "--", "touch", "ran")
    assert (ran.code, "not run, because the slice is stopped" in ran.out) == (3, True)
    assert not (suite.root / "ran").exists()
    assert suite.results()[-1] == "refused"


def test_changed_files_come_from_git(suite: Slices) -> None:
    repository(suite.root)
    suite.env |= SETTINGS
    suite.does("start test_bad")
    (suite.root / "fix.py").write_text("1")
    run(suite, "--", "pytest", "-q")
    assert suite.at()["attempts"][0]["files"] == ["fix.py"]


@pytest.mark.parametrize(
    "words",
    [
        ["sh", "-c", f"cp '{REPORTS}/pytest.xml' {{report}}; exit 1"],
        ["sh", "-c", f"cp '{REPORTS}/pytest.xml' \"$LIZA_JUNIT\"; exit 1"],
    ],
    ids=["placeholder", "environment"],
)
def test_any_runner_can_write_the_report(slices: Slices, words: list[str]) -> None:
    ran = run(slices, "--test", FAILING, "--", *words)
    assert (ran.code, slices.counts()) == (1, ({FAILING: 1}, 1, 0))


def test_report_pattern_counts_only_new_files(slices: Slices) -> None:
    folder = slices.root / "target"
    folder.mkdir()
    (folder / "TEST-old.xml").write_text("<testsuite><testcase name='old'><failure/></testcase></testsuite>")
    os.utime(folder / "TEST-old.xml", (1_000_000_000, 1_000_000_000))
    copy = f"cp '{REPORTS}/surefire.xml' target/TEST-new.xml"
    words = ["--report", "target/TEST-*.xml", "--test", "conflictOnDuplicateEmail", "--test", "old"]
    ran = run(slices, *words, "--", "sh", "-c", copy)
    assert (ran.code, "old is not in the report" in ran.out) == (0, True)
    assert slices.counts() == ({"conflictOnDuplicateEmail": 1}, 1, 0)
    assert run(slices, "--report", "target/TEST-*.xml", "--", "true").code == 0
    assert slices.counts() == ({"conflictOnDuplicateEmail": 1}, 1, 1), "a file from before the run is not its report"


def test_background_process_of_tests_is_not_waited_for(slices: Slices) -> None:
    script = f"sleep 600 & echo $! > server; cp '{REPORTS}/pytest.xml' {{report}}; echo done"
    try:
        ran = run(slices, "--test", FAILING, "--", "sh", "-c", script)
    finally:
        os.kill(int((slices.root / "server").read_text()), signal.SIGKILL)
    assert (ran.code, ran.out.startswith("done\n"), slices.counts()) == (0, True, ({FAILING: 1}, 1, 0))


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("echo boom >&2; exit 3", "ended with exit code 3 and wrote no report"),
        ("kill -9 $$", "ended with exit code -9 and wrote no report"),
        ("printf '<testsuite><testcase' > {report}; exit 1", "its report cannot be used"),
        ("printf '<testsuite/>' > {report}; exit 4", "ended with exit code 4, and no test is in its report"),
        ("true", "ended with exit code 0 and wrote no report"),
    ],
)
def test_run_without_report_is_infrastructure(slices: Slices, script: str, error: str) -> None:
    slices.does("start a")
    ran = run(slices, "--", "sh", "-c", script)
    assert ran.code == (0 if script == "true" else 1)
    assert slices.counts() == ({"a": 0}, 0, 1)
    assert error in slices.at()["attempts"][0]["error"]


def test_blackboard_deleted_by_tests_stays_deleted(slices: Slices) -> None:
    long = f"<testsuite><testcase name='a'><failure>{'x' * 30_000}</failure></testcase></testsuite>"
    (slices.root / "long.xml").write_text(long)
    words = [str(BIN / "liza"), "attempt", "exec", "--slice", "S-1", "--test", "a", "--", "sh", "-c"]
    done = subprocess.run(
        [*words, "rm -r .liza; cp long.xml {report}"],
        cwd=slices.root,
        env=environment(slices.root),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "state.yaml" in done.stderr, slices.folder.exists()) == (1, True, False), done.stderr


def test_unstartable_command_is_not_an_attempt(slices: Slices) -> None:
    slices.does("start a")
    for words in (["no-such-program"], [str(slices.root)], [""]):
        ran = run(slices, "--", *words)
        assert (ran.code, "could not be started" in ran.err) == (1, True)
    assert slices.at()["attempts"] == []


def test_own_junitxml_option_needs_report_option(slices: Slices) -> None:
    ran = run(slices, "--", "pytest", "--junitxml=mine.xml")
    assert (ran.code, "--report FILE" in ran.err) == (1, True)


def test_misspelt_option_is_not_the_command(slices: Slices) -> None:
    ran = slices.run("attempt", "exec", "--slice", "S-1", "--stratgy", "x", "--", "touch", "ran")
    assert (ran.code, "--stratgy" in ran.err) == (2, True)
    assert slices.run("attempt", "exec", "--slice", "S-1", "touch", "-c", "ran").code == 0, "-- may be left out"


def test_json_output_stays_json(suite: Slices) -> None:
    ran = run(suite, "--json", "--", "pytest", "-q", "test_it.py::test_good")
    assert (ran.json["exit_code"], "1 passed" in ran.err) == (0, True)
    ran = run(suite, "--json", "--", "sh", "-c", "echo '{not json'")
    assert ran.json["exit_code"] == 0


@pytest.mark.parametrize("to_all", [True, False], ids=["the group, as Ctrl-C does", "liza alone"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_reaches_the_tests_and_records_nothing(slices: Slices, number: signal.Signals, to_all: bool) -> None:
    slices.does("start a")
    board = slices.state.read_bytes()
    ends = f"trap 'touch interrupted; exit 130' {number.name[3:]}"
    script = f"{ends}; touch running; while :; do sleep 0.05; done"
    process = subprocess.Popen(
        [BIN / "liza", "attempt", "exec", "--slice", "S-1", "--", "sh", "-c", script],
        cwd=slices.root,
        env=environment(slices.root),
        start_new_session=True,
        stderr=subprocess.PIPE,
    )
    with process:
        until((slices.root / "running").exists, "the tests run")
        (os.killpg if to_all else os.kill)(process.pid, number)
        assert process.wait(20) == 130
        assert process.stderr is not None
        assert process.stderr.read().strip() == b"liza: interrupted"
    assert (slices.root / "interrupted").exists()
    assert slices.state.read_bytes() == board
