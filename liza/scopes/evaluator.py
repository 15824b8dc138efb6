"""Evaluate the rules of a scope over the records of one session, claim, slice or loop."""

from collections.abc import Container, Mapping, Sequence
from datetime import datetime
from typing import Generic, TypeVar

from liza.model import Match, Record, Snapshot, Verdict
from liza.rules.conditions import Condition
from liza.rules.evaluate import Compiled, RuleSet, evaluate
from liza.text import number_text

S = TypeVar("S")


class Evaluator(Generic[S]):
    """The rules of one scope with its settings filled in, at one moment.

    The last verdict is remembered: after a change the same records are evaluated again, to show how close other rules
    are.
    """

    def __init__(self, rules: RuleSet, settings: S, stream: str, action: str, now: datetime) -> None:
        self.rules = rules
        self.settings = settings
        self.stream = stream
        self.action = action
        self.now = now
        self._last: tuple[tuple[Record, ...], Verdict] | None = None

    def verdict(self, records: Sequence[Record]) -> Verdict:
        """What the rules find in these records."""
        given = tuple(records)
        if self._last is None or self._last[0] != given:
            streams: dict[str, list[Record]] = {self.stream: []}
            for record in given:
                streams.setdefault(record.stream, []).append(record)
            snapshot = Snapshot(b"", {}, {}, (), derived=streams)
            self._last = (given, evaluate(self.rules, snapshot, self.now))
        return self._last[1]

    def trips(self, records: Sequence[Record]) -> list[Match]:
        """The matches that stop the scope, in pack order. Silences do not apply to these rules."""
        found = self.verdict(records).observed
        return [match for match in found if match.rule.action == self.action and match.rule.mode == "act"]


def scoped_rules(rules: RuleSet, protocol: str, params: Mapping[str, float] = {}, off: Container[str] = ()) -> RuleSet:
    """The rules of one protocol, with settings as their params and without those that are turned off."""
    chosen = [
        Compiled(each.rule, Condition(each.condition.tree, {**each.condition.params, **params}))
        for each in rules.scoped.get(protocol, ())
        if each.rule.name not in off
    ]
    return rules.of_scope(chosen)


def reason_text(match: Match, text: str) -> str:
    """The reason of a trip, from the rule's summary; `text` is what the records of the match have in common."""
    template = match.rule.summary or match.rule.description or match.rule.name
    template = template.replace("{count}", number_text(match.value)).replace("{limit}", number_text(match.threshold))
    return template.replace("{text}", text)
