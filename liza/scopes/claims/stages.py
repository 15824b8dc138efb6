"""The stages of a pipeline of claims: which one it is in, and what keeps the last one from closing. Only decisions."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import LizaError, Unreadable
from liza.model import MAPPINGS, format_time
from liza.rules.same import same_key
from liza.scopes.claims import freeze
from liza.scopes.claims.fields import CLAIMS, DISPUTED, is_frozen, is_taken_out
from liza.scopes.records import Section, find_record, list_of, named_records, put_record
from liza.scopes.transition import Event

STAGES = Section(scope="stage", name="stages", list_command="liza stage list", example="S3", is_strict=True)
ACTIVE, PASSED, CLOSED, PENDING = "ACTIVE", "PASSED", "CLOSED", "PENDING"
_ACTIVE = (ACTIVE, "CURRENT", "IN_PROGRESS", "RUNNING", "OPEN")  # words that people have for it


def current_stage(section: Any) -> str | None:
    """The stage that the pipeline is in; several names where several are active, None where it is unknown."""
    try:
        return ", ".join(name for name, status in statuses(section) if status in _ACTIVE) or None
    except LizaError:
        return None


def statuses(section: Any) -> Iterator[tuple[str, str]]:
    """Each stage with its status in capitals."""
    for _, name, stage in named_records(section, STAGES.scope):
        if name and isinstance(stage, MAPPINGS):
            yield name, str(stage.get("status") or "").strip().upper()


def is_last(name: str, last: str) -> bool:
    """Whether a name means the last stage, in whatever case it is written."""
    return same_key(name) == same_key(last)


def known_name(section: Any, name: str, last: str) -> str:
    """The name of a stage as the blackboard or the settings have it; `s5` is not another stage than `S5`."""
    names = [*(label for _, label, _ in named_records(section, STAGES.scope)), last]
    return next((label for label in names if same_key(label) == same_key(name)), name)


def is_beyond(section: Any, name: str, last: str) -> bool:
    """Whether a stage comes after the last one, so that who is in it has passed the last one.

    By its number where both names have one and are the same otherwise (S6, S5.1), else by its place in the section. A
    new name comes after every stage that is listed. Where the last one is not listed yet, a name without a number
    comes after it unless it is listed before a stage that is numbered like it: FINAL after S4 passes S5.
    """
    if is_last(name, last):
        return False
    (stem, *number), (last_stem, *last_number) = _parts(name), _parts(last)
    if number and last_number and stem == last_stem:
        return number > last_number
    places = [same_key(label) for _, label, _ in named_records(section, STAGES.scope)]
    ends = [place for place in places if place == same_key(last)]
    if not ends and last_number:
        ends = [place for place in places if len(parts := _parts(place)) > 1 and parts[0] == last_stem]
    return bool(ends) and same_key(name) not in places[: places.index(ends[-1])]


def _parts(name: str) -> list[Any]:
    """The letters of a name and the number behind them, in parts that can be compared: S5.1b is s, (5, 1), b."""
    found = re.fullmatch(r"(\D*?)[\W_]*(\d{1,9}(?:\.\d{1,9})*)(.*)", same_key(name[:200]), re.DOTALL)
    return [found[1], tuple(map(int, found[2].split("."))), found[3]] if found else [same_key(name)]


# --- going on -------------------------------------------------------------------------------------------------------


class Moved(NamedTuple):
    section: Any
    events: tuple[Event, ...] = ()


def enter_stage(section: Any, name: str, last: str, now: datetime) -> Moved:
    """The pipeline is in that stage from now on; one that was active before is passed.

    Going back from the last stage means that it was not passed: it must be entered again.
    """
    is_back = not is_beyond(section, name, last)
    found = find_record(section, name, STAGES.scope)
    was = current_stage(section)
    if was == name:
        return Moved(section)
    for _, label, stage in list(named_records(section, STAGES.scope)):
        if label != name and isinstance(stage, MAPPINGS) and str(stage.get("status") or "").strip().upper() in _ACTIVE:
            status = PENDING if is_back and is_last(label, last) else PASSED
            section = put_record(section, label, {**stage, "status": status}, STAGES.scope)
    kept = {key: value for key, value in (found[1] if found else {}).items() if not key.startswith("closed_")}
    section = put_record(section, name, {**kept, "status": ACTIVE, "entered_at": format_time(now)}, STAGES.scope)
    text = f"the pipeline is in stage {name}" + (f" (was: {was})" if was else "")
    return Moved(section, (Event("stage", name, "advanced", text),))


def close_stage(section: Any, name: str, by: str, now: datetime) -> Moved:
    found = find_record(section, name, STAGES.scope)
    stage = found[1] if found else {}
    if stage.get("status") == CLOSED:
        return Moved(section)
    done = {**stage, "status": CLOSED, "closed_at": format_time(now), "closed_by": by}
    text = f"stage {name} was closed by {by}"
    return Moved(put_record(section, name, done, STAGES.scope), (Event("stage", name, "closed", text),))


def with_data(section: Any, reference: str, now: datetime) -> Any:
    """New data or tools are noted at the stage in which they came; where there is no stage, the log alone has them."""
    names = [name for name, status in statuses(section) if status in _ACTIVE]
    found = find_record(section, names[-1], STAGES.scope) if names else None
    if found is None:
        return section
    data = [*list_of(found[1], "data"), {"ref": reference, "timestamp": format_time(now)}]
    return put_record(section, names[-1], {**found[1], "data": data}, STAGES.scope)


# --- the last stage -------------------------------------------------------------------------------------------------


class Blocker(NamedTuple):
    """A claim that keeps the last stage from closing."""

    name: str
    violated: tuple[str, ...]
    is_taken_out: bool = False

    def __str__(self) -> str:
        return f"{self.name} is {DISPUTED}" + "".join(f", {each} by hand" for each in self.violated)


def blockers(claims: Any) -> list[Blocker]:
    """Every claim of the ledger that is in dispute, or whose freeze was violated; also one without an id.

    `Unreadable` where the section has anything else, because a dispute could be among it.
    """
    found = []
    for where, label, claim in named_records(claims, "claim"):
        name = label or f"number {where + 1 if isinstance(where, int) else where}"
        if not isinstance(claim, MAPPINGS):
            raise Unreadable(f"claim {name} is not a record", hint="see: liza validate")
        for field, expected in CLAIMS.unusable_fields(claim):
            raise Unreadable(
                f"claim {name} cannot be evaluated: {field}: expected {expected}", hint="see: liza validate"
            )
        if is_frozen(claim):
            found.append(Blocker(name, freeze.violations(claim), is_taken_out(claim)))
    return found


class Over(NamedTuple):
    """A stage at or beyond the last one, while claims are in dispute."""

    stage: str
    status: str
    found: list[Blocker]

    def __str__(self) -> str:
        word = self.status.lower() if self.status in (CLOSED, PASSED) else "entered"
        return f"stage {self.stage} is {word} despite a dispute: {'; '.join(str(each) for each in self.found)}"


def closed_over_dispute(section: Any, claims: Any, last: str) -> Over | None:
    """The last stage where it is closed or passed while a claim is in dispute, or one beyond it that was entered."""
    for name, status in statuses(section):
        ends = (CLOSED, PASSED) if is_last(name, last) else (CLOSED, PASSED, *_ACTIVE)
        if status in ends and (is_last(name, last) or is_beyond(section, name, last)) and (found := blockers(claims)):
            return Over(name, status, found)
    return None
