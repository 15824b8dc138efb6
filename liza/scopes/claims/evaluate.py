"""Asking the rules about claims: for the command that records a round, and for whoever looks at the blackboard."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from liza.errors import Unreadable
from liza.model import MAPPINGS, Fault, Match, Progress, Record, Snapshot, Verdict
from liza.rules.evaluate import RuleSet, evaluate
from liza.scopes import records as scopes
from liza.scopes.change import Outcome
from liza.scopes.claims import derived as its
from liza.scopes.claims import freeze
from liza.scopes.claims.objections import SAME_BY, Objection
from liza.scopes.claims.settings import Settings, rules_for, settings_of
from liza.scopes.claims.stages import closed_over, current
from liza.scopes.claims.states import cycle_of
from liza.store.document import Document
from liza.store.paths import Paths

SCOPE = scopes.Scope("claim", "claims")
BESIDE = ("stages",)  # the section that is looked at, too

Judge = Callable[[Sequence[Record]], Sequence[Match]]


def verdict(records: Sequence[Record], rules: RuleSet, now: datetime) -> Verdict:
    """What rules about claims say of some rounds."""
    return evaluate(rules, Snapshot(b"", {}, {}, (), derived={"rounds": tuple(records)}), now)


def judge_of(rules: RuleSet, settings: Settings, now: datetime) -> Judge:
    """What freezes a claim."""
    own = rules_for(rules, settings)

    def judge(records: Sequence[Record]) -> Sequence[Match]:
        found = verdict(records, own, now).observed
        return [match for match in found if match.rule.action == "FREEZE" and match.rule.mode == "act"]

    return judge


def nearness(
    name: str, claim: Mapping[str, Any], rules: RuleSet, settings: Settings, now: datetime
) -> tuple[Progress, ...]:
    """How near the rules are to freezing a claim."""
    judged = not freeze.is_frozen(claim) and freeze.status_of(claim) != freeze.KILLED
    records = its.derived(name, claim, settings.matching, settings.by_response) if judged else []
    if not records:
        return ()
    return tuple(each for each in verdict(records, rules_for(rules, settings), now).progress if each.value > 0)


# --- one claim ------------------------------------------------------------------------------------------------------


def settled(
    name: str, claim: Mapping[str, Any], settings: Settings, judge: Judge, stage: str | None, now: datetime
) -> Outcome:
    """What a claim is to be, as it stands: the same for whoever looks, and nothing more when it is asked again."""
    by_hand = freeze.decided_by_hand(name, claim, now)
    if by_hand is not None:
        return by_hand
    if freeze.open_dispute(claim) is not None:
        return freeze.moved_on(name, claim, stage or "", now)
    status = freeze.status_of(claim)
    if status == freeze.DISPUTED:
        return freeze.adopted(name, claim, stage, now)
    if status in (freeze.KILLED, None):
        return Outcome(dict(claim))
    records = its.derived(name, claim, settings.matching, settings.by_response)
    matches = judge(records) if records else ()
    if not matches:
        return Outcome(dict(claim))
    unresolved = _unresolved(name, matches, records)
    why = words(matches[0], unresolved[0].text)
    by = _same_by(name, matches[0], records)
    return freeze.disputed(name, claim, matches[0].rule.name, why, unresolved, by, cycle_of(claim), stage, now)


def _unresolved(name: str, matches: Sequence[Match], records: Sequence[Record]) -> list[Objection]:
    """The objections that tripped, as the last round has them, with the last answer that there was to each."""
    answers: dict[str, str | None] = {}
    last: dict[str, Objection] = {}
    for record in records:
        last = dict(zip(record.fields["objection"] or (), record.fields["said"], strict=True))
        answers |= {called: each.response for called, each in last.items() if each.response is not None}
    wanted = {_objection_of(name, match) for match in matches}
    chosen = [called for called in last if called in wanted] or list(last)
    return [last[called]._replace(response=answers.get(called)) for called in chosen] or [Objection("")]


def _objection_of(name: str, match: Match) -> str | None:
    """What the objection is called that a match is about; None if it is about the claim as a whole."""
    key = match.key or ""
    return key[len(name) + 3 :] if key.startswith(f"{name} / ") else None


def _same_by(name: str, match: Match, records: Sequence[Record]) -> str | None:
    """The loosest of the means by which the rounds of a match were seen to have one objection."""
    called = _objection_of(name, match)
    found: list[str] = []
    for record in reversed(records):
        here = dict(zip(record.fields["objection"] or (), record.fields["same_by"], strict=True))
        if called not in here or record.fields["changed"]:
            break
        found.append(here[called])
    return max(filter(None, found[:-1]), key=SAME_BY.index, default=None)


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
    same = [each for each, label, _ in scopes.named(document.data.get(SCOPE.section), SCOPE.name) if label == name]
    if len(same) > 1:  # what is done to a copy would not be done to the one that is frozen
        line, column = document.locate((SCOPE.section, same[1])) or (None, None)
        hint = f"give one of them another id; until then nothing can be done to {name}"
        message = f"there are {len(same)} claims with the id {name}"
        raise Unreadable(message, hint=hint, file=document.file, line=line, column=column)
    for field, expected in freeze.faults_of(claim):
        line, column = document.locate((SCOPE.section, where, field)) or (None, None)
        hint = f"write {field} of claim {name} as {expected}; until then nothing can be done to it"
        message = f"{field} of claim {name} is not {expected}"
        raise Unreadable(message, hint=hint, file=document.file, line=line, column=column)
    return claim


# --- for whoever looks at all of them -------------------------------------------------------------------------------


def derive(section: Any, rules: RuleSet, environment: Mapping[str, str]) -> tuple[Record, ...]:
    """The rounds that rules see: those of claims that are neither frozen nor killed."""
    settings = settings_of(rules)
    found: list[Record] = []
    for _, name, claim in scopes.named(section, SCOPE.name):
        if isinstance(claim, MAPPINGS) and not freeze.is_frozen(claim) and not list(freeze.faults_of(claim)):
            judged = freeze.status_of(claim) != freeze.KILLED
            found += its.derived(name, claim, settings.matching, settings.by_response) if judged else []
    return tuple(record._replace(key=index) for index, record in enumerate(found))


def settle(
    section: Any, rules: RuleSet, environment: Mapping[str, str], now: datetime, stages: Any = None
) -> scopes.Settled:
    """What the section is to be, as it stands; `stages` is the section of that name."""
    settings = settings_of(rules)
    judge = judge_of(rules, settings, now)
    stage = current(stages)
    events: list[scopes.Event] = []
    archived: list[tuple[str, tuple[Mapping[str, Any], ...]]] = []

    def change(name: str, claim: Mapping[str, Any]) -> Mapping[str, Any]:
        if list(freeze.faults_of(claim)):
            return claim  # it cannot be judged, which `validate`, `status` and the daemon say
        outcome = settled(name, claim, settings, judge, stage, now)
        events.extend(outcome.events)
        archived.extend([(name, outcome.archived)] if outcome.archived else [])
        return outcome.record

    return scopes.Settled(scopes.each(section, SCOPE.name, change), tuple(events), tuple(archived))


def settled_section(document: Document, rules: RuleSet, now: datetime) -> Any:
    """The claims as they are once everything is judged; nothing is written."""
    return settle(document.data.get(SCOPE.section), rules, {}, now, document.data.get("stages")).section


def open_trips(section: Any, rules: RuleSet, environment: Mapping[str, str], now: datetime) -> dict[str, str]:
    """The claims that are in dispute, each with the objection; also one whose status somebody has rewritten."""
    found: dict[str, str] = {}
    for where, name, claim in scopes.named(section, SCOPE.name):
        if isinstance(claim, MAPPINGS) and freeze.is_frozen(claim):
            entry = freeze.open_dispute(claim)
            since = entry[1].get("timestamp") if entry is not None else freeze.DISPUTED
            why = claim.get("dispute_reason")
            reason = " ".join(why[:2000].split())[:300] if isinstance(why, str) else "its status says so"
            found[f"claim {name or where} {since}"] = f"claim {name or where} is {freeze.DISPUTED}: {reason}"
    return found


def causes(
    section: Any, rules: RuleSet, environment: Mapping[str, str], now: datetime, stages: Any = None
) -> Iterator[tuple[str, str, str]]:
    """Frozen claims that somebody changed, claims that wait to be re-examined, and those that cannot be judged."""
    if (over := closed_over(stages, section, settings_of(rules).last_stage)) is not None:
        yield "stage_closed_over_dispute", over.stage, str(over)[:400]
    for where, label, claim in scopes.named(section, SCOPE.name):
        name = label or str(where)
        if not isinstance(claim, MAPPINGS):
            continue
        for field, expected in freeze.faults_of(claim):
            yield "claim_not_judged", name, f"claim {name} cannot be judged: {field} is not {expected}"
        for each in freeze.violations(claim):
            yield "claim_freeze_violated", f"{name} {each}", f"claim {name} is frozen, and {each} by hand"
        if marks := freeze.marks_of(claim):
            why = ", ".join(str(each.get("detail") or each.get("trigger")) for each in marks)[:300]
            yield "claim_reexamine", name, f"claim {name} is to be re-examined: {why}"


def faults(section: Any, rules: RuleSet, beside: Mapping[str, Any]) -> Iterator[Fault]:
    """All that is wrong with the section."""
    from liza.scopes.claims import validate  # few look that closely

    yield from validate.faults(section, rules, beside)


def archive(paths: Paths, name: str, claims: Sequence[Mapping[str, Any]]) -> None:
    """Keep a copy of a claim that is frozen."""
    from liza.scopes.claims import frozen_copies  # few claims are

    frozen_copies.keep(paths, name, claims)
