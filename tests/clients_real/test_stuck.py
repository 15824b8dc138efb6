"""Agents that are stuck: warned, stopped, and halted together, while others continue."""

import pytest

from tests.clients_real.lab import ERROR, WARNING, Lab, failing, wait, working
from tests.clients_real.turns import Shell


def test_same_failing_command_is_warned_then_stopped(lab: Lab, client: str) -> None:
    """The warning reaches the model by the fourth call, the stop comes by the fifth, and another session continues."""
    lab.set_up(client)
    other = lab.start(client, [working("other", number) for number in range(12)], LIZA_AGENT="other")
    stuck = lab.start(client, [failing()] * 10, LIZA_AGENT="stuck")
    wait(lambda: lab.sessions().get(stuck.session, {}).get("session_status") == "STOPPED", "it is stopped")
    wait(lambda: lab.is_held(stuck), "its next call is held")
    warned = [len(each.results) for each in stuck.requests if WARNING in each.text]
    print(f"{client}: warned after call {warned[:1]}, stopped after {lab.ran('a')}, {len(stuck.requests)} requests")
    assert warned
    assert warned[0] <= 4
    assert lab.ran("a") <= 5
    assert ERROR in stuck.requests[warned[0]].text
    other.finish()
    assert lab.ran("other") == 12
    assert lab.sessions()[other.session]["session_status"] == "ACTIVE"
    assert not (lab.board / "CHECKPOINT").exists()


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_command_that_fails_without_a_word_is_stopped(lab: Lab, client: str) -> None:
    """Codex does not tell its hook how a call ended; its transcript does."""
    lab.set_up(client)
    stuck = lab.start(client, [Shell("sleep 0.7; echo run >> ran-a; false")] * 10)
    wait(lambda: lab.is_held(stuck), "its next call is held")
    warned = [len(each.results) for each in stuck.requests if WARNING in each.text]
    print(f"{client}: warned after call {warned[:1]}, stopped after {lab.ran('a')}")
    assert warned
    assert warned[0] <= 4
    assert lab.ran("a") <= 5


def test_same_error_in_three_sessions_halts_everyone(lab: Lab, client: str) -> None:
    """One report names the three sessions and the error, and all of them are held."""
    lab.set_up(client)
    agents = [
        lab.start(client, [failing("a"), failing("b"), *(working("c", n) for n in range(40))], LIZA_AGENT=f"coder-{n}")
        for n in range(3)
    ]
    wait((lab.board / "CHECKPOINT").exists, "everyone is halted")
    wait(lambda: all(map(lab.is_held, agents)), "each of the three is held")
    report = (lab.board / "circuit_breaker_report.md").read_text()
    assert all(agent.name in report for agent in agents)
    assert (ERROR in report, "shared_failure" in report) == (True, True)
    assert len(list((lab.board / "reports").iterdir())) == 1  # its copy
    print(f"{client}: {lab.ran('c')} further calls before the halt")
