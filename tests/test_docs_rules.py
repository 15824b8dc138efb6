"""What docs/rules.md shows works as it says: its commands, its files of rules, its cases, and what is together."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from liza.rules.matching import similar_groups
from tests.cli.run import environment, liza, new_board

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "rules.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)
SHELL = [text for kind, text in BLOCKS if kind == "sh"]
YAML = [text for kind, text in BLOCKS if kind == "yaml"]
CASES = [text for text in YAML if "\ncases:\n" in text]
RULES = [text for text in YAML if text not in CASES and re.search(r"^rules:$", text, re.MULTILINE)]
OTHERS = [text for text in YAML if text not in CASES + RULES]
PAIRS = re.findall(r"^\| `(.+?)` \| `(.+?)` \| (together|apart): ", TEXT, re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the example blackboard, and the files that the page names."""
    shutil.copytree(ROOT / ".liza.example", tmp_path / ".liza")
    (tmp_path / "my-rules.yaml").write_text(next(text for text in RULES if "enabled: false" in text))
    (tmp_path / "cases.yaml").write_text(CASES[0])
    return tmp_path


def first_line(text: str) -> str:
    return text.splitlines()[0][:60]


@pytest.mark.parametrize("text", SHELL, ids=first_line)
def test_the_commands_work(folder: Path, text: str) -> None:
    done = subprocess.run(
        ["sh", "-eu", "-c", text], cwd=folder, env=environment(folder), capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout


@pytest.mark.parametrize("text", RULES, ids=lambda text: re.findall(r"name: (\w+)", text)[-1])
def test_the_files_of_rules_can_be_used(tmp_path: Path, text: str) -> None:
    (tmp_path / "rules.yaml").write_text(text)
    result = liza(tmp_path, "rules", "check", "rules.yaml")
    assert result.code == 0, result.out


@pytest.mark.parametrize("text", CASES, ids=first_line)
def test_the_cases_come_out_as_they_say(folder: Path, text: str) -> None:
    (folder / "cases.yaml").write_text(text)
    answer = liza(folder, "rules", "test", "cases.yaml", "--json").json
    assert (answer["status"], answer["failed"], answer["passed"]) == ("ok", 0, text.count("- name: "))


@pytest.mark.parametrize("text", OTHERS, ids=first_line)
def test_the_silence_is_one(tmp_path: Path, text: str) -> None:
    new_board(tmp_path, f"version: 1\nanomalies: []\n{text}")
    answer = liza(tmp_path, "silence", "list", "--json", "--now", "2025-01-18T18:00:00Z").json
    assert [(each["id"], each["state"], each["fault"]) for each in answer["silences"]] == [
        ("silence-1", "in force", None)
    ]


@pytest.mark.parametrize(("one", "other", "verdict"), PAIRS)
def test_the_texts_are_together_or_apart_as_it_says(one: str, other: str, verdict: str) -> None:
    groups = similar_groups([one, other], 0.7)
    assert (groups[one] == groups[other]) is (verdict == "together")


def test_the_page_has_all_of_these() -> None:
    assert (len(SHELL), len(CASES), len(OTHERS)) == (4, 1, 1)
    assert len(RULES) >= 7
    assert len(PAIRS) == 10
    assert {kind for kind, _ in BLOCKS} == {"sh", "yaml"}
