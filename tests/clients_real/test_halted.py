"""A halt midway: calls are held until a person has decided, and are never let through."""

import time

import pytest

from tests.clients_real.clients import PROMPT, SUBAGENTS
from tests.clients_real.lab import OPTIONS, Lab, observe, wait, working
from tests.clients_real.turns import Scripts, Spawn

SHORT = "63.5"  # seconds that the hook takes for the client's limit; it refuses one minute before it
ENDS = ("gemini", "qwen", "opencode")  # its request to the model is refused, which ends the turn
CHILD = "Look at the payment page."


def test_held_agent_continues_after_the_decision(lab: Lab, client: str) -> None:
    """Nothing is asked of the model until then, and the agent continues within two seconds."""
    lab.set_up(client)
    agent = lab.start(client, [working("a", number) for number in range(12)])
    wait(lambda: lab.ran("a") >= 3, "some work was done")
    assert lab.liza("trip", "-m", "payments is down").code == 3
    wait(lambda: lab.is_held(agent), "its next call is held")
    before = len(agent.requests)
    observe(lambda: len(agent.requests) == before, 5)
    assert lab.liza("resolve", "-m", "payments is back").code == 0
    resolved = time.monotonic()
    wait(lambda: len(agent.requests) > before, "it asks its model again")
    seconds = agent.requests[before].at - resolved
    print(f"{client}: continued {seconds:.2f} s after `liza resolve` had ended")
    assert seconds < 2
    agent.finish()
    assert lab.ran("a") == 12


def test_hold_at_its_limit_refuses_the_call(lab: Lab, client: str) -> None:
    lab.set_up(client)
    agent = lab.start(client, [working("a", number) for number in range(8)], LIZA_HOOK_LIMIT=SHORT)
    wait(lambda: lab.ran("a") >= 3, "some work was done")
    assert lab.liza("trip", "-m", "payments is down").code == 3
    wait(lambda: lab.is_held(agent), "its next call is held")
    done = lab.ran("a")
    agent.finish()
    refused = sum("halted by" in result for result in agent.requests[-1].results)
    print(f"{client}: {done} calls before the halt, {refused} refused")
    assert lab.ran("a") == done
    assert refused == (0 if client in ENDS else 8 - done)


def test_prompt_is_refused_without_a_request(lab: Lab, client: str) -> None:
    lab.set_up(client)
    assert lab.liza("trip", "-m", "payments is down").code == 3
    agent = lab.start(client, [working("a", 0)])
    agent.finish()
    assert (len(agent.requests), lab.ran("a")) == (0, 0)


@pytest.mark.parametrize("stop", ["session", "everyone"])
def test_calls_of_a_subagent_are_held_with_its_parent(lab: Lab, client: str, stop: str) -> None:
    lab.set_up(client)
    calls = [working("child", number) for number in range(30)]
    scripts: Scripts = {CHILD: calls, PROMPT: [Spawn(CHILD), *(working("parent", number) for number in range(60))]}
    agent = lab.start(client, scripts, OPTIONS._replace(model=SUBAGENTS))
    wait(lambda: lab.ran("child") >= 2, "the subagent works")
    if stop == "session":
        assert lab.liza("session", "stop", agent.session, "-m", "wrong branch").code == 3
    else:
        assert lab.liza("trip", "-m", "wrong branch").code == 3
    wait(lambda: lab.is_held(agent), "a call is held")
    done = lab.ran("child")
    observe(lambda: lab.ran("child") == done, 3)
    assert done < 30
    if stop == "session":
        assert lab.liza("session", "resume", agent.session, "-m", "right branch").code == 0
    else:
        assert lab.liza("resolve", "-m", "right branch").code == 0
    wait(lambda: lab.ran("child") > done, "the subagent continues")
