"""The six systemic patterns: each fires on its smallest case, and on no look-alike."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.model import Reason
from liza.rules.evaluate import evaluate
from liza.schema.severities import SEVERITIES
from tests.rules.boards import (
    NOW,
    SYSTEMIC,
    Fields,
    anomaly,
    names,
    progress,
    rule,
    rules,
    snapshot,
    systemic,
    unusable,
)

EXACT = SYSTEMIC._replace(exact=True)
FLAWS = {
    "retry_cluster": "ARCHITECTURE_FLAW",
    "debt_accumulation": "SCOPE_FLAW",
    "assumption_cascade": "SPEC_FLAW",
    "workaround_pattern": "ARCHITECTURE_FLAW",
    "spec_gap_cluster": "SPEC_FLAW",
    "external_service_outage": "EXTERNAL_DEPENDENCY",
}


def retry(line: int = 0, **fields: Any) -> Fields:
    return anomaly("retry_loop", line, count=3, error_pattern="serialization failure on nested entity", **fields)


def debt(at: int = 0, **fields: Any) -> Fields:
    return anomaly("trade_off", at, **{"debt_created": True, **fields})


def assumed(at: int = 0, assumption: Any = "API supports pagination") -> Fields:
    return anomaly("assumption_violated", at, assumption=assumption, reality="it does not")


def workaround(at: int = 0, kind: str = "workaround", **fields: Any) -> Fields:
    return anomaly(kind, at, **(fields or {"root_cause": "the serializer drops nested fields"}))


def gap(at: int = 0, kind: str = "spec_ambiguity", spec_ref: Any = "specs/data-model.md#FR-7") -> Fields:
    return anomaly(kind, at, spec_ref=spec_ref)


def blocker(at: int = 0, service: Any = "payments-api") -> Fields:
    return anomaly("external_blocker", at, blocker_service=service)


SMALLEST: dict[str, list[Fields]] = {
    "retry_cluster": [retry(0), retry(1), retry(2)],
    "debt_accumulation": [debt(0), debt(1), debt(2)],
    "assumption_cascade": [assumed(0), assumed(1)],
    "workaround_pattern": [workaround(0), workaround(1)],
    "spec_gap_cluster": [gap(0), gap(1)],
    "external_service_outage": [blocker(0), blocker(1)],
}


def test_pack_is_the_protocol_in_order() -> None:
    assert {each.rule.name: each.rule.severity for each in SYSTEMIC.rules} == FLAWS
    assert [each.rule.name for each in SYSTEMIC.rules] == list(FLAWS)
    assert {each.rule.action for each in SYSTEMIC.rules} == {"CHECKPOINT"}
    assert (SYSTEMIC.window, SYSTEMIC.exact, SYSTEMIC.changes, SYSTEMIC.disabled) == ("current_sprint", False, (), ())


def test_empty_board_is_ok_with_progress_of_every_pattern() -> None:
    verdict = evaluate(SYSTEMIC, snapshot(), NOW)
    assert not verdict.matches
    assert [(each.rule.name, each.value, each.reason) for each in verdict.progress] == [
        (name, 0, Reason.BELOW) for name in FLAWS
    ]
    assert [each.threshold for each in verdict.progress] == [3, 3, 2, 2, 2, 2]


@pytest.mark.parametrize("ruleset", [SYSTEMIC, EXACT], ids=["similar", "exact"])
@pytest.mark.parametrize("name", FLAWS)
def test_pattern_fires_on_its_smallest_case(name: str, ruleset: Any) -> None:
    verdict = evaluate(ruleset, snapshot(*SMALLEST[name]), NOW)
    (match,) = verdict.matches
    assert (match.rule.name, match.value, match.threshold) == (name, len(SMALLEST[name]), len(SMALLEST[name]))
    assert [record.key for record in match.evidence] == list(range(len(SMALLEST[name])))
    assert progress(verdict, name).reason is Reason.MATCHED


@pytest.mark.parametrize("ruleset", [SYSTEMIC, EXACT], ids=["similar", "exact"])
@pytest.mark.parametrize("name", FLAWS)
def test_pattern_is_quiet_one_below_threshold(name: str, ruleset: Any) -> None:
    for left_out in range(len(SMALLEST[name])):
        few = [each for index, each in enumerate(SMALLEST[name]) if index != left_out]
        verdict = evaluate(ruleset, snapshot(*few), NOW)
        assert not verdict.matches
        found = progress(verdict, name)
        assert (found.reason, found.value, found.threshold) == (Reason.BELOW, len(few), len(few) + 1)


LOOK_ALIKES: dict[str, list[Fields]] = {
    "three retries of which two agree": [
        anomaly("retry_loop", error_pattern=text)
        for text in ("connection refused by host", "connection refused by host", "assertion failed in parser")
    ],
    "three retries of three errors": [
        anomaly("retry_loop", error_pattern=text)
        for text in ("connection refused by host", "disk quota exceeded", "assertion failed in parser")
    ],
    "the same text under three types": [
        anomaly(kind, error_pattern="connection refused") for kind in ("retry_loop", "workaround", "spec_gap")
    ],
    "three HTTP errors of which two agree": [
        anomaly("retry_loop", error_pattern=f"HTTP {status} from the API") for status in (500, 404, 500)
    ],
    "retries without an error": [anomaly("retry_loop", count=3) for _ in range(5)],
    "retries whose error is null": [anomaly("retry_loop", error_pattern=None) for _ in range(5)],
    "trade-offs without debt": [debt(debt_created=False) for _ in range(5)],
    "trade-offs without the field": [anomaly("trade_off", why="time") for _ in range(5)],
    "trade-offs whose debt is null": [debt(debt_created=None) for _ in range(5)],
    "two debts of each kind, less one": [debt(), anomaly("debt_created")],
    "debt under another type": [anomaly("workaround", debt_created=True) for _ in range(3)],
    "two assumptions": [assumed(0), assumed(1, "API is idempotent")],
    "records without the assumption": [anomaly("assumption_violated", reality="no") for _ in range(3)],
    "assumptions that are null": [assumed(at, None) for at in range(3)],
    "two root causes": [workaround(0, root_cause="no nested fields"), workaround(1, root_cause="slow disk in CI")],
    "workarounds without a cause": [workaround(at, why="time") for at in range(3)],
    "a workaround and a retry of one cause": [workaround(0), anomaly("retry_loop", root_cause="the serializer")],
    "two parts of a specification": [gap(0), gap(1, spec_ref="specs/data-model.md#FR-8")],
    "ambiguities without a reference": [anomaly("spec_ambiguity", question="?") for _ in range(3)],
    "references that are null": [gap(at, spec_ref=None) for at in range(3)],
    "a reference under another type": [gap(0), gap(1, "spec_changed"), gap(2, "system_ambiguity")],
    "two services": [blocker(0), blocker(1, "search-api")],
    "blockers without a service": [anomaly("external_blocker", description="down") for _ in range(3)],
    "services that are null": [blocker(at, None) for at in range(3)],
    "types for the planner": [anomaly(kind, x=1) for kind in ("hypothesis_exhaustion", "review_deadlock") * 3],
}


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_look_alike_is_quiet(name: str) -> None:
    assert systemic(*LOOK_ALIKES[name]) == []
    assert systemic(*LOOK_ALIKES[name], ruleset=EXACT) == []


def test_blank_errors_have_nothing_in_common() -> None:
    assert systemic(*[anomaly("retry_loop", error_pattern=" ") for _ in range(5)]) == []


@pytest.mark.parametrize(
    ("name", "records"),
    [
        ("retry_cluster", [anomaly("retry_loop", error_pattern=f"timeout in step 2, line {n}") for n in (4, 42, 421)]),
        ("retry_cluster", [retry(at, task=f"task-{at}") for at in range(3)]),
        ("debt_accumulation", [debt(), anomaly("debt_created"), anomaly("debt_created")]),
        ("debt_accumulation", [anomaly("debt_created") for _ in range(3)]),
        ("assumption_cascade", [assumed(0), assumed(1, "  the API supports   Pagination.".replace("the ", ""))]),
        ("workaround_pattern", [workaround(0, "trade_off"), workaround(1, "scope_deviation")]),
        ("workaround_pattern", [workaround(0, what="flatten the entity"), workaround(1, what="Flatten the entity")]),
        (
            "workaround_pattern",
            [workaround(0, what="x", root_cause="disk"), workaround(1, what="y", root_cause="disk")],
        ),
        ("spec_gap_cluster", [gap(0), gap(1, "spec_gap")]),
        ("spec_gap_cluster", [gap(0), gap(1, spec_ref="Specs/data-model.md#fr-7")]),
        ("spec_gap_cluster", [gap(0, spec_ref=["a.md", "b.md"]), gap(1, spec_ref="b.md")]),
        ("external_service_outage", [blocker(0), blocker(1, "Payments-API")]),
    ],
)
def test_equivalent_records_form_one_pattern(name: str, records: list[Fields]) -> None:
    assert systemic(*records) == [name]


@pytest.mark.parametrize(
    "records",
    [
        [anomaly("retry_loop", error_pattern=f"timeout in step 2, line {n}") for n in (4, 42, 421)],
        [assumed(0), assumed(1, "api supports pagination")],
        [workaround(0, what="flatten the entity"), workaround(1, what="Flatten the entity")],
        [gap(0), gap(1, spec_ref="specs/data-model.md#FR-7 ")],
        [blocker(0), blocker(1, "Payments-API")],
    ],
)
def test_exact_means_plain_equality(records: list[Fields]) -> None:
    assert len(systemic(*records)) == 1
    assert systemic(*records, ruleset=EXACT) == []


@pytest.mark.parametrize("value", ["true", "yes", "True", 1, "false", ["x"], {"of": "tests"}])
def test_non_boolean_debt_is_unusable(value: object) -> None:
    verdict = evaluate(SYSTEMIC, snapshot(debt(0), debt(1), debt(2, debt_created=value)), NOW)
    assert "debt_accumulation" not in names(verdict)
    assert unusable(verdict).keys() == {2}
    assert unusable(verdict)[2].startswith("debt_created: ")


def test_several_patterns_are_reported_in_pack_order() -> None:
    everything = [record for name in reversed(FLAWS) for record in SMALLEST[name]]
    assert systemic(*everything) == list(FLAWS)
    assert systemic(*everything, ruleset=EXACT) == list(FLAWS)


def test_two_groups_of_one_pattern_are_two_matches() -> None:
    verdict = evaluate(SYSTEMIC, snapshot(*[blocker(0, name) for name in ("b", "a", "b", "a", "b")]), NOW)
    assert [(match.rule.name, match.key, match.value) for match in verdict.matches] == [
        ("external_service_outage", "b", 3),
        ("external_service_outage", "a", 2),
    ]


@given(st.permutations([*SMALLEST["retry_cluster"], *SMALLEST["assumption_cascade"], *LOOK_ALIKES["two services"]]))
def test_record_order_does_not_matter(records: list[Fields]) -> None:
    assert systemic(*records) == ["retry_cluster", "assumption_cascade"]


def test_match_names_tasks_and_grouping() -> None:
    records = [anomaly("external_blocker", task=f"task-{n}", blocker_service="x") for n in (3, 5, 3)]
    (match,) = evaluate(SYSTEMIC, snapshot(*records), NOW).matches
    assert (match.tasks, match.fields, match.key) == (("task-3", "task-5"), ("blocker_service",), "x")


def test_details_written_flat_count() -> None:
    assert systemic(*[{"type": "external_blocker", "blocker_service": "x"}] * 2) == ["external_service_outage"]


@pytest.mark.parametrize("severity", SEVERITIES)
def test_every_protocol_severity_is_usable(severity: str) -> None:
    ruleset = rules(rule("count() >= 1", severity=severity))
    (match,) = evaluate(ruleset, snapshot(anomaly("x")), NOW).matches
    assert match.rule.severity == severity
    assert SEVERITIES[severity].layer
    assert SEVERITIES[severity].remediation


@pytest.mark.parametrize("fields", [{"mode": "observe"}, {"action": "ALERT"}])
def test_observing_rule_is_reported_but_does_not_act(fields: Fields) -> None:
    verdict = evaluate(rules(rule("count() >= 1", **fields)), snapshot(anomaly("x")), NOW)
    assert not verdict.matches
    assert [match.rule.name for match in verdict.observed] == ["own"]
