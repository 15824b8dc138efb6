"""`liza rules test`: running cases and reporting their results."""

import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from liza.cli.rules_test import run
from tests.cli.run import Result, liza, on_a_terminal
from tests.cli.test_untrusted_text import NASTY, harmless

GOOD = """\
cases:
  - name: the third of its kind trips
    anomalies:
      - {at: 5m, task: task-1, type: retry_loop, error_pattern: timeout after 30 s}
      - {at: 10m, task: task-2, type: retry_loop, error_pattern: timeout after 5 s}
      - {at: 15m, task: task-3, type: retry_loop, error_pattern: timeout after 7 s}
    trips:
      - {at: 15m, rule: retry_cluster}
  - name: nothing comes of nothing
    trips: []
"""
BAD = GOOD.replace("at: 15m, rule", "at: 10m, rule")
OWN = "rules: [{name: own, condition: count(type=workaround) >= 1, severity: SPEC_FLAW}]\n"
ABOUT_OWN = "cases:\n  - name: one\n    anomalies: [{at: 1m, type: workaround, what: x}]\n    trips: [own]\n"


def rules_test(folder: Path, *words: str) -> Result:
    return liza(folder, "rules", "test", *words)


def files(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def test_passing_cases_are_ok(tmp_path: Path) -> None:
    assert rules_test(files(tmp_path, good=GOOD), "good.yaml") == (
        0,
        "good.yaml\n  ok    the third of its kind trips\n  ok    nothing comes of nothing\n2 cases: all ok\n",
        "",
    )


def test_failing_case_shows_position_and_difference(tmp_path: Path) -> None:
    assert rules_test(files(tmp_path, bad=BAD), "bad.yaml") == (
        1,
        "bad.yaml\n"
        "  FAIL  the third of its kind trips  (line 2:5)\n"
        "        retry_cluster should trip at 10m, but retry_cluster trips at 15m ('timeout after 30 s')\n"
        "  ok    nothing comes of nothing\n"
        "2 cases: 1 failed\n",
        "",
    )


def test_quiet_shows_only_failures(tmp_path: Path) -> None:
    files(tmp_path, good=GOOD, bad=BAD)
    assert rules_test(tmp_path, "-q", "good.yaml").out == "2 cases: all ok\n"
    lines = rules_test(tmp_path, "-q", "good.yaml", "bad.yaml").out.splitlines()
    assert [line.split()[0] for line in lines] == ["bad.yaml", "FAIL", "retry_cluster", "4"]


def test_json_has_every_case_and_trip(tmp_path: Path) -> None:
    result = rules_test(files(tmp_path, bad=BAD), "bad.yaml", "--json")
    document = result.json
    assert (result.code, document["status"], document["passed"], document["failed"]) == (1, "failed", 1, 1)
    assert document["command"] == "rules test"
    assert document["cases"] == [
        {
            "file": "bad.yaml",
            "line": 2,
            "name": "the third of its kind trips",
            "ok": False,
            "wrong": ["retry_cluster should trip at 10m, but retry_cluster trips at 15m ('timeout after 30 s')"],
            "trips": [{"rule": "retry_cluster", "at": "15m"}],
        },
        {"file": "bad.yaml", "line": 9, "name": "nothing comes of nothing", "ok": True, "wrong": [], "trips": []},
    ]


def test_cases_are_selected_by_part_of_name(tmp_path: Path) -> None:
    files(tmp_path, bad=BAD)
    assert rules_test(tmp_path, "bad.yaml", "--run", "NOTHING").code == 0
    assert rules_test(tmp_path, "bad.yaml", "--run", "third of").code == 1


def test_unmatched_name_is_refused(tmp_path: Path) -> None:
    result = rules_test(files(tmp_path, good=GOOD), "good.yaml", "--run", "fourth")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("liza: no case matches 'fourth'\n")
    assert result.hint() == "the cases are: 'the third of its kind trips', 'nothing comes of nothing'"


def test_folder_includes_files_below(tmp_path: Path) -> None:
    (tmp_path / "all" / "below").mkdir(parents=True)
    (tmp_path / "all" / "a.yaml").write_text(GOOD)
    (tmp_path / "all" / "below" / "b.yml").write_text(GOOD)
    (tmp_path / "all" / "notes.txt").write_text("not a file of cases")
    found = rules_test(tmp_path, "all", "--json").json
    assert [case["file"] for case in found["cases"]] == ["all/a.yaml"] * 2 + ["all/below/b.yml"] * 2


def test_rules_may_lie_beside_cases_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    files(tmp_path / "all", own=OWN, naming="rules: own.yaml\n" + ABOUT_OWN)
    result = rules_test(tmp_path, "all", "--json")
    assert result.code == 0
    assert [case["file"] for case in result.json["cases"]] == ["all/naming.yaml"]


def test_folder_with_rules_only_is_refused(tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    files(tmp_path / "all", own=OWN)
    assert rules_test(tmp_path, "all").code == 1


def test_empty_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert rules_test(tmp_path, "empty").code == 1


def test_rules_named_in_the_file_beat_the_option(tmp_path: Path) -> None:
    files(tmp_path, own=OWN, cases=ABOUT_OWN, naming="rules: own.yaml\n" + ABOUT_OWN)
    assert rules_test(tmp_path, "cases.yaml").code == 1
    assert rules_test(tmp_path, "cases.yaml", "--rules", "own.yaml").code == 0
    assert rules_test(tmp_path, "naming.yaml").code == 0
    files(tmp_path, other="rules: []\n")
    assert rules_test(tmp_path, "naming.yaml", "--rules", "other.yaml").code == 0


def test_missing_rules_error_names_the_referrer(tmp_path: Path) -> None:
    result = rules_test(files(tmp_path, naming="rules: gone.yaml\n" + ABOUT_OWN), "naming.yaml")
    assert result.code != 0
    assert result.out == ""
    assert result.hint() == "it is named under rules: in naming.yaml, and looked for from there"


def test_invalid_rules_are_refused(tmp_path: Path) -> None:
    result = rules_test(files(tmp_path, own="rules: 7\n", naming="rules: own.yaml\n" + ABOUT_OWN), "naming.yaml")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("liza: own.yaml:1:1: ")


def test_case_file_errors_do_not_suggest_init(tmp_path: Path) -> None:
    result = rules_test(files(tmp_path, empty=""), "empty.yaml", "gone.yaml")
    assert (result.code, result.out) == (1, "")
    assert "empty.yaml" in result.err
    assert "gone.yaml" in result.err
    assert "liza init" not in result.err


def test_board_with_non_list_anomalies_is_refused(tmp_path: Path) -> None:
    text = "cases: [{name: a, board: {anomalies: 7}, anomalies: [{at: 1m, type: a}], trips: []}]\n"
    result = rules_test(files(tmp_path, odd=text), "odd.yaml")
    assert (result.code, result.out) == (1, "")
    assert "anomalies: expected a list" in result.err


def test_all_problems_of_all_files_are_reported(tmp_path: Path) -> None:
    files(tmp_path, one="casess: 1\ncases: [{name: a}]\n", good=GOOD, two="cases:\n  - nmae: x\n    trips: []\n")
    result = rules_test(tmp_path, "one.yaml", "good.yaml", "two.yaml", "gone.yaml")
    assert (result.code, result.out) == (1, "")
    places = [line.split(": ")[1] for line in result.err.splitlines() if line.startswith("liza: ")]
    assert places == ["one.yaml:1:1", "one.yaml:2:1", "two.yaml:2:5", "two.yaml:2:5", "gone.yaml"]
    assert "  hint: did you mean cases?" in result.err
    assert "  hint: did you mean name?" in result.err


def test_problems_are_reported_in_json(tmp_path: Path) -> None:
    result = rules_test(files(tmp_path, one="cases:\n  - nmae: x\n    trips: []\n"), "one.yaml", "--json")
    assert result.code == 1
    assert [(each["line"], each["column"]) for each in result.json["problems"]] == [(2, 5), (2, 5)]


def test_no_board_is_needed_and_nothing_is_written(tmp_path: Path) -> None:
    files(tmp_path, good=GOOD)
    assert rules_test(tmp_path, "good.yaml").code == 0
    assert os.listdir(tmp_path) == ["good.yaml"]


# --- JUnit ------------------------------------------------------------------------------------------------------------


def test_results_are_written_as_junit(tmp_path: Path) -> None:
    assert rules_test(files(tmp_path, good=GOOD, bad=BAD), "good.yaml", "bad.yaml", "--junit", "out.xml").code == 1
    suites = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert suites.tag == "testsuites"
    assert [dict(suite.attrib) for suite in suites] == [
        {"name": "good.yaml", "tests": "2", "failures": "0"},
        {"name": "bad.yaml", "tests": "2", "failures": "1"},
    ]
    names = [(case.get("name"), case.find("failure") is not None) for case in suites.iter("testcase")]
    assert [failed for _, failed in names] == [False, False, True, False]
    (failure,) = suites.iter("failure")
    assert failure.get("message") == failure.text
    assert str(failure.text).startswith("retry_cluster should trip at 10m")


def test_unwritable_junit_file_is_reported(tmp_path: Path) -> None:
    result = rules_test(files(tmp_path, good=GOOD), "good.yaml", "--junit", "no/such/out.xml")
    assert (result.code, result.out) == (1, "")
    assert "no/such/out.xml: the JUnit file could not be written: No such file or directory" in result.err


@settings(max_examples=60)
@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=3, unique=True), st.text(min_size=1))
def test_junit_is_well_formed_for_any_names(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], expected: str
) -> None:
    folder = tmp_path_factory.getbasetemp()
    listed: list[dict[str, Any]] = [{"name": name, "trips": [expected]} for name in names]
    text = "cases:\n" + "".join(f"- name: {_yaml(each['name'])}\n  trips: [{_yaml(expected)}]\n" for each in listed)
    (folder / "odd.yaml").write_text(text)
    assert run([str(folder / "odd.yaml")], None, str(folder / "odd.xml"), None, quiet=True, as_json=False) == 1
    cases = list(ElementTree.parse(folder / "odd.xml").getroot().iter("testcase"))
    assert len(cases) == len(names)
    assert all(str(case.get("name")).isprintable() for case in cases)


def _yaml(text: str) -> str:
    """Any text as a YAML string."""
    return '"' + "".join(f"\\U{ord(char):08x}" for char in text) + '"'


# --- untrusted text ---------------------------------------------------------------------------------------------------


ODD = _yaml(NASTY)
RECORD = f"{{at: 1m, type: retry_loop, task: {ODD}, error_pattern: {ODD}}}"
TRIPS = [
    f"{{rule: {rule}, key: {ODD}, tasks: [{ODD}], also: [{ODD}], severity: {ODD}}}" for rule in ("retry_cluster", ODD)
]
CASES = {
    "its cases": f"- {{name: {ODD}, anomalies: [{', '.join([RECORD] * 4)}], trips: [{', '.join(TRIPS)}]}}\n",
    "its faults": f"- {{name: a, {ODD}: 1, start: {ODD}, checks: [{ODD}], board: {ODD}, trips: {ODD}}}\n{ODD}: 1\n",
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_text_of_a_file_is_escaped(tmp_path: Path, text: str) -> None:
    (tmp_path / f"{NASTY}.yaml").write_text(f"cases:\n{text}")
    result = on_a_terminal(tmp_path, "rules", "test", f"{NASTY}.yaml")
    assert (result.code, "owned" in result.out) == (1, True)
    assert harmless(result.out), ascii(result.out)
    assert rules_test(tmp_path, f"{NASTY}.yaml", "--json").out.isascii()


def test_command_line_words_are_escaped(tmp_path: Path) -> None:
    files(tmp_path, good=GOOD)
    for words in (["--run", NASTY], ["--rules", NASTY], ["--junit", f"{NASTY}/x"], [NASTY]):
        result = on_a_terminal(tmp_path, "rules", "test", "good.yaml", *words)
        assert result.code != 0
        assert harmless(result.out), ascii(result.out)
