"""Any sequence of commands, against a model of the counters in a few lines."""

import gc
import io
import os
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from liza.cli.main import run
from liza.store.document import parse

TESTS = st.sampled_from(["a", "b", "c d", "test_x[1]"])
RESULTS = {"failed": "<failure/>", "passed": "", "infra": "<error/>", "skipped": "<skipped/>"}


class Model:
    """The protocol for one slice."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.total = self.infra = 0
        self.status = "ACTIVE"

    def take(self, results: dict[str, str]) -> None:
        """The effect of one test run."""
        if self.status != "ACTIVE":
            return
        for test, result in results.items():
            self.counts[test] = {"failed": self.counts.get(test, 0) + 1, "passed": 0}.get(
                result, self.counts.get(test, 0)
            )
            self.total += result == "failed"
            self.infra += result == "infra"
        if self.total >= 7 or 3 in self.counts.values():
            self.status = "STOPPED"


class Commands(RuleBasedStateMachine):
    """One slice on a real blackboard; liza is called in this process, without git."""

    def __init__(self) -> None:
        super().__init__()
        self.temporary = TemporaryDirectory()
        self.before = (os.getcwd(), os.environ["PATH"])
        os.chdir(self.temporary.name)
        os.environ["PATH"] = ""

    def teardown(self) -> None:
        os.chdir(self.before[0])
        os.environ["PATH"] = self.before[1]
        self.temporary.cleanup()
        gc.enable()

    @initialize()
    def begin(self) -> None:
        self.state = Path(".liza", "state.yaml")
        self.state.parent.mkdir()
        self.save("version: 1\nanomalies: []\n")
        self.model = Model()
        self.open: set[str] = set()
        self.runs = 0

    def save(self, text: str) -> None:
        self.state.write_text(text)
        os.utime(self.state, (1_000_000_000, 1_000_000_000))

    @property
    def slices(self) -> Any:
        return parse(self.state.read_bytes(), "state.yaml").data.get("slices")

    def liza(self, *words: str) -> int:
        self.out = io.StringIO()
        with redirect_stdout(self.out), redirect_stderr(self.out):
            return run(list(words))

    def attempt(self, verb: str, *words: str) -> None:
        code = self.liza("attempt", verb, "--slice", "S", *words)
        assert code == (0 if self.model.status == "ACTIVE" else 3), self.out.getvalue()

    @rule(test=TESTS, verb=st.sampled_from(["fail", "fail", "fail", "pass", "infra"]))
    def one(self, test: str, verb: str) -> None:
        result = {"fail": "failed", "pass": "passed", "infra": "infra"}[verb]
        if self.model.status == "ACTIVE":
            self.open = self.open - {test} if verb == "pass" else self.open | {test}
        self.model.take({test: result})
        self.attempt(verb, "--test", test)

    @rule(test=TESTS)
    def start(self, test: str) -> None:
        if self.model.status == "ACTIVE":
            self.open.add(test)
            self.model.counts.setdefault(test, 0)
        self.attempt("start", "--test", test)

    @rule(results=st.dictionaries(TESTS, st.sampled_from(list(RESULTS)), min_size=1), named=st.none() | TESTS)
    def report(self, results: dict[str, str], named: str | None) -> None:
        cases = [f"<testcase name='{test}'>{RESULTS[result]}</testcase>" for test, result in results.items()]
        Path("report.xml").write_text(f"<testsuite name='s'>{''.join(cases)}</testsuite>")
        known = {test["test_name"] for test in self.slices["S"]["tests"]} if self.slices is not None else set()
        named = named if known else named or next(iter(results))  # without one, every failure would count
        self.runs += 1
        os.utime("report.xml", (self.runs, self.runs))  # each is from a new run
        asked = self.open | ({named} if named else set())
        again = {test for test in known - asked if results.get(test) == "failed"}
        counted = {test: result for test, result in results.items() if test in asked | again and result != "skipped"}
        if not (asked & results.keys()) and not again and "infra" in results.values():
            counted = dict.fromkeys(asked, "infra")  # the open tests were not even collected
        if self.model.status == "ACTIVE":
            self.open = (self.open | counted.keys()) - {test for test, result in counted.items() if result == "passed"}
        self.model.take(counted)
        self.attempt("junit", "report.xml", *(["--test", named] if named else []))

    @rule()
    def arch_stop(self) -> None:
        self.model.status = "ARCH_STOP"
        self.attempt("arch-stop", "-m", "another way")

    @precondition(lambda self: self.slices is not None)
    @rule()
    def reset(self) -> None:
        if self.model.status != "ACTIVE" or self.slices["S"]["attempts"]:
            self.restart()  # otherwise there is nothing to reset
        self.attempt("reset", "-m", "guidance")

    @precondition(lambda self: self.model.status != "ACTIVE")
    @rule()
    def reset_by_hand(self) -> None:
        self.save(self.state.read_text().replace(f"status: {self.model.status}", "status: ACTIVE", 1))
        self.restart()
        assert self.liza("analyze") == 0

    def restart(self) -> None:
        self.model.counts = dict.fromkeys(self.model.counts, 0)
        self.model.total = self.model.infra = 0
        self.model.status = "ACTIVE"
        self.open = set()

    @rule()
    def reading_changes_nothing(self) -> None:
        section = self.slices
        assert self.liza("gate", "--slice", "S") == (0 if self.model.status == "ACTIVE" else 2)
        assert self.liza("analyze") == 0
        assert self.slices == section

    @invariant()
    def counters_agree_with_the_model(self) -> None:
        if not hasattr(self, "model") or self.slices is None:
            return
        record = self.slices["S"]
        counts = {test["test_name"]: test["attempt_count"] for test in record["tests"]}
        assert counts == {test: count for test, count in self.model.counts.items() if test in counts}
        assert all(test in counts for test, count in self.model.counts.items() if count)
        assert {test["test_name"] for test in record["tests"] if test["open"]} == self.open
        assert (record["total_failed_attempts"], record["infra_errors"]) == (self.model.total, self.model.infra)
        assert record["status"] == self.model.status


def test_any_command_sequence_agrees_with_the_model() -> None:
    examples = settings().max_examples // 5  # each is many commands
    at_once = set(Phase) - {Phase.shrink}  # shrinking takes longer than a test may take
    run_state_machine_as_test(
        Commands, settings=settings(max_examples=examples, stateful_step_count=20, phases=at_once)
    )
