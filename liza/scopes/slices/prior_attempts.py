"""The `<prior_attempts>` block: what the next agent on a slice learns of earlier attempts.

Everything in it that agents and test runners wrote is untrusted: it is cut, made printable, and cannot end the block.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from liza import templates
from liza.scopes.records import list_of, mappings_of
from liza.scopes.slices import derived, diagnosis, diagnostic_reports
from liza.store.paths import Paths
from liza.text import escape_angles, one_line, printable, text_of
from liza.toolerrors import results

TEMPLATE = "prior_attempts.xml"
TRIED = 20  # attempts at one test that are listed
LONG = 2_000  # characters of a text that are shown


def render_block(paths: Paths, name: str, run: Mapping[str, Any], *, as_begun: bool) -> tuple[str, str | None]:
    """The block about a finished run, and what was wrong with a custom template.

    `as_begun`: the working tree is as it was when the slice began.
    """
    facts = {
        "slice": name,
        "tripped": bool(run.get("rules")),
        "failed": run.get("failed") or 0,
        "reason": run.get("reason") or "",
        "guidance": run.get("guidance"),
        "as_begun": as_begun,
        "tests": list(_tests(paths, name, run)),
    }
    text, why = templates.render_custom(TEMPLATE, facts, _FILTERS)
    return text or templates.render(templates.read_template(TEMPLATE), facts, _FILTERS), why


def last_run(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The run that a slice was reset after last."""
    runs = mappings_of(record, "history")
    return runs[-1] if runs else None


def _tests(paths: Paths, name: str, run: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Each test that failed in the run, those that stopped it first."""
    entries = {text_of(entry.get("test")): entry for entry in mappings_of(run, "reports")}
    failed = [each for each in derived.derive_attempts(name, run) if each.fields["result"] == results.FAILED]
    others = [text_of(each.fields["test"]) for each in failed if each.fields.get("test") is not None]
    for test in dict.fromkeys([*entries, *others]):
        entry = entries.get(test, {})
        report = diagnostic_reports.read_report(paths, entry) or diagnosis.known_report(name, run, test, (), "")
        tried = mappings_of(report, "attempt_log")
        yield {
            "name": test,
            "tried": [
                {
                    "strategy": each.get("strategy"),
                    "files": [text_of(file) for file in list_of(each, "files")],
                    "result": each.get("result"),
                }
                for each in tried[:TRIED]
            ],
            "left_out": max(len(tried) - TRIED, 0),
            "report": entry.get("file"),
            **{
                field: report.get(field)
                for field in ("actual_error", "test_expectation", "best_hypothesis", "specific_question")
            },
            "scope_violations": [
                {"file": each.get("file"), "justification": each.get("justification") or "not justified"}
                for each in mappings_of(report, "scope_violations")
            ],
            "recovery_options": [
                {"option": each.get("option"), "risk": each.get("risk")}
                for each in mappings_of(report, "recovery_options")
            ],
        }


def _lines(value: Any, most: int = LONG) -> str:
    """A text on as many lines as it has, set in."""
    text = text_of(value).strip("\n")
    if len(text) > most:
        text = f"{text[: most // 2]}\n[... {len(text) - most:,} characters are left out here ...]\n{text[-most // 2 :]}"
    lines = [escape_angles(printable(line.expandtabs())) for line in text.splitlines()]
    return lines[0] if len(lines) == 1 else "".join("\n" + f"    {line}".rstrip() for line in lines)


_FILTERS: dict[str, Callable[..., str]] = {
    "one": lambda value: escape_angles(one_line(value, LONG)),
    "lines": _lines,
}
