"""Rules with a number changed, to see what would come of it."""

from collections.abc import Iterable

from liza.rules.conditions import Condition
from liza.rules.evaluate import Compiled, RuleSet
from liza.rules.syntax_tree import Comparison, Node, Not
from liza.schema.rules_yaml import window
from liza.text import did_you_mean, suggestion, value_text


class InvalidSetting(ValueError):
    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def apply_settings(rules: RuleSet, settings: Iterable[str]) -> RuleSet:
    """The rules with settings like `retry_cluster.threshold=4`, `RULE.window=24h` or `RULE.PARAM=5`."""
    sessions = {each.rule.name for each in rules.scoped.get("sessions", ())}
    known = {each.rule.name: each for each in (*rules.rules, *rules.scoped.get("sessions", ()))}
    for setting in settings:
        path, equals, value = setting.partition("=")
        name, dot, what = path.strip().partition(".")
        if not equals or not dot:
            message = f"expected RULE.SETTING=VALUE, got {value_text(setting)}"
            raise InvalidSetting(message, "for example: retry_cluster.threshold=4")
        if name not in known:
            hint = did_you_mean(name, tuple(known), "list them with: liza rules list")
            raise InvalidSetting(f"unknown rule {value_text(name)}", hint)
        known[name] = _varied(known[name], what.strip(), value.strip())
    return rules._replace(
        rules=tuple(each for name, each in known.items() if name not in sessions),
        scoped={**rules.scoped, "sessions": tuple(known[name] for name in known if name in sessions)},
    )


def _varied(compiled: Compiled, what: str, value: str) -> Compiled:
    rule, condition = compiled
    if what == "window":
        if (expected := window(value)) is not None:
            raise InvalidSetting(f"{rule.name}.window: expected {expected}, got {value_text(value)}")
        return Compiled(rule._replace(window=value), condition)
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not abs(number) < 1e15:  # which leaves out NaN, too
        message = f"{rule.name}.{what}: expected a number, got {value_text(value)}"
        raise InvalidSetting(message, f"for example: {rule.name}.{what}=4")
    if what == "threshold":
        return Compiled(rule, Condition(_with_threshold(condition.tree, number), condition.params))
    if what in condition.names:
        return Compiled(rule, Condition(condition.tree, {**condition.params, what: number}))
    settings = list(dict.fromkeys(("threshold", "window", *condition.names)))
    raise InvalidSetting(f"{rule.name}: unknown setting {value_text(what)}", suggestion(what, settings, "known"))


def _with_threshold(node: Node, number: float) -> Node:
    """The condition with another number in its first comparison, which is the one that is shown."""
    if isinstance(node, Comparison):
        return node._replace(threshold=number)
    if isinstance(node, Not):
        return node._replace(part=_with_threshold(node.part, number))
    first, *rest = node.parts
    return node._replace(parts=(_with_threshold(first, number), *rest))
