"""Small blackboards and small sets of rules, made the way liza makes them: from the text of a file."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from liza.model import Match, Progress, Snapshot, Verdict
from liza.rules.evaluate import RuleSet, evaluate
from liza.rules.load import Source, load
from liza.schema.snapshot import take_snapshot
from liza.scopes.rules_file import read_rules, without_steps
from liza.store.document import parse

NOW = datetime(2025, 1, 18, 18, 0, tzinfo=UTC)
STARTED = "2025-01-18T09:00:00Z"
SYSTEMIC = without_steps(read_rules(None))

Fields = dict[str, Any]


def anomaly(kind: str, at: int = 0, task: str = "task-1", **details: Any) -> Fields:
    """An anomaly as agents log it, `at` minutes after noon of the sprint's day."""
    timestamp = f"2025-01-18T{12 + at // 60:02}:{at % 60:02}:00Z"
    return {"timestamp": timestamp, "task": task, "reporter": "coder-1", "type": kind, "details": details}


def snapshot(*anomalies: Any, log: tuple[Fields, ...] = (), **sections: Any) -> Snapshot:
    """A blackboard with these anomalies, and other sections by name."""
    whole = {"version": 1, "sprint": {"timeline": {"started": STARTED}}, "anomalies": list(anomalies), **sections}
    text = "".join(f"{name}: {json.dumps(value, ensure_ascii=False, default=dict)}\n" for name, value in whole.items())
    return parse_board(text)._replace(log=list(log))


def parse_board(text: str) -> Snapshot:
    """A blackboard parsed from the text of a file."""
    return take_snapshot(parse(text.encode(), "state.yaml"))


def source(data: Mapping[str, Any], file: str = "rules.yaml") -> Source:
    """A rules file whose problems have no line and column."""
    return Source(file, data, lambda path, offset: (None, None))


def rule(condition: str, name: str = "own", **fields: Any) -> Fields:
    return {"name": name, "condition": condition, "severity": "SPEC_FLAW", **fields}


def rules(*given: str | Fields, **data: Any) -> RuleSet:
    """Rules loaded from a rules file, with `window: all` unless given."""
    entries = [rule(each) if isinstance(each, str) else each for each in given]
    return load([], source({"window": "all", "rules": entries, **data}))


def verdict_of(condition: str, *anomalies: Any, **sections: Any) -> Verdict:
    """The verdict of one condition on a blackboard."""
    return evaluate(rules(condition), snapshot(*anomalies, **sections), NOW)


def matches(condition: str, *anomalies: Any, **sections: Any) -> tuple[Match, ...]:
    return verdict_of(condition, *anomalies, **sections).matches


def holds(condition: str, *anomalies: Any, **sections: Any) -> bool:
    return bool(matches(condition, *anomalies, **sections))


def groups(condition: str, *anomalies: Any, **sections: Any) -> dict[str | None, list[int | str]]:
    """The keys of the evidence of each match, by its group."""
    found = matches(condition, *anomalies, **sections)
    keys = {each.key: [record.key for record in each.evidence] for each in found}
    assert len(keys) == len(found), "two matches with the same name"
    return keys


def systemic(*anomalies: Any, ruleset: RuleSet = SYSTEMIC, **sections: Any) -> list[str]:
    """The names of the shipped patterns that match, in report order."""
    return names(evaluate(ruleset, snapshot(*anomalies, **sections), NOW))


def names(verdict: Verdict) -> list[str]:
    return [match.rule.name for match in verdict.matches]


def progress(verdict: Verdict, name: str) -> Progress:
    """The progress of one rule towards its threshold."""
    (found,) = [each for each in verdict.progress if each.rule.name == name]
    return found


def unusable(verdict: Verdict) -> dict[int | str, str]:
    """The key of each unusable record, and why it is unusable."""
    return {record.key: why for record, why in verdict.unusable}
