"""How claims are judged: the block `disputes:` of rules.yaml, and the params of the rules themselves."""

from typing import NamedTuple

from liza.rules.blocks import LAST_STAGE, MATCHING, ROUNDS
from liza.rules.conditions import Condition
from liza.rules.evaluate import Compiled, RuleSet

ROUNDS_PARAM = "circuit_breaker_rounds"


class Settings(NamedTuple):
    """What is in force."""

    rounds: float  # of one objection without a state change, after which a claim is frozen
    matching: str = MATCHING[0]  # how objections without an id are compared: same, similar or exact
    last_stage: str = LAST_STAGE  # which does not close over a dispute
    notes: tuple[str, ...] = ()  # what is odd about them


def settings_of(rules: RuleSet) -> Settings:
    block = rules.blocks.get("disputes") or {}
    own = [params[ROUNDS_PARAM] for each in _rules(rules) if ROUNDS_PARAM in (params := each.condition.params)]
    rounds = block.get(ROUNDS_PARAM) or (own[0] if own else ROUNDS.default)
    notes: list[str] = []
    if rounds > ROUNDS.default:
        said = f"{ROUNDS_PARAM} is {rounds:g}: raising it is discouraged"
        notes.append(f"{said}, what {ROUNDS.default} rounds do not settle {rounds:g} will not settle either")
    if any(rule.name == "gossip_loop" for rule in rules.disabled):
        notes.append("gossip_loop is disabled in rules.yaml: no claim is frozen by it")
    matching = "exact" if rules.exact else block.get("matching") or MATCHING[0]
    return Settings(rounds, matching, block.get("last_stage") or LAST_STAGE, tuple(notes))


def rules_for(rules: RuleSet, settings: Settings) -> RuleSet:
    """The rules about claims with their number filled in."""
    chosen = [
        Compiled(each.rule, Condition(each.condition.tree, {**each.condition.params, ROUNDS_PARAM: settings.rounds}))
        for each in _rules(rules)
    ]
    return RuleSet(tuple(chosen), window="all", exact=rules.exact)


def _rules(rules: RuleSet) -> tuple[Compiled, ...]:
    return rules.scoped.get("disputes", ())
