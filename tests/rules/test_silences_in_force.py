"""Which silences are active, and for how long."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.model import Reason
from liza.rules.evaluate import evaluate
from tests.rules.boards import NOW, SYSTEMIC, Fields, anomaly, names, parse_board, progress
from tests.rules.test_silences import (
    CREATED,
    GAP,
    UNTIL,
    clock,
    evaluated,
    is_silenced,
    silence,
    silenced_rules,
    without,
)

# --- duration ---------------------------------------------------------------------------------------------------------

MOMENTS = {
    "before it begins": ("2025-01-18T16:59:59Z", False),
    "when it begins": (CREATED, True),
    "before it ends": ("2025-01-18T19:59:59Z", True),
    "when it ends": (UNTIL, False),
    "the day after": ("2025-01-19T18:00:00Z", False),
}


@pytest.mark.parametrize(("now", "covered"), MOMENTS.values(), ids=MOMENTS.keys())
def test_silence_is_active_from_created_to_until(now: str, covered: bool) -> None:
    verdict = evaluated(*GAP, silences=[silence()], now=clock(now))
    assert (bool(verdict.silenced), bool(verdict.matches)) == (covered, not covered)


EXPIRED = {
    "earlier": ("2025-01-18T17:59:59Z", False),
    "now": ("2025-01-18T18:00:00Z", False),
    "later": ("2025-01-18T18:00:01Z", True),
    "before it began": ("2025-01-18T10:00:00Z", False),
    "after its end": ("2025-01-18T23:00:00Z", True),
    "in another zone": ("2025-01-18T18:30:00+01:00", False),
}


@pytest.mark.parametrize(("expired", "covered"), EXPIRED.values(), ids=EXPIRED.keys())
def test_expired_silence_ends_when_expired(expired: str, covered: bool) -> None:
    by = [silence(expired_at=expired, expired_by="b")]
    assert bool(evaluated(*GAP, silences=by).silenced) is covered
    assert names(evaluated(*GAP, silences=by, now=clock(UNTIL))) == ["spec_gap_cluster"]


def test_times_without_zone_are_utc() -> None:
    assert (
        silenced_rules(
            evaluated(*GAP, silences=[silence(created="2025-01-18T17:00:00", until="2025-01-18T19:00:00+01:00")])
        )
        == []
    )
    assert silenced_rules(evaluated(*GAP, silences=[silence(created="2025-01-18", until="2025-01-18T18:00:01")]))


def test_full_day_is_allowed() -> None:
    assert silenced_rules(
        evaluated(*GAP, silences=[silence(created="2025-01-18T00:00:00Z", until="2025-01-19T00:00:00Z")])
    )


# --- inactive silences ------------------------------------------------------------------------------------------------

INACTIVE = {
    "no reason": without("reason"),
    "an empty reason": silence(reason=" "),
    "a reason that is a number": silence(reason=5),
    "a reason that is a list": silence(reason=["known"]),
    "no rule": without("rule"),
    "a rule that is a list": silence(rule=["spec_gap_cluster"]),
    "no beginning": without("created"),
    "no end": without("until"),
    "an invalid beginning": silence(created="this morning"),
    "an invalid end": silence(until="forever"),
    "an end that is a number": silence(until=99999999999),
    "an end that is a mapping": silence(until={"at": UNTIL}),
    "more than a day": silence(created="2025-01-18T00:00:00Z", until="2025-01-19T00:00:01Z"),
    "a hundred years": silence(until="2125-01-18T20:00:00Z"),
    "until the end of time": silence(created="0001-01-01T00:00:00Z", until="9999-12-31T23:59:59Z"),
    "an end before its beginning": silence(created=UNTIL, until=CREATED),
    "neither match nor all": without("all"),
    "an empty match": without("all") | {"match": {}},
    "a match that is null": without("all") | {"match": None},
    "a match that is a text": silence() | {"match": "spec_ref"},
    "a match that is a list": silence() | {"match": ["spec_ref"]},
    "a match of nothing": silence(match={"spec_ref": None}),
    "a match of a list": silence(match={"spec_ref": ["specs/a.md#FR-1"]}),
    "a match of a mapping": silence(match={"spec_ref": {"specs/a.md#FR-1": True}}),
    "expired at an invalid time": silence(expired_at="yesterday"),
    "expired at true": silence(expired_at=True),
    "expired by a person without a time": silence(expired_by="b"),
    "all, but not true": silence(all="true"),
    "all: 1": silence(all=1),
    "all: false": silence(all=False),
}


@pytest.mark.parametrize("odd", INACTIVE.values(), ids=INACTIVE.keys())
def test_invalid_silence_hides_nothing(odd: Fields) -> None:
    verdict = evaluated(*GAP, silences=[odd])
    assert (names(verdict), silenced_rules(verdict)) == (["spec_gap_cluster"], [])


def test_faulty_silence_does_not_disturb_a_good_one() -> None:
    assert silenced_rules(evaluated(*GAP, silences=[*INACTIVE.values(), silence()])) == ["spec_gap_cluster"]


def test_null_match_does_not_mean_the_text_none() -> None:
    for text in ("None", "null", ""):
        records = [anomaly("t", f="x", g=text) for _ in range(2)]
        assert not is_silenced("count(type=t, same(f)) >= 2", {"g": None}, *records), text
    assert not is_silenced("count(type=t, same(f)) >= 2", {"f": None}, *[anomaly("t", f="None")] * 2)


SECTIONS = {
    "null": "silences:",
    "a text": "silences: spec_gap_cluster",
    "a number": "silences: 5",
    "true": "silences: true",
    "an empty list": "silences: []",
    "an empty mapping": "silences: {}",
    "lists in lists": "silences: [[[[spec_gap_cluster]]], [{rule: spec_gap_cluster, all: true}]]",
    "all sorts": "silences: [null, 5, .nan, text, [], {}, {1: 2}, {null: null}]",
    "keys that are no texts": "silences: {null: {rule: x}, 1.5: {}, true: 5, ? [a, b] : {rule: y}}",
    "fields that are mappings": "silences: [{id: {a: b}, rule: {c: d}, match: {e: {f: g}}, by: {h: i}, reason: {}}]",
    "a megabyte of text": f"silences: {'x' * (1 << 20)}",
}


@pytest.mark.parametrize("section", SECTIONS.values(), ids=SECTIONS.keys())
def test_malformed_section_hides_nothing(section: str) -> None:
    records = "".join("- {timestamp: 2025-01-18T14:00:00Z, task: t, type: spec_gap, spec_ref: a}\n" for _ in range(2))
    verdict = evaluate(SYSTEMIC, parse_board(f"version: 1\nanomalies:\n{records}{section}\n"), NOW)
    assert (names(verdict), silenced_rules(verdict)) == (["spec_gap_cluster"], [])


ODD_FIELDS = {
    "an id that is a mapping": {"id": {"a": "b"}},
    "an id that is null": {"id": None},
    "an author that is a list": {"by": ["a", "b"]},
    "no author": {"by": None},
    "more fields": {"ticket": "OPS-1", "state": "ended", "fault": "yes"},
    "a long reason": {"reason": "x" * (1 << 20)},
    "a reason with control characters": {"reason": "\x1b[2J\u202e\x07"},
}


@pytest.mark.parametrize("odd", ODD_FIELDS.values(), ids=ODD_FIELDS.keys())
def test_other_odd_fields_do_not_matter(odd: Fields) -> None:
    assert silenced_rules(evaluated(*GAP, silences=[silence(**odd)])) == ["spec_gap_cluster"]


def test_silences_may_be_a_mapping_by_name() -> None:
    verdict = evaluated(*GAP, silences={"gap": without("id")})
    assert [each.silence.id for each in verdict.silenced] == ["gap"]


@pytest.mark.parametrize(("number", "name"), [(0, "0"), (7, "7"), (None, "1")])
def test_silence_name_is_its_id_or_its_position(number: Any, name: str) -> None:
    verdict = evaluated(*GAP, silences=[silence("other"), silence(id=number)])
    assert [each.silence.id for each in verdict.silenced] == [name]


# --- with resolutions -------------------------------------------------------------------------------------------------


def resolved(name: str, until: str) -> Fields:
    trip = {"timestamp": until, "pattern": name, "severity": "SPEC_FLAW", "result": "TRIGGERED"}
    return {"status": "OK", "history": [{**trip, "resolved_at": until, "resolved_by": "a", "resolution": "ADR-1"}]}


def test_acknowledged_records_are_not_reported_as_silenced() -> None:
    breaker = resolved("spec_gap_cluster", "2025-01-18T13:00:00Z")
    verdict = evaluated(*GAP, silences=[silence()], circuit_breaker=breaker)
    assert (verdict.matches, verdict.silenced) == ((), ())
    assert progress(verdict, "spec_gap_cluster").reason is Reason.ACKNOWLEDGED


def test_records_after_resolution_are_silenced_alone() -> None:
    breaker = resolved("spec_gap_cluster", "2025-01-18T13:00:00Z")
    later = [anomaly("spec_gap", minute, "task-9", spec_ref="specs/a.md#FR-1") for minute in (70, 80)]
    by = [silence(match={"task": "task-9"})]
    ((match, _),) = evaluated(*GAP, *later, silences=by, circuit_breaker=breaker).silenced
    assert [record.key for record in match.evidence] == [2, 3]


# --- any blackboard ---------------------------------------------------------------------------------------------------

_KINDS = st.sampled_from(["spec_gap", "external_blocker", "retry_loop", "assumption_violated"])
_WORDS = st.sampled_from(["one", "One.", "two", "connection 1 refused", "connection 2 refused"])
_FIELD = st.sampled_from(["spec_ref", "blocker_service", "error_pattern", "assumption", "task", "nothing"])
_RECORDS = st.lists(
    st.builds(
        lambda kind, task, word: anomaly(
            kind, task=task, spec_ref=word, blocker_service=word, error_pattern=word, assumption=word
        ),
        _KINDS,
        st.sampled_from(["task-1", "task-2"]),
        _WORDS,
    ),
    max_size=12,
)
_SILENCES = st.lists(
    st.builds(
        silence,
        st.sampled_from([each.rule.name for each in SYSTEMIC.rules]),
        st.dictionaries(_FIELD, st.one_of(_WORDS, st.sampled_from(["task-1", "task-2"])), max_size=2),
    ),
    max_size=4,
)


@given(records=_RECORDS, silences=_SILENCES)
def test_silences_neither_add_nor_lose_matches(records: list[Fields], silences: list[Fields]) -> None:
    """Every match either trips or is reported as silenced by a silence of its own rule."""
    alone = evaluated(*records, silences=[])
    verdict = evaluated(*records, silences=silences)
    silenced = [each.match for each in verdict.silenced]
    assert sorted([*verdict.matches, *silenced], key=str) == sorted(alone.matches, key=str)
    assert all(match.rule.name == by.rule for match, by in verdict.silenced)
    assert evaluated(*records, silences=silences, now=clock(UNTIL)).matches == alone.matches
