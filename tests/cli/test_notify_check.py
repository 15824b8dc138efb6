"""`notify:` is validated with the rules, so that a wrong target is found before a message is lost."""

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
def test_notify_problems_are_listed_with_positions(project: Path, words: tuple[str, ...]) -> None:
    ran = liza(project, *words)
    assert ran.code == 1
    lines = [line for line in ran.out.splitlines() if "rules.yaml:" in line and "error" in line]
    assert [line.split(": ")[0] for line in lines] == [f".liza/rules.yaml:{line}:{column}" for line, column in PLACES]
    assert "did you mean slack?" in ran.out
    assert "did you mean file?" in ran.out
    assert SECRET not in ran.out + ran.err


def test_notify_problems_are_listed_in_json(project: Path) -> None:
    ran = liza(project, "rules", "check", "--json")
    assert (ran.code, ran.json["status"]) == (1, "invalid")
    assert [(each["line"], each["column"]) for each in ran.json["problems"]] == PLACES
    assert SECRET not in ran.out


@pytest.mark.parametrize("words", [("rules", "check"), ("validate",)], ids=" ".join)
def test_notify_problems_are_listed_with_those_of_rules(project: Path, words: tuple[str, ...]) -> None:
    (project / ".liza" / "rules.yaml").write_text(NOTIFY.replace("rules: []", "rules: [{name: half}]"))
    places = [(each["line"], each["column"]) for each in liza(project, *words, "--json").json["problems"]]
    assert places == [(1, 1), *PLACES]


def test_broken_notify_does_not_stop_evaluation(project: Path) -> None:
    assert liza(project, "analyze").code == 0
    assert "7 rules for the sprint" in liza(project, "rules", "check").out


def test_valid_notify_has_no_problems(project: Path) -> None:
    right = f"notify: {{webhook: 'https://hooks.example.com/{SECRET}', desktop: true, file: notices.jsonl}}\n"
    (project / ".liza" / "rules.yaml").write_text(right)
    assert liza(project, "rules", "check").code == liza(project, "validate").code == 0


def test_unset_variable_is_only_a_warning(project: Path) -> None:
    (project / ".liza" / "rules.yaml").write_text("notify:\n  webhook: {env: NOT_SET_ANYWHERE}\n")
    for words in (("rules", "check"), ("validate",)):
        ran = liza(project, *words)
        assert ran.code == 0
        assert ".liza/rules.yaml:2:3: warning: environment variable 'NOT_SET_ANYWHERE' is not set" in ran.out


def test_validate_checks_webhook_of_config(project: Path) -> None:
    (project / ".liza" / "rules.yaml").unlink()
    state = project / ".liza" / "state.yaml"
    state.write_text(f"version: 1\nconfig: {{escalation_webhook: 'ftp://{SECRET}'}}\nanomalies: []\n")
    ran = liza(project, "validate")
    assert (ran.code, "escalation_webhook is not a valid address" in ran.out) == (1, True)
    assert SECRET not in ran.out


def test_targets_of_liza_run_are_checked_too(project: Path) -> None:
    text = "stagnation:\n  notifications:\n    webhook: notaurl\n    desktop: perhaps\n    fax: 1\n"
    (project / ".liza" / "rules.yaml").write_text(text)
    ran = liza(project, "rules", "check", "--json")
    assert ran.code == 1
    assert [(each["line"], each["column"]) for each in ran.json["problems"]] == [(3, 5), (4, 5), (5, 5)]
