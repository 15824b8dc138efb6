"""Evidence that a resolution has dealt with, and everything else, which still counts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.model import Match, Reason, Snapshot, Verdict, format_time
from liza.rules.acknowledged import has_new_evidence, trip_id
from liza.rules.evaluate import RuleSet, evaluate
from liza.rules.evidence import format_evidence, legacy_fingerprint, merge_evidence
from liza.scopes.sprint import section
from liza.scopes.sprint.trip import evidence_of
from tests.rules.boards import NOW, SYSTEMIC, Fields, anomaly, names, progress, rule, rules, snapshot, systemic

OUTAGE = "external_service_outage"


def blocker(at: int = 0, service: str = "payments-api", **fields: Any) -> Fields:
    return anomaly("external_blocker", at, blocker_service=service, **fields)


def retry(at: int) -> Fields:
    return anomaly("retry_loop", at, error_pattern="serialization failure")


def tripped(board: Snapshot, ruleset: RuleSet = SYSTEMIC) -> Fields:
    """The breaker after a trip on this blackboard."""
    verdict = evaluate(ruleset, board, NOW)
    found = verdict.matches
    others = [match.rule.name for match in found if match.rule.name != found[0].rule.name]
    trigger: Fields = {"timestamp": format_time(NOW), "pattern": found[0].rule.name, "trip_id": named(found[0])}
    trigger |= {"also_matched": list(dict.fromkeys(others))} if others else {}
    return section.tripped(board.sections.get("circuit_breaker"), trigger, evidence_of(verdict), NOW)


def resolved(board: Snapshot, ruleset: RuleSet = SYSTEMIC) -> Fields:
    """The breaker after that trip was resolved."""
    return section.resolved(tripped(board, ruleset), "ADR-003", "me", NOW)


def named(match: Match) -> str:
    return trip_id(match.rule.name, match.evidence, match.threshold)


def after(old: list[Any], new: list[Any], ruleset: RuleSet = SYSTEMIC, **sections: Any) -> Verdict:
    """What is judged when the old records tripped and were resolved, and these are there now."""
    breaker = resolved(snapshot(*old, **sections), ruleset)
    return evaluate(ruleset, snapshot(*new, circuit_breaker=breaker, **sections), NOW)


def test_the_same_records_do_not_trip_again() -> None:
    old = [blocker(0), blocker(1)]
    verdict = after(old, old)
    assert names(verdict) == []
    assert verdict.acknowledged == 2
    assert progress(verdict, OUTAGE).reason is Reason.ACKNOWLEDGED


def test_new_records_are_counted_from_the_beginning() -> None:
    old = [blocker(0), blocker(1)]
    one_more = after(old, [*old, blocker(2)])
    assert names(one_more) == []
    assert (progress(one_more, OUTAGE).reason, progress(one_more, OUTAGE).value) == (Reason.BELOW, 1)
    (match,) = after(old, [*old, blocker(2), blocker(3)]).matches
    assert [record.key for record in match.evidence] == [2, 3]


def test_exactly_those_records_are_meant_wherever_they_stand_by_then() -> None:
    old = [blocker(0), blocker(1)]
    assert names(after(old, [blocker(2), *reversed(old)])) == []
    assert names(after(old, [blocker(2), old[1], blocker(3), old[0]])) == [OUTAGE]


def test_a_record_that_was_edited_is_new() -> None:
    old = [blocker(0), blocker(1)]
    edited = [each | {"reporter": "somebody else"} for each in old]
    assert names(after(old, edited)) == [OUTAGE]


def test_the_order_of_the_fields_is_no_edit() -> None:
    old = [blocker(0), blocker(1)]
    assert names(after(old, [dict(reversed(each.items())) for each in old])) == []


def test_of_equal_records_as_many_are_acknowledged_as_there_were() -> None:
    twin = blocker(0)
    assert names(after([twin, twin], [twin, twin])) == []
    assert names(after([twin, twin], [twin, twin, twin])) == []
    (match,) = after([twin, twin], [twin] * 4).matches
    assert match.value == 2


def test_the_partial_counts_of_other_patterns_survive() -> None:
    old = [retry(0), retry(1), blocker(0), blocker(1)]
    assert names(after(old, [*old, retry(2)])) == ["retry_cluster"]


def test_records_of_the_same_rule_that_were_no_evidence_survive() -> None:
    old = [blocker(0), blocker(1), blocker(2, "search-api")]
    (match,) = after(old, [*old, blocker(3, "search-api")]).matches
    assert [record.key for record in match.evidence] == [2, 3]


def test_evidence_of_the_patterns_that_matched_too_is_acknowledged() -> None:
    old = [blocker(0), blocker(1), retry(0), retry(1), retry(2)]
    assert names(after(old, old)) == []


def test_evidence_counts_for_the_rules_that_it_did_not_trip() -> None:
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
def test_what_counts_afterwards_is_what_was_not_there(entries: list[tuple[bool, int]]) -> None:
    counted = rules("count(same(blocker_service)) >= 1")
    old = [blocker(at) for is_old, at in entries if is_old]
    new = [blocker(at) for is_old, at in entries if not is_old]
    if old:
        verdict = after(old, [blocker(at) for _, at in entries], counted)
        assert sum(match.value for match in verdict.matches) == len(new)


# --- while it is open -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["TRIGGERED", "triggered", "TRIPPED", None])
def test_the_evidence_of_the_open_trigger_still_counts(status: str | None) -> None:
    old = [blocker(0), blocker(1)]
    breaker = tripped(snapshot(*old)) | {"status": status}
    assert systemic(*old, circuit_breaker=breaker) == [OUTAGE]


def test_an_entry_without_a_resolution_counts_as_resolved_once_the_status_is_ok() -> None:
    old = [blocker(0), blocker(1)]
    breaker = tripped(snapshot(*old)) | {"status": "OK", "current_trigger": None}
    assert systemic(*old, circuit_breaker=breaker) == []


def test_a_trip_whose_entry_is_gone_trips_again() -> None:
    assert systemic(blocker(0), blocker(1), circuit_breaker={"status": "OK", "history": []}) == [OUTAGE]


def test_a_check_that_found_nothing_acknowledges_nothing() -> None:
    history = [{"timestamp": "2025-01-18T17:00:00Z", "pattern": None, "result": "OK", "checks": 7}]
    assert systemic(blocker(0), blocker(1), circuit_breaker={"status": "OK", "history": history}) == [OUTAGE]


def test_a_resolution_entered_by_hand_beside_the_trip_acknowledges_no_more_than_its_evidence() -> None:
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
        ({"resolved_at": "2025-01-18T12:00:30Z"}, True),  # one of the records is younger than this
        ({}, True),
        ({"timestamp": "2025-01-18T12:05:00Z"}, False),
        ({"resolved_at": "yesterday", "timestamp": "2025-01-18T12:05:00Z"}, False),
        ({"resolved_at": "2025-01-18T12:05:00Z", "pattern": "retry_cluster"}, True),
        ({"resolved_at": "2025-01-18T12:05:00Z", "pattern": "retry_cluster", "also_matched": [OUTAGE]}, False),
        ({"resolved_at": "2025-01-18T12:05:00Z", "result": "OK"}, True),
    ],
)
def test_an_entry_of_another_tool_covers_what_had_happened_until_then(entry: Fields, trips: bool) -> None:
    history = [{"timestamp": "2025-01-18T12:00:30Z", "pattern": OUTAGE, **entry}]
    found = systemic(blocker(0), blocker(1), blocker(2), circuit_breaker={"status": "OK", "history": history})
    assert found == ([OUTAGE] if trips else [])


def test_after_an_entry_of_another_tool_new_records_count() -> None:
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
def test_a_history_that_somebody_broke_acknowledges_nothing_and_breaks_nothing(history: object) -> None:
    assert systemic(blocker(0), blocker(1), circuit_breaker={"status": "OK", "history": history}) == [OUTAGE]


@pytest.mark.parametrize("breaker", [None, 5, "OK", [], [{"history": []}], {"status": "TRIGGERED"}])
def test_a_breaker_section_that_somebody_broke_acknowledges_nothing(breaker: object) -> None:
    assert systemic(blocker(0), blocker(1), circuit_breaker=breaker) == [OUTAGE]


# --- entries of earlier releases --------------------------------------------------------------------------------------

MANY = 501  # as many as an earlier release kept as a position


def by_earlier_release(
    *records: Any, evidence: str | None = None, resolved_at: str | None = "2025-01-18T17:00:00Z"
) -> Fields:
    """The breaker as an earlier release left it after a resolution."""
    found = snapshot(*records).records("anomalies")
    text = evidence if evidence is not None else " ".join(map(legacy_fingerprint, found))
    entry: Fields = {"timestamp": "2025-01-18T16:00:00Z", "pattern": OUTAGE, "result": "TRIGGERED", "trip_id": "0" * 12}
    entry |= {"evidence": {OUTAGE: text}, "resolution": "x", "resolved_at": resolved_at}
    return {"status": "OK", "current_trigger": None, "history": [entry]}


def test_old_fingerprints_still_acknowledge_their_records() -> None:
    old = [blocker(0), blocker(1)]
    breaker = by_earlier_release(*old)
    assert systemic(*old, circuit_breaker=breaker) == []
    assert systemic(*old, blocker(2), circuit_breaker=breaker) == []
    assert systemic(*old, blocker(2), blocker(3), circuit_breaker=breaker) == [OUTAGE]


def test_old_and_new_fingerprints_of_one_rule_add_up() -> None:
    old, new = [blocker(0), blocker(1)], [blocker(2), blocker(3)]
    both = resolved(snapshot(*old, *new, circuit_breaker=by_earlier_release(*old)))
    assert systemic(*old, *new, circuit_breaker=both) == []
    assert systemic(*old, *new, blocker(4), circuit_breaker=both) == []


def test_old_position_covers_records_up_to_its_resolution() -> None:
    old: list[Any] = [blocker(at % 60, n=at) for at in range(MANY)]
    breaker = by_earlier_release(evidence=f"first {MANY} anomalies")
    assert systemic(*old, circuit_breaker=breaker) == []
    late = [blocker(5 * 60 + at) for at in range(1, 3)]  # after 17:00, where the old ones were
    assert systemic(*late, circuit_breaker=breaker) == [OUTAGE]
    assert systemic(*late, *old, circuit_breaker=breaker) == [OUTAGE]


def test_old_position_covers_records_without_time_while_the_list_is_whole() -> None:
    old: list[Any] = [{**blocker(0, n=at), "timestamp": None} for at in range(MANY)]
    breaker = by_earlier_release(evidence=f"first {MANY} anomalies")
    assert systemic(*old, circuit_breaker=breaker) == []
    assert systemic(*old[:5], circuit_breaker=breaker) == [OUTAGE]


def test_old_position_of_a_trip_closed_by_status_alone_covers_its_records() -> None:
    old: list[Any] = [blocker(at % 60, n=at) for at in range(MANY)]
    breaker = by_earlier_release(evidence=f"first {MANY} anomalies", resolved_at=None)
    assert systemic(*old, circuit_breaker=breaker) == []


def test_old_position_with_fingerprints_behind_it_covers_both() -> None:
    old: list[Any] = [blocker(at % 60, n=at) for at in range(MANY)]
    late = [blocker(5 * 60 + at) for at in range(1, 3)]
    prints = " ".join(map(legacy_fingerprint, snapshot(*late).records("anomalies")))
    breaker = by_earlier_release(evidence=f"first {MANY} anomalies; {prints}")
    assert systemic(*old, *late, circuit_breaker=breaker) == []


def test_old_position_among_anomalies_says_nothing_about_tasks() -> None:
    ruleset = rules(rule("count(tasks, status=BLOCKED) >= 2", OUTAGE))
    tasks = [{"id": f"t{at}", "status": "BLOCKED"} for at in range(2)]
    breaker = by_earlier_release(evidence=f"first {MANY} anomalies")
    assert names(evaluate(ruleset, snapshot(tasks=tasks, circuit_breaker=breaker), NOW)) == [OUTAGE]


# --- many records -----------------------------------------------------------------------------------------------------


def test_many_records_are_fingerprinted_one_by_one() -> None:
    old: list[Any] = [blocker(at % 60, n=at) for at in range(MANY)]
    assert len(resolved(snapshot(*old))["history"][0]["evidence"][OUTAGE].split()) == MANY
    assert names(after(old, old)) == []
    assert names(after(old, [blocker(1, "search-api"), blocker(2, "search-api")])) == [OUTAGE]
    (match,) = after(old, [*old, blocker(700), blocker(701)]).matches
    assert [record.key for record in match.evidence] == [MANY, MANY + 1]


def test_evidence_in_a_file_that_is_gone_covers_what_came_before_the_resolution() -> None:
    breaker = by_earlier_release()
    breaker["history"][0]["evidence"] = {OUTAGE: {"file": ".liza/reports/x.evidence.json", "records": 502}}
    quiet = evaluate(SYSTEMIC, snapshot(blocker(0), blocker(1), circuit_breaker=breaker), NOW)
    assert (names(quiet), len(quiet.warnings)) == ([], 1)
    assert systemic(blocker(301), blocker(302), circuit_breaker=breaker) == [OUTAGE]


# --- notes ------------------------------------------------------------------------------------------------------------


def test_a_note_does_not_make_a_record_new() -> None:
    old = [blocker(0), blocker(1)]
    noted = [{**each, "note": "seen", "details": {**each["details"], "ticket": 7}} for each in old]
    assert names(after(old, noted)) == []


@pytest.mark.parametrize("change", [{"task": "task-9"}, {"reporter": "x"}, {"timestamp": "2025-01-18T12:30:00Z"}])
def test_what_happened_to_whom_and_when_makes_a_record(change: Fields) -> None:
    old = [blocker(0), blocker(1)]
    assert names(after(old, [{**each, **change} for each in old])) == [OUTAGE]


def test_a_declared_detail_makes_a_record() -> None:
    old = [blocker(0), blocker(1)]
    assert names(after(old, [blocker(0, "search-api"), blocker(1, "search-api")])) == [OUTAGE]


def test_of_an_own_type_every_detail_makes_a_record() -> None:
    ruleset = rules("count(type=flaky) >= 2")
    old = [anomaly("flaky", at, test="a") for at in range(2)]
    assert names(after(old, old, ruleset)) == []
    assert names(after(old, [{**each, "note": "seen"} for each in old], ruleset)) == []
    assert names(after(old, [anomaly("flaky", at, test="b") for at in range(2)], ruleset)) == ["own"]


# --- numbers ----------------------------------------------------------------------------------------------------------


def numbered(value: Any, breaker: Any = None, condition: str = "metric(config.n) >= 2") -> Verdict:
    return evaluate(rules(condition), snapshot(config={"n": value}, circuit_breaker=breaker), NOW)


def acknowledged_at(value: Any, condition: str = "metric(config.n) >= 2") -> Fields:
    return resolved(snapshot(config={"n": value}), rules(condition))


@pytest.mark.parametrize(
    ("condition", "at", "quiet", "worse"),
    [
        ("metric(config.n) >= 2", 5, [5, 4, 2], [6, 5.5]),
        ("metric(config.n) > 2", 5, [5, 3], [6]),
        ("metric(config.n) <= 2", 1, [1, 2], [0, -1]),
        ("metric(config.n) < 2", 1, [1, 1.5], [0.5]),
        ("NOT metric(config.n) >= 2", 1, [1, 1.5], [0]),
        ("NOT metric(config.n) = 2", 1, [1], [0, 3]),
        ("metric(config.n) = 2", 2, [2], []),
        ("metric(config.n) >= 2 OR count(type=x) >= 9", 5, [5, 2], [6]),
        ("metric(config.n) + count(type=x) >= 2", 5, [5, 2], [6]),
        ("count(type=x) < 1", 0, [0, 7], []),
        ("count(type=x) = 0", 0, [0, 7], []),
        ("NOT count(type=x) >= 1", 0, [0, 7], []),
    ],
)
def test_a_number_counts_again_when_it_is_worse(
    condition: str, at: float, quiet: list[float], worse: list[float]
) -> None:
    breaker = acknowledged_at(at, condition)
    assert [value for value in quiet if names(numbered(value, breaker, condition))] == []
    assert [value for value in worse if not names(numbered(value, breaker, condition))] == []


def test_a_number_that_recovered_counts_from_there() -> None:
    breaker = acknowledged_at(5)
    back = numbered(1, breaker)
    assert back.recovered == ("own",)
    after_it = section.follow_numbers(breaker, back.recovered, {})
    assert numbered(1, after_it).recovered == ()
    assert names(numbered(2, after_it)) == ["own"]
    assert numbered(None, breaker).recovered == (), "a number that is absent has not recovered"


def test_a_number_acknowledged_twice_counts_from_the_later_value() -> None:
    breaker = acknowledged_at(2)
    again = resolved(snapshot(config={"n": 5}, circuit_breaker=breaker), rules("metric(config.n) >= 2"))
    assert names(numbered(5, again)) == []
    assert names(numbered(6, again)) == ["own"]


def test_a_number_that_an_earlier_release_acknowledged_counts_from_where_it_is_found() -> None:
    breaker = acknowledged_at(5)
    breaker["history"][0]["evidence"] = {"own": ""}
    found = numbered(4, breaker)
    assert names(found) == []
    values = {name: format_evidence((), numbers) for name, numbers in found.unvalued.items()}
    known = section.follow_numbers(breaker, (), values)
    assert names(numbered(4, known)) == []
    assert names(numbered(5, known)) == ["own"]


def test_few_records_are_acknowledged_with_the_records_there_are() -> None:
    ruleset = rules("count(type=external_blocker) < 3")
    old = [blocker(0), blocker(1)]
    assert names(after(old, old, ruleset)) == []
    assert names(after(old, old[:1], ruleset)) == ["own"]
    assert names(after(old, [*old, blocker(2)], ruleset)) == []


def test_of_two_metrics_the_one_that_was_not_acknowledged_counts() -> None:
    ruleset = rules("metric(config.a) >= 2 OR metric(config.b) >= 2")
    breaker = resolved(snapshot(config={"a": 2, "b": 0}), ruleset)
    assert names(evaluate(ruleset, snapshot(config={"a": 2, "b": 2}, circuit_breaker=breaker), NOW)) == ["own"]


# --- rearm ------------------------------------------------------------------------------------------------------------


def test_with_any_new_one_new_record_trips_together_with_the_old_ones() -> None:
    ruleset = rules(rule("count(same(blocker_service)) >= 3", rearm="any_new"))
    old = [blocker(0), blocker(1), blocker(2)]
    assert names(after(old, old, ruleset)) == []
    (match,) = after(old, [*old, blocker(3)], ruleset).matches
    assert [record.key for record in match.evidence] == [0, 1, 2, 3]


def test_with_any_new_a_new_record_of_another_group_trips_nothing() -> None:
    ruleset = rules(rule("count(same(blocker_service)) >= 3", rearm="any_new"))
    old = [blocker(0), blocker(1), blocker(2)]
    assert names(after(old, [*old, blocker(3, "search-api")], ruleset)) == []


def test_with_any_new_the_reason_for_quiet_is_that_it_was_dealt_with() -> None:
    ruleset = rules(rule("count(same(blocker_service)) >= 3", rearm="any_new"))
    old = [blocker(0), blocker(1), blocker(2)]
    assert progress(after(old, old, ruleset), "own").reason is Reason.ACKNOWLEDGED


def test_with_any_new_a_record_that_two_trips_had_as_evidence_covers_one_record_only() -> None:
    ruleset = rules(rule("count(same(blocker_service)) >= 3", rearm="any_new"))
    old = [blocker(0), blocker(1), blocker(2)]
    once = resolved(snapshot(*old), ruleset)
    more = [*old, blocker(3)]
    twice = resolved(snapshot(*more, circuit_breaker=once), ruleset)
    assert names(evaluate(ruleset, snapshot(*more, circuit_breaker=twice), NOW)) == []
    assert names(evaluate(ruleset, snapshot(*more, blocker(0), circuit_breaker=twice), NOW)) == ["own"]


# --- evidence that comes to a trip later ------------------------------------------------------------------------------

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
def test_of_two_texts_every_fingerprint_is_kept_as_often_as_one_of_them_has_it(
    known: str, more: str, both: str
) -> None:
    assert merge_evidence(known, more) == both


@given(PRINTS, PRINTS)
def test_what_is_in_one_of_two_texts_is_in_both_together(known: list[str], more: list[str]) -> None:
    both = merge_evidence(" ".join(known), " ".join(more)).split()
    assert {each: both.count(each) for each in both} == {
        each: max(known.count(each), more.count(each)) for each in {*known, *more}
    }


def test_numbers_of_two_texts_have_the_later_value() -> None:
    assert merge_evidence("00000001 a.b=2 c=1", "a.b=3.5") == "00000001 a.b=3.5 c=1"
    assert merge_evidence("first 502 anomalies; 00000001", "00000002") == "first 502 anomalies; 00000001 00000002"


@pytest.mark.parametrize("number", [3, MANY])
def test_with_the_evidence_of_both_nothing_of_either_is_unknown(number: int) -> None:
    records = snapshot(*(blocker(at, n=at) for at in range(number))).records("anomalies")
    early, late = records[:2], records
    entry = {"evidence": {OUTAGE: merge_evidence(format_evidence(early), format_evidence(late))}}
    assert not has_new_evidence(entry, OUTAGE, early)
    assert not has_new_evidence(entry, OUTAGE, late)
