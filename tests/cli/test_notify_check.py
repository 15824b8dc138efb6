"""`notify:` is looked at where rules are checked: who waits for messages should not wait in vain."""

from pathlib import Path

import pytest

from tests.cli.run import liza, new_board

SECRET = "T0K3N-s3cr3t"
NOTIFY = f"""\
rules: []
notify:
  webhook:
    - https://hooks.example.com/{SECRET}
    - ftp://{SECRET}@host/
    - {{url: 'https://chat.example.com/{SECRET}', format: slak}}
  desktop: maybe
  files: notices.jsonl
"""
PLACES = [(5, 7), (6, 7), (7, 3), (8, 3)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    new_board(tmp_path)
    (tmp_path / ".liza" / "rules.yaml").write_text(NOTIFY)
    return tmp_path


@pytest.mark.parametrize("words", [("rules", "check"), ("validate",)], ids=" ".join)
def test_all_that_is_wrong_with_it_is_listed_with_its_place(project: Path, words: tuple[str, ...]) -> None:
    said = liza(project, *words)
    assert said.code == 1
    lines = [line for line in said.out.splitlines() if "rules.yaml:" in line and "error" in line]
    assert [line.split(": ")[0] for line in lines] == [f".liza/rules.yaml:{line}:{column}" for line, column in PLACES]
    assert "did you mean slack?" in said.out
    assert "did you mean file?" in said.out
    assert SECRET not in said.out + said.err


def test_the_json_has_them_too(project: Path) -> None:
    said = liza(project, "rules", "check", "--json")
    assert (said.code, said.json["status"]) == (1, "invalid")
    assert [(each["line"], each["column"]) for each in said.json["problems"]] == PLACES
    assert SECRET not in said.out


def test_rules_are_judged_all_the_same(project: Path) -> None:
    assert liza(project, "analyze").code == 0
    assert "6 rules in force" in liza(project, "rules", "check").out


def test_what_is_right_is_no_problem(project: Path) -> None:
    right = f"notify: {{webhook: 'https://hooks.example.com/{SECRET}', desktop: true, file: notices.jsonl}}\n"
    (project / ".liza" / "rules.yaml").write_text(right)
    assert liza(project, "rules", "check").code == liza(project, "validate").code == 0


def test_a_variable_that_is_not_set_here_may_be_set_elsewhere(project: Path) -> None:
    (project / ".liza" / "rules.yaml").write_text("notify:\n  webhook: {env: NOT_SET_ANYWHERE}\n")
    for words in (("rules", "check"), ("validate",)):
        said = liza(project, *words)
        assert said.code == 0
        assert ".liza/rules.yaml:2:3: warning: the environment has no 'NOT_SET_ANYWHERE'" in said.out


def test_the_address_on_the_blackboard_is_looked_at_by_validate(project: Path) -> None:
    (project / ".liza" / "rules.yaml").unlink()
    state = project / ".liza" / "state.yaml"
    state.write_text(f"version: 1\nconfig: {{escalation_webhook: 'ftp://{SECRET}'}}\nanomalies: []\n")
    said = liza(project, "validate")
    assert (said.code, "escalation_webhook is no address" in said.out) == (1, True)
    assert SECRET not in said.out
