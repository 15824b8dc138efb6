"""Record a silence on the blackboard, and its end. Both are logged; nothing else about a silence ever changes."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from liza.errors import LizaError, Refused, WrongUsage
from liza.model import format_time
from liza.rules.evaluate import Compiled, RuleSet
from liza.rules.fields import lookup
from liza.rules.silences import LONGEST, Entry, field, read_silences
from liza.rules.windows import stream_records
from liza.scopes.snapshot import snapshot_of
from liza.store import edit
from liza.store.board import Board
from liza.store.document import Document
from liza.store.log import append_entry
from liza.text import shell_quoted


class Done(NamedTuple):
    """The silence that was added or ended, and why that is not in the log if it is not."""

    entry: Entry
    not_logged: LizaError | None


def add(
    board: Board, rule: str, match: Mapping[str, str], everything: bool, length: timedelta, reason: str, by: str,
    now: datetime,
) -> Done:  # fmt: skip
    """Put one silence on the blackboard: of the matches with these fields, or of `everything` that the rule finds."""
    if not match and not everything:
        hint = f"narrow it: liza silence add {shell_quoted(rule)} FIELD=VALUE ...   (or confirm with --all)"
        raise Refused(f"this would silence all matches of {rule}", hint=hint)
    if match and everything:
        raise WrongUsage("--all and FIELD=VALUE contradict each other", hint="give one of the two")
    if not reason.strip():
        raise Refused("a silence needs a reason", hint="-m 'why agents may continue'")
    if length > LONGEST:
        hours = f"{LONGEST.total_seconds() / 3600:g}"
        raise Refused(f"a silence lasts at most {hours} hours", hint=f"--for {hours}h, and decide again then")
    fields: dict[str, Any] = {"rule": rule, **({"match": dict(match)} if match else {"all": True})}
    fields |= {
        "created": format_time(now),
        "until": format_time(now + length),
        "reason": reason.strip(),
        "by": by,
    }

    def append(document: Document) -> tuple[bytes, dict[str, Any]]:
        taken = {entry.name for entry in read_silences(document.data.get("silences"))}
        unused = next(name for n in range(1, len(taken) + 2) if (name := f"silence-{n}") not in taken)
        record = {"id": unused, **fields}
        return edit.append_record(document, "silences", record), record

    record = board.change(append)
    entry = next(read_silences([record]))
    about = ", ".join(f"{name}={value}" for name, value in match.items()) or "all of it"
    text = f"{record['id']}: {rule} ({about}) until {record['until']}: {reason.strip()}"
    return Done(entry, _log(board, by, "silenced", text, now))


def unknown_fields(board: Board, rules: RuleSet, compiled: Compiled, match: Mapping[str, str]) -> list[str]:
    """Fields that no record on the blackboard has: probably misspelt."""
    try:
        snapshot = snapshot_of(board, board.read(), rules, check=False)
    except LizaError:
        return []
    records = [record for name in compiled.condition.streams for record in stream_records(snapshot, name)]
    grouped = " or ".join(str(each) for each in compiled.condition.fields).replace("|", " or ")
    absent = [name for name in match if all(lookup(record, field(name)) is None for record in records)]
    return [
        f"no record has the field {name!r}"
        + (f"; {compiled.rule.name} groups by {grouped}" if grouped and name not in grouped.split(" or ") else " yet")
        for name in absent
    ]


def expire(board: Board, name: str, by: str, now: datetime) -> Done:
    """End a silence before its time; `Refused` if there is none of that name, or it has ended."""

    def end(document: Document) -> tuple[bytes, Entry]:
        listed = list(read_silences(document.data.get("silences")))
        named = [entry for entry in listed if entry.name == name]
        if not named:
            known = ", ".join(entry.name for entry in listed if entry.in_force(now))
            raise Refused(f"unknown silence {name!r}", hint=f"active: {known or 'none'}; see: liza silence list")
        usable = [entry for entry in named if not entry.is_over(now)]
        if not usable:
            raise Refused(f"the silence {name} is not active, so it cannot be expired", hint="see: liza silence list")
        decision = {"expired_at": format_time(now), "expired_by": by}
        ended = usable[0]._replace(fields={**usable[0].fields, **decision})
        return edit.set_fields(document, "silences", usable[0].place, decision), ended

    ended = board.change(end)
    return Done(ended, _log(board, by, "unsilenced", f"{name}: {ended.fields['rule']}", now))


def _log(board: Board, by: str, action: str, detail: str, now: datetime) -> LizaError | None:
    """What is on the blackboard is done; an entry that could not be logged is reported, and is not a refusal."""
    try:
        append_entry(board.paths, {"timestamp": format_time(now), "agent": by, "action": action, "detail": detail})
    except LizaError as error:
        return error
    return None
