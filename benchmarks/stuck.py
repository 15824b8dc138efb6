"""How well the shipped rules distinguish stuck agents from working ones, on traces labelled by people.

The labels are of whole traces. `python -m benchmarks stuck` wants the traces in ../shared/data/stuck, or in the folder
that LIZA_TRACES names; without them it says so.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from random import Random
from statistics import median
from typing import NamedTuple

from benchmarks.changes import CHANGES
from benchmarks.detectors import DETECTORS
from benchmarks.tables import Figure, Figures, Sheet, Target
from benchmarks.traces import PACE, START, Trace, at_least_one, data_folder, moments, peaks, read_traces
from liza.model import Record, Snapshot
from liza.rules.evaluate import Compiled, RuleSet, evaluate
from liza.schema.actions import Action
from liza.scopes.rules_file import read_rules

LABELLED = ("openhands", "repairagent")
REAL = "claude-code"
# Thresholds of warnings to choose from.
GRID = {
    "repeated_failure": (2, 3, 4, 5),
    "same_failure": (2, 3, 4, 5, 6),
    "repeated_result": (2, 3, 4, 5),
    "call_cycle": (2, 3, 4, 5),
    "nothing_new": (4, 6, 8, 10, 12, 14),
    "futile_edits": (6, 8, 12, 16),
    "failure_storm": (4, 6, 8, 10),
    "refused_edits": (3, 4, 5, 6, 8),
}
SHIPPED = dict(zip(GRID, (3, 4, 3, 3, 8, 12, 8, 5), strict=True))
GROUPS = 300  # random groups of each size
WARNING = "_warning"


class Played(NamedTuple):
    """A trace with what the shipped rules did, and how far each rule came."""

    trace: Trace
    warned: bool
    stopped: bool
    highest: Mapping[str, float]  # the highest value that the warning of each rule reached


class Score(NamedTuple):
    """Traces found, found wrongly, and missed."""

    hits: int
    false: int
    missed: int

    @property
    def precision(self) -> float:
        return self.hits / (self.hits + self.false) if self.hits else 0.0

    @property
    def recall(self) -> float:
        return self.hits / (self.hits + self.missed) if self.hits else 0.0

    @property
    def f1(self) -> float:
        return 2 * self.hits / (2 * self.hits + self.false + self.missed) if self.hits else 0.0


def run(folder: str, quick: bool) -> Sequence[Figures | Sheet]:
    """Play all traces; `quick` leaves out the groups of agents side by side."""
    data = data_folder(os.environ.get("LIZA_TRACES"))
    if data is None:
        return [Sheet("agents that are stuck", (), "not measured: there is no ../shared/data/stuck, nor LIZA_TRACES")]
    rules = read_rules(None)
    sets = {name: _play(read_traces(os.path.join(data, f"{name}.jsonl")), rules) for name in (*LABELLED, REAL)}
    labelled = [each for name in LABELLED for each in sets[name]]
    resolved = [each for each in sets[REAL] if each.trace.resolved]
    found: list[Figures | Sheet] = [
        _compared(sets),
        _headline(labelled, resolved, sets),
        _stability(labelled, sets),
        _by_rule(sets),
    ]
    if quick:
        return found
    return [*found, _changed(data, rules), _side_by_side([each.trace for each in sets[REAL]], rules)]


def _play(traces: Sequence[Trace], rules: RuleSet) -> list[Played]:
    scoped = rules.scoped["sessions"]
    lowered = at_least_one([each for each in scoped if each.rule.action == "WARN"])
    found: list[Played] = []
    for trace in traces:
        values = {name.removesuffix(WARNING): max(each, default=0.0) for name, each in peaks(trace, lowered).items()}
        rounds = [float(records[-1].fields["rounds"]) for _, records in moments(trace)]
        actions = _actions(trace, RuleSet(tuple(scoped), window="all"))
        highest = {**values, "call_cycle": max(rounds, default=0.0)}
        found.append(Played(trace, bool(actions), Action.STOP in actions, highest))
    return found


def _actions(trace: Trace, rules: RuleSet) -> set[str]:
    """What the rules of sessions do about a trace."""
    acted = peaks(trace, rules)
    return {each.rule.action for each in rules.rules if any(acted[each.rule.name])} & {Action.WARN, Action.STOP}


def _score(played: Sequence[Played], fired: Sequence[bool]) -> Score:
    return _scored([bool(each.trace.stuck) for each in played], fired)


def _scored(stuck: Sequence[bool], fired: Sequence[bool]) -> Score:
    pairs = list(zip(stuck, fired, strict=True))
    return Score(pairs.count((True, True)), pairs.count((False, True)), pairs.count((True, False)))


def _with(played: Sequence[Played], thresholds: Mapping[str, float]) -> Score:
    return _score(played, [any(each.highest[n] >= limit for n, limit in thresholds.items()) for each in played])


# --- choosing thresholds ----------------------------------------------------------------------------------------------


def chosen(played: Sequence[Played]) -> dict[str, float]:
    """The thresholds with the best F1 on these traces; of many, the one nearest to the middle of all of them."""
    stuck = sum(1 << i for i, each in enumerate(played) if each.trace.stuck)
    masks = {
        (name, limit): sum(1 << i for i, each in enumerate(played) if each.highest[name] >= limit)
        for name, limits in GRID.items()
        for limit in limits
    }
    best: list[tuple[int, ...]] = []
    highest = -1.0
    for limits in product(*GRID.values()):
        fired = 0
        for key in zip(GRID, limits, strict=True):
            fired |= masks[key]
        hits = (fired & stuck).bit_count()
        f1 = 2 * hits / (fired.bit_count() + stuck.bit_count()) if hits else 0.0
        if f1 > highest:
            highest, best = f1, []
        if f1 == highest:
            best.append(limits)
    middle = [median(each) for each in zip(*best, strict=True)]
    nearest = min(best, key=lambda limits: sum(abs(a - b) / b for a, b in zip(limits, middle, strict=True)))
    return dict(zip(GRID, map(float, nearest), strict=True))


# --- tables -----------------------------------------------------------------------------------------------------------


def _compared(sets: Mapping[str, Sequence[Played]]) -> Sheet:
    labelled = [each for name in LABELLED for each in sets[name]]
    resolved = [each for each in sets[REAL] if each.trace.resolved]

    def row(name: str, score: Score, alarms: int) -> tuple[str, ...]:
        return (
            name,
            f"{score.precision:.2f}",
            f"{score.recall:.2f}",
            f"{score.f1:.2f}",
            f"{alarms} of {len(resolved)}",
        )

    rows: list[tuple[str, ...]] = [("", "precision", "recall", "F1", "false alarms")]
    rows.append(row("liza, warnings", _score(labelled, [e.warned for e in labelled]), sum(e.warned for e in resolved)))
    rows.append(row("liza, stops", _score(labelled, [e.stopped for e in labelled]), sum(e.stopped for e in resolved)))
    for name, detector in DETECTORS.items():
        score = _score(labelled, [detector(each.trace.calls) for each in labelled])
        rows.append(row(name, score, sum(detector(each.trace.calls) for each in resolved)))
    stuck = sum(bool(each.trace.stuck) for each in labelled)
    note = f"{len(labelled)} traces, {stuck} of them stuck; false alarms: resolved real runs"
    return Sheet("agents that are stuck, with the shipped thresholds", rows, note)


def _headline(labelled: Sequence[Played], resolved: Sequence[Played], sets: Mapping[str, Sequence[Played]]) -> Figures:
    one, other = LABELLED
    crossed = {name: _with(sets[name], chosen(sets[source])) for name, source in ((one, other), (other, one))}
    stops = _score(labelled, [each.stopped for each in labelled])
    rows = [
        *(Figure(f"F1 on {name}, chosen on the other", score.f1, digits=2) for name, score in crossed.items()),
        Figure(
            "F1, both pooled",
            Score(*map(sum, zip(*crossed.values(), strict=True))).f1,
            None,
            Target(0.75, at_least=True),
            2,
        ),
        Figure("precision of stops", stops.precision, None, Target(0.85, at_least=True), 2),
        Figure("resolved runs stopped", float(sum(e.stopped for e in resolved)), None, Target(1), 0),
        Figure("resolved runs warned", float(sum(e.warned for e in resolved)), None, Target(2), 0),
    ]
    return Figures("thresholds chosen on one set, reported on the other", rows, "F1 of warnings, by trace")


def _stability(labelled: Sequence[Played], sets: Mapping[str, Sequence[Played]]) -> Sheet:
    resolved = [each for each in sets[REAL] if each.trace.resolved]
    rows: list[tuple[str, ...]] = [("", "precision", "recall", "F1", "false alarms")]
    for name, thresholds in _perturbed():
        score = _with(labelled, thresholds)
        alarms = sum(any(e.highest[n] >= limit for n, limit in thresholds.items()) for e in resolved)
        rows.append((name, f"{score.precision:.2f}", f"{score.recall:.2f}", f"{score.f1:.2f}", str(alarms)))
    random = Random(7)
    resampled = sorted(_with(random.choices(labelled, k=len(labelled)), SHIPPED).f1 for _ in range(1000))
    rows.append(("1000 resamples, 5th to 95th of 100", "", "", f"{resampled[50]:.2f} to {resampled[950]:.2f}", ""))
    halves = sorted(_half(labelled, random) for _ in range(20))
    rows.append(("chosen on a random half, on the other, 20 times", "", "", f"{halves[0]:.2f} to {halves[-1]:.2f}", ""))
    return Sheet("when the thresholds of warnings change", rows, "silent calls count as others do here")


def _perturbed() -> Iterator[tuple[str, dict[str, float]]]:
    yield "as shipped", dict(SHIPPED)
    yield "each one lower", {name: max(2, limit - 1) for name, limit in SHIPPED.items()}
    yield "each one higher", {name: limit + 1 for name, limit in SHIPPED.items()}
    yield "each a quarter lower", {name: max(2, round(limit * 0.75)) for name, limit in SHIPPED.items()}
    yield "each a half higher", {name: limit * 1.5 for name, limit in SHIPPED.items()}
    for name in SHIPPED:
        yield f"without {name}", {key: limit for key, limit in SHIPPED.items() if key != name}


def _half(labelled: Sequence[Played], random: Random) -> float:
    order = random.sample(list(labelled), len(labelled))
    one, other = order[: len(order) // 2], order[len(order) // 2 :]
    return _with(other, chosen(one)).f1


def _by_rule(sets: Mapping[str, Sequence[Played]]) -> Sheet:
    labelled = [each for name in LABELLED for each in sets[name]]
    rows = [("warning alone", "found", "false", "real runs")]
    for name, limit in SHIPPED.items():
        score = _with(labelled, {name: limit})
        rows.append((name, str(score.hits), str(score.false), str(sum(e.highest[name] >= limit for e in sets[REAL]))))
    return Sheet("what each rule finds", rows, f"real runs: all {len(sets[REAL])}, resolved or not")


def _changed(data: str, rules: RuleSet) -> Sheet:
    rows: list[tuple[str, ...]] = [("", "precision", "recall", "F1", "false alarms", "stops, right and wrong")]
    scoped = RuleSet(tuple(rules.scoped["sessions"]), window="all")
    for name, change in CHANGES.items():
        found = {each: read_traces(os.path.join(data, f"{each}.jsonl"), change) for each in (*LABELLED, REAL)}
        labelled = [trace for each in LABELLED for trace in found[each]]
        done = [_actions(trace, scoped) for trace in labelled]
        stuck = [bool(trace.stuck) for trace in labelled]
        score = _scored(stuck, [bool(each) for each in done])
        stops = _scored(stuck, [Action.STOP in each for each in done])
        alarms = sum(bool(_actions(trace, scoped)) for trace in found[REAL] if trace.resolved)
        figures = (f"{score.precision:.2f}", f"{score.recall:.2f}", f"{score.f1:.2f}")
        rows.append((name, *figures, str(alarms), f"{stops.hits}, {stops.false}"))
    return Sheet("with the traces of another agent", rows, "the shipped thresholds; each change is made to every trace")


# --- agents side by side ----------------------------------------------------------------------------------------------


def _side_by_side(traces: Sequence[Trace], rules: RuleSet) -> Figures:
    shared = next(each for each in rules.rules if each.rule.name == "shared_failure")
    steps = [_repeated_errors(trace) for trace in traces]
    random = Random(7)
    rows = [
        Figure(f"groups of {size} halted, %", 100 * _halted(size, steps, shared, random), None, Target(1), 1)
        for size in (3, 6, 12)
    ]
    return Figures(
        "real runs side by side", rows, f"{GROUPS} random groups of each size, a step every {PACE.seconds} s"
    )


def _repeated_errors(trace: Trace) -> list[tuple[Record, ...]]:
    """After each step, those that shared_failure may count."""
    wanted = {"outcome": "failed", "current": True}
    return [
        tuple(r for r in records if wanted.items() <= r.fields.items() and r.fields["occurrence"] >= 2)
        for _, records in moments(trace)
    ]


def _halted(size: int, steps: Sequence[Sequence[tuple[Record, ...]]], shared: Compiled, random: Random) -> float:
    return sum(_is_halted(random.sample(range(len(steps)), size), steps, shared) for _ in range(GROUPS)) / GROUPS


def _is_halted(group: Sequence[int], steps: Sequence[Sequence[tuple[Record, ...]]], shared: Compiled) -> bool:
    rules = RuleSet((shared,), window="all")
    before: tuple[Record, ...] = ()
    for tick in range(max(len(steps[place]) for place in group)):
        found = [steps[place][min(tick, len(steps[place]) - 1)] for place in group]
        records = tuple(record for each in found for record in each)
        if sum(bool(each) for each in found) < 3 or records == before:
            continue
        before = records
        if evaluate(rules, Snapshot(b"", {}, {}, (), derived={"steps": records}), START + tick * PACE).matches:
            return True
    return False
