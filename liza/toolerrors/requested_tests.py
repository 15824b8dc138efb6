"""Match the tests of a report with the names that were requested, whichever way a runner writes them."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from liza.toolerrors.junit_case import Case
from liza.toolerrors.results import FAILED, INFRA, PASSED, SKIPPED, Outcome, Report, Totals

LABEL = 500  # characters of the name of a test that was not requested
NAMED = 20  # tests that are listed where only their number matters
BRIEF = 500  # characters of the output of such a test

_SEPARATORS = re.compile(r"\.py::|::|[\s./\\#$\u203a>]+")
_PARAMETERS = re.compile(r"(?:\([^()]*\))?(?:\[.*\])?$", re.DOTALL)


def _key(name: str) -> str:
    """A test's name without separators, which differ by runner, and without unprintable characters."""
    plain = "".join(char for char in name if (char.isprintable() or char.isspace()) and char != "\ufffd")
    return " ".join(part for part in _SEPARATORS.split(plain) if part)


class Collected:
    """The outcomes of the requested tests, and a count of all others."""

    def __init__(self, names: Sequence[str], every: bool = False) -> None:
        self.names = names
        self.every = every
        self.unrequested: dict[str, dict[Any, Outcome]] = {}  # tests that failed, by their own names
        self.keys = [(key, name) for name in names if (key := _key(name))]
        self.ends = tuple({key.rpartition(" ")[2] for key, _ in self.keys})
        self.exact: dict[str, dict[Any, Outcome]] = {}
        self.loose: dict[str, dict[Any, Outcome]] = {}
        self.counts = dict.fromkeys((PASSED, FAILED, INFRA, SKIPPED), 0)
        self.failing: list[str] = []
        self.broken: list[str] = []

    def match(self, case: Case) -> tuple[list[str], list[str]]:
        """The requested names that equal a test's name, and those that are the end of its full name."""
        plain = case.name.isprintable() and "\ufffd" not in case.name
        if plain and not any(end in case.name for end in self.ends):
            return [], []  # most tests of a large report
        bare = _PARAMETERS.sub("", case.name) or case.name
        keys = set()
        for name in {case.name, bare}:
            keys |= {_key(name), _key(f"{case.group}::{name}"), _key(f"{case.file}::{name}")}
        if case.group and case.name.endswith(f" {case.group}"):
            keys.add(_key(case.group))  # mocha: the title without those of its suites
        exact = [name for key, name in self.keys if key in keys]
        whole = [_key(f"{case.group}::{name}") for name in (case.name, bare)]
        loose = [
            name for key, name in self.keys if name not in exact and any(each.endswith(f" {key}") for each in whole)
        ]
        return exact, loose

    def add(self, case: Case) -> None:
        exact, loose = case.matches
        outcome = Outcome(case.result, case.details if case.result in (FAILED, INFRA) else "")
        for names, place in ((exact, self.exact), (loose, self.loose)):
            for name in names:
                outcomes = place.setdefault(name, {})
                outcomes[case.identity] = _later(outcomes.get(case.identity), outcome)
        if exact or loose or (self.every and self._add_unrequested(case, outcome)):
            return
        self.counts[outcome.result] += 1
        if outcome.result == FAILED and len(self.failing) < NAMED:
            self.failing.append(case.name[:200])
        if outcome.result == INFRA and len(self.broken) < NAMED:
            self.broken.append(f"{case.name or case.group}: {case.details}"[: 4 * BRIEF])

    def take(self, group: str, name: str, outcome: Outcome) -> None:
        """Add a test that was found elsewhere as if it were in a report."""
        case = Case({"name": name, "classname": group}, ())
        case.matches = self.match(case)
        case.kinds.add("failure" if outcome.result == FAILED else "error")
        case.text.append(outcome.text)
        self.add(case)

    def _add_unrequested(self, case: Case, outcome: Outcome) -> bool:
        """Whether a test that was not requested is kept: it failed, now or earlier in the same report."""
        bare = _PARAMETERS.sub("", case.name) or case.name
        label = " ".join("::".join(filter(None, (case.group or case.file, bare))).split())[:LABEL]
        if label not in self.unrequested and (outcome.result != FAILED or len(self.unrequested) == NAMED or not label):
            return False
        outcomes = self.unrequested.setdefault(label, {})
        outcomes[case.identity] = _later(outcomes.get(case.identity), outcome)
        return True

    def report(self) -> Report:
        found: dict[str, Outcome] = {}
        same: dict[str, str] = {}
        taken: dict[frozenset[Any], str] = {}
        several: dict[str, Sequence[str]] = {}
        clear: set[Any] = set()
        unclear: dict[Any, Outcome] = {}
        for name in self.names:
            outcomes = self.exact.get(name) or self.loose.get(name) or {}
            places = {(file, group, _PARAMETERS.sub("", test)) for file, group, test in outcomes}
            if len(places) > 1:
                several[name] = sorted("::".join(filter(None, place)) for place in places)[:NAMED]
                unclear |= outcomes
            elif outcomes:
                first = taken.setdefault(frozenset(outcomes), name)
                if first != name:
                    same[name] = first
                    continue
                found[name] = _worst(outcomes.values())
                clear |= outcomes.keys()
        for label, outcomes in self.unrequested.items():
            worst = _worst(outcomes.values())
            if worst.result == FAILED:
                found.setdefault(label, worst)
            else:
                self.counts[worst.result] += 1  # a rerun passed
        observed = {place: outcome.result for place, outcome in unclear.items() if place not in clear}
        kinds = list(observed.values())
        others = Totals(*(self.counts[kind] + kinds.count(kind) for kind in (PASSED, FAILED, INFRA, SKIPPED)))
        failing = [*self.failing, *(place[2][:200] for place, result in observed.items() if result == FAILED)]
        return Report(found, several, others, tuple(failing[:NAMED]), tuple(self.broken), same)


def _later(before: Outcome | None, now: Outcome) -> Outcome:
    """The outcome of a repeated test: the latest, except that an error after a failure comes from teardown."""
    if before is not None and (now.result == SKIPPED or (before.result == FAILED and now.result == INFRA)):
        return before
    return now


def _worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcome of a parametrised test: it fails if any parameter fails."""
    order = (FAILED, INFRA, PASSED, SKIPPED)
    return min(outcomes, key=lambda each: order.index(each.result))
