"""Rules with a number changed, to see what would come of it."""

from collections.abc import Iterable

from liza.rules.conditions import Condition
from liza.rules.evaluate import Compiled, RuleSet
from liza.rules.load import is_window
from liza.rules.syntax_tree import Comparison, Node, Not
from liza.text import closest_match


class InvalidSetting(ValueError):
    """A setting that no rule has."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def apply_settings(rules: RuleSet, settings: Iterable[str]) -> RuleSet:
    """The rules with settings like `retry_cluster.threshold=4`, `RULE.window=24h` or `RULE.PARAM=5`."""
    known = {each.rule.name: each for each in rules.rules}
    for setting in settings:
        path, equals, value = setting.partition("=")
        name, dot, what = path.strip().partition(".")
        if not equals or not dot:
            raise InvalidSetting(f"{setting!r} is not RULE.SETTING=VALUE", "for example: retry_cluster.threshold=4")
        if name not in known:
            meant = closest_match(name, tuple(known))
            hint = f"did you mean {meant}?" if meant else f"one of: {', '.join(known)}"
            raise InvalidSetting(f"there is no rule {name!r}", hint)
        known[name] = _varied(known[name], what.strip(), value.strip())
    return rules._replace(rules=tuple(known.values()))


def _varied(compiled: Compiled, what: str, value: str) -> Compiled:
    rule, condition = compiled
    if what == "window":
        if not is_window(value):
            raise InvalidSetting(
                f"the window {value!r} is none", "one of: current_sprint, all, a duration like 24h, last 50"
            )
        return Compiled(rule._replace(window=value), condition)
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not abs(number) < 1e15:  # which leaves out NaN, too
        raise InvalidSetting(f"{rule.name}.{what} is {value!r}", f"a number is expected, like {rule.name}.{what}=4")
    if what == "threshold":
        return Compiled(rule, Condition(_with_threshold(condition.tree, number), condition.params))
    if what in condition.params:
        return Compiled(rule, Condition(condition.tree, {**condition.params, what: number}))
    settings = ("threshold", "window", *condition.params)
    raise InvalidSetting(f"the rule {rule.name} has no setting {what!r}", f"it has: {', '.join(settings)}")


def _with_threshold(node: Node, number: float) -> Node:
    """The condition with another number in its first comparison, which is the one that is shown."""
    if isinstance(node, Comparison):
        return node._replace(threshold=number)
    if isinstance(node, Not):
        return node._replace(part=_with_threshold(node.part, number))
    first, *rest = node.parts
    return node._replace(parts=(_with_threshold(first, number), *rest))
