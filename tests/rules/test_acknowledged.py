"""Evidence that a resolution acknowledged no longer counts; everything else does."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.model import Match, Reason, Snapshot, Verdict, format_time
from liza.rules.acknowledged import has_new_evidence, trip_id
from liza.rules.evaluate import RuleSet, evaluate
from liza.rules.fingerprints import format_evidence, merge_evidence
from liza.scopes.history import section
from liza.scopes.history.new_evidence import evidence_of
from tests.rules.boards import NOW, SYSTEMIC, Fields, anomaly, names, progress, rule, rules, snapshot, systemic

OUTAGE = "external_service_outage"
MANY = 501  # an earlier release kept a position for this many


def blocker(at: int = 0, service: str = "payments-api", **fields: Any) -> Fields:
    return anomaly("external_blocker", at, blocker_service=service, **fields)


def retry(at: int) -> Fields:
    return anomaly("retry_loop", at, error_pattern="serialization failure")


def tripped(board: Snapshot, ruleset: RuleSet = SYSTEMIC) -> Fields:
    """The breaker section after a trip on this blackboard."""
    verdict = evaluate(ruleset, board, NOW)
    found = verdict.matches
    others = [match.rule.name for match in found if match.rule.name != found[0].rule.name]
    trigger: Fields = {"timestamp": format_time(NOW), "pattern": found[0].rule.name, "trip_id": trip_id_of(found[0])}
    trigger |= {"also_matched": list(dict.fromkeys(others))} if others else {}
    return section.tripped(board.sections.get("circuit_breaker"), trigger, evidence_of(verdict.matches), NOW)


def resolved(board: Snapshot, ruleset: RuleSet = SYSTEMIC) -> Fields:
    """The breaker section after that trip was resolved."""
    return section.resolved(tripped(board, ruleset), "ADR-003", "me", NOW)


def trip_id_of(match: Match) -> str:
    return trip_id(match.rule.name, match.evidence, match.threshold)


def verdict_after(old: list[Any], new: list[Any], ruleset: RuleSet = SYSTEMIC, **sections: Any) -> Verdict:
    """The verdict on the new records after the old ones tripped and were resolved."""
    breaker = resolved(snapshot(*old, **sections), ruleset)
    return evaluate(ruleset, snapshot(*new, circuit_breaker=breaker, **sections), NOW)


def test_acknowledged_records_do_not_trip_again() -> None:
    old = [blocker(0), blocker(1)]
    verdict = verdict_after(old, old)
    assert names(verdict) == []
    assert verdict.acknowledged == 2
    assert progress(verdict, OUTAGE).reason is Reason.ACKNOWLEDGED


def test_new_records_are_counted_from_zero() -> None:
    old = [blocker(0), blocker(1)]
    one_more = verdict_after(old, [*old, blocker(2)])
    assert names(one_more) == []
    assert (progress(one_more, OUTAGE).reason, progress(one_more, OUTAGE).value) == (Reason.BELOW, 1)
    (match,) = verdict_after(old, [*old, blocker(2), blocker(3)]).matches
    assert [record.key for record in match.evidence] == [2, 3]


def test_acknowledged_records_are_recognised_at_any_position() -> None:
    old = [blocker(0), blocker(1)]
    assert names(verdict_after(old, [blocker(2), *reversed(old)])) == []
    assert names(verdict_after(old, [blocker(2), old[1], blocker(3), old[0]])) == [OUTAGE]


def test_edited_record_is_new() -> None:
    old = [blocker(0), blocker(1)]
    edited = [each | {"reporter": "coder-2"} for each in old]
    assert names(verdict_after(old, edited)) == [OUTAGE]


def test_field_order_does_not_make_record_new() -> None:
    old = [blocker(0), blocker(1)]
    assert names(verdict_after(old, [dict(reversed(each.items())) for each in old])) == []


def test_equal_records_are_acknowledged_as_often_as_they_occurred() -> None:
    twin = blocker(0)
    assert names(verdict_after([twin, twin], [twin, twin])) == []
    assert names(verdict_after([twin, twin], [twin, twin, twin])) == []
    (match,) = verdict_after([twin, twin], [twin] * 4).matches
    assert match.value == 2


def test_partial_counts_of_other_patterns_survive() -> None:
    old = [retry(0), retry(1), blocker(0), blocker(1)]
    assert names(verdict_after(old, [*old, retry(2)])) == ["retry_cluster"]


def test_other_groups_of_same_rule_survive() -> None:
    old = [blocker(0), blocker(1), blocker(2, "search-api")]
    (match,) = verdict_after(old, [*old, blocker(3, "search-api")]).matches
    assert [record.key for record in match.evidence] == [2, 3]


def test_evidence_of_also_matched_is_acknowledged() -> None:
    old = [blocker(0), blocker(1), retry(0), retry(1), retry(2)]
    assert names(verdict_after(old, old)) == []


def test_evidence_still_counts_for_rules_it_did_not_trip() -> None:
    old = [blocker(0), blocker(1)]
    first = rules(rule("count(type=external_blocker) >= 2", "first"))
    both = rules(rule("count(type=external_blocker) >= 2", "first"), rule("count(task=task-1) >= 2", "second"))
    breaker = resolved(snapshot(*old), first)
    assert names(evaluate(both, snapshot(*old, circuit_breaker=breaker), NOW)) == ["second"]


def test_resolutions_add_up() -> None:
    records = [blocker(at) for at in range(4)]
    breaker = resolved(snapshot(*records[:2]))
    again = snapshot(*records, circuit_breaker=breaker)
    assert names(evaluate(SYSTEMIC, again, NOW)) == [OUTAGE]
    assert systemic(*records, circuit_breaker=resolved(again)) == []


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=12))
def test_exactly_unacknowledged_records_count(entries: list[tuple[bool, int]]) -> None:
    counted = rules("count(same(blocker_service)) >= 1")
    old = [blocker(at) for is_old, at in entries if is_old]
    new = [blocker(at) for is_old, at in entries if not is_old]
    if old:
        verdict = verdict_after(old, [blocker(at) for _, at in entries], counted)
        assert sum(match.value for match in verdict.matches) == len(new)


# --- while the trigger is open ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["TRIGGERED", "triggered", "TRIPPED", None])
def test_evidence_of_open_trigger_still_counts(status: str | None) -> None:
    old = [blocker(0), blocker(1)]
    breaker = tripped(snapshot(*old)) | {"status": status}
    assert systemic(*old, circuit_breaker=breaker) == [OUTAGE]


def test_entry_without_resolution_is_acknowledged_when_status_is_ok() -> None:
    old = [blocker(0), blocker(1)]
    breaker = tripped(snapshot(*old)) | {"status": "OK", "current_trigger": None}
    assert systemic(*old, circuit_breaker=breaker) == []


def test_trip_with_missing_entry_trips_again() -> None:
    assert systemic(blocker(0), blocker(1), circuit_breaker={"status": "OK", "history": []}) == [OUTAGE]


def test_ok_check_acknowledges_nothing() -> None:
    history = [{"timestamp": "2025-01-18T17:00:00Z", "pattern": None, "result": "OK", "checks": 7}]
    assert systemic(blocker(0), blocker(1), circuit_breaker={"status": "OK", "history": history}) == [OUTAGE]


def test_hand_made_resolution_acknowledges_only_its_evidence() -> None:
    old = [blocker(0), blocker(1)]
    breaker = tripped(snapshot(*old))
    by_hand = {**breaker["current_trigger"], "resolution": "ADR-003", "resolved_at": "2025-01-18T17:00:00Z"}
    breaker |= {"status": "OK", "current_trigger": None, "history": [*breaker["history"], by_hand]}
    assert systemic(*old, circuit_breaker=breaker) == []
    assert systemic(*old, blocker(2), blocker(3), circuit_breaker=breaker) == [OUTAGE]


# --- entries of another tool ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "trips"),
    [
        ({"resolved_at": "2025-01-18T12:05:00Z"}, False),
        ({"resolved_at": "2025-01-18T12:05:00Z", "result": "TRIGGERED"}, False),
        ({"resolved_at": "2025-01-18T13:05:00+01:00"}, False),
        ({"resolved_at": "2025-01-18T12:00:30Z"}, True),  # one of the records is later than this
        ({}, True),
        ({"timestamp": "2025-01-18T12:05:00Z"}, False),
        ({"resolved_at": "yesterday", "timestamp": "2025-01-18T12:05:00Z"}, False),
        ({"resolved_at": "2025-01-18T12:05:00Z", "pattern": "retry_cluster"}, True),
        ({"resolved_at": "2025-01-18T12:05:00Z", "pattern": "retry_cluster", "also_matched": [OUTAGE]}, False),
        ({"resolved_at": "2025-01-18T12:05:00Z", "result": "OK"}, True),
    ],
)
def test_foreign_entry_covers_records_up_to_its_time(entry: Fields, trips: bool) -> None:
    history = [{"timestamp": "2025-01-18T12:00:30Z", "pattern": OUTAGE, **entry}]
    found = systemic(blocker(0), blocker(1), blocker(2), circuit_breaker={"status": "OK", "history": history})
    assert found == ([OUTAGE] if trips else [])


def test_records_after_foreign_entry_count() -> None:
    history = [{"timestamp": "2025-01-18T12:01:30Z", "pattern": OUTAGE}]
    board = [blocker(0), blocker(1), blocker(2), blocker(3)]
    (match,) = evaluate(SYSTEMIC, snapshot(*board, circuit_breaker={"status": "OK", "history": history}), NOW).matches
    assert [record.key for record in match.evidence] == [2, 3]


@pytest.mark.parametrize(
    "history",
    [
        None, 5, "text", {}, [None], [5], ["x"], [{}], [{"pattern": OUTAGE}], [{"pattern": 5}], [{"pattern": [OUTAGE]}],
        [{"pattern": OUTAGE, "timestamp": "soon"}], [{"pattern": OUTAGE, "timestamp": 5, "also_matched": 3}],
        [{"pattern": OUTAGE, "timestamp": "2025-01-01T00:00:00Z", "also_matched": 3}],
        [{"pattern": OUTAGE, "evidence": {OUTAGE: None}}], [{"pattern": OUTAGE, "evidence": {OUTAGE: ["a"]}}],
        [{"pattern": OUTAGE, "evidence": {OUTAGE: "first of all"}}],
        [{"pattern": OUTAGE, "evidence": {OUTAGE: "first "}}],
        [{"pattern": OUTAGE, "evidence": {OUTAGE: "first -1"}}], [{"pattern": OUTAGE, "evidence": "lost"}],
    ],
)  # fmt: skip
def test_broken_history_acknowledges_nothing(history: object) -> None:
    assert systemic(blocker(0), blocker(1), circuit_breaker={"status": "OK", "history": history}) == [OUTAGE]


@pytest.mark.parametrize("breaker", [None, 5, "OK", [], [{"history": []}], {"status": "TRIGGERED"}])
def test_broken_breaker_section_acknowledges_nothing(breaker: object) -> None:
    assert systemic(blocker(0), blocker(1), circuit_breaker=breaker) == [OUTAGE]


# --- many records -----------------------------------------------------------------------------------------------------


def test_many_records_are_fingerprinted_individually() -> None:
    old: list[Any] = [blocker(at % 60, n=at) for at in range(MANY)]
    assert len(resolved(snapshot(*old))["history"][0]["evidence"][OUTAGE].split()) == MANY
    assert names(verdict_after(old, old)) == []
    assert names(verdict_after(old, [blocker(1, "search-api"), blocker(2, "search-api")])) == [OUTAGE]
    (match,) = verdict_after(old, [*old, blocker(700), blocker(701)]).matches
    assert [record.key for record in match.evidence] == [MANY, MANY + 1]


# --- notes added later ------------------------------------------------------------------------------------------------


def test_added_note_does_not_make_record_new() -> None:
    old = [blocker(0), blocker(1)]
    noted = [{**each, "note": "seen", "details": {**each["details"], "ticket": 7}} for each in old]
    assert names(verdict_after(old, noted)) == []


@pytest.mark.parametrize("change", [{"task": "task-9"}, {"reporter": "x"}, {"timestamp": "2025-01-18T12:30:00Z"}])
def test_changed_core_field_makes_record_new(change: Fields) -> None:
    old = [blocker(0), blocker(1)]
    assert names(verdict_after(old, [{**each, **change} for each in old])) == [OUTAGE]


def test_changed_declared_detail_makes_record_new() -> None:
    old = [blocker(0), blocker(1)]
    assert names(verdict_after(old, [blocker(0, "search-api"), blocker(1, "search-api")])) == [OUTAGE]


def test_any_changed_detail_of_own_type_makes_record_new() -> None:
    ruleset = rules("count(type=flaky) >= 2")
    old = [anomaly("flaky", at, test="a") for at in range(2)]
    assert names(verdict_after(old, old, ruleset)) == []
    assert names(verdict_after(old, [{**each, "note": "seen"} for each in old], ruleset)) == []
    assert names(verdict_after(old, [anomaly("flaky", at, test="b") for at in range(2)], ruleset)) == ["own"]


# --- rearm ------------------------------------------------------------------------------------------------------------


def test_any_new_trips_with_one_new_record() -> None:
    ruleset = rules(rule("count(same(blocker_service)) >= 3", rearm="any_new"))
    old = [blocker(0), blocker(1), blocker(2)]
    assert names(verdict_after(old, old, ruleset)) == []
    (match,) = verdict_after(old, [*old, blocker(3)], ruleset).matches
    assert [record.key for record in match.evidence] == [0, 1, 2, 3]


def test_any_new_ignores_new_record_of_other_group() -> None:
    ruleset = rules(rule("count(same(blocker_service)) >= 3", rearm="any_new"))
    old = [blocker(0), blocker(1), blocker(2)]
    assert names(verdict_after(old, [*old, blocker(3, "search-api")], ruleset)) == []


def test_any_new_reports_acknowledged_as_reason() -> None:
    ruleset = rules(rule("count(same(blocker_service)) >= 3", rearm="any_new"))
    old = [blocker(0), blocker(1), blocker(2)]
    assert progress(verdict_after(old, old, ruleset), "own").reason is Reason.ACKNOWLEDGED


def test_any_new_counts_record_of_two_trips_once() -> None:
    ruleset = rules(rule("count(same(blocker_service)) >= 3", rearm="any_new"))
    old = [blocker(0), blocker(1), blocker(2)]
    once = resolved(snapshot(*old), ruleset)
    more = [*old, blocker(3)]
    twice = resolved(snapshot(*more, circuit_breaker=once), ruleset)
    assert names(evaluate(ruleset, snapshot(*more, circuit_breaker=twice), NOW)) == []
    assert names(evaluate(ruleset, snapshot(*more, blocker(0), circuit_breaker=twice), NOW)) == ["own"]


# --- evidence added to an open trip -----------------------------------------------------------------------------------

PRINTS = st.lists(st.sampled_from(["00000001", "00000002", "00000003"]), max_size=5)


@pytest.mark.parametrize(
    ("known", "more", "both"),
    [
        ("", "00000001", "00000001"),
        ("00000001", "", "00000001"),
        ("00000001 00000002", "00000002 00000003", "00000001 00000002 00000003"),
        ("00000001 00000001", "00000001 00000002", "00000001 00000001 00000002"),
    ],
)
def test_merge_keeps_higher_count_of_each_fingerprint(known: str, more: str, both: str) -> None:
    assert merge_evidence(known, more) == both


@given(PRINTS, PRINTS)
def test_merged_evidence_contains_both_texts(known: list[str], more: list[str]) -> None:
    both = merge_evidence(" ".join(known), " ".join(more)).split()
    assert {each: both.count(each) for each in both} == {
        each: max(known.count(each), more.count(each)) for each in {*known, *more}
    }


def test_merge_keeps_later_value_of_numbers() -> None:
    assert merge_evidence("00000001 a.b=2 c=1", "a.b=3.5") == "00000001 a.b=3.5 c=1"
    assert merge_evidence("first 502 anomalies; 00000001", "00000002") == "first 502 anomalies; 00000001 00000002"


@pytest.mark.parametrize("number", [3, MANY])
def test_merged_evidence_leaves_nothing_new(number: int) -> None:
    records = snapshot(*(blocker(at, n=at) for at in range(number))).records("anomalies")
    early, late = records[:2], records
    entry = {"evidence": {OUTAGE: merge_evidence(format_evidence(early), format_evidence(late))}}
    assert not has_new_evidence(entry, OUTAGE, early)
    assert not has_new_evidence(entry, OUTAGE, late)
