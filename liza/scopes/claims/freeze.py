"""The freeze of one claim: how it begins, what shows that somebody changed the claim all the same, and how it ends.

Only decisions: a claim is what stands on the blackboard under its id, and each function says what is to stand there
next. Whatever people put beside our fields stays. While a claim is frozen the last entry of its history is the open
dispute; it holds a digest of everything that must not change, and it is there also where somebody rewrote the status.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from liza.model import MAPPINGS, format_time
from liza.scopes.change import Outcome
from liza.scopes.claims.derived import baseline, records
from liza.scopes.claims.objections import Objection
from liza.scopes.records import Event
from liza.text import value_text

OPEN, ACCEPTED, KILLED, DISPUTED = "OPEN", "ACCEPTED", "KILLED", "DISPUTED"
STATUSES = (OPEN, ACCEPTED, KILLED, DISPUTED)
STAGE_TRANSITION, NEW_DATA, AUDIT = TRIGGERS = ("stage_transition", "new_data", "cross_model_audit")
LISTS = ("rounds", "history", "reexamine")
DELETED, REMOVED = TAKEN_OUT = ("the claim was deleted", "its dispute was taken out")  # instead of a digest
OVERRIDE = "human_override_rationale"
ENTRY = "its dispute"  # the name of the digest of the open dispute itself
POSITIONS = ("dispute_reason", "researcher_position", "also_disputed")
# What stands beside the claim's own fields while it is in dispute, and goes into its history afterwards.
BOOKKEEPING = (*POSITIONS, "dispute_cycle", "disputed_at", "previous_status")
# What liza itself changes while a claim is frozen, what a person writes to decide by hand, and what only names it. Why
# the dispute is to be re-examined is changed, too, but each time with its digest: a mark by hand is no trigger.
NOT_FROZEN = ("status", "history", OVERRIDE, "id", "claim_id")
# Frozen also where a claim does not have them. A dispute that an older version froze has digests of these alone.
ALWAYS_FROZEN = ("text", "confidence", "evidence", "rounds", *POSITIONS, "previous_status")

Claim = dict[str, Any]


def status_of(claim: Mapping[str, Any]) -> str | None:
    """What a claim's status says; None where it is no word at all, and then nobody knows what was meant."""
    status = claim.get("status")
    if status is None:
        return OPEN
    return status.strip().upper() or OPEN if isinstance(status, str) else None


def faults_of(claim: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The fields without which a claim cannot be judged, and what each should be."""
    yield from ((field, "a list") for field in LISTS if not isinstance(claim.get(field), list | None))
    if status_of(claim) is None:
        yield "status", "a word"


def is_frozen(claim: Mapping[str, Any]) -> bool:
    return status_of(claim) == DISPUTED or open_dispute(claim) is not None


def history_of(claim: Mapping[str, Any]) -> list[Any]:
    listed = claim.get("history")
    return list(listed) if isinstance(listed, list | tuple) else []


def disputes_of(claim: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    """Every dispute that there was, with its place in the history."""
    entries = enumerate(history_of(claim))
    return [(i, each) for i, each in entries if isinstance(each, MAPPINGS) and each.get("event") == "disputed"]


def open_dispute(claim: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]] | None:
    """The dispute that nobody has resolved. One that was ended without a word of why is not resolved."""
    return next((each for each in reversed(disputes_of(claim)) if not is_over(each[1])), None)


def is_taken_out(claim: Mapping[str, Any]) -> bool:
    """Whether the claim, or its open dispute, was deleted by hand and is only put back here."""
    found = open_dispute(claim)
    return found is not None and found[1].get("frozen") in TAKEN_OUT


def is_over(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("resolved_at") and _said(entry, "rationale"))


def _said(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) and value.strip() else ""


# --- what must not change -------------------------------------------------------------------------------------------


def digest(value: Any) -> str:
    """The same for the same value, however it is written down."""
    text = json.dumps(_plain(value), sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    """Another program that writes the file may write 1.0 for 1, and an empty list for none."""
    if isinstance(value, MAPPINGS):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value] or None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value_text(value) if isinstance(value, int) and value.bit_length() > 1000 else value


NOTHING = digest(None)  # of a field that is not there, or empty


def digests(claim: Mapping[str, Any], others: Sequence[Any]) -> dict[str, str]:
    """Of everything in a claim that liza does not keep itself, and of all of its history but the open dispute."""
    fields = {str(name): value for name, value in claim.items() if str(name) not in NOT_FROZEN}
    found = {name: digest(fields.get(name)) for name in (*ALWAYS_FROZEN, *fields)}
    return found | {"history": digest(others)}


def _sealed(entry: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """The open dispute with these digests and one of itself: another stage in it would be a trigger made by hand."""
    bare = {name: value for name, value in entry.items() if name != "frozen"}
    return {**bare, "frozen": {**kept, ENTRY: digest(bare)}}


def violations(claim: Mapping[str, Any]) -> tuple[str, ...]:
    """What somebody changed by hand though the claim is frozen; none where it is not, or nobody did."""
    return tuple(said for _, said in broken(claim))


def broken(claim: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The same, each with the field that it is about."""
    found = open_dispute(claim)
    if found is None:
        return
    entry = found[1]
    kept = entry.get("frozen")
    if entry.get("resolved_at"):
        yield "history", "its dispute was resolved without a rationale"
    if status_of(claim) != DISPUTED:
        yield "status", f"the status was changed to {value_text(claim.get('status'))}"
    if not isinstance(kept, MAPPINGS):
        yield "history", kept if kept in TAKEN_OUT else "the digest of what is frozen was removed"
        return
    history = history_of(claim)
    now = digests(claim, [*history[: found[0]], *history[found[0] + 1 :]])
    if ENTRY in kept and not entry.get("resolved_at"):
        now[ENTRY] = _sealed(entry, {})["frozen"][ENTRY]
    names = dict.fromkeys((*now, *kept)) if "history" in kept else ALWAYS_FROZEN
    for name in names:
        if name == ENTRY and name not in now:
            continue  # frozen by an older version, or about to be resolved by hand
        if name != OVERRIDE and kept.get(name, NOTHING) != now.get(name, NOTHING):
            yield name, f"{name} was {'changed' if name in kept else 'added'}"


# --- into the freeze ------------------------------------------------------------------------------------------------


def disputed(
    name: str, claim: Mapping[str, Any], rule: str, why: str, unresolved: Sequence[Objection], same_by: str | None,
    cycle: Any, stage: str | None, now: datetime,
) -> Outcome:  # fmt: skip
    """After a trip: both positions stand there as they were written, and nothing else of the claim is touched."""
    first, others = unresolved[0], unresolved[1:]
    result = {
        **{key: value for key, value in claim.items() if key not in ("history", "reexamine")},
        "status": DISPUTED,
        "dispute_reason": first.text or first.id or "",
        "researcher_position": first.response,
        **({"also_disputed": [_position(each) for each in others]} if others else {}),
        "dispute_cycle": cycle,
        "disputed_at": format_time(now),
        "previous_status": claim.get("status") or OPEN,
    }
    said = f"claim {name} is {DISPUTED}: {why}" + (f" (the same by: {same_by})" if same_by else "")
    frozen = _with_entry(result, claim, rule, stage, now, same_by)
    return Outcome(frozen, (Event("claim", name, "disputed", said),), (frozen,))


def _position(objection: Objection) -> dict[str, Any]:
    said = {"id": objection.id, "objection": objection.text, "response": objection.response}
    return {name: value for name, value in said.items() if value is not None}


def adopted(name: str, claim: Mapping[str, Any], stage: str | None, now: datetime) -> Outcome:
    """A person wrote DISPUTED: from now on the claim is guarded like any other."""
    before = claim.get("previous_status") or OPEN
    fields = {key: value for key, value in claim.items() if key not in ("history", "reexamine")}
    result = _with_entry({**fields, "previous_status": before}, claim, "by hand", stage, now)
    why = _said(claim, "dispute_reason") or "its status was set by hand"
    return Outcome(result, (Event("claim", name, "disputed", f"claim {name} is {DISPUTED}: {why}"),), (result,))


def put_back(claim: Mapping[str, Any], since: str, what: str) -> Claim:
    """With the dispute that somebody took out of it, as far as it is known; that this was done stays visible.

    Where the claim has been frozen anew since, nobody knows whether it says what it said then.
    """
    history = history_of(claim)
    place, entry = open_dispute(claim) or (len(history), {"event": "disputed", "timestamp": since})
    return {**claim, "history": [*history[:place], {**entry, "frozen": what}, *history[place + 1 :]]}


def _with_entry(
    result: Mapping[str, Any], claim: Mapping[str, Any], rule: str, stage: str | None, now: datetime,
    same_by: str | None = None,
) -> Claim:  # fmt: skip
    entry = {
        "event": "disputed",
        "timestamp": format_time(now),
        "rule": rule,
        **({"same_by": same_by} if same_by else {}),
        **({"stage": stage} if stage else {}),
    }
    kept = digests(result, history_of(claim)) | ({OVERRIDE: digest(result[OVERRIDE])} if result.get(OVERRIDE) else {})
    return {**result, "history": [*history_of(claim), _sealed(entry, kept)]}


# --- out of it ------------------------------------------------------------------------------------------------------


def thawed(
    name: str, claim: Mapping[str, Any], how: str, status: str, rationale: str, by: str, now: datetime,
    **more: Any,
) -> Outcome:  # fmt: skip
    """The end of a dispute. It goes into the history as a whole, its rounds with it, so that counting starts anew."""
    found = open_dispute(claim) or (disputes_of(claim)[-1] if is_left_over(claim) else None)
    place, entry = found or (len(history_of(claim)), {"event": "disputed", "timestamp": None})
    broken = violations(claim)
    done = {
        **entry,
        "resolution": how,
        "rationale": rationale,
        **more,
        "resolved_by": by,
        "resolved_at": format_time(now),
        "outcome": status,
        **({"violated": list(broken)} if broken else {}),
        **{key: claim[key] for key in BOOKKEEPING if key in claim},
        **({"baseline": claim["baseline"]} if claim.get("baseline") else {}),
        "rounds": claim.get("rounds") or [],
    }
    kept = {key: value for key, value in claim.items() if key not in (*BOOKKEEPING, "reexamine", "history")}
    result = {
        **kept,
        "status": status,
        "rounds": [],
        "baseline": baseline({**claim, "rounds": [], "history": []}),
        **({OVERRIDE: rationale} if how == "human_override" else {}),
        "history": [*history_of(claim)[:place], done, *history_of(claim)[place + 1 :]],
    }
    who = f"{how.replace('_', ' ')} by {by}" + (f", {entry['frozen']} by hand" if is_taken_out(claim) else "")
    return Outcome(result, (Event("claim", name, "resolved", f"claim {name} is {status} ({who}): {rationale}"),))


def before(claim: Mapping[str, Any]) -> str:
    """The status that a claim had before it was frozen; that which somebody wrote there meanwhile is not it."""
    status = claim.get("previous_status")
    doubted = any(name in ("history", "previous_status") for name, _ in broken(claim))
    if doubted or not isinstance(status, str) or status.strip().upper() in ("", DISPUTED, KILLED):
        return OPEN
    return status


def is_left_over(claim: Mapping[str, Any]) -> bool:
    """Whether the last dispute was resolved by hand: its rounds are not in the history, as each way out has them."""
    found = disputes_of(claim)
    return bool(found) and open_dispute(claim) is None and "frozen" in found[-1][1] and "rounds" not in found[-1][1]


def decided_by_hand(name: str, claim: Mapping[str, Any], now: datetime) -> Outcome | None:
    """A person gave the claim another status and wrote down why, here or in the history; None if that is not so.

    What is left to do is done as by command: the dispute goes into the history as a whole, and into the log.
    """
    status = claim.get("status") or OPEN
    if status_of(claim) in (DISPUTED, None):
        return None
    if is_left_over(claim):
        entry = disputes_of(claim)[-1][1]
        how, by = (_said(entry, "resolution") or "by_hand"), (_said(entry, "resolved_by") or "hand")
        return thawed(name, claim, how, str(status), _said(entry, "rationale"), by, now)
    found, why = open_dispute(claim), _said(claim, OVERRIDE)
    kept = found[1].get("frozen") if found else None
    if not isinstance(kept, MAPPINGS) or not why or digest(why) == kept.get(OVERRIDE):
        return None  # not a word of why, or it was there before the dispute
    return thawed(name, claim, "human_override", str(status), why, "hand", now)


# --- while it lasts -------------------------------------------------------------------------------------------------


def marked(
    name: str, claim: Mapping[str, Any], trigger: str, detail: str, now: datetime, **entry: Any
) -> Outcome:  # fmt: skip
    """It is to be re-examined. A mark that says the same is there once; `entry` is new in the open dispute."""
    marks = [each for each in marks_of(claim) if trigger != STAGE_TRANSITION or each.get("trigger") != trigger]
    if any((each.get("trigger"), each.get("detail")) == (trigger, detail) for each in marks):
        return Outcome(dict(claim))
    mark = {"trigger": trigger, "detail": detail, "timestamp": format_time(now)}
    said = f"claim {name} is to be re-examined ({trigger.replace('_', ' ')}): {detail}"
    return Outcome(_with_marks(claim, [*marks, mark], entry), (Event("claim", name, "marked", said),))


def _with_marks(claim: Mapping[str, Any], marks: Sequence[Mapping[str, Any]], more: Mapping[str, Any]) -> Claim:
    """With these marks, and with more in the open dispute, which gets their digests.

    What somebody changed by hand keeps the digest of what it was: a new mark must not hide that.
    """
    result = {key: value for key, value in claim.items() if key != "reexamine"}
    result |= {"reexamine": list(marks)} if marks else {}
    place, entry = open_dispute(claim) or (len(history_of(claim)), {"event": "disputed", "timestamp": None})
    kept = entry.get("frozen")
    grown: Mapping[str, Any] = {**entry, **more}
    if isinstance(kept, MAPPINGS) and "history" in kept and not _is_changed(claim, "reexamine", ENTRY):
        grown = _sealed(grown, {**kept, "reexamine": digest(marks)})
    result["history"] = [*history_of(claim)[:place], grown, *history_of(claim)[place + 1 :]]
    return result


def _is_changed(claim: Mapping[str, Any], *names: str) -> bool:
    """Whether somebody changed one of these by hand."""
    return any(name in names for name, _ in broken(claim))


def is_due(claim: Mapping[str, Any], trigger: str) -> bool:
    """Whether that trigger has happened since the dispute began, or since it was last looked at because of it."""
    return not _is_changed(claim, "reexamine", ENTRY) and any(
        each.get("trigger") == trigger for each in marks_of(claim)
    )


def awaits_review(claim: Mapping[str, Any]) -> bool:
    """Whether new data ended the last dispute and nothing was reviewed or tested since."""
    last = [entry for _, entry in disputes_of(claim)][-1:]
    by_data = any(NEW_DATA in (each.get("resolution"), each.get("trigger")) for each in last)
    return by_data and not records(claim.get("rounds"))


def marks_of(claim: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return records(claim.get("reexamine"))


def moved_on(name: str, claim: Mapping[str, Any], stage: str, now: datetime) -> Outcome:
    """The pipeline is in another stage than when the dispute was last looked at."""
    found = open_dispute(claim)
    if found is None or _is_changed(claim, ENTRY) or not stage or found[1].get("stage") == stage:
        return Outcome(dict(claim))
    since = found[1].get("stage")
    detail = f"stage {stage}" + (f", it was {since}" if since else "")
    return marked(name, claim, STAGE_TRANSITION, detail, now, stage=stage)


def reexamined(
    name: str, claim: Mapping[str, Any], trigger: str, resolved: bool, note: str, by: str, now: datetime
) -> Outcome:
    """After somebody looked at it again: either the objection is dealt with, or the claim stays as it is."""
    _, entry = open_dispute(claim) or (0, {})
    looked = {
        "trigger": trigger,
        "outcome": "resolved" if resolved else "unresolved",
        "note": note,
        "by": by,
        "timestamp": format_time(now),
    }
    listed = entry.get("reexaminations")
    looks = [*(listed if isinstance(listed, list | tuple) else ()), looked]
    left = [each for each in marks_of(claim) if each.get("trigger") != trigger]
    result = _with_marks(claim, left, {"reexaminations": looks})
    said = f"claim {name} was re-examined ({trigger.replace('_', ' ')} by {by}), {looked['outcome']}: {note}"
    event = Event("claim", name, "reexamined", said)
    if not resolved:
        return Outcome(result, (event,))
    done = thawed(name, result, "reexamined", before(claim), note, by, now, trigger=trigger)
    return done._replace(events=(event, *done.events))
