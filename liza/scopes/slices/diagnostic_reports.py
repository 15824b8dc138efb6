"""The diagnostic reports in `.liza/diagnostics/`: written at a trip, which never waits for one, and filled in later."""

import os
import shlex
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from liza import templates
from liza.errors import Refused, Unreadable
from liza.model import MAPPINGS, Problem
from liza.scopes.change import change_known, read_usable, unknown_record
from liza.scopes.records import list_of, mappings_of
from liza.scopes.slices import diagnosis, files_in_scope
from liza.scopes.slices.diagnosis import Report
from liza.scopes.slices.fields import ACTIVE, SLICES, open_trip, status_of
from liza.scopes.transition import Event, Transition
from liza.store import emit, files
from liza.store.board import Board
from liza.store.compare import identical
from liza.store.document import parse
from liza.store.paths import Paths
from liza.text import file_name, printable, shell_quoted, text_of, value_text

TEMPLATE = "diagnostic.yaml"
MAX_BYTES = 4 << 20  # bytes of an answer that are read


def folder(paths: Paths) -> str:
    return os.path.join(paths.folder, "diagnostics")


def write_error_file(paths: Paths, name: str, error: str) -> str | None:
    """Keep an error that is too long for the blackboard whole; None where that cannot be done."""
    import hashlib

    raw = error.encode("utf-8", "surrogatepass")
    path = os.path.join(folder(paths), file_name(name), f"error-{hashlib.sha256(raw).hexdigest()[:12]}.txt")
    try:
        files.make_folders(folder(paths), os.path.dirname(path))
        files.write_atomically(path, raw)
    except OSError:
        return None
    return display_path(paths, path)


def display_path(paths: Paths, path: str) -> str:
    """A path below the blackboard as people type it: from the folder that has the `.liza/`."""
    return os.path.relpath(path, paths.project)


def write_missing_reports(paths: Paths, name: str, record: Mapping[str, Any]) -> list[str]:
    """Write each report of an open trip that is not there yet; what could not be written, in words.

    Whatever keeps a report from being written keeps nothing else from being done.
    """
    wrong: list[str] = []
    for entry in mappings_of(open_trip(record) or {}, "reports"):
        path = _path(paths, entry)
        if path is None or os.path.exists(path):
            continue
        try:
            files.make_folders(folder(paths), os.path.dirname(path))
            files.write_atomically(
                path, render_report(_known_report(paths, name, record, text_of(entry.get("test")))).encode()
            )
        except OSError as error:
            wrong.append(f"the report {display_path(paths, path)} could not be written: {error.strerror}")
    return wrong


def with_report_states(paths: Paths, record: Mapping[str, Any]) -> dict[str, Any]:
    """A slice whose open trip says of each report what is true of the file: an agent may have deleted or emptied it."""
    trip = open_trip(record) or {}
    entries = [{**each, **_state(read_report(paths, each))} for each in mappings_of(trip, "reports")]
    return {**record, "current_trip": {**trip, "reports": entries}} if entries else dict(record)


def _state(report: Report | None) -> dict[str, Any]:
    if report is None:
        return {"complete": False, "missing": True}
    return {"complete": not list(diagnosis.missing_fields(report))}


def _path(paths: Paths, entry: Mapping[str, Any]) -> str | None:
    """The path of a report. The blackboard has it and may have been edited, so a path outside our folder is None."""
    given = entry.get("file")
    if not isinstance(given, str) or "\0" in given:
        return None
    path = os.path.normpath(os.path.join(paths.project, given))
    inside = os.path.commonpath([path, os.path.abspath(folder(paths))]) == os.path.abspath(folder(paths))
    return path if inside else None


def _known_report(paths: Paths, name: str, record: Mapping[str, Any], test: str) -> Report:
    violations, why = files_in_scope.find_violations(paths, name, record, test)
    return diagnosis.known_report(name, record, test, violations, why)


def render_report(report: Report) -> str:
    """The report as a file; a custom template that loses or changes a field is not used."""
    facts = {"report": report}
    text, why = templates.render_custom(TEMPLATE, facts, _FILTERS)
    if text is not None:
        try:
            if _holds(text, report):
                return text
            why = "it does not hold the eight fields as they are"
        except Unreadable as error:
            why = error.message
        why = f"the template {templates.custom_template(TEMPLATE)} could not be used, so this is the shipped one: {why}"
    note = "" if why is None else f"# {_line(why)}\n"
    return note + templates.render(templates.read_template(TEMPLATE), facts, _FILTERS)


def _holds(text: str, report: Report) -> bool:
    data = parse(text.encode(), TEMPLATE).data
    return all(identical(data.get(name), report[name]) for name in (*diagnosis.FIELDS, "test_name", "slice_id"))


def _line(value: Any) -> str:
    return printable(" ".join(str(value)[:400].split()))


_FILTERS: dict[str, Callable[..., str]] = {
    "field": lambda name, value: emit.field(name, value, 0),
    "line": _line,
    "word": lambda value: shlex.quote(_line(value)),
}


# --- reading and filling in -----------------------------------------------------------------------------------------


def read_report(paths: Paths, entry: Mapping[str, Any]) -> Report | None:
    """A report that was written; None where there is none that can be read."""
    path = _path(paths, entry)
    if path is None:
        return None
    try:
        return dict(parse(files.read(path, MAX_BYTES), path).data)
    except (OSError, Unreadable):
        return None


def find_report(board: Board, name: str, test: str | None) -> tuple[Report, str]:
    """The report that is meant, and where it is."""
    document = board.read()
    record = read_usable(document, SLICES, name)
    if record is None:
        raise unknown_record(document, SLICES, name)
    entry = _find_entry(record, name, test)
    write_missing_reports(board.paths, name, record)
    known = read_report(board.paths, entry) or _known_report(board.paths, name, record, text_of(entry.get("test")))
    return known, str(entry.get("file"))


def _find_entry(record: Mapping[str, Any], name: str, test: str | None) -> Mapping[str, Any]:
    entries = mappings_of(open_trip(record) or {}, "reports")
    if not entries:
        why = "it is stopped without one" if status_of(record) != ACTIVE else "it is not stopped"
        raise Refused(
            f"slice {name} has no report to fill in: {why}",
            hint=f"see: liza attempt status --slice {shell_quoted(name)}",
        )
    names = [text_of(entry.get("test")) for entry in entries]
    if test is None and len(entries) > 1:
        listed = ", ".join(value_text(each) for each in names)
        raise Refused(f"slice {name} has several reports: {listed}", hint="choose one with --test NAME")
    if test is not None and test not in names:
        raise Refused(
            f"slice {name} has no report on {value_text(test)}", hint=f"one of: {', '.join(map(value_text, names))}"
        )
    return entries[0] if test is None else entries[names.index(test)]


def parse_answer(raw: bytes, file: str) -> Mapping[str, Any]:
    """What an agent wrote, YAML or JSON."""
    try:
        data: Mapping[str, Any] = parse(raw, file).data
        return data
    except Unreadable as error:
        error.hint = f"write the fields {', '.join(diagnosis.ASKED)} as YAML or JSON, one after the other"
        error.exit_code, error.status = Refused.exit_code, Refused.status  # the blackboard is not what is wrong
        raise


def complete_report(
    board: Board, name: str, test: str | None, answer: Mapping[str, Any], source: str, by: str, now: datetime
) -> tuple[Report, str]:
    """Complete a report; `Refused` with every field that is still missing, and then nothing is changed."""
    report, file = find_report(board, name, test)
    about = answer.get("test_name")
    if about is not None and text_of(about) != report["test_name"]:
        hint = f"name the test with --test, or take test_name out of {source}"
        raise Refused(
            f"it is about {value_text(text_of(about))}, the report about {value_text(report['test_name'])}", hint=hint
        )
    done = diagnosis.merge_answer(report, answer)
    missing = [f"{field} {what}" for field, what in diagnosis.missing_fields(done)]
    if missing:
        faults = [*missing, *diagnosis.unknown_keys(answer)]
        problems = [Problem(each, source) for each in faults]
        hint = f"add what is missing to {source}, or explain why it does not apply under not_applicable, by its name"
        problems[-1] = problems[-1]._replace(hint=hint)
        raise Refused(f"the report is not complete: {'; '.join(faults)}", hint=hint, file=source, problems=problems)
    path = _path(board.paths, {"file": file})
    if path is None:
        hint = f"correct the file of that report under slice {name} in .liza/state.yaml"
        raise Refused(f"{value_text(file)} is not in .liza/diagnostics/, where reports are", hint=hint)
    try:
        files.make_folders(folder(board.paths), os.path.dirname(path))
        files.write_atomically(path, render_report(done).encode())
    except OSError as error:
        raise Refused(
            f"cannot be written: {error.strerror}", hint="free disk space or fix its permissions", file=file
        ) from None

    change_known(board, SLICES, name, lambda record: _mark_complete(name, record, done, by), now, ignored=None)
    return done, file


def _mark_complete(name: str, record: Mapping[str, Any], report: Report, by: str) -> Transition:
    trip = open_trip(record) or {}
    entries = [
        {**each, "complete": True} if isinstance(each, MAPPINGS) and each.get("test") == report["test_name"] else each
        for each in list_of(trip, "reports")
    ]
    text = f"slice {name}: the report on {value_text(report['test_name'])} is complete ({by})"
    return Transition(
        {**record, "current_trip": {**trip, "reports": entries}}, (Event("slice", name, "diagnosed", text),)
    )
