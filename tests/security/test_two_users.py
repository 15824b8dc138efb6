"""The strongest setting of docs/security.md: people and the daemon are one user, the agents another."""

import os
import subprocess

import pytest

from tests.security.attack import Attack, as_user

PERSON, AGENT = 1501, 1502
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to act as two users")


@pytest.fixture
def guarded(attack: Attack) -> Attack:
    """A person's blackboard, in which agents can write only to the inbox."""
    for folder in (attack.project.parents[0], *attack.project.parents[1:3]):
        folder.chmod(0o755)  # pytest's own are for its user alone
    (attack.board / "inbox").mkdir()
    for name in ("state.yaml.lock", "watch.lock"):
        (attack.board / name).touch(0o600)  # a user who can read a lock can hold it
    for path in (attack.project, attack.board, *attack.board.iterdir()):
        os.chown(path, PERSON, PERSON)
    os.chown(attack.project, PERSON, AGENT)
    attack.project.chmod(0o1775)  # agents create files beside `.liza/`, and cannot rename it
    os.chown(attack.board / "inbox", PERSON, AGENT)
    (attack.board / "inbox").chmod(0o1770)
    return attack


def report(attack: Attack, task: str) -> int:
    """One anomaly, as an agent's hook reports it."""
    details = ("count=3", "error_pattern=connection refused by db")
    words = ("log", "anomaly", "--type", "retry_loop", "--task", task, "--reporter", "coder", *details)
    return attack.liza(*words, user=AGENT, LIZA_TRUST=str(PERSON)).code


def shell(attack: Attack, script: str) -> int:
    """Run a script as an agent would, without liza."""
    command = ["setpriv", f"--reuid={AGENT}", f"--regid={AGENT}", "--clear-groups", "sh", "-c", script]
    return subprocess.run(command, cwd=attack.project, check=False, stderr=subprocess.DEVNULL).returncode


def test_agents_report_through_the_inbox_and_are_halted(guarded: Attack) -> None:
    assert [report(guarded, f"t{n}") for n in range(3)] == [0, 0, 0]
    assert guarded.liza("analyze", user=PERSON).code == 3
    assert os.listdir(guarded.board / "inbox") == []
    assert guarded.liza("gate", user=AGENT, LIZA_TRUST=str(PERSON)).code == 2
    guarded.effect = "reports entered by the person's check, agents halted"


def test_agents_can_neither_end_the_halt_nor_change_the_board(guarded: Attack) -> None:
    for n in range(3):
        report(guarded, f"t{n}")
    guarded.liza("analyze", user=PERSON)
    before = (guarded.board / "state.yaml").read_bytes()
    for script in (
        "rm -f .liza/CHECKPOINT",
        "mv .liza/CHECKPOINT .liza/inbox/x",
        "echo 'anomalies: []' > .liza/state.yaml",
        "echo 'rules: []' > .liza/rules.yaml",
        "rm -rf .liza/reports",
        "mv .liza .liza.old",
        "flock -n .liza/state.yaml.lock true",
        "flock -n .liza/watch.lock true",
    ):
        assert shell(guarded, script) != 0, script
    assert shell(guarded, "echo x > main.py && mv main.py src.py") == 0
    assert guarded.liza("resolve", "-m", "go on", user=AGENT, LIZA_TRUST=str(PERSON)).code == 1
    assert guarded.halted
    assert (guarded.board / "state.yaml").read_bytes() == before
    assert guarded.liza("resolve", "-m", "go on", "--by", "alice", user=PERSON).code == 0
    assert guarded.liza("gate", user=AGENT, LIZA_TRUST=str(PERSON)).code == 0
    guarded.effect = "refused by the kernel; the person's decision counts"


def test_files_planted_in_the_inbox_delay_nothing(guarded: Attack) -> None:
    shell(guarded, "cd .liza/inbox && mkfifo a.json && ln -s /etc/passwd b.json && echo '{' > c.json && mkdir d.json")
    assert [report(guarded, f"t{n}") for n in range(3)] == [0, 0, 0]
    assert guarded.liza("analyze", user=PERSON).code == 3
    assert guarded.halted
    guarded.effect = "halted nevertheless"


def test_as_user_runs_as_that_user() -> None:
    done = subprocess.run([*as_user(AGENT), "id", "-u"], capture_output=True, check=True)
    assert done.stdout.split() == [str(AGENT).encode()]
