"""Every shipped rule has cases with an expected verdict: `samples/<rule>/{fires,quiet}-*.yaml`."""

from functools import cache
from pathlib import Path

from liza.replay.cases import Case, Expected, read_cases, run_case
from liza.scopes.rules_file import read_rules

SAMPLES = Path(__file__).parent.parent / "samples"
FILES = sorted(SAMPLES.glob("*/*.yaml"))
SHIPPED = read_rules(None)
RULES = [each.rule.name for each in SHIPPED.all]


@cache
def cases() -> dict[str, tuple[Path, Case]]:
    """Every case with its file, by file and case name; read by the tests, not during collection."""
    return {
        f"{file.parent.name}/{file.stem}: {case.name}": (file, case)
        for file in FILES
        for case in read_cases(str(file)).cases
    }


def test_every_sample_passes() -> None:
    assert {name: wrong for name, (_, case) in cases().items() if (wrong := run_case(case, SHIPPED).wrong)} == {}


def test_samples_agree_with_their_file_names() -> None:
    wrong = [
        name
        for name, (file, case) in cases().items()
        if (file.parent.name in {each.rule for each in (*case.trips, *(case.alarms or ()))})
        != file.name.startswith("fires-")
    ]
    assert wrong == []


def opposite(case: Case) -> Case:
    if case.alarms is None:
        return case._replace(trips=() if case.trips else (Expected("nothing"),))
    return case._replace(alarms=() if case.alarms else (Expected("nothing"),))


def test_opposite_expectation_fails() -> None:
    assert [name for name, (_, case) in cases().items() if not run_case(opposite(case), SHIPPED).wrong] == []


def test_every_rule_has_samples_of_both_verdicts() -> None:
    kinds = [(rule, verdict) for rule in RULES for verdict in ("fires", "quiet")]
    assert [each for each in kinds if not list((SAMPLES / each[0]).glob(f"{each[1]}-*.yaml"))] == []


def test_every_sample_is_named_for_a_rule_and_verdict() -> None:
    assert len(cases()) >= 119
    assert {file.parent.name for file in FILES} <= set(RULES)
    assert [file.name for file in FILES if not file.name.startswith(("fires-", "quiet-"))] == []
