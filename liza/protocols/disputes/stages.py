"""The stages of a pipeline of claims: which one it is in, and what keeps the last one from closing. Only decisions."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from liza.errors import LizaError, Unreadable
from liza.model import MAPPINGS, format_time
from liza.protocols import scopes
from liza.protocols.disputes import freezing
from liza.protocols.scopes import Event
from liza.rules.sameness import same_key

SCOPE = scopes.Scope("stage", "stages")
ACTIVE, PASSED, CLOSED = "ACTIVE", "PASSED", "CLOSED"
_ACTIVE = (ACTIVE, "CURRENT", "IN_PROGRESS", "RUNNING", "OPEN")  # words that people have for it


def current(section: Any) -> str | None:
    """The stage that the pipeline is in; several where a person has made several active, None where nobody can say."""
    try:
        return ", ".join(name for name, status in statuses(section) if status in _ACTIVE) or None
    except LizaError:
        return None


def statuses(section: Any) -> Iterator[tuple[str, str]]:
    """Each stage with its status in capitals."""
    for _, name, stage in scopes.named(section, SCOPE.name):
        if name and isinstance(stage, MAPPINGS):
            yield name, str(stage.get("status") or "").strip().upper()


def is_last(name: str, last: str) -> bool:
    """Whether a name means the last stage, in whatever case it is written."""
    return same_key(name) == same_key(last)


def called(section: Any, name: str, last: str) -> str:
    """The name of a stage as the blackboard or the settings have it; `s5` is not another stage than `S5`."""
    names = [*(label for _, label, _ in scopes.named(section, SCOPE.name)), last]
    return next((label for label in names if same_key(label) == same_key(name)), name)


# --- going on -------------------------------------------------------------------------------------------------------


class Moved(NamedTuple):
    """What the section is to be, and what happened."""

    section: Any
    events: tuple[Event, ...] = ()


def advanced(section: Any, name: str, now: datetime) -> Moved:
    """The pipeline is in that stage from now on; one that was active before is passed."""
    found = scopes.find(section, name, SCOPE.name)
    was = current(section)
    if was == name:
        return Moved(section)
    for _, label, stage in list(scopes.named(section, SCOPE.name)):
        if label != name and isinstance(stage, MAPPINGS) and str(stage.get("status") or "").strip().upper() in _ACTIVE:
            section = scopes.put(section, label, {**stage, "status": PASSED}, SCOPE.name)
    kept = {key: value for key, value in (found[1] if found else {}).items() if not key.startswith("closed_")}
    section = scopes.put(section, name, {**kept, "status": ACTIVE, "entered_at": format_time(now)}, SCOPE.name)
    said = f"the pipeline is in stage {name}" + (f", it was in {was}" if was else "")
    return Moved(section, (Event("stage", name, "advanced", said),))


def closed(section: Any, name: str, by: str, now: datetime) -> Moved:
    found = scopes.find(section, name, SCOPE.name)
    stage = found[1] if found else {}
    if stage.get("status") == CLOSED:
        return Moved(section)
    done = {**stage, "status": CLOSED, "closed_at": format_time(now), "closed_by": by}
    said = f"stage {name} was closed by {by}"
    return Moved(scopes.put(section, name, done, SCOPE.name), (Event("stage", name, "closed", said),))


def with_data(section: Any, reference: str, now: datetime) -> Any:
    """New data or tools are noted at the stage in which they came; where there is no stage, the log alone has them."""
    names = [name for name, status in statuses(section) if status in _ACTIVE]
    found = scopes.find(section, names[-1], SCOPE.name) if names else None
    if found is None:
        return section
    listed = found[1].get("data")
    data = [*(listed if isinstance(listed, list | tuple) else ()), {"ref": reference, "timestamp": format_time(now)}]
    return scopes.put(section, names[-1], {**found[1], "data": data}, SCOPE.name)


# --- the last stage -------------------------------------------------------------------------------------------------


class Blocker(NamedTuple):
    """A claim that keeps the last stage from closing."""

    name: str
    violated: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name} is {freezing.DISPUTED}" + "".join(f", {each} by hand" for each in self.violated)


def blockers(claims: Any) -> list[Blocker]:
    """Every claim of the ledger that is in dispute, or whose freeze somebody broke; also one without an id.

    `Unreadable` where something else than claims stands there: nobody could say that no dispute is among it.
    """
    found = []
    for where, label, claim in scopes.named(claims, "claim"):
        name = label or f"number {where + 1 if isinstance(where, int) else where}"
        if not isinstance(claim, MAPPINGS):
            raise Unreadable(f"claim {name} is not a record", hint="see: liza validate")
        for field, expected in freezing.faults_of(claim):
            raise Unreadable(f"claim {name} cannot be judged: {field} is not {expected}", hint="see: liza validate")
        if freezing.is_frozen(claim):
            found.append(Blocker(name, freezing.violations(claim)))
    return found


def closed_over(section: Any, claims: Any, last: str) -> tuple[str, list[Blocker]] | None:
    """The last stage, if it says that it is closed while a claim is in dispute."""
    for name, status in statuses(section):
        if is_last(name, last) and status == CLOSED and (found := blockers(claims)):
            return name, found
    return None
