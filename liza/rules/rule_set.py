"""A set of compiled rules: which are in force, and how they differ from the shipped ones."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from liza.model import Rule
from liza.rules.conditions import Condition
from liza.rules.time_limit import TimeLimit, unlimited
from liza.text import plural


class Compiled(NamedTuple):
    rule: Rule
    condition: Condition


class RuleSet(NamedTuple):
    """The active rules, in pack order, and how they differ from the shipped ones."""

    rules: tuple[Compiled, ...]
    disabled: tuple[Rule, ...] = ()
    window: str = "current_sprint"
    exact: bool = False
    alarms: tuple[Compiled, ...] = ()  # reported by the daemon; never a reason to halt
    changes: tuple[str, ...] = ()  # what rules.yaml loosened, changed or disabled, one message each
    notify: Mapping[str, Any] = {}  # the notification targets
    scoped: Mapping[str, tuple[Compiled, ...]] = {}  # by protocol: the rules that stop one record of a scope
    blocks: Mapping[str, Mapping[str, Any]] = {}  # the protocol settings in rules.yaml, by key
    custom: frozenset[str] = frozenset()  # names of rules whose condition is not shipped
    time_limit: TimeLimit | None = None  # the time limit of custom rules; None: no limit

    @property
    def all(self) -> tuple[Compiled, ...]:
        """Every rule in force, including those that do not halt the sprint."""
        return (*self.rules, *self.alarms, *(each for rules in self.scoped.values() for each in rules))

    @property
    def counts(self) -> str:
        """How many rules there are, as people read it."""
        return f"{plural(len(self.rules), 'rule')} for the sprint, {len(self.all) - len(self.rules)} others"

    def only_alarms(self) -> "RuleSet":
        """The alarms as the only rules."""
        return self._replace(rules=self.alarms, disabled=(), alarms=())

    def of_scope(self, chosen: Sequence[Compiled]) -> "RuleSet":
        """A rule set of these rules only, to evaluate one session, claim, slice or loop."""
        return RuleSet(tuple(chosen), window="all", exact=self.exact, custom=self.custom, time_limit=self.time_limit)

    def spend_for(self, name: str) -> Callable[[], None]:
        """The function to call while a rule is evaluated; it raises once the rule has taken too long."""
        if self.time_limit is None or name not in self.custom:
            return unlimited
        self.time_limit.begin()
        return self.time_limit.spend

    def shipped(self) -> "RuleSet":
        """The same without custom rules, so that the shipped ones take effect before those are evaluated."""
        return self._replace(rules=tuple(each for each in self.rules if each.rule.name not in self.custom))

    @property
    def streams(self) -> frozenset[str]:
        """The streams that the rules read."""
        return frozenset(stream for compiled in self.rules for stream in compiled.condition.streams)
