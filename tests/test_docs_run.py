"""What docs/run.md shows works as it says."""

import re
import subprocess
from pathlib import Path

from liza.cli.run import command
from liza.runner.signs import claims_done
from tests.cli.run import environment
from tests.runner.projects import Project
from tests.runner.repositories import SETTINGS

TEXT = (Path(__file__).parent.parent / "docs" / "run.md").read_text()


def test_the_command_works(tmp_path: Path) -> None:
    (text,) = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
    project = Project(tmp_path / "p")
    words, env = ["sh", "-eu", "-c", text], environment(project.folder, **SETTINGS)
    done = subprocess.run(words, cwd=project.folder, env=env, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert [each["progress"] for each in project.board["loops"]["coder-1"]["iterations"]] == [50, 100]


def test_the_words_that_it_calls_a_claim_are_one() -> None:
    words = re.findall(r"`([^`]+)`", TEXT.partition("nothing else on it:")[2].partition("A progress of 100")[0])
    claims = [" ".join(each.split()).replace("...", "DONE") for each in words]
    assert len(claims) == 9
    assert [each for each in claims if not claims_done([each])] == []


def test_the_options_that_it_names_exist() -> None:
    known = {name for parameter in command.params for name in parameter.opts}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", TEXT))
    assert named - known == set()
    assert len(named) > 10
