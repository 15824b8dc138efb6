"""Evidence that an earlier release acknowledged, by fingerprints and by positions."""

from typing import Any

from liza.rules.evaluate import evaluate
from liza.rules.fingerprints import legacy_fingerprint
from tests.rules.boards import NOW, SYSTEMIC, Fields, names, rule, rules, snapshot, systemic
from tests.rules.test_acknowledged import MANY, OUTAGE, blocker, resolved


def by_earlier_release(
    *records: Any, evidence: str | None = None, resolved_at: str | None = "2025-01-18T17:00:00Z"
) -> Fields:
    """The breaker section as an earlier release left it after a resolution."""
    found = snapshot(*records).records("anomalies")
    text = evidence if evidence is not None else " ".join(map(legacy_fingerprint, found))
    entry: Fields = {"timestamp": "2025-01-18T16:00:00Z", "pattern": OUTAGE, "result": "TRIGGERED", "trip_id": "0" * 12}
    entry |= {"evidence": {OUTAGE: text}, "resolution": "x", "resolved_at": resolved_at}
    return {"status": "OK", "current_trigger": None, "history": [entry]}


def test_legacy_fingerprints_still_acknowledge() -> None:
    old = [blocker(0), blocker(1)]
    breaker = by_earlier_release(*old)
    assert systemic(*old, circuit_breaker=breaker) == []
    assert systemic(*old, blocker(2), circuit_breaker=breaker) == []
    assert systemic(*old, blocker(2), blocker(3), circuit_breaker=breaker) == [OUTAGE]


def test_legacy_and_new_fingerprints_add_up() -> None:
    old, new = [blocker(0), blocker(1)], [blocker(2), blocker(3)]
    both = resolved(snapshot(*old, *new, circuit_breaker=by_earlier_release(*old)))
    assert systemic(*old, *new, circuit_breaker=both) == []
    assert systemic(*old, *new, blocker(4), circuit_breaker=both) == []


def test_legacy_position_covers_records_up_to_resolution() -> None:
    old: list[Any] = [blocker(at % 60, n=at) for at in range(MANY)]
    breaker = by_earlier_release(evidence=f"first {MANY} anomalies")
    assert systemic(*old, circuit_breaker=breaker) == []
    late = [blocker(5 * 60 + at) for at in range(1, 3)]  # after 17:00, where the old ones were
    assert systemic(*late, circuit_breaker=breaker) == [OUTAGE]
    assert systemic(*late, *old, circuit_breaker=breaker) == [OUTAGE]


def test_legacy_position_covers_undated_records_of_whole_list() -> None:
    old: list[Any] = [{**blocker(0, n=at), "timestamp": None} for at in range(MANY)]
    breaker = by_earlier_release(evidence=f"first {MANY} anomalies")
    assert systemic(*old, circuit_breaker=breaker) == []
    assert systemic(*old[:5], circuit_breaker=breaker) == [OUTAGE]


def test_legacy_position_of_trip_closed_by_status_covers_records() -> None:
    old: list[Any] = [blocker(at % 60, n=at) for at in range(MANY)]
    breaker = by_earlier_release(evidence=f"first {MANY} anomalies", resolved_at=None)
    assert systemic(*old, circuit_breaker=breaker) == []


def test_legacy_position_and_fingerprints_cover_both() -> None:
    old: list[Any] = [blocker(at % 60, n=at) for at in range(MANY)]
    late = [blocker(5 * 60 + at) for at in range(1, 3)]
    prints = " ".join(map(legacy_fingerprint, snapshot(*late).records("anomalies")))
    breaker = by_earlier_release(evidence=f"first {MANY} anomalies; {prints}")
    assert systemic(*old, *late, circuit_breaker=breaker) == []


def test_legacy_anomaly_position_covers_no_tasks() -> None:
    ruleset = rules(rule("count(tasks, status=BLOCKED) >= 2", OUTAGE))
    tasks = [{"id": f"t{at}", "status": "BLOCKED"} for at in range(2)]
    breaker = by_earlier_release(evidence=f"first {MANY} anomalies")
    assert names(evaluate(ruleset, snapshot(tasks=tasks, circuit_breaker=breaker), NOW)) == [OUTAGE]


def test_lost_evidence_file_covers_records_before_resolution() -> None:
    breaker = by_earlier_release()
    breaker["history"][0]["evidence"] = {OUTAGE: {"file": ".liza/reports/x.evidence.json", "records": 502}}
    quiet = evaluate(SYSTEMIC, snapshot(blocker(0), blocker(1), circuit_breaker=breaker), NOW)
    assert (names(quiet), len(quiet.warnings)) == ([], 1)
    assert systemic(blocker(301), blocker(302), circuit_breaker=breaker) == [OUTAGE]
