"""Silences: what they keep from tripping, and what they must never hide."""

from datetime import UTC, datetime
from typing import Any

import pytest

from liza.model import Reason, Verdict
from liza.rules.evaluate import RuleSet, evaluate
from tests.rules.boards import NOW, SYSTEMIC, Fields, anomaly, names, parse_board, progress, rule, rules, snapshot

CREATED, UNTIL = "2025-01-18T17:00:00Z", "2025-01-18T20:00:00Z"
GAP = tuple(anomaly("spec_gap", minute, f"task-{minute}", spec_ref="specs/a.md#FR-1") for minute in (1, 2))
OUTAGE = tuple(anomaly("external_blocker", minute, blocker_service="Stripe") for minute in (1, 2))
REFUSED = tuple(
    anomaly("retry_loop", minute, error_pattern=f"connection to 10.0.0.{minute} refused after {minute} s")
    for minute in (1, 2, 3)
)


def silence(name: str = "spec_gap_cluster", match: Fields | None = None, **fields: Any) -> Fields:
    """A silence as `liza silence add` writes it, active at NOW."""
    about: Fields = {"match": match} if match else {"all": True}
    whole = {"id": "silence-1", "rule": name, **about, "created": CREATED, "until": UNTIL, "reason": "known", "by": "a"}
    return {**whole, **fields}


def without(field: str) -> Fields:
    return {name: value for name, value in silence().items() if name != field}


def evaluated(*anomalies: Any, silences: Any, ruleset: RuleSet = SYSTEMIC, now: datetime = NOW, **more: Any) -> Verdict:
    return evaluate(ruleset, snapshot(*anomalies, silences=silences, **more), now)


def silenced_rules(verdict: Verdict) -> list[str]:
    return [each.match.rule.name for each in verdict.silenced]


def is_silenced(condition: str, match: Fields, *anomalies: Any, **more: Any) -> bool:
    """Whether a silence of `match` hides the condition's only match."""
    verdict = evaluated(*anomalies, silences=[silence("own", match)], ruleset=rules(condition), **more)
    assert len(verdict.matches) + len(verdict.silenced) == 1
    return bool(verdict.silenced)


def clock(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


# --- what is silenced -------------------------------------------------------------------------------------------------


def test_silenced_match_is_reported_with_its_silence() -> None:
    verdict = evaluated(*GAP, silences=[silence(match={"spec_ref": "specs/a.md#FR-1"})])
    assert verdict.matches == ()
    ((match, by),) = verdict.silenced
    assert (match.rule.name, match.value, match.key) == ("spec_gap_cluster", 2, "specs/a.md#FR-1")
    assert (by.id, by.reason, by.by, by.until) == ("silence-1", "known", "a", clock(UNTIL))
    found = progress(verdict, "spec_gap_cluster")
    assert (found.reason, found.value, found.key) == (Reason.SILENCED, 2, "specs/a.md#FR-1")


def test_silence_affects_only_its_rule() -> None:
    verdict = evaluated(*GAP, *OUTAGE, silences=[silence()])
    assert (names(verdict), silenced_rules(verdict)) == (["external_service_outage"], ["spec_gap_cluster"])
    assert progress(verdict, "external_service_outage").reason is Reason.MATCHED


def test_silence_affects_only_its_group() -> None:
    others = [anomaly("spec_gap", spec_ref="specs/b.md#FR-2") for _ in range(2)]
    verdict = evaluated(*GAP, *others, silences=[silence(match={"spec_ref": "specs/a.md#FR-1"})])
    assert [match.key for match in verdict.matches] == ["specs/b.md#FR-2"]
    assert [each.match.key for each in verdict.silenced] == ["specs/a.md#FR-1"]
    assert progress(verdict, "spec_gap_cluster").reason is Reason.MATCHED


def test_silence_of_all_hides_every_group() -> None:
    others = [anomaly("spec_gap", spec_ref="specs/b.md#FR-2") for _ in range(2)]
    assert silenced_rules(evaluated(*GAP, *others, silences=[silence()])) == ["spec_gap_cluster"] * 2


def test_silence_without_match_hides_nothing() -> None:
    verdict = evaluated(GAP[0], silences=[silence()])
    assert (verdict.matches, verdict.silenced) == ((), ())
    assert progress(verdict, "spec_gap_cluster").reason is Reason.BELOW


def test_silence_of_unknown_rule_hides_nothing() -> None:
    assert names(evaluated(*GAP, silences=[silence("spec_gap"), silence("SPEC_GAP_CLUSTER"), silence("")]))


def test_duplicate_silence_hides_match_once() -> None:
    assert silenced_rules(evaluated(*GAP, silences=[silence(), silence(id="silence-2")])) == ["spec_gap_cluster"]


def test_observing_rule_can_be_silenced() -> None:
    observing = rules(rule("count(same(a)) >= 1", mode="observe"))
    verdict = evaluated(anomaly("x", a="y"), silences=[silence("own")], ruleset=observing)
    assert (verdict.matches, verdict.observed, silenced_rules(verdict)) == ((), (), ["own"])


def test_number_without_evidence_is_silenced_only_by_all() -> None:
    blocked: Fields = {"sprint": {"metrics": {"tasks_blocked": 3}}}
    condition = rules("metric(sprint.metrics.tasks_blocked) >= 2")
    assert names(evaluated(silences=[silence("own", {"task": "task-1"})], ruleset=condition, **blocked)) == ["own"]
    assert silenced_rules(evaluated(silences=[silence("own")], ruleset=condition, **blocked)) == ["own"]


def test_progress_is_of_fullest_unsilenced_group() -> None:
    blocked = [anomaly("external_blocker", blocker_service=service) for service in ("a", "a", "a", "b", "b")]
    verdict = evaluated(*blocked, silences=[silence("external_service_outage", {"blocker_service": "a"})])
    found = progress(verdict, "external_service_outage")
    assert (found.reason, found.value, found.key) == (Reason.MATCHED, 2, "b")


# --- all of the evidence ----------------------------------------------------------------------------------------------


def test_match_with_one_uncovered_record_trips() -> None:
    assert names(evaluated(*GAP, silences=[silence(match={"task": "task-1"})])) == ["spec_gap_cluster"]


def test_silences_can_cover_evidence_together() -> None:
    each = [silence(match={"task": task}, id=task) for task in ("task-1", "task-2")]
    assert silenced_rules(evaluated(*GAP, silences=each)) == ["spec_gap_cluster"]
    more = anomaly("spec_gap", 3, "task-3", spec_ref="specs/a.md#FR-1")
    assert names(evaluated(*GAP, more, silences=each)) == ["spec_gap_cluster"]


def test_silences_of_different_rules_do_not_add_up() -> None:
    each = [silence(match={"task": "task-1"}), silence("external_service_outage", {"task": "task-2"})]
    assert names(evaluated(*GAP, silences=each)) == ["spec_gap_cluster"]


def test_ended_silence_covers_nothing() -> None:
    each = [silence(match={"task": "task-1"}), silence(match={"task": "task-2"}, until="2025-01-18T17:30:00Z")]
    assert names(evaluated(*GAP, silences=each)) == ["spec_gap_cluster"]


def test_every_field_of_a_silence_must_match() -> None:
    both = {"spec_ref": "specs/a.md#FR-1", "reporter": "coder-1"}
    assert silenced_rules(evaluated(*GAP, silences=[silence(match=both)])) == ["spec_gap_cluster"]
    assert names(evaluated(*GAP, silences=[silence(match={**both, "reporter": "coder-2"})])) == ["spec_gap_cluster"]


def test_silence_covering_alone_is_reported() -> None:
    narrow = silence(match={"task": "task-1"}, id="narrow", until="2025-01-18T18:00:01Z")
    ((_, by),) = evaluated(*GAP, silences=[narrow, silence(id="wide")]).silenced
    assert by.id == "wide"


def test_of_several_full_covers_last_ending_is_reported() -> None:
    each = [silence(id=until, until=until) for until in ("2025-01-18T19:00:00Z", UNTIL, "2025-01-18T18:30:00Z")]
    ((_, by),) = evaluated(*GAP, silences=each).silenced
    assert by.id == UNTIL


def test_of_joint_covers_first_ending_is_reported() -> None:
    first = silence(match={"task": "task-1"}, id="first", until="2025-01-18T18:30:00Z")
    other = silence(match={"task": "task-9"}, id="of nothing", until="2025-01-18T18:00:01Z")
    ((_, by),) = evaluated(*GAP, silences=[other, silence(match={"task": "task-2"}, id="second"), first]).silenced
    assert by.id == "first"


def test_group_is_not_hidden_by_silence_of_another_group() -> None:
    """Two groups can share their records: silencing one leaves the other."""
    both = [anomaly("spec_gap", minute, spec_ref=["A", "B"]) for minute in (1, 2)]
    verdict = evaluated(*both, silences=[silence(match={"spec_ref": "A"})])
    assert [match.key for match in verdict.matches] == ["B"]
    assert [each.match.key for each in verdict.silenced] == ["A"]


def test_similar_group_is_not_hidden_by_shared_record() -> None:
    refused, template = "connection to database refused", "unexpected token in template file"
    loops = [anomaly("retry_loop", error_pattern=text) for text in ([refused, template], template, template)]
    assert names(evaluated(*loops, silences=[silence("retry_cluster", {"error_pattern": refused})])) == [
        "retry_cluster"
    ]
    assert silenced_rules(evaluated(*loops, silences=[silence("retry_cluster", {"error_pattern": template})]))


MIXED = {"same": ("same(f)", "boom", "Boom."), "similar": ("similar(f)", "boom 1", "boom 3")}


@pytest.mark.parametrize(("grouping", "text", "silenced"), MIXED.values(), ids=MIXED.keys())
def test_group_silence_also_covers_ungrouped_records(grouping: str, text: str, silenced: str) -> None:
    condition = f"count(type=t, {grouping}) >= 2 AND count(type=u) >= 1"
    records = [anomaly("t", f=text), anomaly("t", f=text), anomaly("u"), anomaly("u", f="another")]
    assert is_silenced(condition, {"f": silenced}, *records)
    assert not is_silenced(condition, {"f": "another"}, *records)
    assert not is_silenced(condition, {"f": silenced, "type": "t"}, *records), (
        "any other field must match in each record"
    )


def test_record_without_field_is_not_covered() -> None:
    assert names(evaluated(*GAP, silences=[silence(match={"blocker_service": "stripe"})])) == ["spec_gap_cluster"]


# --- comparing values -------------------------------------------------------------------------------------------------

WRITTEN = {
    "identical": ("Stripe", True),
    "in other case": ("STRIPE", True),
    "with space around": ("  stripe ", True),
    "with a full stop": ("stripe.", True),
    "another service": ("paypal", False),
    "shorter": ("Strip", False),
    "longer": ("Stripe API", False),
}


@pytest.mark.parametrize(("value", "covered"), WRITTEN.values(), ids=WRITTEN.keys())
def test_same_rule_compares_silences_by_same(value: str, covered: bool) -> None:
    verdict = evaluated(*OUTAGE, silences=[silence("external_service_outage", {"blocker_service": value})])
    assert bool(verdict.silenced) is covered
    assert bool(verdict.matches) is not covered


def test_exact_mode_compares_silences_exactly() -> None:
    exact = SYSTEMIC._replace(exact=True)
    for value, covered in (("Stripe", True), ("stripe", False), ("Stripe.", False)):
        by = [silence("external_service_outage", {"blocker_service": value})]
        assert bool(evaluated(*OUTAGE, silences=by, ruleset=exact).silenced) is covered


ERRORS = {
    "one of the texts": ("connection to 10.0.0.1 refused after 1 s", True),
    "the same error elsewhere": ("connection to 10.9.8.7 refused after 55 s", True),
    "another error": ("permission to 10.0.0.1 denied", False),
    "the opposite": ("connection to 10.0.0.1 accepted after 1 s", False),
}


@pytest.mark.parametrize(("value", "covered"), ERRORS.values(), ids=ERRORS.keys())
def test_similar_rule_compares_silences_by_similar(value: str, covered: bool) -> None:
    verdict = evaluated(*REFUSED, silences=[silence("retry_cluster", {"error_pattern": value})])
    assert bool(verdict.silenced) is covered
    assert bool(verdict.matches) is not covered


def test_exact_mode_does_not_cover_similar_texts() -> None:
    same = [anomaly("retry_loop", minute, error_pattern="timed out after 5 s") for minute in (1, 2, 3)]
    exact = SYSTEMIC._replace(exact=True)
    for value, covered in (("timed out after 5 s", True), ("timed out after 6 s", False)):
        by = [silence("retry_cluster", {"error_pattern": value})]
        assert bool(evaluated(*same, silences=by, ruleset=exact).silenced) is covered


def test_reported_group_key_silences_the_group() -> None:
    (match,) = evaluated(*REFUSED, silences=[]).matches
    assert silenced_rules(evaluated(*REFUSED, silences=[silence("retry_cluster", {"error_pattern": match.key})]))


def test_group_key_silences_even_within_a_span() -> None:
    users = ((0, "root"), (1, "guest"), (100, "admin"), (200, "mike"))
    denied = [anomaly("t", minute, f=f"login denied for user {user}") for minute, user in users]
    condition = "count(type=t, similar(f), within(10m)) >= 2"
    (match,) = evaluated(*denied, silences=[], ruleset=rules(condition)).matches
    assert is_silenced(condition, {"f": match.key}, *denied)


@pytest.mark.timeout(10)
@pytest.mark.parametrize(("text", "covered"), [("something else", False), ("connection to db-zz refused for u", True)])
def test_large_similar_group_is_fast(text: str, covered: bool) -> None:
    places = [f"{chr(97 + i % 10)}{chr(97 + i // 10 % 26)} refused for u{'x' * (i % 50)}" for i in range(800)]
    assert len(set(places)) == 800
    loops = [anomaly("retry_loop", error_pattern=f"connection to db-{place}") for place in places]
    verdict = evaluated(*loops, silences=[silence("retry_cluster", {"error_pattern": text})])
    assert [match.value for match in verdict.matches] == ([] if covered else [800])
    assert [each.match.value for each in verdict.silenced] == ([800] if covered else [])


def test_per_fields_are_compared_exactly() -> None:
    records = [anomaly("t", minute, "T-1") for minute in (1, 2)]
    assert is_silenced("count(type=t, per(task)) >= 2", {"task": "T-1"}, *records)
    assert not is_silenced("count(type=t, per(task)) >= 2", {"task": "t-1"}, *records)


def test_ungrouped_fields_are_compared_exactly() -> None:
    records = [anomaly("t", f="x", lang=lang) for lang in ("C++", "C#")]
    assert is_silenced("count(type=t, same(f)) >= 2", {"lang": "C++"}, *records[:1] * 2)
    for lang in ("c", "C", "c++"):
        assert not is_silenced("count(type=t, same(f)) >= 2", {"lang": lang}, *records), lang


def test_grouping_field_may_be_named_within_details() -> None:
    by = [silence("retry_cluster", {"details.error_pattern": "connection to 10.9.8.7 refused after 55 s"})]
    assert silenced_rules(evaluated(*REFUSED, silences=by)) == ["retry_cluster"]


def test_silence_field_is_found_in_record_and_details() -> None:
    records = [{**anomaly("x", a="one"), "spec_ref": "top"} for _ in range(2)]
    for match in ({"a": "one"}, {"details.a": "one"}, {"spec_ref": "top"}, {"type": "x"}, {"b|a": "one"}):
        assert is_silenced("count(same(a)) >= 2", match, *records), match
    assert not is_silenced("count(same(a)) >= 2", {"details.spec_ref": "top"}, *records)


def test_either_name_of_a_double_field_works() -> None:
    named = [anomaly("workaround", minute, root_cause="no shared clock") for minute in (1, 2)]
    for name in ("root_cause", "root_cause|what"):
        by = [silence("workaround_pattern", {name: "no shared clock"})]
        assert silenced_rules(evaluated(*named, silences=by)) == ["workaround_pattern"]


VALUES = {"a number": (3, "3"), "a number with a point": (1.5, "1.5"), "true": (True, "true"), "a text": ("x=y", "x=y")}


@pytest.mark.parametrize(("value", "text"), VALUES.values(), ids=VALUES.keys())
def test_any_value_is_compared_by_its_text(value: Any, text: str) -> None:
    records = [anomaly("x", a="one", b=value) for _ in range(2)]
    assert is_silenced("count(same(a)) >= 2", {"b": text}, *records)
    assert is_silenced("count(same(a)) >= 2", {"b": value}, *records)
    assert not is_silenced("count(same(a)) >= 2", {"b": f"{text}0"}, *records)


@pytest.mark.parametrize(("value", "text"), VALUES.values(), ids=VALUES.keys())
@pytest.mark.parametrize("exact", [False, True])
def test_grouped_value_is_compared_by_its_text(value: Any, text: str, exact: bool) -> None:
    records = [anomaly("t", f=value) for _ in range(2)]
    ruleset = rules("count(type=t, same(f)) >= 2")._replace(exact=exact)
    assert silenced_rules(evaluated(*records, silences=[silence("own", {"f": text})], ruleset=ruleset)) == ["own"]
    assert silenced_rules(evaluated(*records, silences=[silence("own", {"f": value})], ruleset=ruleset)) == ["own"]


def test_huge_number_is_another_value() -> None:
    """A number too long to print does not equal a silenced value."""
    records = f"- {{type: spec_gap, task: t, spec_ref: a, n: {'9' * 5000}}}\n" * 2
    entry = f"{{rule: spec_gap_cluster, match: {{n: 1}}, created: {CREATED}, until: {UNTIL}, reason: known}}"
    verdict = evaluate(SYSTEMIC, parse_board(f"version: 1\nanomalies:\n{records}silences: [{entry}]\n"), NOW)
    assert (names(verdict), silenced_rules(verdict)) == (["spec_gap_cluster"], [])


def test_list_value_is_covered_only_by_shared_items() -> None:
    records = [anomaly("x", a="one", b=["p", "q"]), anomaly("x", a="one", b="p")]
    assert is_silenced("count(same(a)) >= 2", {"b": "p"}, *records)
    assert not is_silenced("count(same(a)) >= 2", {"b": "q"}, *records)
