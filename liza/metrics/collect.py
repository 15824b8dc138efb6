"""The metrics: each family once, with its help, and its samples from one reading of the blackboard.

Counters are computed from what the blackboard keeps; they drop when old records are deleted, as after a restart.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from liza import __version__
from liza.daemon.status import DaemonState
from liza.metrics.facts import SPRINT, Facts, trips_of
from liza.model import parse_time
from liza.scope_names import SCOPES
from liza.scopes.scope import ASKED, ENDED, HALTED, RUNNING
from liza.status import State
from liza.text import one_line

_MOST = 200  # values of one label that others can choose; more would fill a server
_OTHER = "other"


def render(facts: Facts) -> bytes:
    """The text format that Prometheus scrapes and node_exporter's textfile collector reads."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Once(facts))
    return generate_latest(registry)


class _Once(Collector):
    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._project = one_line(os.path.basename(facts.paths.project), 80)  # several of them may be on one machine

    def collect(self) -> Iterable[Metric]:
        for each in families(self._facts):
            each.samples = [
                sample._replace(labels={"project": self._project, **sample.labels}) for sample in each.samples
            ]
            yield each


def families(facts: Facts) -> Iterator[Metric]:
    """Every family; of a blackboard that cannot be read only those of its health."""
    version = [((__version__,), 1.0)]
    yield _labelled(GaugeMetricFamily, "liza_build_info", "The version of liza.", ("version",), version)
    yield from _health(facts)
    if facts.status is not None:
        yield from _trips(facts)
        yield from _patterns(facts)
        yield from _sessions(facts)
        yield from _used(facts)


# --- families ---------------------------------------------------------------------------------------------------------


def _health(facts: Facts) -> Iterator[Metric]:
    status, daemon = facts.status, facts.daemon
    state = State.DEGRADED if status is None else status.state
    yield _states("liza_breaker_state", "The state of the sprint's breaker.", State, state)
    yield _states("liza_daemon_state", "The state of the daemon.", DaemonState, daemon.state)
    yield _gauge("liza_daemon_heartbeat_age_seconds", "Seconds since the daemon's last heartbeat.", daemon.silent_for)
    known = daemon.facts
    alarms, errors = (len(each) if isinstance(each := known.get(name), Mapping) else 0 for name in ("alarms", "errors"))
    yield _gauge("liza_alarms", "Active alarms.", alarms)
    yield _gauge("liza_daemon_errors", "Files that the daemon currently cannot read or write.", errors)
    yield _gauge("liza_messages_undelivered", "Whether a notification could not be sent.", bool(known.get("not_sent")))
    yield _counter("liza_checks", "Checks of the running daemon.", _number(known.get("checks")))
    yield _counter("liza_check_seconds", "Seconds spent on these checks.", _number(known.get("check_seconds")))
    last = parse_time(known.get("last_check"))
    if last is not None:
        yield _gauge("liza_last_check_timestamp_seconds", "Unix time of the daemon's last check.", last.timestamp())
    yield _gauge("liza_collected_timestamp_seconds", "Unix time of this collection.", facts.at.timestamp())


def _trips(facts: Facts) -> Iterator[Metric]:
    assert facts.status is not None
    yield _gauge("liza_halted", "Whether all agents are halted.", facts.status.halt is not None)
    trips = list(trips_of(facts))
    names = _Labels([*(each.rule for each in trips), *(each.rule for each in facts.rules)])
    total = [((each.scope, names[each.rule]), 1.0) for each in trips]
    yield _labelled(CounterMetricFamily, "liza_trips", "Trips by scope and rule.", ("scope", "rule"), total)
    scopes = [((scope,), 0.0) for scope in (SPRINT, *(row.scope for row in SCOPES))]
    opened = [each for each in trips if each.is_open]
    counts = [*scopes, *(((each.scope,), 1.0) for each in opened)]
    yield _labelled(GaugeMetricFamily, "liza_open_trips", "Open trips by scope.", ("scope",), counts)
    ages: dict[tuple[str, ...], float] = {}
    for each in opened:
        key = (each.scope, names[each.rule])
        ages[key] = max(ages.get(key, 0.0), _age(each.began, facts.at))
    text = "Seconds since the oldest open trip of each rule."
    yield _labelled(GaugeMetricFamily, "liza_open_trip_age_seconds", text, ("scope", "rule"), ages.items())
    false = [((names[each.rule],), float(each.false_alarms)) for each in facts.rules]
    yield _labelled(CounterMetricFamily, "liza_false_alarms", "Trips resolved as false alarms.", ("rule",), false)


def _patterns(facts: Facts) -> Iterator[Metric]:
    assert facts.status is not None
    progress = facts.status.found.verdict.progress
    names = _Labels(each.rule.name for each in progress)
    values = [((names[each.rule.name],), float(each.value)) for each in progress]
    limits = [((names[each.rule.name],), float(each.threshold)) for each in progress]
    text = "Current value of each rule that halts everyone."
    yield _labelled(GaugeMetricFamily, "liza_pattern_value", text, ("rule",), values)
    text = "The value at which each rule trips."
    yield _labelled(GaugeMetricFamily, "liza_pattern_threshold", text, ("rule",), limits)


def _sessions(facts: Facts) -> Iterator[Metric]:
    status = facts.status
    assert status is not None
    known = [(("", state), 0.0) for state in (RUNNING, ENDED, HALTED, ASKED)]
    counts = [*known, *(((row.client, row.state), 1.0) for row in status.sessions)]
    text = "Sessions of the last day by client and state."
    yield _labelled(GaugeMetricFamily, "liza_sessions", text, ("client", "state"), counts)
    steps = [(key, float(number)) for key, number in facts.steps.items()]
    text = "The newest tool calls of each recent session (up to 200) by outcome."
    yield _labelled(GaugeMetricFamily, "liza_recent_steps", text, ("client", "outcome"), steps)
    yield _gauge("liza_events_waiting", "Hook events that no daemon has read yet.", status.events_waiting)
    yield _gauge("liza_inbox_records", "Records that wait in the inbox.", status.waiting.records)
    yield _gauge("liza_record_problems", "Problems found in the records.", len(status.found.snapshot.problems))


def _used(facts: Facts) -> Iterator[Metric]:
    used = facts.used
    assert used is not None
    kept, today = used.spans["kept"], used.spans["day"]
    names = _Labels([*used.models, *kept.unpriced])
    family, model = CounterMetricFamily, ("model",)
    tokens = [((names[name],), float(each.tokens or 0)) for name, each in used.models.items()]
    cost = [((names[name],), each.cost) for name, each in used.models.items() if each.cost is not None]
    unpriced = [((names[name],), float(number)) for name, number in kept.unpriced.items()]
    yield _counter("liza_steps", "Tool calls of all sessions whose steps are kept.", kept.steps)
    yield _labelled(family, "liza_tokens", "Tokens used, as far as steps are kept.", model, tokens)
    yield _labelled(family, "liza_cost_dollars", "Cost in US dollars, as far as steps are kept.", model, cost)
    yield _labelled(family, "liza_unpriced_tokens", "Tokens of models without a price.", model, unpriced)
    yield _gauge("liza_cost_today_dollars", "Cost since midnight, in US dollars.", today.cost or 0.0)
    yield _gauge("liza_tokens_today", "Tokens used since midnight.", today.tokens or 0)


# --- samples ----------------------------------------------------------------------------------------------------------


class _Labels(dict[str, str]):
    """The values of a label that agents can choose: short, printable, and not too many."""

    def __init__(self, names: Iterable[str]) -> None:
        for name in dict.fromkeys(names):
            self[name] = one_line(name, 80) if len(self) < _MOST else _OTHER


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, float(value))


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(name, text, float(value))


def _states(name: str, text: str, states: Iterable[str], now: str) -> Metric:
    samples = [((str(each),), float(each == now)) for each in states]
    return _labelled(GaugeMetricFamily, name, text, ("state",), samples)


def _labelled(
    family: type[CounterMetricFamily] | type[GaugeMetricFamily], name: str, text: str, labels: tuple[str, ...],
    samples: Iterable[tuple[tuple[str, ...], float]],
) -> Metric:  # fmt: skip
    """A family with these samples; those that have the same labels are added up."""
    sums: dict[tuple[str, ...], float] = {}
    for key, value in samples:
        sums[key] = sums.get(key, 0.0) + value
    made = family(name, text, labels=labels)
    for key, value in sums.items():
        made.add_metric(key, value)
    return made


def _age(since: datetime | None, now: datetime) -> float:
    return max((now - since).total_seconds(), 0.0) if since is not None else 0.0


def _number(value: Any) -> float:
    """A number of watch.json, which agents can write."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15 else 0.0
