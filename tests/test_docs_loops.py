"""What docs/loops.md shows works as it says."""

import re
import subprocess
from pathlib import Path

import pytest

from liza.blackboard.rulesfile import read_rules
from liza.cli.loop import record_command
from liza.rules import blocks
from tests.cli.run import environment, liza

TEXT = (Path(__file__).parent.parent / "docs" / "loops.md").read_text()
SHELL = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
(YAML,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("text", SHELL, ids=["recording", "a loop in shell"])
def test_the_commands_work(tmp_path: Path, text: str) -> None:
    assert liza(tmp_path, "init").code == 0
    (tmp_path / "build.log").write_text("")
    env = environment(tmp_path)
    done = subprocess.run(
        ["sh", "-eu", "-c", text], cwd=tmp_path, env=env, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"CLOSED" in done.stdout
    assert (b"OPEN after 3 iterations" in done.stdout) == ("reset" in text)


def test_the_settings_can_be_used_and_are_those_that_are_shipped_but_for_one(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(YAML)
    rules = read_rules(str(tmp_path / "rules.yaml"))
    (change,) = rules.changes
    assert "projects.'debugging'.max_loops_no_progress is 12" in change


def test_every_rule_and_every_option_has_its_row() -> None:
    rules = {each.rule.name for each in read_rules(None).scoped["loops"]}
    assert {name for name in rules if f"`{name}`" not in TEXT} == set()
    options = {name for parameter in record_command.params for name in parameter.opts if name.startswith("--")}
    common = {"--root", "--debug", "--json", "--now"}
    assert {name for name in options - common if f"`{name}" not in TEXT} == set()


def test_the_numbers_are_those_that_are_in_force() -> None:
    for name, limit in blocks.LIMITS.items():
        assert re.search(rf"{name}: {limit.default}\b", YAML), name
        assert re.search(rf"{name}:.*\b{limit.least} to {limit.most}\b", YAML), name
    for project, limits in blocks.PROJECTS.items():
        loops, percent = limits["max_loops_no_progress"], limits["stagnation_threshold"]
        assert re.search(rf"`{project}`\s\({loops}(?: loops)?, {percent} %\)", TEXT), project
