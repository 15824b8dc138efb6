"""Helpers for the tests of `rules explain`."""

from typing import Any

from liza.rules.evaluate import RuleSet
from liza.rules.explain import Explanation, explain
from liza.rules.syntax_tree import Field, Grouping
from tests.rules.boards import NOW, Fields, anomaly, rule, rules, snapshot

RETRIES = "count(type=retry_loop, similar(error_pattern)) >= 3"
FIELD = Field((("error_pattern",),))
SIMILAR = Grouping(FIELD, 0.7)
SAME = Grouping(FIELD, None)


def retry(text: Any, at: int = 0, task: str = "task-1") -> Fields:
    return anomaly("retry_loop", at, task, error_pattern=text)


def explained(condition: str | Fields, *anomalies: Any, **sections: Any) -> Explanation:
    return explain(rules(condition), "own", snapshot(*anomalies, **sections), NOW)


def one_rule(condition: str, **fields: Any) -> RuleSet:
    return rules(rule(condition, **fields))
