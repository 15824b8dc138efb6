"""The commands as people and agents call them: output, effect and exit code."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.run import LIZA, environment, installed, liza, new_board
from tests.run.repositories import git, repository
from tests.store.oracle import libyaml_value
from tests.tools import needs

ANOMALY = ["log", "anomaly", "--type", "retry_loop", "--task", "t1", "--reporter", "coder-1"]
ROOT = Path(__file__).parents[2]
NOT_IN_GIT = (
    "CHECKPOINT", "PAUSE", "ABORT", "ESCALATION", "state.yaml.lock", "watch.lock", "watch.json", "watch.log",
    "watch.log.1", "alerts.log", "alerts.log.1", "stopped/s", "spool/1.json", "steps/s.jsonl", "inbox/1.json",
    "runs/1/session.json", "backups/state-1.yaml", ".state.yaml.1-1.new", ".state.yaml.a-b.swap",
    ".CHECKPOINT.1-1.aside",
)  # fmt: skip


def test_version_is_one_line(tmp_path: Path) -> None:
    result = installed(tmp_path, "--version")
    assert (result.code, result.err) == (0, "")
    assert re.fullmatch(r"liza \d+\.\d+\.\d+\n", result.out)


def test_help_shows_commands_in_groups(tmp_path: Path) -> None:
    result = installed(tmp_path, "--help")
    assert (result.code, result.err) == (0, "")
    headings = re.findall(r"^([A-Z][a-z ]+):$", result.out, re.MULTILINE)
    groups = ["Watching", "Deciding", "Recording", "Rules", "Setting up"]
    assert [each for each in headings if each in groups] == [each for each in groups if each in headings]
    recording, setting_up = result.out.index("Recording:"), result.out.index("Setting up:")
    assert recording < result.out.index("\n  log ") < setting_up < result.out.index("\n  init ")
    assert "Exit codes" in result.out


# --- finding the blackboard -----------------------------------------------------------------------------------------


def test_nearest_board_upward_is_found(tmp_path: Path) -> None:
    new_board(tmp_path, "tasks: x\n")
    new_board(tmp_path / "inner")
    (tmp_path / "inner" / "deep" / "er").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    assert liza(tmp_path / "inner" / "deep" / "er", "validate").code == 0
    assert liza(tmp_path / "other", "validate").code == 1


def test_root_is_accepted_before_and_after_the_command(tmp_path: Path) -> None:
    new_board(tmp_path / "here", "tasks: x\n")
    new_board(tmp_path / "there")
    there = ["--root", str(tmp_path / "there")]
    for words in ([*there, "validate"], ["validate", *there], ["validate", "--root=../there"]):
        assert liza(tmp_path / "here", *words).code == 0
    entry = ["entry", "--agent", "a", "--action", "x"]
    for words in ([*there, "log", *entry], ["log", *there, *entry], ["log", *entry, *there]):
        assert liza(tmp_path / "here", *words).code == 0
    assert (tmp_path / "there" / ".liza" / "log.yaml").read_text().count("agent: a") == 3
    assert not (tmp_path / "here" / ".liza" / "log.yaml").exists()


def test_root_may_name_the_liza_folder(tmp_path: Path) -> None:
    new_board(tmp_path / "board")
    assert liza(tmp_path, "--root", "board/.liza", "validate").code == 0
    assert liza(tmp_path, "--root", "board/.liza/", "validate").code == 0
    assert liza(tmp_path / "board" / ".liza", "--root", ".", "validate").code == 0


def test_root_option_beats_environment(tmp_path: Path) -> None:
    new_board(tmp_path / "good")
    new_board(tmp_path / "bad", "tasks: x\n")
    assert liza(tmp_path, "validate", LIZA_ROOT=str(tmp_path / "bad")).code == 1
    assert liza(tmp_path, "validate", "--root", "good", LIZA_ROOT=str(tmp_path / "bad")).code == 0
    assert liza(tmp_path / "good", "validate", LIZA_ROOT="").code == 0


def test_named_folder_must_have_a_board(tmp_path: Path) -> None:
    new_board(tmp_path)  # not searched: it may be another team's
    (tmp_path / "inner").mkdir()
    for result in (
        liza(tmp_path, "validate", "--root", "inner"),
        liza(tmp_path, "validate", LIZA_ROOT="inner"),
        liza(tmp_path, "validate", "--root", "nowhere"),
    ):
        assert result.code == 1
        assert "liza init --root" in result.hint()


# --- init -----------------------------------------------------------------------------------------------------------


def test_init_creates_a_valid_board(tmp_path: Path) -> None:
    result = installed(tmp_path, "init")
    assert (result.code, result.err) == (0, "")
    assert "created .liza/.gitignore\n" in result.out
    for name in ("state.yaml", "log.yaml", "rules.yaml"):
        assert f"created .liza/{name}\n" in result.out
        assert (tmp_path / ".liza" / name).read_bytes() == (ROOT / "templates" / name).read_bytes()
    assert installed(tmp_path, "validate").out.endswith("valid\n")


def test_init_ignores_runtime_files_in_git(tmp_path: Path) -> None:
    repository(tmp_path)
    assert liza(tmp_path, "init").code == 0
    for name in ("reports/1.md", "diagnostics/1.md", *NOT_IN_GIT):
        file = tmp_path / ".liza" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    git(tmp_path, "add", "-A")
    kept = {name.removeprefix(".liza/") for name in git(tmp_path, "ls-files", ".liza").split()}
    assert kept == {".gitignore", "state.yaml", "log.yaml", "rules.yaml", "reports/1.md", "diagnostics/1.md"}


def test_init_overwrites_nothing(tmp_path: Path) -> None:
    state = new_board(tmp_path, "mine: 1\n")
    for words in (["init"], ["init", "--goal", "x"], ["--root", ".", "init"], ["init", "--root", ".liza"]):
        result = liza(tmp_path, *words)
        assert result.code == 1
        assert "liza validate" in result.hint()
    assert state.read_text() == "mine: 1\n"
    assert os.listdir(tmp_path / ".liza") == ["state.yaml"]


def test_init_completes_a_partial_folder(tmp_path: Path) -> None:
    folder = tmp_path / ".liza"
    folder.mkdir()
    (folder / "rules.yaml").write_text("window: all\n")
    (folder / "watch.json").write_text("{}")  # as a daemon leaves it after a deletion
    result = liza(tmp_path, "init")
    assert result.code == 0
    assert "created .liza/state.yaml\n" in result.out
    assert "rules.yaml" not in result.out.splitlines()[1]
    assert (folder / "rules.yaml").read_text() == "window: all\n"
    assert (folder / "watch.json").read_text() == "{}"
    assert liza(tmp_path, "validate").code == 0


@pytest.mark.parametrize("left", ["reports/a.md", "backups/state-20250118T100000Z.yaml"])
def test_init_refuses_beside_an_old_history(tmp_path: Path, left: str) -> None:
    path = tmp_path / ".liza" / left
    path.parent.mkdir(parents=True)
    path.write_text("version: 1\n")
    result = liza(tmp_path, "init")
    assert result.code == 1
    assert ("cp " in result.hint()) == left.startswith("backups")
    assert "mv " in result.hint()
    assert not (tmp_path / ".liza" / "state.yaml").exists()


GOALS = ["Ship it", "", "a: b # c", "'\"", "- x", "two\nlines", "🎯 größer\u202e", "\x1b[31m", "_1", "x" * 9000]


@pytest.mark.parametrize("goal", GOALS, ids=ascii)
def test_goal_of_any_text_is_kept(tmp_path: Path, goal: str) -> None:
    assert liza(tmp_path, "init", "--goal", goal).code == 0
    state = libyaml_value((tmp_path / ".liza" / "state.yaml").read_bytes())
    assert state["goal"]["description"] == goal
    assert liza(tmp_path, "validate").code == 0


def test_init_refuses_an_impossible_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for root in ("file", "no/such/folder"):
        result = liza(tmp_path, "init", "--root", root)
        assert result.code == 1
        assert result.hint()


# --- validate -------------------------------------------------------------------------------------------------------


def test_valid_board_is_reported_valid(tmp_path: Path) -> None:
    new_board(tmp_path, "anomalies: []\ntasks:\n- {id: a, status: DRAFT}\nmine: [1]\n")
    result = liza(tmp_path, "validate")
    assert (result.code, result.err) == (0, "")
    assert result.out.endswith("\nvalid\n")
    envelope = liza(tmp_path, "validate", "--json").json
    assert envelope.items() >= {"schema": 1, "command": "validate", "status": "ok", "problems": [], "errors": 0}.items()
    assert envelope["checked"] == {".liza/state.yaml": {"anomalies": 0, "tasks": 1}}


def test_validate_counts_named_entries(tmp_path: Path) -> None:
    new_board(tmp_path, "version: 1\nanomalies: []\nloops:\n  night: {status: CLOSED}\nconfig: {a: 1, b: 2}\n")
    assert ".liza/state.yaml: anomalies 0, loops 1\n" in liza(tmp_path, "validate").out


def test_all_problems_are_reported_with_positions(tmp_path: Path) -> None:
    new_board(tmp_path, "agents: []\ntasks:\n- id: a\n  status: DARFT\n- 5\nanomolies: []\n")
    (tmp_path / ".liza" / "log.yaml").write_text("- agent: a\n")
    result = liza(tmp_path, "validate")
    assert result.code == 1
    places = re.findall(r"^(\S+:\d+:\d+): (error|warning): ", result.out, re.MULTILINE)
    assert places == [
        (".liza/state.yaml:1:1", "error"),
        (".liza/state.yaml:4:3", "error"),
        (".liza/state.yaml:5:3", "error"),
        (".liza/state.yaml:6:1", "warning"),
        (".liza/log.yaml:1:3", "error"),
        (".liza/log.yaml:1:3", "error"),
    ]
    assert "hint: did you mean DRAFT?" in result.out
    assert result.out.endswith("not valid: 5 errors, 1 warning\n")
    envelope = liza(tmp_path, "validate", "--json").json
    assert (envelope["status"], envelope["errors"], envelope["warnings"]) == ("invalid", 5, 1)
    first = {"file": ".liza/state.yaml", "line": 1, "column": 1, "level": "error"}
    assert envelope["problems"][0].items() >= first.items()
    assert all(set(each) >= {"file", "line", "column", "message", "hint"} for each in envelope["problems"])


def test_warnings_alone_do_not_fail(tmp_path: Path) -> None:
    new_board(tmp_path, "anomalies:\n- {task: t, reporter: r, type: team_mood, timestamp: 2025-01-18T14:32:00Z}\n")
    result = liza(tmp_path, "validate")
    assert result.code == 0
    assert result.out.endswith("valid: 0 errors, 1 warning\n")


def test_unwritable_board_is_a_warning(tmp_path: Path) -> None:
    new_board(tmp_path, "{anomalies: []}\n")
    result = liza(tmp_path, "validate")
    assert result.code == 0
    assert "warning" in result.out


def test_one_file_can_be_validated(tmp_path: Path) -> None:
    (tmp_path / "copy.yaml").write_text("tasks: x\n")
    (tmp_path / "log.yaml").write_text("- {timestamp: 2025-01-18T14:32:00Z, agent: a, action: x}\n")
    assert liza(tmp_path, "validate", "copy.yaml").code == 1
    assert liza(tmp_path, "validate", "log.yaml").code == 0
    assert liza(tmp_path, "validate", "missing.yaml").code == 4
    assert liza(tmp_path, "validate", ".").code == 4


def test_example_board_is_valid(tmp_path: Path) -> None:
    assert liza(tmp_path, "validate", str(ROOT / ".liza.example" / "state.yaml")).code == 0
    assert liza(tmp_path, "validate", str(ROOT / ".liza.example" / "log.yaml")).code == 0


def test_json_works_with_jq_as_documented(tmp_path: Path) -> None:
    needs("jq")
    new_board(tmp_path, "tasks: x\n")
    done = subprocess.run(
        f"{LIZA} validate --json | jq -r '.problems[].message'",
        shell=True, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("tasks: expected a list")
    assert json.loads(liza(tmp_path, "validate", "--json").out)["status"] == "invalid"
