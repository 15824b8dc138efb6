"""The one page that explains why the agents were stopped.

Everything in it that agents wrote is untrusted: it is cut, kept on one line, and can neither break a table nor become
markup. A custom template runs in a sandbox.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from liza import templates
from liza.model import VALUE, Match, Number, Record, Silenced, Snapshot, format_time, one_or_several
from liza.schema.severities import SEVERITIES, UNKNOWN
from liza.scopes.sprint import section as sections
from liza.store import files
from liza.text import escape_markdown, number_text, of_text, one_line

TEMPLATE = "report.md"
ROWS = 40
FEW = 8
DECISION = 20_000
_DECIDED = "\n## Decision\n\n**Resolved:**"
CELL = 240

# What agents write about an artifact, the most specific field first.
_SAID = ("reality", "question", "ambiguity", "gap", "what", "assumption", "error_pattern", "root_cause", "description")


def cell(value: Any) -> str:
    """A text for a table or a paragraph: one line, cut, without markup or control characters."""
    return escape_markdown(one_line("" if value is None else str(value), CELL))


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
    text, why = templates.render_custom(TEMPLATE, facts, {"cell": cell})
    if why is not None:  # whatever a custom template does, there is a report
        facts["rule_changes"].append(why)
    return text or templates.render(templates.read_template(TEMPLATE), facts, {"cell": cell})


def _facts(
    trigger: Mapping[str, Any], matches: Sequence[Match], snapshot: Snapshot, rule_changes: Sequence[str]
) -> dict[str, Any]:
    mine = [match for match in matches if match.rule.name == trigger.get("pattern")]
    first = mine[0] if mine else None
    rest = [match for match in matches if match is not first]
    evidence = first.evidence if first else ()
    fields = first.fields if first else ()
    hypotheses = _distinct(record.get("root_cause_hypothesis") for record in evidence)
    artifacts, earlier = _artifacts(matches, snapshot), _earlier(matches, snapshot)
    return {
        "trigger": {name: cell(trigger.get(name)) for name in ("timestamp", "pattern", "severity", "trip_id")},
        "severity": (SEVERITIES.get(str(trigger.get("severity"))) or UNKNOWN)._asdict(),
        "description": (first.rule.summary or first.rule.description) if first else "",
        "manual": trigger.get("pattern") == sections.MANUAL,
        "by_hand": first is None,
        "field_title": (" / ".join(fields).replace("|", " or ").replace("_", " ").title() or "Said"),
        "evidence": [_row(record, fields) for record in evidence[:ROWS]],
        "numbers": [_number(each) for each in first.numbers] if first else [],
        "common_factor": (first and (first.key or first.rule.description)) or trigger.get("message") or "",
        "message": trigger.get("message") if first else "",  # what a person added to a pattern that matched
        "hypotheses": hypotheses[:FEW],
        "artifacts": artifacts[:ROWS],
        "others": [_other(match) for match in rest[:ROWS]],
        "earlier": earlier[-FEW:],
        "rule_changes": list(rule_changes),
        # How much does not fit on the page.
        "left_out": {
            "evidence": max(len(evidence) - ROWS, 0),
            "hypotheses": max(len(hypotheses) - FEW, 0),
            "artifacts": max(len(artifacts) - ROWS, 0),
            "others": max(len(rest) - ROWS, 0),
            "earlier": max(len(earlier) - FEW, 0),
        },
    }


def _row(record: Record, fields: Sequence[str]) -> dict[str, Any]:
    names = [name for field in fields for name in field.split("|")] or list(_SAID)
    text = next((record.get(name) for name in names if record.get(name) is not None), None)
    return {
        "task": record.get("task"),
        "type": record.get("type"),
        "text": ", ".join(map(str, text)) if isinstance(text, list | tuple) else text,
        "reporter": record.get("reporter"),
        "time": record.get("timestamp"),
    }


def _number(number: Number) -> dict[str, str]:
    name = "what the rule counts" if number.name == VALUE else number.name
    return {"name": name, "value": f"{number.value:.12g}", "limit": f"{number.operator} {number.threshold:.12g}"}


def _artifacts(matches: Sequence[Match], snapshot: Snapshot) -> list[dict[str, str]]:
    """The specifications that the evidence and its tasks refer to, each with what agents wrote about it."""
    texts_of: dict[str, list[str]] = {}
    tasks = {str(task.get("id")): task for task in snapshot.records("tasks")}
    # Each record once: a list of values may have it in many groups.
    for record in {(each.stream, each.key): each for match in matches for each in match.evidence}.values():
        refs = record.get("spec_ref")
        texts = [str(value) for name in _SAID[:5] if (value := record.get(name)) is not None]
        for ref in one_or_several(refs):
            if ref is not None:
                texts_of.setdefault(str(ref), []).extend(texts)
    for match in matches:
        for name in match.tasks:
            if name in tasks and tasks[name].get("spec_ref") is not None:
                texts_of.setdefault(str(tasks[name].get("spec_ref")), []).append(f"specifies {name}")
    return [{"name": ref, "said": "; ".join(_distinct(texts)[:4])} for ref, texts in texts_of.items()]


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
    return ", ".join("{name} = {value}".format(**_number(each)) for each in match.numbers if each.name != VALUE)


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
    return f"{_DECIDED} {at}  \n**By:** {by}\n\n{_quoted(str(entry.get('resolution') or ''))}\n"


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


def is_archive(name: str) -> bool:
    """Whether a file among the reports has a name that `archive_name` gave it."""
    return re.fullmatch(r"\w+-\w+-[0-9a-f]{12}\.md", name) is not None


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
    lines = (_no_block(escape_markdown(" ".join(line.split()))) for line in text.strip().splitlines())
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _no_block(line: str) -> str:
    """A line that begins neither a list, nor a heading, nor a ruler, wherever it is put."""
    return re.sub(r"^(\d*)([-+=#]|(?<=\d)[.)])", r"\1\\\2", line)


def archive_name(trigger: Mapping[str, Any]) -> str:
    """Reports sort by time; the trip id makes the name the same however often the report is written."""
    words = (str(trigger.get(name)) for name in ("timestamp", "pattern", "trip_id"))
    # Any program may have written them: nothing that leads out of the folder stays in the name.
    return "-".join(re.sub(r"[^\w]", "", word)[:60] for word in words) + ".md"
