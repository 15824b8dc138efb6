"""Every shipped rule comes with cases that carry their own verdict: `samples/<rule>/{fires,quiet}-*.yaml`."""

from pathlib import Path

import pytest

from liza.replay.cases import Case, Expected, read_cases, run_case
from liza.scopes.rules_file import read_rules

SAMPLES = Path(__file__).parent.parent / "samples"
FILES = sorted(SAMPLES.glob("*/*.yaml"))
SHIPPED = read_rules(None)
RULES = [each.rule.name for each in SHIPPED.all]
CASES = [
    pytest.param(file, case, id=f"{file.parent.name}/{file.stem}: {case.name}")
    for file in FILES
    for case in read_cases(str(file)).cases
]


@pytest.mark.parametrize(("file", "case"), CASES)
def test_a_sample_comes_out_as_it_says(file: Path, case: Case) -> None:
    assert run_case(case, SHIPPED).wrong == ()


@pytest.mark.parametrize(("file", "case"), CASES)
def test_a_sample_expects_what_its_name_says(file: Path, case: Case) -> None:
    expected = {each.rule for each in (*case.trips, *(case.alarms or ()))}
    assert (file.parent.name in expected) == file.name.startswith("fires-")


@pytest.mark.parametrize(("file", "case"), CASES)
def test_a_sample_with_the_opposite_expectation_fails(file: Path, case: Case) -> None:
    opposite = (
        case._replace(trips=() if case.trips else (Expected("nothing"),))
        if case.alarms is None
        else case._replace(alarms=() if case.alarms else (Expected("nothing"),))
    )
    assert run_case(opposite, SHIPPED).wrong != ()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("verdict", ["fires", "quiet"])
def test_every_rule_of_every_pack_has_samples_of_both_verdicts(rule: str, verdict: str) -> None:
    assert list((SAMPLES / rule).glob(f"{verdict}-*.yaml"))


def test_every_sample_belongs_to_a_rule_and_says_its_verdict() -> None:
    assert {file.parent.name for file in FILES} <= set(RULES)
    assert [file.name for file in FILES if not file.name.startswith(("fires-", "quiet-"))] == []
