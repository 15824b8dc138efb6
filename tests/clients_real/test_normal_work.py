"""Normal work is left alone: no agent is warned, stopped or halted."""

import subprocess
from collections.abc import Sequence

from tests.clients_real.clients import Options
from tests.clients_real.lab import Lab, failing
from tests.clients_real.turns import Poll, Read, Shell, Turn, Write

ROUNDS = 10
FAST = Options(seconds=0.1)  # nothing is measured here


def is_left_alone(lab: Lab, client: str, turns: Sequence[Turn], steps: int | None = None) -> None:
    agent = lab.start(client, turns, FAST)
    agent.finish()
    lab.liza("watch", "--stop")
    lab.liza("watch", "--once")  # whatever still waits
    assert len(agent.requests[-1].results) == len(turns)
    shown = lab.sessions()[agent.session]
    assert (shown["session_status"], shown["steps"]) == ("ACTIVE", len(turns) if steps is None else steps)
    kept = "".join(file.read_text() for file in (lab.board / "steps").iterdir())
    assert '"warned"' not in kept
    assert not (lab.board / "CHECKPOINT").exists()


def test_red_tests_between_edits(lab: Lab, client: str) -> None:
    lab.set_up(client)
    file = str(lab.project / "shop.py")
    rounds = [(Write(file, f"total = {number}\n"), failing()) for number in range(ROUNDS)]
    is_left_alone(lab, client, [turn for each in rounds for turn in each])
    assert lab.ran("a") == ROUNDS


def test_red_tests_between_edits_by_shell_commands(lab: Lab, client: str) -> None:
    lab.set_up(client)
    (lab.project / "shop.py").write_text("total = 0\n")
    subprocess.run(["git", "add", "shop.py"], cwd=lab.project, check=True)
    rounds = [(Shell(f"sed -i 's/total = .*/total = {number}/' shop.py"), failing()) for number in range(1, ROUNDS + 1)]
    is_left_alone(lab, client, [turn for each in rounds for turn in each])


def test_file_read_again_after_each_edit(lab: Lab, client: str) -> None:
    lab.set_up(client)
    file = str(lab.project / "shop.py")
    rounds = [(Write(file, f"total = {number}\n"), Read(file)) for number in range(ROUNDS)]
    is_left_alone(lab, client, [turn for each in rounds for turn in each])


def test_files_formatted_one_by_one(lab: Lab, client: str) -> None:
    lab.set_up(client)
    is_left_alone(lab, client, [Shell(f"echo 1 file reformatted # page-{number}.py") for number in range(20)])


def test_job_in_the_background_is_polled(lab: Lab, client: str) -> None:
    """Agents look every 30 s; here they do so at once, which is harder to tell from a loop.

    Codex reports no command before it has ended, and no look at it.
    """
    lab.set_up(client)
    steps = 0 if client == "codex" else None
    is_left_alone(lab, client, [Shell("sleep 60", background=True), *[Poll()] * ROUNDS], steps)


def test_log_of_a_job_is_polled(lab: Lab, client: str) -> None:
    lab.set_up(client)
    (lab.project / "job.log").write_text("still running\n")
    is_left_alone(lab, client, [Shell("sleep 1; tail -n 1 job.log")] * ROUNDS)
