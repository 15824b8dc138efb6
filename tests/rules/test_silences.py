"""Silences: what they keep from tripping, for how long, and what they must never hide."""

from datetime import UTC, datetime
from typing import Any

import pytest

from liza.model import Reason, Verdict
from liza.rules.evaluate import RuleSet, evaluate
from tests.rules.boards import NOW, SYSTEMIC, Fields, anomaly, names, progress, rule, rules, snapshot, written

CREATED, UNTIL = "2025-01-18T17:00:00Z", "2025-01-18T20:00:00Z"
GAP = tuple(anomaly("spec_gap", minute, f"task-{minute}", spec_ref="specs/a.md#FR-1") for minute in (1, 2))
OUTAGE = tuple(anomaly("external_blocker", minute, blocker_service="Stripe") for minute in (1, 2))
REFUSED = tuple(
    anomaly("retry_loop", minute, error_pattern=f"connection to 10.0.0.{minute} refused after {minute} s")
    for minute in (1, 2, 3)
)


def silence(name: str = "spec_gap_cluster", match: Fields | None = None, **fields: Any) -> Fields:
    """A silence as `liza silence add` writes it, in force at NOW."""
    about: Fields = {"match": match} if match else {"all": True}
    whole = {"id": "silence-1", "rule": name, **about, "created": CREATED, "until": UNTIL, "reason": "known", "by": "a"}
    return {**whole, **fields}


def without(field: str) -> Fields:
    return {name: value for name, value in silence().items() if name != field}


def judged(*anomalies: Any, silences: Any, ruleset: RuleSet = SYSTEMIC, now: datetime = NOW, **more: Any) -> Verdict:
    return evaluate(ruleset, snapshot(*anomalies, silences=silences, **more), now)


def hushed(verdict: Verdict) -> list[str]:
    return [each.match.rule.name for each in verdict.silenced]


def is_hushed(condition: str, match: Fields, *anomalies: Any, **more: Any) -> bool:
    """Whether a silence about `match` hides what the condition finds, which must be exactly one match."""
    verdict = judged(*anomalies, silences=[silence("own", match)], ruleset=rules(condition), **more)
    assert len(verdict.matches) + len(verdict.silenced) == 1
    return bool(verdict.silenced)


def clock(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


# --- what is silenced, and what is not --------------------------------------------------------------------------------


def test_a_silenced_match_does_not_trip_and_is_told_with_its_silence() -> None:
    verdict = judged(*GAP, silences=[silence(match={"spec_ref": "specs/a.md#FR-1"})])
    assert verdict.matches == ()
    ((match, by),) = verdict.silenced
    assert (match.rule.name, match.value, match.key) == ("spec_gap_cluster", 2, "specs/a.md#FR-1")
    assert (by.id, by.reason, by.by, by.until) == ("silence-1", "known", "a", clock(UNTIL))
    told = progress(verdict, "spec_gap_cluster")
    assert (told.reason, told.value, told.key) == (Reason.SILENCED, 2, "specs/a.md#FR-1")


def test_a_silence_of_one_rule_leaves_the_others_alone() -> None:
    verdict = judged(*GAP, *OUTAGE, silences=[silence()])
    assert (names(verdict), hushed(verdict)) == (["external_service_outage"], ["spec_gap_cluster"])
    assert progress(verdict, "external_service_outage").reason is Reason.MATCHED


def test_a_silence_of_one_group_leaves_the_other_groups_of_its_rule_alone() -> None:
    others = [anomaly("spec_gap", spec_ref="specs/b.md#FR-2") for _ in range(2)]
    verdict = judged(*GAP, *others, silences=[silence(match={"spec_ref": "specs/a.md#FR-1"})])
    assert [match.key for match in verdict.matches] == ["specs/b.md#FR-2"]
    assert [each.match.key for each in verdict.silenced] == ["specs/a.md#FR-1"]
    assert progress(verdict, "spec_gap_cluster").reason is Reason.MATCHED


def test_a_silence_of_all_that_a_rule_finds_hides_every_group() -> None:
    others = [anomaly("spec_gap", spec_ref="specs/b.md#FR-2") for _ in range(2)]
    assert hushed(judged(*GAP, *others, silences=[silence()])) == ["spec_gap_cluster"] * 2


def test_a_silence_where_nothing_matches_hides_nothing() -> None:
    verdict = judged(GAP[0], silences=[silence()])
    assert (verdict.matches, verdict.silenced) == ((), ())
    assert progress(verdict, "spec_gap_cluster").reason is Reason.BELOW


def test_a_silence_of_a_rule_that_does_not_exist_hides_nothing() -> None:
    assert names(judged(*GAP, silences=[silence("spec_gap"), silence("SPEC_GAP_CLUSTER"), silence("")]))


def test_the_same_silence_twice_hides_a_match_once() -> None:
    assert hushed(judged(*GAP, silences=[silence(), silence(id="silence-2")])) == ["spec_gap_cluster"]


def test_a_rule_that_only_observes_can_be_silenced_too() -> None:
    observing = rules(rule("count(same(a)) >= 1", mode="observe"))
    verdict = judged(anomaly("x", a="y"), silences=[silence("own")], ruleset=observing)
    assert (verdict.matches, verdict.observed, hushed(verdict)) == ((), (), ["own"])


def test_a_number_without_evidence_is_silenced_only_as_a_whole() -> None:
    blocked: Fields = {"sprint": {"metrics": {"tasks_blocked": 3}}}
    condition = rules("metric(sprint.metrics.tasks_blocked) >= 2")
    assert names(judged(silences=[silence("own", {"task": "task-1"})], ruleset=condition, **blocked)) == ["own"]
    assert hushed(judged(silences=[silence("own")], ruleset=condition, **blocked)) == ["own"]


def test_progress_is_that_of_the_fullest_group_that_is_not_silenced() -> None:
    blocked = [anomaly("external_blocker", blocker_service=service) for service in ("a", "a", "a", "b", "b")]
    verdict = judged(*blocked, silences=[silence("external_service_outage", {"blocker_service": "a"})])
    told = progress(verdict, "external_service_outage")
    assert (told.reason, told.value, told.key) == (Reason.MATCHED, 2, "b")


# --- all of the evidence ----------------------------------------------------------------------------------------------


def test_a_match_with_one_record_that_no_silence_covers_trips() -> None:
    assert names(judged(*GAP, silences=[silence(match={"task": "task-1"})])) == ["spec_gap_cluster"]


def test_silences_that_cover_the_evidence_between_them_hide_the_match() -> None:
    each = [silence(match={"task": task}, id=task) for task in ("task-1", "task-2")]
    assert hushed(judged(*GAP, silences=each)) == ["spec_gap_cluster"]
    more = anomaly("spec_gap", 3, "task-3", spec_ref="specs/a.md#FR-1")
    assert names(judged(*GAP, more, silences=each)) == ["spec_gap_cluster"]


def test_silences_of_different_rules_do_not_add_up() -> None:
    each = [silence(match={"task": "task-1"}), silence("external_service_outage", {"task": "task-2"})]
    assert names(judged(*GAP, silences=each)) == ["spec_gap_cluster"]


def test_a_silence_that_has_ended_covers_none_of_the_evidence() -> None:
    each = [silence(match={"task": "task-1"}), silence(match={"task": "task-2"}, until="2025-01-18T17:30:00Z")]
    assert names(judged(*GAP, silences=each)) == ["spec_gap_cluster"]


def test_every_field_of_a_silence_has_to_hold() -> None:
    both = {"spec_ref": "specs/a.md#FR-1", "reporter": "coder-1"}
    assert hushed(judged(*GAP, silences=[silence(match=both)])) == ["spec_gap_cluster"]
    assert names(judged(*GAP, silences=[silence(match={**both, "reporter": "coder-2"})])) == ["spec_gap_cluster"]


def test_a_match_is_told_with_the_silence_that_covers_it_alone() -> None:
    narrow = silence(match={"task": "task-1"}, id="narrow", until="2025-01-18T18:00:01Z")
    ((_, by),) = judged(*GAP, silences=[narrow, silence(id="wide")]).silenced
    assert by.id == "wide"


def test_a_match_that_several_silences_cover_alone_is_told_with_the_one_that_ends_last() -> None:
    each = [silence(id=until, until=until) for until in ("2025-01-18T19:00:00Z", UNTIL, "2025-01-18T18:30:00Z")]
    ((_, by),) = judged(*GAP, silences=each).silenced
    assert by.id == UNTIL


def test_a_match_that_silences_cover_only_together_is_told_with_the_one_that_ends_first() -> None:
    first = silence(match={"task": "task-1"}, id="first", until="2025-01-18T18:30:00Z")
    other = silence(match={"task": "nobody's"}, id="of nothing", until="2025-01-18T18:00:01Z")
    ((_, by),) = judged(*GAP, silences=[other, silence(match={"task": "task-2"}, id="second"), first]).silenced
    assert by.id == "first"


def test_a_group_does_not_hide_behind_another_of_which_its_records_speak_too() -> None:
    both = [anomaly("spec_gap", minute, spec_ref=["A", "B"]) for minute in (1, 2)]
    verdict = judged(*both, silences=[silence(match={"spec_ref": "A"})])
    assert [match.key for match in verdict.matches] == ["B"]
    assert [each.match.key for each in verdict.silenced] == ["A"]


def test_a_similar_group_does_not_hide_behind_an_error_that_one_of_its_records_names_too() -> None:
    refused, template = "connection to database refused", "unexpected token in template file"
    loops = [anomaly("retry_loop", error_pattern=said) for said in ([refused, template], template, template)]
    assert names(judged(*loops, silences=[silence("retry_cluster", {"error_pattern": refused})])) == ["retry_cluster"]
    assert hushed(judged(*loops, silences=[silence("retry_cluster", {"error_pattern": template})]))


MIXED = {"same": ("same(f)", "boom", "Boom."), "similar": ("similar(f)", "boom 1", "boom 3")}


@pytest.mark.parametrize(("grouping", "said", "meant"), MIXED.values(), ids=MIXED.keys())
def test_what_a_rule_groups_by_covers_also_the_records_that_it_counts_without_grouping(
    grouping: str, said: str, meant: str
) -> None:
    condition = f"count(type=t, {grouping}) >= 2 AND count(type=u) >= 1"
    records = [anomaly("t", f=said), anomaly("t", f=said), anomaly("u"), anomaly("u", f="another")]
    assert is_hushed(condition, {"f": meant}, *records)
    assert not is_hushed(condition, {"f": "another"}, *records)
    assert not is_hushed(condition, {"f": meant, "type": "t"}, *records), "any other field is one of each record"


def test_a_record_without_the_field_is_not_covered() -> None:
    assert names(judged(*GAP, silences=[silence(match={"blocker_service": "stripe"})])) == ["spec_gap_cluster"]


# --- what a value means -----------------------------------------------------------------------------------------------

WRITTEN = {
    "as it is": ("Stripe", True),
    "in other letters": ("STRIPE", True),
    "with space around": ("  stripe ", True),
    "with a full stop": ("stripe.", True),
    "another service": ("paypal", False),
    "a part of it": ("Strip", False),
    "more than it": ("Stripe API", False),
}


@pytest.mark.parametrize(("value", "covered"), WRITTEN.values(), ids=WRITTEN.keys())
def test_where_a_rule_groups_by_same_a_silence_compares_by_same(value: str, covered: bool) -> None:
    verdict = judged(*OUTAGE, silences=[silence("external_service_outage", {"blocker_service": value})])
    assert bool(verdict.silenced) is covered
    assert bool(verdict.matches) is not covered


def test_in_exact_mode_a_silence_means_the_text_as_it_is() -> None:
    exact = SYSTEMIC._replace(exact=True)
    for value, covered in (("Stripe", True), ("stripe", False), ("Stripe.", False)):
        by = [silence("external_service_outage", {"blocker_service": value})]
        assert bool(judged(*OUTAGE, silences=by, ruleset=exact).silenced) is covered


ERRORS = {
    "one of the texts": ("connection to 10.0.0.1 refused after 1 s", True),
    "the same error elsewhere": ("connection to 10.9.8.7 refused after 55 s", True),
    "another error": ("permission to 10.0.0.1 denied", False),
    "the opposite": ("connection to 10.0.0.1 accepted after 1 s", False),
}


@pytest.mark.parametrize(("value", "covered"), ERRORS.values(), ids=ERRORS.keys())
def test_where_a_rule_groups_by_similar_a_silence_compares_by_similar(value: str, covered: bool) -> None:
    verdict = judged(*REFUSED, silences=[silence("retry_cluster", {"error_pattern": value})])
    assert bool(verdict.silenced) is covered
    assert bool(verdict.matches) is not covered


def test_in_exact_mode_similar_texts_are_not_covered() -> None:
    same = [anomaly("retry_loop", minute, error_pattern="timed out after 5 s") for minute in (1, 2, 3)]
    exact = SYSTEMIC._replace(exact=True)
    for value, covered in (("timed out after 5 s", True), ("timed out after 6 s", False)):
        by = [silence("retry_cluster", {"error_pattern": value})]
        assert bool(judged(*same, silences=by, ruleset=exact).silenced) is covered


def test_the_name_that_a_report_gives_to_a_group_silences_it() -> None:
    (match,) = judged(*REFUSED, silences=[]).matches
    assert hushed(judged(*REFUSED, silences=[silence("retry_cluster", {"error_pattern": match.key})]))


def test_the_name_of_a_group_silences_it_also_where_only_some_of_its_records_are_near_enough_in_time() -> None:
    users = ((0, "root"), (1, "guest"), (100, "admin"), (200, "mike"))
    denied = [anomaly("t", minute, f=f"login denied for user {user}") for minute, user in users]
    condition = "count(type=t, similar(f), within(10m)) >= 2"
    (match,) = judged(*denied, silences=[], ruleset=rules(condition)).matches
    assert is_hushed(condition, {"f": match.key}, *denied)


@pytest.mark.timeout(10)
@pytest.mark.parametrize(("said", "covered"), [("something else", False), ("connection to db-zz refused for u", True)])
def test_hundreds_of_texts_in_a_similar_group_are_no_burden(said: str, covered: bool) -> None:
    places = [f"{chr(97 + i % 10)}{chr(97 + i // 10 % 26)} refused for u{'x' * (i % 50)}" for i in range(800)]
    assert len(set(places)) == 800
    loops = [anomaly("retry_loop", error_pattern=f"connection to db-{place}") for place in places]
    verdict = judged(*loops, silences=[silence("retry_cluster", {"error_pattern": said})])
    assert [match.value for match in verdict.matches] == ([] if covered else [800])
    assert [each.match.value for each in verdict.silenced] == ([800] if covered else [])


def test_the_fields_that_a_rule_counts_per_are_compared_as_they_are_written() -> None:
    records = [anomaly("t", minute, "T-1") for minute in (1, 2)]
    assert is_hushed("count(type=t, per(task)) >= 2", {"task": "T-1"}, *records)
    assert not is_hushed("count(type=t, per(task)) >= 2", {"task": "t-1"}, *records)


def test_fields_that_a_rule_does_not_group_by_are_compared_as_they_are_written() -> None:
    records = [anomaly("t", f="x", lang=lang) for lang in ("C++", "C#")]
    assert is_hushed("count(type=t, same(f)) >= 2", {"lang": "C++"}, *records[:1] * 2)
    for lang in ("c", "C", "c++"):
        assert not is_hushed("count(type=t, same(f)) >= 2", {"lang": lang}, *records), lang


def test_the_field_that_a_rule_groups_by_may_be_named_within_its_details() -> None:
    by = [silence("retry_cluster", {"details.error_pattern": "connection to 10.9.8.7 refused after 55 s"})]
    assert hushed(judged(*REFUSED, silences=by)) == ["retry_cluster"]


def test_a_field_is_found_in_the_record_and_in_its_details() -> None:
    records = [{**anomaly("x", a="one"), "spec_ref": "top"} for _ in range(2)]
    for match in ({"a": "one"}, {"details.a": "one"}, {"spec_ref": "top"}, {"type": "x"}, {"b|a": "one"}):
        assert is_hushed("count(same(a)) >= 2", match, *records), match
    assert not is_hushed("count(same(a)) >= 2", {"details.spec_ref": "top"}, *records)


def test_either_name_of_a_field_with_two_names_is_understood() -> None:
    named = [anomaly("workaround", minute, root_cause="no shared clock") for minute in (1, 2)]
    for name in ("root_cause", "root_cause|what"):
        by = [silence("workaround_pattern", {name: "no shared clock"})]
        assert hushed(judged(*named, silences=by)) == ["workaround_pattern"]


VALUES = {"a number": (3, "3"), "a number with a point": (1.5, "1.5"), "true": (True, "true"), "a text": ("x=y", "x=y")}


@pytest.mark.parametrize(("value", "said"), VALUES.values(), ids=VALUES.keys())
def test_a_value_of_any_kind_is_compared_as_it_is_written(value: Any, said: str) -> None:
    records = [anomaly("x", a="one", b=value) for _ in range(2)]
    assert is_hushed("count(same(a)) >= 2", {"b": said}, *records)
    assert is_hushed("count(same(a)) >= 2", {"b": value}, *records)
    assert not is_hushed("count(same(a)) >= 2", {"b": f"{said}0"}, *records)


@pytest.mark.parametrize(("value", "said"), VALUES.values(), ids=VALUES.keys())
@pytest.mark.parametrize("exact", [False, True])
def test_a_value_that_a_rule_groups_by_is_compared_as_it_is_written(value: Any, said: str, exact: bool) -> None:
    records = [anomaly("t", f=value) for _ in range(2)]
    ruleset = rules("count(type=t, same(f)) >= 2")._replace(exact=exact)
    assert hushed(judged(*records, silences=[silence("own", {"f": said})], ruleset=ruleset)) == ["own"]
    assert hushed(judged(*records, silences=[silence("own", {"f": value})], ruleset=ruleset)) == ["own"]


def test_a_number_that_is_too_long_to_be_printed_is_not_another_value() -> None:
    records = f"- {{type: spec_gap, task: t, spec_ref: a, n: {'9' * 5000}}}\n" * 2
    entry = f"{{rule: spec_gap_cluster, match: {{n: 1}}, created: {CREATED}, until: {UNTIL}, reason: known}}"
    verdict = evaluate(SYSTEMIC, written(f"version: 1\nanomalies:\n{records}silences: [{entry}]\n"), NOW)
    assert (names(verdict), hushed(verdict)) == (["spec_gap_cluster"], [])


def test_a_record_that_says_several_things_is_covered_only_where_it_says_what_is_meant() -> None:
    records = [anomaly("x", a="one", b=["p", "q"]), anomaly("x", a="one", b="p")]
    assert is_hushed("count(same(a)) >= 2", {"b": "p"}, *records)
    assert not is_hushed("count(same(a)) >= 2", {"b": "q"}, *records)
