"""The other sections of a blackboard, the log, and boards with a great many faults."""

from typing import Any

import pytest

from liza.schema import log as log_schema
from liza.schema import state
from liza.schema.snapshot import locate_faults, take_snapshot
from liza.store.document import parse, parse_log

TIME = "2025-01-18T14:32:00Z"
TRIGGER = {"timestamp": TIME, "pattern": "retry_cluster", "severity": "SPEC_FLAW"}
MANY = 2_000

VALID: dict[str, Any] = {
    "version": 1,
    "goal": {"description": "x"},
    "tasks": [{"id": 1, "status": "DRAFT", "created": TIME, "failed_by": [], "max_iterations": 1, "assigned_to": None}],
    "agents": {"coder-1": {"role": "coder", "heartbeat": TIME, "current_task": None}, "idle": {}},
    "discovered": [{"id": "d", "urgency": "later", "converted_to_task": None}],
    "anomalies": None,
    "claims": {"c": {"rounds": []}},
    "slices": [{"id": "s"}],
    "loops": [],
    "sessions": {"7c1f": {"status": "STOPPED", "current_trip": {"reason": "x"}, "history": []}},
    "stages": {},
    "sprint": {"id": 4, "timeline": {"started": TIME, "ended": None}, "metrics": {}},
    "circuit_breaker": {"last_check": TIME, "status": "TRIGGERED", "current_trigger": TRIGGER,
                        "history": [{"timestamp": TIME, "result": "OK", "checks": 3}, {"timestamp": TIME}]},
    "config": {"max_coder_iterations": 10, "escalation_webhook": None},
    "own notes": ["anything"],
}  # fmt: skip


def test_valid_board_has_no_faults() -> None:
    assert list(state.check(VALID)) == []


FAULTY: dict[str, list[tuple[Any, tuple[Any, ...]]]] = {
    "tasks": [
        ({}, ()), ("x", ()), ([1], (0,)), ([None], (0,)), ([{"status": "DRAFT"}], (0, "id")),
        ([{"id": "a"}], (0, "status")), ([{"id": "a", "status": "DONE"}], (0, "status")),
        ([{"id": "a", "status": ["DRAFT"]}], (0, "status")), ([{"id": True, "status": "DRAFT"}], (0, "id")),
        ([{"id": "a", "status": "DRAFT"}, {"id": "a", "status": "DRAFT"}], (1, "id")),
        ([{"id": "a", "status": "DRAFT", "created": "soon"}], (0, "created")),
        ([{"id": "a", "status": "DRAFT", "iteration": -1}], (0, "iteration")),
        ([{"id": "a", "status": "DRAFT", "max_iterations": 0}], (0, "max_iterations")),
        ([{"id": "a", "status": "DRAFT", "failed_by": "x"}], (0, "failed_by")),
        ([{"id": "a", "status": "DRAFT", "history": {}}], (0, "history")),
    ],
    "agents": [
        ([], ()), ("x", ()), ({"a": None}, ("a",)), ({"a": "coder"}, ("a",)), ({"a": {"role": 1}}, ("a", "role")),
        ({"a": {"heartbeat": "now"}}, ("a", "heartbeat")), ({"a": {"lease_expires": 5}}, ("a", "lease_expires")),
    ],
    "discovered": [({}, ()), ([{}], (0, "id")), ([{"id": "a", "urgency": 1}], (0, "urgency"))],
    "anomalies": [({}, ()), ("x", ()), (0, ()), ([[]], (0,)), (["x"], (0,))],
    "claims": [("x", ()), ([1], (0,)), ({"c": []}, ("c",)), ({"c": None}, ("c",))],
    "slices": [(1, ()), ({"s": "x"}, ("s",))],
    "loops": [(True, ()), ([None], (0,))],
    "sessions": [
        (5, ()), ({"s": {"status": "NONSENSE"}}, ("s", "status")), ({"s": {"history": "x"}}, ("s", "history")),
    ],
    "sprint": [
        ([], ()), ("x", ()), ({"id": []}, ("id",)), ({"timeline": []}, ("timeline",)),
        ({"timeline": {"started": "x"}}, ("timeline", "started")), ({"metrics": 1}, ("metrics",)),
    ],
    "circuit_breaker": [
        ([], ()), ("OK", ()), ({}, ("status",)), ({"status": "FINE"}, ("status",)), ({"status": None}, ("status",)),
        ({"status": "TRIGGERED"}, ("status",)), ({"status": "OK", "current_trigger": TRIGGER}, ("current_trigger",)),
        ({"status": "OK", "last_check": "x"}, ("last_check",)), ({"status": "OK", "history": {}}, ("history",)),
        ({"status": "OK", "history": [1]}, ("history", 0)),
        ({"status": "OK", "history": [{}]}, ("history", 0, "timestamp")),
        ({"status": "OK", "history": [{"timestamp": TIME, "result": "?"}]}, ("history", 0, "result")),
        ({"status": "OK", "history": [{"timestamp": TIME, "checks": 0}]}, ("history", 0, "checks")),
        ({"status": "TRIGGERED", "current_trigger": {**TRIGGER, "severity": "BAD"}}, ("current_trigger", "severity")),
        ({"status": "TRIGGERED", "current_trigger": {**TRIGGER, "pattern": None}}, ("current_trigger", "pattern")),
    ],
    "config": [
        ([], ()), ({"max_review_cycles": 0}, ("max_review_cycles",)),
        ({"max_coder_iterations": "3"}, ("max_coder_iterations",)),
    ],
}  # fmt: skip
CASES = [(name, value, path) for name, cases in FAULTY.items() for value, path in cases]


@pytest.mark.parametrize(("name", "value", "path"), CASES)
def test_fault_of_a_section_is_reported_once_at_its_path(name: str, value: Any, path: tuple[Any, ...]) -> None:
    (fault,) = state.check({name: value})
    assert fault.path == (name, *path)
    assert fault.level == "error"
    assert "\n" not in fault.message


def test_misspelt_section_is_a_warning_and_a_custom_one_is_not() -> None:
    (fault,) = state.check({"anomolies": []})
    assert (fault.level, fault.hint) == ("warning", "did you mean anomalies?")
    assert list(state.check({"notes": [], "x": 1})) == []


def test_merge_key_without_effect_is_a_warning() -> None:
    (fault,) = state.check({"tasks": [{"<<": {"id": "b"}, "id": "a", "status": "DRAFT"}]})
    assert (fault.path, fault.level) == (("tasks", 0, "<<"), "warning")


def test_records_beside_a_faulty_one_are_kept() -> None:
    snapshot = take_snapshot(
        parse(b"anomalies:\n- x\n- type: spec_changed\n  own: kept\n- []\nclaims:\n  c: {id: 1}\n", "state.yaml")
    )
    assert [(record.key, record.get("own")) for record in snapshot.records("anomalies")] == [(1, "kept")]
    assert [record.key for record in snapshot.records("claims")] == ["c"]
    assert len(snapshot.problems) == 5


ENTRIES: list[tuple[Any, tuple[Any, ...]]] = [
    ("x", ()), (None, ()), ({"agent": "a", "action": "x"}, ("timestamp",)),
    ({"timestamp": TIME, "action": "x"}, ("agent",)), ({"timestamp": TIME, "agent": "a"}, ("action",)),
    ({"timestamp": "x", "agent": "a", "action": "x"}, ("timestamp",)),
    ({"timestamp": TIME, "agent": "a", "action": "x", "detail": 5}, ("detail",)),
    ({"timestamp": TIME, "agent": "a", "action": "x", "task": []}, ("task",)),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "path"), ENTRIES)
def test_fault_of_a_log_entry_is_reported_once_at_its_path(entry: Any, path: tuple[Any, ...]) -> None:
    sound = {"timestamp": TIME, "agent": "a", "action": "x", "task": 3, "detail": "d", "own": 1}
    (fault,) = log_schema.check([sound, entry])
    assert fault.path == (1, *path)


def test_faults_of_a_log_are_located() -> None:
    log = parse_log(b"# log\n- timestamp: 2025-01-18T14:32:00Z\n  agent: a\n- x\n-\n  agent:\n", "log.yaml")
    found = {(problem.line, problem.column) for problem in locate_faults(log, log_schema.check(log.data))}
    assert found == {(2, 3), (4, 3), (6, 3)}


# All the faults of a large board, in the forms it may have; `benchmarks validate` measures the time.
LARGE = {
    "block records": "anomalies:\n" + "".join(f"- task: t{n}\n  type: 5\n" for n in range(MANY)),
    "records in braces": "anomalies:\n" + "".join(f"- {{task: t{n}, type: 5}}\n" for n in range(MANY)),
    "a list in brackets": "anomalies: [\n" + "".join(f"  {{task: t{n}, type: 5}},\n" for n in range(MANY)) + "  ]\n",
    "a mapping of names": "agents:\n" + "".join(f"  a{n}:\n    heartbeat: never\n" for n in range(MANY)),
    "a mapping of texts": "claims:\n" + "".join(f"  c{n}: x\n" for n in range(MANY)),
    "a history": "circuit_breaker:\n  status: OK\n  history:\n" + "".join("  - checks: 0\n" for _ in range(MANY)),
}


@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE.keys())
def test_thousands_of_faulty_records_are_all_located(text: str) -> None:
    problems = take_snapshot(parse(b"version: 1\n" + text.encode(), "state.yaml")).problems
    assert len(problems) >= MANY
    assert all(problem.line and problem.column for problem in problems)
    if "[" not in text:
        assert len({problem.line for problem in problems}) >= MANY


def test_uncuttable_board_is_searched_once_not_per_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    from liza.store import spans

    searches: list[int] = []
    fields = spans.fields

    def counted(raw: bytes, start: int, end: int, parsed: Any) -> list[spans.Part]:
        searches.append(end - start)
        return fields(raw, start, end, parsed)

    monkeypatch.setattr(spans, "fields", counted)
    text = "anomalies:\n" + "".join(f"- task: t{n}\n  type: 5\n" for n in range(200)) + "? odd\n: 1\n"
    assert len(take_snapshot(parse(text.encode(), "state.yaml")).problems) > 200
    assert sum(searches) < 20 * len(text)
