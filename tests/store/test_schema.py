"""Faults of a blackboard: which are found, at which level, and at which position."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.model import Fault, Problem
from liza.schema import anomalies, kinds, state
from liza.schema.snapshot import take_snapshot
from liza.store.document import parse

WHO = {"timestamp": "2025-01-18T14:32:00Z", "task": "t1", "reporter": "coder-1"}
_SAMPLES: dict[Any, Any] = {kinds.natural: 3, kinds.flag: True, kinds.text: "specs/a.md#1"}
DETAILS: dict[str, dict[str, Any]] = {
    name: {needed.partition("|")[0]: _SAMPLES[kind] for needed, kind in each.needed.items()}
    for name, each in anomalies.TYPES.items()
}
NEEDED = [(kind, name) for kind, details in DETAILS.items() for name in details]


def faults(record: Any, section: str = "anomalies") -> list[Fault]:
    return list(state.check({section: [record]}))


def errors(record: Any) -> list[str]:
    return [fault.message for fault in faults(record) if fault.level == "error"]


@pytest.mark.parametrize("kind", DETAILS)
def test_anomaly_with_its_required_details_has_no_faults(kind: str) -> None:
    assert faults({**WHO, "type": kind, "details": {**DETAILS[kind], "own": [1]}, "own": {}}) == []


@pytest.mark.parametrize("kind", DETAILS)
def test_details_may_be_fields_of_the_record_itself(kind: str) -> None:
    assert faults({**WHO, "type": kind, **DETAILS[kind]}) == []


@pytest.mark.parametrize("blank", ["left out", "null"])
@pytest.mark.parametrize(("kind", "name"), NEEDED)
def test_missing_detail_is_named(kind: str, name: str, blank: str) -> None:
    details = {each: value for each, value in DETAILS[kind].items() if each != name}
    if blank == "null":
        details[name] = None
    (fault,) = faults({**WHO, "type": kind, "details": details})
    assert fault.level == "error"
    assert name in fault.message
    assert fault.hint


def test_workaround_needs_either_of_two_details() -> None:
    assert errors({**WHO, "type": "workaround", "details": {"what": "a"}}) == []
    assert len(errors({**WHO, "type": "workaround"})) == 1
    assert len(errors({**WHO, "type": "workaround", "details": {"why": "a"}})) == 1


WRONG = {
    "count": ["3", 3.0, -1, True, [3], "", {}],
    "debt_created": ["true", 1, 0, "", [True]],
    **{
        name: ["", "  \n", 404, True, ["x"], {"x": 1}]
        for _, name in NEEDED
        if name not in ("count", "debt_created")
    },
}  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), NEEDED)
def test_detail_of_the_wrong_type_is_an_error_at_its_path(kind: str, name: str) -> None:
    for value in WRONG[name]:
        (fault,) = faults({**WHO, "type": kind, "details": {**DETAILS[kind], name: value}})
        assert fault.path == ("anomalies", 0, "details", name)
        assert fault.level == "error"


@pytest.mark.parametrize("kind", DETAILS)
def test_details_must_be_a_mapping(kind: str) -> None:
    for details in ("x", [], [1], 0, False, "", 3):
        assert errors({**WHO, "type": kind, "details": details}), details


@pytest.mark.parametrize("name", ["task", "reporter", "type"])
@pytest.mark.parametrize("value", [None, "", " ", True, [], {"a": 1}, 1.5])
def test_type_task_and_reporter_are_required(name: str, value: Any) -> None:
    record = {**WHO, "type": "debt_created", name: value}
    assert [fault.path for fault in faults(record)] == [("anomalies", 0, name)]
    del record[name]
    assert [fault.path for fault in faults(record)] == [("anomalies", 0, name)]
    assert errors(record)


@pytest.mark.parametrize("value", [None, "yesterday", 1737210720, "", "2025-13-01T00:00:00Z", "14:32", []])
def test_anomaly_without_a_usable_time_still_counts(value: Any) -> None:
    (fault,) = faults({**WHO, "type": "debt_created", "timestamp": value})
    assert (fault.path, fault.level) == (("anomalies", 0, "timestamp"), "warning")


def test_time_without_a_zone_is_a_warning() -> None:
    def warned(time: str) -> bool:
        return bool(faults({**WHO, "type": "debt_created", "timestamp": time}))

    assert warned("2025-01-18T14:32:00")
    assert warned("2025-01-18 14:32")
    assert warned("2025-01-18")
    assert not warned("2025-01-18T14:32:00Z")
    assert not warned("2025-01-18T14:32:00+02:00")
    assert not warned("2025-01-18T14:32:00-05:00")
    assert not warned("2025-01-18T14:32:00.123456Z")


def test_unknown_type_is_a_warning_with_a_suggestion() -> None:
    (fault,) = faults({**WHO, "type": "retry_lop", "details": 5})
    assert (fault.level, fault.hint) == ("warning", "did you mean retry_loop?")
    (fault,) = faults({**WHO, "type": "team_mood"})
    assert fault.level == "warning"
    assert "retry_loop" in (fault.hint or "")


FIELD = st.sampled_from([*WHO, "type", "details", "count", "what", "debt_created", "spec_ref", "<<", "own"])
VALUE: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([None, "", " ", "x", "2025-01-18T14:32:00Z", "2025-01-18T14:32:00", True, 0, 3, -1, 1.5, [], {}]),
    st.sampled_from(list(DETAILS)),
    st.dictionaries(
        st.sampled_from(["count", "error_pattern", "what", "spec_ref"]), st.sampled_from([3, "x", "", None])
    ),
)


@given(st.sampled_from(list(DETAILS)), st.dictionaries(FIELD, VALUE))
def test_fast_check_of_anomalies_agrees_with_the_full_check(kind: str, fields: dict[str, Any]) -> None:
    # Valid records are skipped by a quick check; it must agree with the full one.
    record = {**WHO, "type": kind, "details": DETAILS[kind], **fields}
    alone = list(anomalies.check(record, ("anomalies", 0)))
    assert [fault for fault in faults(record) if "<<" not in fault.message] == alone


def problems(text: str) -> list[Problem]:
    return list(take_snapshot(parse(text.encode(), "state.yaml")).problems)


def places(text: str) -> list[tuple[int | None, int | None]]:
    return [(problem.line, problem.column) for problem in problems(text)]


PLACES = {
    "a field of a block record": (
        "version: 1\nanomalies:\n  - timestamp: 2025-01-18T14:32:00Z\n    task: t\n    reporter:\n    type: spec_gap\n"
        "    spec_ref: x\n",
        [(5, 5)],
    ),
    "the first field, on the line of the dash": (
        "version: 1\nanomalies:\n- task: []\n  reporter: r\n  type: spec_changed\n  timestamp: 2025-01-18T14:32:00Z\n",
        [(3, 3)],
    ),
    "a missing field is where its record begins": (
        "version: 1\nanomalies:\n  # the first\n  - task: t\n    type: spec_changed\n"
        "    timestamp: 2025-01-18T14:32:00Z\n",
        [(4, 5)],
    ),
    "a detail": (
        "version: 1\nanomalies:\n- task: t\n  reporter: r\n  timestamp: 2025-01-18T14:32:00Z\n  type: retry_loop\n"
        "  details:\n    error_pattern: x\n    count: many\n",
        [(9, 5)],
    ),
    "a missing detail is where the details begin": (
        "version: 1\nanomalies:\n- task: t\n  reporter: r\n  timestamp: 2025-01-18T14:32:00Z\n  type: retry_loop\n"
        "  details:\n    count: 1\n",
        [(7, 3)],
    ),
    "a record in braces": (
        "version: 1\nanomalies:\n  - {task: t, reporter: r, type: spec_changed, timestamp: 2025-01-18T14:32:00Z}\n"
        "  - {task: t, type: spec_changed, timestamp: 2025-01-18T14:32:00Z}\n",
        [(4, 5)],
    ),
    "in the order of the file, whatever is checked first": (
        "config: {max_review_cycles: 0}\nversion: 1\nagents: []\ntasks:\n- id: a\n  status: DONE\n",
        [(1, 1), (3, 1), (6, 3)],
    ),
    "columns count characters": ("goal: ü\ntasks:\n- {name: ü, id: ü}\n- ü\n", [(3, 3), (4, 3)]),
    "the only section": ("tasks:\n- id: a\n  status: DRAFT\n- id: b\n", [(4, 3)]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), PLACES.values(), ids=PLACES.keys())
def test_problem_has_the_position_an_editor_shows(text: str, expected: list[tuple[int, int]]) -> None:
    assert places(text) == expected
