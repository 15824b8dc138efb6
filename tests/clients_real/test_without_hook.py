"""Agents without liza's hook: trouble is seen in their transcripts alone."""

import pytest

from tests.clients_real.lab import Lab, failing, wait, working


@pytest.fixture(params=["claude", "codex"])
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_stuck_session_is_found_in_its_transcript(lab: Lab, client: str) -> None:
    lab.set_up()
    assert lab.liza("watch", "--background").code == 0
    other = lab.start(client, [working("other", number) for number in range(8)], LIZA_AGENT="other")
    stuck = lab.start(client, [failing()] * 8, LIZA_AGENT="stuck")
    row = wait(
        lambda: (row := lab.sessions().get(stuck.session)) and row["session_status"] == "STOPPED" and row,
        "it is to be stopped",
    )
    wanted = {"state": "stop requested, no hook", "source": "transcript", "client": client, "degraded": None}
    assert {name: row[name] for name in wanted} == wanted
    print(f"{client}: found after {row['steps']} calls; {lab.ran('a')} were made by then")
    for agent in (stuck, other):
        agent.finish()
    assert (lab.ran("a"), lab.ran("other")) == (8, 8)  # nothing held them
    shown = wait(lambda: (rows := lab.sessions())[stuck.session]["steps"] == 8 and rows, "all calls are steps")
    assert (shown[other.session]["session_status"], shown[other.session]["steps"]) == ("ACTIVE", 8)
    assert min(shown[agent.session]["tokens"] for agent in (stuck, other)) > 0
    assert not (lab.board / "CHECKPOINT").exists()
