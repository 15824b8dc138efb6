"""What follows from the rounds of a claim, worked out before any rule is asked and never read from the file.

An agent may write `changed: true` beside a round, or declare new evidence that is none. A state change is what can be
seen: a reference or a test that the record did not have before, another confidence, another text.
"""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from liza.model import MAPPINGS, Record, mappings_in, one_or_several
from liza.scopes.claims.fields import evidence_of, past_rounds, reference_text, rounds_of
from liza.scopes.claims.objections import link_objections, objections_of
from liza.scopes.claims.settings import Settings
from liza.text import text_of

VALUES = ("text", "confidence")


def derive_rounds(name: str, claim: Mapping[str, Any], settings: Settings) -> list[Record]:
    """The rounds of a claim with all that rules ask about."""
    entries = rounds_of(claim)
    objections = [objections_of(entry) for entry in entries]
    changed = state_changes(claim)
    links = link_objections(entries, objections, list(map(bool, changed)), settings.matching, settings.by_response)
    found: list[Record] = []
    for index, (entry, some, changes) in enumerate(zip(entries, objections, changed, strict=True)):
        about = {
            "claim": name,
            "details": None,  # nothing is looked up there: whatever an agent put into it is not what was seen
            "said": some,
            "objection": [each.name for each in links[index]] or None,
            "same_by": [each.by for each in links[index]],
            "changes": list(changes),
            "changed": bool(changes),
        }
        found.append(Record("rounds", index, {**entry, **about}))
    return found


# --- state changes --------------------------------------------------------------------------------------------------


class _Known:
    """The evidence, tests and values that the record of a claim has had so far."""

    def __init__(self, claim: Mapping[str, Any]) -> None:
        past = past_rounds(claim)
        self.evidence = set(reference_keys([_baseline(claim), *past], "evidence"))
        self.tests = set(reference_keys(past, "test", "tests"))
        self.values = {name: _value(_baseline(claim).get(name)) for name in VALUES}
        before = [*map(_baseline, mappings_in(claim.get("history"))), *past, _baseline(claim)]
        self.had = {name: {_value(entry.get(name)) for entry in before} for name in VALUES}
        self.begun = bool(past) or isinstance(claim.get("baseline"), MAPPINGS)

    def is_other(self, name: str, value: Any) -> bool:
        """Whether a text or a confidence differs from the last one."""
        return _value(value) is not None and _value(value) != self.values[name]

    def take(self, entry: Mapping[str, Any]) -> set[str]:
        """What in an entry was not known before; it is from now on.

        Without a baseline the first round shows how the text and the confidence were; the first entry that names
        one later has changed it. Going back to an earlier text or confidence changes nothing.
        """
        changes = set()
        for kind, names in (("evidence", ("evidence",)), ("test", ("test", "tests"))):
            known = self.evidence if kind == "evidence" else self.tests
            new = set(reference_keys([entry], *names)) - known
            known |= new
            changes |= {kind} if new else set()
        for name, before in self.values.items():
            value = _value(entry.get(name))
            if value is not None:
                is_new = value not in self.had[name]
                changes |= {name} if is_new and (before is not None or self.begun) else set()
                self.values[name] = value
                self.had[name].add(value)
        return changes


def state_changes(claim: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """For each round what changed with it, or since the round before: evidence, test, text, confidence."""
    return _walk(claim)[0]


def all_rounds(claim: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], tuple[str, ...]]]:
    """Every round that there was, those of earlier disputes first, each with what changed."""
    found: list[tuple[Mapping[str, Any], tuple[str, ...]]] = []
    history = mappings_in(claim.get("history"))
    for index, past in enumerate(history):
        then = {"history": history[:index], "rounds": past.get("rounds"), "baseline": past.get("baseline")}
        found += zip(rounds_of(then), state_changes(then), strict=True)
    return [*found, *zip(rounds_of(claim), state_changes(claim), strict=True)]


def unrecorded_values(claim: Mapping[str, Any], text: Any, confidence: Any, evidence: Sequence[Any]) -> dict[str, Any]:
    """What of these the record of a claim does not have yet: it goes into the next round."""
    known = _walk(claim)[1]
    found = {name: value for name, value in (("text", text), ("confidence", confidence)) if known.is_other(name, value)}
    new = [each for each in evidence if comparison_key(reference_text(each)) not in known.evidence]
    return found | ({"evidence": new} if new else {})


def _walk(claim: Mapping[str, Any]) -> tuple[list[tuple[str, ...]], _Known]:
    known = _Known(claim)
    pending = edits_of(claim)
    while pending and _place(pending[0]) <= 0 and not past_rounds(claim):
        known.take(pending.pop(0))  # before its first review: there is nothing yet that it could be a change of
    found: list[tuple[str, ...]] = []
    for index, entry in enumerate(rounds_of(claim)):
        changes: set[str] = set()
        while pending and _place(pending[0]) <= index:
            changes |= known.take(pending.pop(0))
        changes |= known.take(entry)
        known.begun = True
        found.append(tuple(sorted(changes)))
    for edit in pending:
        known.take(edit)
    return found, known


def _place(edit: Mapping[str, Any]) -> int:
    """Behind how many of the present rounds an edit was made."""
    after = edit.get("after")
    return after if type(after) is int else 0


def edits_of(claim: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The edits between the present rounds: those since the last dispute."""
    since: list[Mapping[str, Any]] = []
    for entry in mappings_in(claim.get("history")):
        if entry.get("event") == "disputed":
            since = []
        elif entry.get("event") == "edited":
            since.append(entry)
    return since


def reference_keys(entries: Sequence[Mapping[str, Any]], *names: str) -> Iterator[str]:
    """What is named as evidence or as a test, as it is compared: an empty word names nothing."""
    for entry in entries:
        for name in names:
            for each in one_or_several(entry.get(name)):
                if each is not None and (key := comparison_key(reference_text(each))):
                    yield key


def baseline(claim: Mapping[str, Any]) -> dict[str, Any]:
    """How a claim was before its rounds. Where other programs wrote those, as the first one has it, else as it is."""
    known = _walk({**claim, "baseline": None})[1]
    first = next(iter(rounds_of(claim)), {})
    values: dict[str, Any] = {}
    for name in VALUES:
        if _value(first.get(name)) is not None:
            values[name] = first[name]
        elif claim.get(name) is not None and known.values[name] is None:
            values[name] = claim[name]
    evidence = [each for each in evidence_of(claim) if comparison_key(reference_text(each)) not in known.evidence]
    return values | ({"evidence": evidence} if evidence else {})


def comparison_key(text: str) -> str:
    """A text or a reference as it is compared: case, white space and a full stop at its end make no other one.

    Signs do, unlike in an objection: CD4+ is not CD4-, and neither is a B+ a B-.
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(" .,;:!?'\"`“”‘’")


def _baseline(claim: Mapping[str, Any]) -> Mapping[str, Any]:
    found = claim.get("baseline")
    return found if isinstance(found, MAPPINGS) else {}


def _value(value: Any) -> Any:
    """A text or a confidence as it is compared; 0.70 is 0.7."""
    if isinstance(value, (bool, list, tuple, *MAPPINGS)) or value is None:
        return None
    try:
        number = float(value)
        if isfinite(number):
            return number
    except (ValueError, OverflowError):
        pass  # a word, or a number beyond all measure
    return comparison_key(text_of(value)) or None
