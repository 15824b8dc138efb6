"""Generated recordings: rules of every kind, a blackboard, and the events on it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from hypothesis import strategies as st

from liza.replay.playback import CHECK, RECORD, RESOLVE, SET, Event
from liza.rules.evaluate import RuleSet
from tests.rules.boards import rule, rules

NOON = datetime(2025, 1, 18, 12, 0, tzinfo=UTC)
TASKS = ("task-1", "task-2")
# Some are the same to a rule, some only together with others, some never.
TEXTS = (
    "disk full",
    "Disk  full.",
    "user root failed to login",
    "user guest failed to login",
    "user bob failed to login",
)

# More records can only bring them nearer.
GROWING = (
    "count() >= 3",
    "count(type=a) >= 1",
    "count(type=a) >= 2",
    "count(type=a) > 2",
    "count(type=b) >= 2",
    "count(type=a, per(task)) >= 2",
    "count(type=a, same(k)) >= 2",
    "count(type=a, similar(k)) >= 2",
    "count(type=a, similar(k)) >= 3",
    "count(type=a, distinct(task) >= 2) >= 2",
    "count(type=b, same(k), distinct(task) >= 2) >= 2",
    "count(type=a, same(k)) >= 2 OR count(type=b) >= 3",
    "count(type=a, same(k)) >= 1 AND count(type=b, same(k)) >= 1",
    "count(type=a, same(k)) + count(type=b, same(k)) >= 3",
    "count(log where action=x) >= 2",
    "count(log) >= 1 AND count(type=a) >= 1",
)
# What they have reached they can lose.
WAVERING = (
    "count(type=a) < 2",
    "count(type=a) = 2",
    "count(type=a, distinct(task) < 2) >= 2",
    "count(type=a) >= 2 AND NOT count(type=b) >= 1",
    "NOT count(type=a) >= 1",
    "streak(type=a) >= 2",
    "streak(type=a, same(k)) >= 2",
    "share(type=a) >= 0.6",
    "share(type=a, per(task)) >= 0.6",
    "metric(sprint.metrics.tasks_blocked) >= 2",
    "sum(n, type=a) >= 3",
    "sum(n, per(task)) >= 2",
    "sum(n, type=a, within(10m)) >= 2 AND count(type=b) >= 1",
    "count(tasks where status=BLOCKED) >= 1",
    "count(tasks) < 1",
    "count(type=a, age(timestamp) > 5m) >= 1",
    "count(type=a, age(timestamp) < 5m) >= 2",
)
# Which records count depends on how near they are to each other.
DENSE = (
    "count(type=a, within(10m)) >= 2",
    "count(type=a, same(k), within(10m)) >= 2",
    "count(type=a, similar(k), within(10m)) >= 3",
    "count(type=a, within(10m), distinct(task) >= 2) >= 2",
)
ALL = (*GROWING, *WAVERING, *DENSE)
WINDOWS = (None, "all", "current_sprint", "24h", "10m", "last 5", "last 3")


class Recorded(NamedTuple):
    """Rules, the board before the first event, and the events."""

    rules: RuleSet
    board: dict[str, Any]
    events: list[Event]


def minute(number: float) -> datetime:
    return NOON + timedelta(minutes=number)


def _time(number: float) -> str:
    return minute(number).isoformat()


MINUTES = st.integers(0, 60)


@st.composite
def recordings(draw: st.DrawFn, conditions: Sequence[str] = ALL) -> Recorded:
    made = draw(st.lists(_rules(conditions), min_size=1, max_size=4))
    numbered = [{**each, "name": f"rule_{number}"} for number, each in enumerate(made)]
    ruleset = rules(*numbered, matching=draw(st.sampled_from(["similar", "similar", "exact"])))
    often = st.one_of(_records(), _records(), _records(), _records(), _sets(), _resolves(), _checks())
    board: dict[str, Any] = {}
    if draw(st.booleans()):
        board["sprint"] = {"timeline": {"started": _time(draw(st.integers(-10, 60)))}, "metrics": draw(_metrics())}
    if draw(st.booleans()):
        board["silences"] = draw(_silences())
    events = draw(st.lists(often, max_size=14))
    number = 0
    for section in (board, *(event.fields for event in events)):
        for each in section.get("silences", ()):
            each["id"] = f"s{number}"  # no two are the same
            number += 1
    return Recorded(ruleset, board, events)


@st.composite
def _rules(draw: st.DrawFn, conditions: Sequence[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "mode": draw(st.sampled_from(["act", "act", "act", "act", "observe"])),
        "action": draw(st.sampled_from(["CHECKPOINT", "CHECKPOINT", "CHECKPOINT", "CHECKPOINT", "ALERT"])),
        "rearm": draw(st.sampled_from(["fresh", "fresh", "any_new"])),
    }
    window = draw(st.sampled_from(WINDOWS))
    fields |= {"window": window} if window else {}
    return rule(draw(st.sampled_from(conditions)), **fields)


@st.composite
def _records(draw: st.DrawFn) -> Event:
    at = minute(draw(MINUTES))
    if draw(st.integers(0, 7)) == 7:
        return Event(at, RECORD, "log", {"timestamp": at.isoformat(), "action": draw(st.sampled_from("xy"))})
    fields: dict[str, Any] = {"task": draw(st.sampled_from(TASKS)), "type": draw(st.sampled_from("aabc"))}
    text = draw(st.sampled_from([*TEXTS, None, [TEXTS[0], TEXTS[3]]]))
    fields |= {"details": {"k": text}} if text else {}
    written = draw(st.sampled_from(["then", "then", "then", "then", "never", "soon", "another time"]))
    if written == "then":
        fields["timestamp"] = at.isoformat()
    elif written != "never":
        fields["timestamp"] = "soon" if written == "soon" else _time(draw(st.integers(-2000, 3000)))
    return Event(at, RECORD, "anomalies", fields)


@st.composite
def _resolves(draw: st.DrawFn) -> Event:
    return Event(minute(draw(MINUTES)), RESOLVE, text="decided", by="ann")


@st.composite
def _checks(draw: st.DrawFn) -> Event:
    return Event(minute(draw(MINUTES)), CHECK)


@st.composite
def _sets(draw: st.DrawFn) -> Event:
    what = draw(st.sampled_from(["tasks", "metrics", "started", "silences"]))
    fields: dict[str, Any]
    if what == "started":
        fields = {"sprint": {"timeline": {"started": _time(draw(st.integers(-10, 60)))}}}
    elif what == "metrics":
        fields = {"sprint": {"metrics": draw(_metrics())}}
    elif what == "tasks":
        fields = {"tasks": draw(st.lists(_tasks(), max_size=2))}
    else:
        fields = {"silences": draw(_silences())}
    return Event(minute(draw(MINUTES)), SET, fields=fields)


def _metrics() -> st.SearchStrategy[dict[str, int]]:
    return st.fixed_dictionaries({"tasks_blocked": st.integers(0, 3)})


def _tasks() -> st.SearchStrategy[dict[str, str]]:
    return st.fixed_dictionaries({"id": st.sampled_from(TASKS), "status": st.sampled_from(["BLOCKED", "DONE"])})


@st.composite
def _silences(draw: st.DrawFn) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(0, 2))):
        created = draw(MINUTES)
        until = created + draw(st.integers(1, 30))
        silence: dict[str, Any] = {
            "rule": f"rule_{draw(st.integers(0, 2))}",
            "created": _time(created),
            "until": _time(until),
            "reason": "known",
            "by": "ann",
        }
        match = draw(st.sampled_from(["all", "task", "k"]))
        if match == "all":
            silence["all"] = True
        else:
            silence["match"] = {match: draw(st.sampled_from(TASKS if match == "task" else TEXTS))}
        if draw(st.integers(0, 3)) == 3:
            silence |= {"expired_at": _time(draw(st.integers(created, until))), "expired_by": "bob"}
        found.append(silence)
    return found
