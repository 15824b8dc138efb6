"""Asking the rules about claims: for the command that records a round, and for whoever looks at the blackboard."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from liza.blackboard.document import Document
from liza.blackboard.paths import Paths
from liza.errors import Unreadable
from liza.model import MAPPINGS, Match, Progress, Record, Snapshot, Verdict
from liza.protocols import scopes
from liza.protocols.changing import Outcome
from liza.protocols.disputes import freezing
from liza.protocols.disputes import rounds as its
from liza.protocols.disputes.claims import cycle_of
from liza.protocols.disputes.rounds import Objection
from liza.protocols.disputes.settings import Settings, rules_for, settings_of
from liza.protocols.disputes.stages import current
from liza.rules.evaluate import RuleSet, evaluate

SCOPE = scopes.Scope("claim", "claims")
BESIDE = ("stages",)  # the section that is looked at, too
LISTS = ("rounds", "history", "reexamine")

Judge = Callable[[Sequence[Record]], Sequence[Match]]


def verdict(records: Sequence[Record], rules: RuleSet, settings: Settings, now: datetime) -> Verdict:
    snapshot = Snapshot(b"", {}, {}, (), derived={"rounds": tuple(records)})
    return evaluate(rules_for(rules, settings), snapshot, now)


def judge_of(rules: RuleSet, settings: Settings, now: datetime) -> Judge:
    """What freezes a claim."""

    def judge(records: Sequence[Record]) -> Sequence[Match]:
        found = verdict(records, rules, settings, now).observed
        return [match for match in found if match.rule.action == "FREEZE" and match.rule.mode == "act"]

    return judge


def nearness(
    name: str, claim: Mapping[str, Any], rules: RuleSet, settings: Settings, now: datetime
) -> tuple[Progress, ...]:
    """How near the rules are to freezing a claim."""
    records = its.derived(name, claim, settings.matching) if not freezing.is_frozen(claim) else []
    return tuple(each for each in verdict(records, rules, settings, now).progress if each.value > 0) if records else ()


# --- one claim ------------------------------------------------------------------------------------------------------


def settled(
    name: str, claim: Mapping[str, Any], settings: Settings, judge: Judge, stage: str | None, now: datetime
) -> Outcome:
    """What a claim is to be, as it stands: the same for whoever looks, and nothing more when it is asked again."""
    if freezing.open_dispute(claim) is not None:
        by_hand = freezing.overridden(name, claim, now)
        return by_hand if by_hand is not None else freezing.moved_on(name, claim, stage or "", now)
    status = freezing.status_of(claim)
    if status == freezing.DISPUTED:
        return freezing.adopted(name, claim, stage, now)
    if status in (freezing.KILLED, None):
        return Outcome(dict(claim))
    records = its.derived(name, claim, settings.matching)
    matches = judge(records) if records else ()
    if not matches:
        return Outcome(dict(claim))
    unresolved = _unresolved(name, matches, records)
    why = words(matches[0], unresolved[0].text)
    return freezing.disputed(name, claim, matches[0].rule.name, why, unresolved, cycle_of(claim), stage, now)


def _unresolved(name: str, matches: Sequence[Match], records: Sequence[Record]) -> list[Objection]:
    """The objections that tripped, as the last round has them, with the last answer that there was to each."""
    answers: dict[str, str | None] = {}
    last: dict[str, Objection] = {}
    for record in records:
        last = dict(zip(record.fields["objection"] or (), record.fields["said"], strict=True))
        answers |= {called: each.response for called, each in last.items() if each.response is not None}
    keys = [match.key for match in matches if match.key]
    wanted = {key[len(name) + 3 :] for key in keys if key.startswith(f"{name} / ")}
    chosen = [called for called in last if called in wanted] or list(last)
    return [last[called]._replace(response=answers.get(called)) for called in chosen] or [Objection("")]


def words(match: Match, objection: str) -> str:
    """The reason in the words of the rule."""
    template = match.rule.summary or match.rule.description or match.rule.name
    return template.replace("{count}", f"{match.value:g}").replace("{text}", " ".join(objection[:2000].split())[:300])


def understood(document: Document, name: str) -> Mapping[str, Any] | None:
    """The claim by that id; `Unreadable` where its record cannot be understood, and then nothing is done to it."""
    found = scopes.find(document.data.get(SCOPE.section), name, SCOPE.name)
    if found is None:
        return None
    where, claim = found
    for field, expected in faults_of(claim):
        line, column = document.locate((SCOPE.section, where, field)) or (None, None)
        hint = f"write {field} of claim {name} as {expected}; until then nothing can be done to it"
        message = f"{field} of claim {name} is not {expected}"
        raise Unreadable(message, hint=hint, file=document.file, line=line, column=column)
    return claim


def faults_of(claim: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The fields without which a claim cannot be judged, and what each should be."""
    yield from ((field, "a list") for field in LISTS if not isinstance(claim.get(field), list | None))
    if freezing.status_of(claim) is None:
        yield "status", "a word"


# --- for whoever looks at all of them -------------------------------------------------------------------------------


def derive(section: Any, rules: RuleSet, environment: Mapping[str, str]) -> tuple[Record, ...]:
    """The rounds that rules see: those of claims that are neither frozen nor killed."""
    settings = settings_of(rules)
    found: list[Record] = []
    for _, name, claim in scopes.named(section, SCOPE.name):
        if isinstance(claim, MAPPINGS) and not freezing.is_frozen(claim) and not list(faults_of(claim)):
            judged = freezing.status_of(claim) != freezing.KILLED
            found += its.derived(name, claim, settings.matching) if judged else []
    return tuple(record._replace(key=index) for index, record in enumerate(found))


def settle(
    section: Any, rules: RuleSet, environment: Mapping[str, str], now: datetime, stages: Any = None
) -> scopes.Settled:
    """What the section is to be, as it stands; `stages` is the section of that name."""
    settings = settings_of(rules)
    judge = judge_of(rules, settings, now)
    stage = current(stages)
    events: list[scopes.Event] = []

    def change(name: str, claim: Mapping[str, Any]) -> Mapping[str, Any]:
        if list(faults_of(claim)):
            return claim  # it cannot be judged, which `validate`, `status` and the daemon say
        outcome = settled(name, claim, settings, judge, stage, now)
        events.extend(outcome.events)
        return outcome.record

    return scopes.Settled(scopes.each(section, SCOPE.name, change), tuple(events))


def archive(paths: Paths, name: str, records: Sequence[Mapping[str, Any]]) -> None:
    """Nothing of a claim ever leaves the blackboard."""
