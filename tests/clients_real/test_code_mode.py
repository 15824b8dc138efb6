"""Codex with a model that calls tools from programs of its own: hooks see the calls, as they see all others."""

from tests.clients_real import lab as labs
from tests.clients_real.clients import CODE
from tests.clients_real.lab import ERROR, WARNING, Lab, failing, observe, wait, working

OPTIONS = labs.OPTIONS._replace(model=CODE)


def test_stuck_program_is_warned_then_stopped(lab: Lab) -> None:
    lab.set_up("codex")
    agent = lab.start("codex", [failing()] * 10, OPTIONS)
    wait(lambda: lab.sessions().get(agent.session, {}).get("session_status") == "STOPPED", "it is stopped")
    wait(lambda: lab.is_held(agent), "its next call is held")
    warned = [len(each.results) for each in agent.requests if WARNING in each.text]
    print(f"codex, code mode: warned after call {warned[:1]}, stopped after {lab.ran('a')}")
    assert lab.ran("a") <= 5
    assert warned
    assert warned[0] <= 4
    assert ERROR in agent.requests[warned[0]].text


def test_program_is_held_and_continues(lab: Lab) -> None:
    lab.set_up("codex")
    agent = lab.start("codex", [working("a", number) for number in range(8)], OPTIONS)
    wait(lambda: lab.ran("a") >= 2, "some work was done")
    assert lab.liza("trip", "-m", "payments is down").code == 3
    wait(lambda: lab.is_held(agent), "its next call is held")
    done = lab.ran("a")
    observe(lambda: lab.ran("a") == done, 3)
    assert lab.liza("resolve", "-m", "payments is back").code == 0
    agent.finish()
    assert lab.ran("a") == 8
