"""An unusable rules.yaml: every command gives the same answer, by the shipped rules, and it is never an OK."""

from pathlib import Path

import pytest

import liza
from liza.errors import Unreadable
from tests.scopes.sprint.cases import RETRY, board_with
from tests.scopes.sprint.run import Board

BROKEN = {
    "not YAML": "rules: [\n",
    "an unknown key": "rules:\n- {name: retry_cluster, threshold: 9}\n",
    "two errors": "rules:\n- {name: retry_cluster, condition: count(}\nwindow: yesterday\n",
    "disabled, and broken": "rules:\n- {name: retry_cluster, enabled: false}\n- {nme: x}\n",
}
COMMANDS = {"analyze": ("analyze",), "dry run": ("analyze", "--dry-run"), "watch": ("watch", "--once")}


@pytest.fixture(params=[*BROKEN, "a folder"])
def quiet(request: pytest.FixtureRequest, tmp_path: Path) -> Board:
    """A board without a match, beside rules that cannot be used."""
    board = board_with(tmp_path, *RETRY.records[:2])
    if request.param in BROKEN:
        board.rules.write_text(BROKEN[request.param])
    else:
        board.rules.mkdir()
    return board


@pytest.mark.parametrize("command", [*COMMANDS.values(), ("status",)], ids=[*COMMANDS, "status"])
def test_broken_rules_without_a_match_are_degraded(quiet: Board, command: tuple[str, ...]) -> None:
    ran = quiet.run(*command)
    assert ran.code == 4
    assert "rules.yaml" in ran.err + ran.out
    assert quiet.section["history"] == [], "an OK was entered"
    assert not quiet.checkpoint.exists()


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_broken_rules_with_a_match_halt(quiet: Board, command: tuple[str, ...]) -> None:
    quiet.add(RETRY.records[2])
    ran = quiet.run(*command)
    assert ran.code == 3
    assert "rules.yaml" in ran.err + ran.out, "DEGRADED was not reported"
    assert quiet.checkpoint.exists() == ("--dry-run" not in command)
    if quiet.checkpoint.exists():
        assert quiet.trigger["pattern"] == "retry_cluster"
        assert quiet.run("status").code == quiet.run("analyze").code == 3


def test_api_gives_the_same_answer(quiet: Board) -> None:
    with pytest.raises(Unreadable) as caught:
        liza.analyze(quiet.root)
    assert str(caught.value.file).endswith("rules.yaml")
    quiet.add(RETRY.records[2])
    assert liza.analyze(quiet.root, dry_run=True).is_open
    assert liza.analyze(quiet.root).tripped
    assert quiet.checkpoint.exists()


def test_json_has_every_problem_of_the_rules(tmp_path: Path) -> None:
    board = board_with(tmp_path, *RETRY.records)
    board.rules.write_text(BROKEN["two errors"])
    for command, status in (("status", "degraded"), ("analyze", "triggered"), ("status", "triggered")):
        answer = board.run(command, "--json").json
        assert answer["status"] == status
        lines = {each["line"] for each in answer["problems"] if str(each["file"]).endswith("rules.yaml")}
        assert lines == {2, 3}


def test_broken_named_rules_file_is_refused(tmp_path: Path) -> None:
    """A named file is meant: no other rules are evaluated in its place."""
    board = board_with(tmp_path, *RETRY.records)
    (tmp_path / "other.yaml").write_text("rules: [\n")
    assert board.run("analyze", "--rules", "other.yaml").code == 4
    assert not board.checkpoint.exists()
