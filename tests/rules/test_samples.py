"""Every shipped rule comes with blackboards that carry their own verdict: `samples/<rule>/{fires,quiet}-*.yaml`."""

from pathlib import Path

import pytest

from liza.rules.evaluate import evaluate
from tests.rules.boards import NOW, SYSTEMIC, names, written

SAMPLES = Path(__file__).parent.parent / "samples"
FILES = sorted(SAMPLES.glob("*/*.yaml"))
RULES = [each.rule.name for each in SYSTEMIC.rules]


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_sample_is_judged_as_its_name_says(file: Path) -> None:
    fires = file.name.startswith("fires-")
    board = written(file.read_text())
    assert names(evaluate(SYSTEMIC, board, NOW)) == ([file.parent.name] if fires else [])
    assert not (fires and board.problems)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("verdict", ["fires", "quiet"])
def test_every_rule_has_samples_of_both_verdicts(rule: str, verdict: str) -> None:
    assert list((SAMPLES / rule).glob(f"{verdict}-*.yaml"))


def test_every_sample_belongs_to_a_rule_and_says_its_verdict() -> None:
    assert {file.parent.name for file in FILES} <= set(RULES)
    assert [file.name for file in FILES if not file.name.startswith(("fires-", "quiet-"))] == []
