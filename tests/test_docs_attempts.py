"""What docs/attempts.md shows works as it says, from the first block to the last, in one new folder."""

import re
import subprocess
from pathlib import Path

import click
import pytest

from liza.blackboard.rulesfile import read_rules
from liza.cli.attempt import command
from liza.protocols.attempts import diagnosis
from tests.blackboard.oracle import ruamel_value
from tests.cli.run import environment, liza, new_board
from tests.runner.repositories import SETTINGS, repository

TEXT = (Path(__file__).parent.parent / "docs" / "attempts.md").read_text()
SHELL = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
YAML = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)


def run(folder: Path, text: str) -> tuple[int, str]:
    env = environment(folder, **SETTINGS, PYTEST_ADDOPTS="-p no:cacheprovider", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    done = subprocess.run(
        ["sh", "-u", "-c", text], cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert "a bug in liza" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def test_the_commands_work_one_after_the_other(tmp_path: Path) -> None:
    repository(tmp_path)
    assert liza(tmp_path, "init").code == 0
    attempts, runner, report, scope, reset = SHELL
    code, said = run(tmp_path, attempts)
    assert (code, "2 of 7 failures, 1 infrastructure error" in said) == (0, True)
    code, said = run(tmp_path, runner)
    assert (code, "failed, 1 of 3" in said, "failed, 2 of 3" in said) == (0, True, True)
    assert "observed, and counted for nothing: 1 passed" in said
    code, said = run(tmp_path, report)
    assert (code, "STOPPED: test 'test_duplicate' failed 3 times in a row" in said) == (0, True)
    assert "complete: .liza/diagnostics/S-4/" in said
    assert ruamel_value((tmp_path / "report.yaml").read_bytes())["actual_error"]
    code, said = run(tmp_path, scope)
    assert (code, "by a package of GRAPH.json: src/users" in said, "by a justification" in said) == (0, True, True)
    code, said = run(tmp_path, reset)
    assert (code, "slice S-4: ACTIVE, 0 of 7 failures" in said, "to roll back:" in said) == (0, True, True)
    assert (tmp_path / "prior_attempts.xml").read_text().startswith("<prior_attempts>")


def test_the_rule_may_be_used(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(YAML[0])
    assert liza(tmp_path, "rules", "check", "rules.yaml").code == 0


def test_the_reason_for_an_empty_field_is_one(tmp_path: Path) -> None:
    filled = dict.fromkeys(diagnosis.FIELDS, "something")
    empty = {**filled, "best_hypothesis": ""}
    assert [field for field, _ in diagnosis.faults(empty)] == ["best_hypothesis"]
    assert list(diagnosis.faults({**empty, **ruamel_value(YAML[1].encode())})) == []


def test_the_slice_is_one(tmp_path: Path) -> None:
    new_board(tmp_path, f"version: 1\nanomalies: []\n{YAML[2]}")
    assert liza(tmp_path, "validate").code == 0
    answer = liza(tmp_path, "attempt", "status", "--slice", "S-3", "--json").json
    assert (answer["slice_status"], answer["total_failed_attempts"]) == ("ACTIVE", 1)
    assert answer["tests"][0]["attempt_count"] == 1


def test_every_rule_every_command_and_every_field_of_the_report_is_named() -> None:
    names = {each.rule.name for each in read_rules(None).scoped["attempts"]} | set(diagnosis.FIELDS)
    assert {name for name in names if f"`{name}`" not in TEXT} == set()
    verbs = command.list_commands(click.Context(command))
    assert {verb for verb in verbs if f"liza attempt {verb} " not in TEXT} == set()


@pytest.mark.parametrize("verb", ["start", "fail", "exec", "junit", "diagnose", "reset", "scope", "justify"])
def test_every_option_is_shown(verb: str) -> None:
    found = command.get_command(click.Context(command), verb)
    assert found is not None
    options = {name for each in found.params for name in each.opts if name.startswith("--")}
    common = {"--root", "--debug", "--json", "--now", "--by", "--message", "--error-file"}
    assert {name for name in options - common if name not in TEXT} == set()


def test_the_page_links_to_what_is_there() -> None:
    assert set(re.findall(r"\]\(([^)#:]+)\)", TEXT)) == {"schema.md"}
    assert (len(SHELL), len(YAML)) == (5, 3)
