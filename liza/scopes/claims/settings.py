"""The settings for claims: the block `disputes:` of rules.yaml, and the params of the rules themselves."""

from collections.abc import Iterator
from typing import NamedTuple

from liza.rules.evaluate import RuleSet
from liza.schema.rules_form import ROUNDS_PARAM
from liza.schema.rules_yaml import LAST_STAGE, MATCHING, OBJECTIONS, ROUNDS
from liza.scopes.evaluator import scoped_rules

RULE = "gossip_loop"


class Settings(NamedTuple):
    rounds: float  # of one objection without a state change, after which a claim is frozen
    matching: str = MATCHING[0]  # how objections without an id are compared: similar, same or exact
    by_response: bool = True  # whether the same answer from round to round shows the same objection
    last_stage: str = LAST_STAGE  # which cannot be closed during a dispute
    notes: tuple[str, ...] = ()  # what is odd about them


def settings_of(rules: RuleSet) -> Settings:
    block = rules.blocks.get("disputes") or {}
    own = [
        params[ROUNDS_PARAM]
        for each in rules.scoped.get("disputes", ())
        if ROUNDS_PARAM in (params := each.condition.params)
    ]
    rounds = block.get(ROUNDS_PARAM) or (own[0] if own else ROUNDS.default)
    is_loose = (block.get("objections") or OBJECTIONS[0]) != "exact"
    matching = "exact" if rules.exact else block.get("matching") or ("similar" if is_loose else "same")
    found = Settings(rounds, matching, is_loose and not rules.exact, str(block.get("last_stage") or LAST_STAGE))
    return found._replace(notes=tuple(_notes(rules, found)))


def _notes(rules: RuleSet, settings: Settings) -> Iterator[str]:
    for each in rules_for(rules, settings).rules:
        asked = each.condition.threshold
        if each.rule.name == RULE and asked > ROUNDS.default:
            text = f"{ROUNDS_PARAM} is {asked:g}: raising it is discouraged"
            yield f"{text}; what {ROUNDS.default} rounds do not resolve, {asked:g} will not either"
        if each.rule.name == RULE and each.rule.mode == "observe":
            yield f"{RULE} only observes: no claim is frozen by it"
    if any(rule.name == RULE for rule in rules.disabled):
        yield f"{RULE} is disabled in rules.yaml: no claim is frozen by it"


def rules_for(rules: RuleSet, settings: Settings) -> RuleSet:
    """The rules about claims with their number filled in."""
    return scoped_rules(rules, "disputes", {ROUNDS_PARAM: settings.rounds})
