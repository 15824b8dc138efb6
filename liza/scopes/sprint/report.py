"""The one page that explains why the agents were stopped.

Everything in it that agents wrote is untrusted: it is cut, kept on one line, and can neither break a table nor become
markup. A custom template runs in a sandbox.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from liza import templates
from liza.model import VALUE, Match, Silenced, Snapshot, format_time, one_or_several
from liza.schema.severities import SEVERITIES, UNKNOWN
from liza.scopes.history import section as sections
from liza.scopes.sprint.report_evidence import SAID, evidence_facts, listed, number_row
from liza.store import files
from liza.text import escape_markdown, number_text, of_text, one_line

TEMPLATE = "report.md"
ROWS = 40
FEW = 8
_TEXTS = 4  # about one artifact
DECISION = 20_000
_DECIDED = "\n## Decision\n\n**Resolved:**"
CELL = 240  # characters of a text
NARROW = 48  # of one in a table, but for the last column


def cell(value: Any) -> str:
    """A text for a table or a paragraph: one line, cut, without markup or control characters."""
    return escape_markdown(one_line("" if value is None else str(value), CELL))


def line(value: Any) -> str:
    """The same outside of tables, where a bar needs no escape."""
    return escape_markdown(one_line("" if value is None else str(value), CELL), in_table=False)


def table(rows: Sequence[Mapping[str, Any]], *columns: str) -> str:
    """Rows as a Markdown table whose columns are aligned in the source too; a column is given as `Title=key`."""
    titles, keys = zip(*(column.split("=") for column in columns), strict=True)
    written = [titles, *([_short(row[key], key == keys[-1]) for key in keys] for row in rows)]
    widths = [max(len(row[at]) for row in written) for at in range(len(keys))]
    if widths[-1] > NARROW:
        widths[-1] = len(titles[-1])  # long texts wrap, and spaces behind the short ones would too
    padded = [[text.ljust(width) for text, width in zip(row, widths, strict=True)] for row in written]
    padded.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(row)} |" for row in padded)


def _short(value: Any, is_last: bool) -> str:
    return escape_markdown(one_line("" if value is None else str(value), CELL if is_last else NARROW))


FILTERS: dict[str, Callable[..., str]] = {"cell": cell, "line": line, "table": table}


def render(
    trigger: Mapping[str, Any],
    matches: Sequence[Match],
    snapshot: Snapshot,
    rule_changes: Sequence[str] = (),
    silenced: Sequence[Silenced] = (),
    alarms: Sequence[str] = (),
) -> str:
    """The text of the report on a trip: the first match is the trigger, the others matched too."""
    facts = _facts(trigger, matches, snapshot, rule_changes)
    facts["silenced"] = [_silenced(each) for each in silenced[:ROWS]]
    facts["left_out"]["silenced"] = max(len(silenced) - ROWS, 0)
    facts["alarms"] = list(alarms[:ROWS])
    facts["left_out"]["alarms"] = max(len(alarms) - ROWS, 0)
    text, why = templates.render_custom(TEMPLATE, facts, FILTERS)
    if why is not None:  # whatever a custom template does, there is a report
        facts["rule_changes"].append(why)
    return text or templates.render(templates.read_template(TEMPLATE), facts, FILTERS)


def _facts(
    trigger: Mapping[str, Any], matches: Sequence[Match], snapshot: Snapshot, rule_changes: Sequence[str]
) -> dict[str, Any]:
    mine = [match for match in matches if match.rule.name == trigger.get("pattern")]
    first = mine[0] if mine else None
    rest = [match for match in matches if match is not first]
    evidence = evidence_facts(first, trigger) if first else {"summary": [], "rows": [], "said": [], "more": 0}
    fields = first.fields if first else ()
    artifacts, earlier = _artifacts(matches, snapshot), _earlier(matches, snapshot)
    return {
        "trigger": {name: cell(trigger.get(name)) for name in ("timestamp", "pattern", "severity", "trip_id")},
        "severity": (SEVERITIES.get(str(trigger.get("severity"))) or UNKNOWN)._asdict(),
        "description": (first.rule.summary or first.rule.description) if first else "",
        "manual": trigger.get("pattern") == sections.MANUAL,
        "by_hand": first is None,
        "field_title": (" / ".join(fields).replace("|", " or ").replace("_", " ").title() or "Said"),
        "summary": evidence["summary"],
        "evidence": evidence["rows"],
        "said": evidence["said"],
        "numbers": [number_row(each) for each in first.numbers] if first else [],
        "message": trigger.get("message") or "",  # of a person
        "by": trigger.get("tripped_by"),
        "artifacts": artifacts[:ROWS],
        "others": [_other(match) for match in rest[:ROWS]],
        "earlier": earlier[-FEW:],
        "rule_changes": list(rule_changes),
        # How much does not fit on the page.
        "left_out": {
            "evidence": evidence["more"],
            "artifacts": max(len(artifacts) - ROWS, 0),
            "others": max(len(rest) - ROWS, 0),
            "earlier": max(len(earlier) - FEW, 0),
        },
    }


def _artifacts(matches: Sequence[Match], snapshot: Snapshot) -> list[dict[str, str]]:
    """The specifications that the evidence and its tasks refer to, each with what agents wrote about it."""
    texts_of: dict[str, list[str]] = {}
    tasks_of: dict[str, list[str]] = {}
    # Each record once: a list of values may have it in many groups.
    for record in {(each.stream, each.key): each for match in matches for each in match.evidence}.values():
        refs = record.get("spec_ref")
        texts = [str(value) for name in SAID[:5] if (value := record.get(name)) is not None]
        for ref in one_or_several(refs):
            if ref is not None:
                texts_of.setdefault(str(ref), []).extend(texts)
    tasks = {str(task.get("id")): task.get("spec_ref") for task in snapshot.records("tasks")}
    for name in dict.fromkeys(name for match in matches for name in match.tasks):
        if tasks.get(name) is not None:
            tasks_of.setdefault(str(tasks[name]), []).append(name)
    specified = {ref: [f"specifies {listed(names)}"] for ref, names in tasks_of.items()}
    return [
        {"name": ref, "said": "; ".join([*_first(_distinct(texts_of.get(ref, ()))), *specified.get(ref, ())])}
        for ref in dict.fromkeys((*texts_of, *tasks_of))
    ]


def _first(texts: Sequence[str]) -> list[str]:
    more = len(texts) - _TEXTS
    return [*texts[:_TEXTS], *([f"and {more:,} more"] if more > 0 else [])]


def _other(match: Match) -> dict[str, Any]:
    return {
        "name": match.rule.name,
        "severity": match.rule.severity,
        "count": number_text(match.value),
        "threshold": number_text(match.threshold),
        "progress": of_text(match.value, match.threshold),
        "key": match.key or _numbers_in_words(match) or match.rule.description,
        "tasks": ", ".join(match.tasks),
    }


def _numbers_in_words(match: Match) -> str:
    return ", ".join("{name} = {value}".format(**number_row(each)) for each in match.numbers if each.name != VALUE)


def _silenced(each: Silenced) -> dict[str, Any]:
    silence = each.silence
    return {**_other(each.match), "until": format_time(silence.until), "by": silence.by, "reason": silence.reason}


def _earlier(matches: Sequence[Match], snapshot: Snapshot) -> list[dict[str, Any]]:
    names = {match.rule.name for match in matches}
    wanted = ("timestamp", "resolved_at", "resolution")
    return [
        {
            "patterns": ", ".join((str(entry.get("pattern")), *sections.also_matched(entry))),
            **{name: entry.get(name) for name in wanted},
            "resolved_by": sections.whose(entry),
        }
        for entry in sections.history_of(snapshot.sections.get("circuit_breaker"))
        if isinstance(entry, Mapping) and entry.get("resolved_at") is not None
        if not names.isdisjoint((str(entry.get("pattern")), *sections.also_matched(entry)))
    ]


def _distinct(values: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(str(value) for value in values if value is not None))


def decision(entry: Mapping[str, Any]) -> str:
    """What is added to a report once a human has decided: how its entry in the history was completed."""
    at, by = cell(entry.get("resolved_at")), cell(sections.whose(entry))
    cause = f"  \n**Cause:** {cell(entry['cause'])}" if entry.get("cause") else ""
    return f"{_DECIDED} {at}  \n**By:** {by}{cause}\n\n{_quoted(str(entry.get('resolution') or ''))}\n"


def is_about(path: str, trip: str, decided: bool = False) -> bool:
    """Whether the report at `path` is the one of that trip, and holds what was decided if that is asked."""
    try:
        return is_report_on(files.read(path).decode(errors="replace"), trip, decided)
    except OSError:
        return False


def is_report_on(text: str, trip: str, decided: bool = False) -> bool:
    """Whether a report is the one of that trip, and holds what was decided if that is asked.

    People write headings of their own into it, so a decision is known by all that `decision` begins with.
    """
    return trip in text and (not decided or f"{_DECIDED} " in text.replace("\r\n", "\n"))


def has_ticks(text: str) -> bool:
    return re.search(r"^\s*[-*+] \[[xX]\] ", text, re.MULTILINE) is not None


def is_blank(path: str) -> bool:
    """Whether there is no report at `path`, or nothing in it."""
    try:
        return not files.read(path).strip()
    except FileNotFoundError:
        return True
    except OSError:
        return False  # there, and not readable: the next step that writes it reports that


def _quoted(text: str) -> str:
    if len(text) > DECISION:
        text = text[:DECISION] + " … (the whole text is in .liza/state.yaml)"
    lines = (_no_block(escape_markdown(" ".join(each.split()))) for each in text.strip().splitlines())
    return "\n".join(f"> {each}".rstrip() for each in lines)


def _no_block(line: str) -> str:
    """A line that begins neither a list, nor a heading, a ruler or a quote, wherever it is put."""
    return re.sub(r"^(\d*)([-+=#>]|(?<=\d)[.)])", r"\1\\\2", line)
