"""The diagnostic report on a test that stopped a slice: eight fields, of which liza knows four.

Only decisions: what is known, what is asked for, what an agent's answer makes of it, and what is still missing.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from liza.model import MAPPINGS, mappings_in
from liza.scopes.records import list_of
from liza.scopes.slices import derived
from liza.scopes.slices.attempt_texts import has_words
from liza.scopes.slices.fields import find_test, open_trip
from liza.text import text_of, value_text, with_meant
from liza.toolerrors import results

FIELDS = (
    "test_expectation", "actual_error", "attempt_log", "cumulative_files_modified", "scope_violations",
    "best_hypothesis", "specific_question", "recovery_options",
)  # fmt: skip
# Of the agent that worked on it.
ASKED = ("test_expectation", "best_hypothesis", "specific_question", "recovery_options")
LISTS = ("attempt_log", "cumulative_files_modified", "scope_violations", "recovery_options")
ABOUT = ("slice_id", "test_name", "trip_id", "stopped", "reason", "complete")
_KNOWN = (*ABOUT, *FIELDS, "not_applicable")

Report = dict[str, Any]


def known_report(
    name: str, record: Mapping[str, Any], test: str, violations: Sequence[Mapping[str, Any]], why: str
) -> Report:
    """The report as liza can write it; `why` explains an empty list of violations."""
    trip = open_trip(record) or {}
    about = find_test(record, test)
    log = list(_log(name, record, test))
    files = [text_of(each) for each in list_of(about, "files_touched")]
    files += [text_of(file) for entry in log for file in entry["files"]]
    return {
        "slice_id": name,
        "test_name": test,
        **{key: text_of(trip.get(key) or "") for key in ("trip_id", "stopped", "reason")},
        "complete": False,
        "test_expectation": None,
        "actual_error": str(about.get("last_error") or "") or _error(name, record, test),
        "attempt_log": log,
        "cumulative_files_modified": list(dict.fromkeys(files)),
        "scope_violations": [dict(each) for each in violations],
        "best_hypothesis": None,
        "specific_question": None,
        "recovery_options": None,
        "not_applicable": {} if violations else {"scope_violations": why},
    }


def _failed(name: str, record: Mapping[str, Any], test: str) -> list[Mapping[str, Any]]:
    """The failed attempts at a test, with unlisted ones."""
    return [
        each.fields
        for each in derived.derive_attempts(name, record)
        if each.fields.get("test") == test and each.fields["result"] == results.FAILED
    ]


def _error(name: str, record: Mapping[str, Any], test: str) -> str | None:
    """The error of the last attempt, where another program wrote only that."""
    failed = _failed(name, record, test)
    return text_of(failed[-1]["error"]) if failed and failed[-1].get("error") else None


def _log(name: str, record: Mapping[str, Any], test: str) -> Iterator[dict[str, Any]]:
    for number, entry in enumerate(_failed(name, record, test), 1):
        yield {
            "attempt": number,
            "strategy": text_of(entry.get("strategy") or "not recorded"),
            "files": [text_of(file) for file in list_of(entry, "files")],
            "result": text_of(entry.get("error") or "not recorded"),
        }


def merge_answer(report: Mapping[str, Any], answer: Mapping[str, Any]) -> Report:
    """The report with an agent's answer. What the test runner printed and what was tried stay as recorded."""
    reasons = answer.get("not_applicable")
    merged = {**report, **{name: answer[name] for name in ASKED if answer.get(name) is not None}}
    if _is_empty(report.get("actual_error")):
        merged["actual_error"] = answer.get("actual_error")
    merged["attempt_log"] = _results(list_of(report, "attempt_log"), answer.get("attempt_log"))
    merged["cumulative_files_modified"] = _joined(report, answer, "cumulative_files_modified", text_of)
    merged["scope_violations"] = _joined(report, answer, "scope_violations", _file)
    merged["not_applicable"] = {
        **(report["not_applicable"] if isinstance(report.get("not_applicable"), MAPPINGS) else {}),
        **(reasons if isinstance(reasons, MAPPINGS) else {}),
    }
    return {**merged, "complete": not list(missing_fields(merged))}


def _results(ours: list[Any], theirs: Any) -> Any:
    """An agent knows best what came of an attempt; what was tried, and where, is recorded."""
    if not ours:
        return theirs
    results_of = {
        each.get("attempt"): each.get("result") for each in mappings_in(theirs) if not _is_empty(each.get("result"))
    }
    return [
        {**each, "result": results_of.get(each.get("attempt"), each.get("result"))}
        if isinstance(each, MAPPINGS)
        else each
        for each in ours
    ]


def _joined(report: Mapping[str, Any], answer: Mapping[str, Any], field: str, key: Any) -> Any:
    given = answer.get(field)
    if not isinstance(given, list):
        return report[field] or given  # a text explains why there are none
    return list({key(each): each for each in (*given, *list_of(report, field))}.values())


def _file(violation: Any) -> str:
    return text_of(violation.get("file")) if isinstance(violation, MAPPINGS) else text_of(violation)


# --- what is missing ------------------------------------------------------------------------------------------------


def missing_fields(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each field that is not filled in as it must be, and what is wrong with it."""
    reasons = report.get("not_applicable")
    stated = {name for name, why in reasons.items() if not _is_empty(why)} if isinstance(reasons, MAPPINGS) else set()
    if all(_is_empty(report.get(name)) for name in ASKED) and stated.issuperset(ASKED):
        yield ASKED[-2], "is required if no other field applies"
    for name in FIELDS:
        value = report.get(name)
        if _is_empty(value):
            if name not in stated:
                yield name, "is missing" if value is None else "is empty, and not_applicable does not explain why"
        elif name == "recovery_options" and isinstance(value, list):
            if not all(_is_option(each) for each in value):
                yield name, "needs an option and a risk in each entry"
        elif name not in LISTS and not isinstance(value, str):
            yield name, f"expected a string, got {value_text(value)}"


def _is_option(value: Any) -> bool:
    if not isinstance(value, MAPPINGS):
        return False
    return not _is_empty(value.get("option")) and not _is_empty(value.get("risk"))


def _is_empty(value: Any) -> bool:
    if isinstance(value, str):
        return not has_words(value)
    return value is None or (isinstance(value, list | tuple | dict) and all(map(_is_empty, value)))


def unknown_keys(answer: Mapping[str, Any]) -> Iterator[str]:
    """Keys of an answer that are not fields of the report, with what was probably meant."""
    for name in answer:
        if name not in _KNOWN:
            yield with_meant(f"{value_text(name)} is not a field of the report", name, FIELDS)
