"""The page that the next iteration is given."""

from liza.run.context import Tried, context, described, loaded
from liza.scopes.loops.evaluate import Signal
from liza.scopes.loops.record import LoopResult

CALM = LoopResult("l", "CLOSED", "", {"loop_count": 2})


def tried(number: int = 1, **about: object) -> Tried:
    plain: dict[str, object] = {
        "number": number, "model": None, "outcome": "ok", "files_changed": None, "progress": None,
        "claims_done": False, "evidence": {}, "errors": (), "faults": (), "note": None,
    }  # fmt: skip
    return Tried(**{**plain, **about})  # type: ignore[arg-type]


def test_context_of_the_first_iteration_is_short() -> None:
    page = context(1, None, None, LoopResult("l", "CLOSED", "", {"loop_count": 0}), [], None)
    assert page == "# Iteration 1 of loop l\n\n- The breaker of this loop is CLOSED after 0 iterations.\n"


def test_errors_are_quoted_verbatim() -> None:
    error = "````\tE   assert `a` == \x1b[31m'b'"
    page = context(2, None, None, CALM, [tried(errors=(error, "another"))], None)
    assert "## Errors of iteration 1\n\n`````\n````\tE   assert `a` == \\x1b[31m'b'\nanother\n`````\n" in page


def test_errors_are_those_of_the_last_iteration_with_errors() -> None:
    page = context(4, None, None, CALM, [tried(1, errors=("old",)), tried(2, errors=("new",)), tried(3)], None)
    assert "## Errors of iteration 2\n\n```\nnew\n```\n" in page
    assert "\nold\n" not in page


def test_completion_faults_are_those_of_the_last_iteration() -> None:
    faults = tuple(f"open in the plan: {n}" for n in range(25))
    page = context(2, None, None, CALM, [tried(faults=faults)], None)
    assert page.count("- open in the plan: ") == 20
    assert "- and 5 more\n" in page
    assert "completion" not in context(3, None, None, CALM, [tried(faults=faults), tried(2)], None)


def test_levels_are_headings_and_near_signals_have_counts() -> None:
    signals = (
        Signal("loop_warning", 8, 8, True, "ALERT", "Warning: 8 loops"),
        Signal("no_file_changes", 2, 3, False, "OPEN", "Iterations that change no file"),
        Signal("test_only_loops", 0.2, 0.3, False, "ALERT", "not yet"),
    )
    page = context(9, "t", "m", CALM._replace(signals=signals), [], "The loop was stuck with haiku: no")
    assert "\n## Warning: 8 loops\n" in page
    assert "- no_file_changes: 2 of 3 (Iterations that change no file)\n" in page
    assert "not yet" not in page
    assert "- The loop was stuck with haiku: no\n" in page


def test_only_the_last_ten_iterations_are_listed() -> None:
    page = context(31, None, None, CALM, [tried(n) for n in range(1, 31)], None)
    assert page.count("- Iteration ") == 10
    assert "- Iteration 30: ok\n" in page


def test_iteration_is_described_by_its_known_facts() -> None:
    assert described(tried()) == "ok"
    assert described(tried(files_changed=0)) == "ok, no files changed"
    assert described(tried(files_changed=1)) == "ok, 1 file changed"
    everything = tried(
        outcome="timeout", files_changed=2, progress=33.33, claims_done=True, evidence={"verify": False, "plan": True},
        errors=("a", "b"), note="its time was up",
    )  # fmt: skip
    assert described(everything) == (
        "timeout, 2 files changed, progress 33.33%, claims done, verify failed, plan passed, 2 errors, its time was up"
    )


def test_iteration_round_trips_through_the_session_file() -> None:
    one = tried(errors=("a",), faults=("b",), evidence={"verify": True})
    assert loaded(one._asdict()) == one
