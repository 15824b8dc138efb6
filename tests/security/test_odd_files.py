"""FIFOs and sizes at the files that commands read once."""

import os

import pytest

from tests.security.attack import Attack


def test_fifo_as_log_does_not_block_claims(attack: Attack) -> None:
    (attack.board / "log.yaml").unlink(missing_ok=True)
    os.mkfifo(attack.board / "log.yaml")
    ran = attack.liza("claim", "show", "C-1", limit=10)
    assert ran.code in (1, 4)
    attack.effect = "refused at once"


def test_fifo_as_gitignore_does_not_block_init(attack: Attack) -> None:
    os.mkfifo(attack.outside / ".gitignore")
    assert attack.liza("init", "--root", str(attack.outside), limit=10).code == 0
    attack.effect = "a blackboard was made"


def attempt(attack: Attack, report: str) -> tuple[str, ...]:
    assert attack.liza("attempt", "start", "--slice", "S-1", "--test", "b::a").code == 0
    return ("attempt", "junit", "--slice", "S-1", report)


def test_fifo_as_junit_report_is_refused(attack: Attack) -> None:
    os.mkfifo(attack.project / "report.xml")
    ran = attack.liza(*attempt(attack, "report.xml"), limit=10)
    assert (ran.code, "not a regular file" in ran.err) == (1, True)
    attack.effect = "refused at once"


@pytest.mark.parametrize("megabytes", [40, 100])
def test_huge_junit_message_is_refused_by_a_limit(attack: Attack, megabytes: int) -> None:
    tag = '<testsuite><testcase name="a" classname="b"><failure message="'
    with (attack.project / "report.xml").open("w") as file:
        file.writelines((tag, "x" * (megabytes * 1_000_000), '"/></testcase></testsuite>'))
    ran = attack.liza(*attempt(attack, "report.xml"), limit=20)
    assert (ran.code, "more than" in ran.err) == (1, True)
    assert ran.seconds < 5
    attack.effect = "refused by a limit"
