"""Input of an agent may cost neither gigabytes nor minutes: over a limit is DEGRADED, and a halt still comes."""

import json
import os

import pytest

from liza.schema.rules_yaml import FILE_LIMITS
from liza.store.read_limits import DEFAULT
from tests.security.attack import TRIPPING, Attack, Ran, reference
from tests.security.hostile import BOARDS, HEAD

MEGABYTES = 300  # of any command
RECORD = ("--type", "spec_gap", "--task", "t", "--reporter", "r", "spec_ref=s")
SECONDS = 20  # generous: other programs run, too; the table has the real figure


@pytest.fixture(autouse=True)
def measured(attack: Attack) -> None:
    attack.is_measured = True


def degraded(attack: Attack) -> list[Ran]:
    """Every command that reads the blackboard reports DEGRADED, quickly and with little memory."""
    ran = [attack.liza("analyze"), attack.liza("status"), attack.liza("gate", "--claim", "c"), attack.liza("validate")]
    assert [each.code for each in ran] == [4, 4, 2, 4], ran
    assert attack.megabytes < MEGABYTES
    assert all("limits:" in each.err for each in ran)
    attack.effect = "DEGRADED"
    return ran


def test_aliases_of_a_large_text(attack: Attack) -> None:
    attack.write(f"version: 1\nx: &x {'a' * 100_000}\ny: [{'*x, ' * 90_000}]\nanomalies: []\n")
    assert all("state.yaml:3:5: " in each.err for each in degraded(attack))


def test_aliases_of_aliases(attack: Attack) -> None:
    lines = "".join(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]\n" for n in range(1, 10))
    attack.write(f"version: 1\nx0: &x0 text\n{lines}anomalies: []\n")
    degraded(attack)


def test_sparse_blackboard(attack: Attack) -> None:
    os.truncate(attack.board / "state.yaml", 8 << 30)
    degraded(attack)
    recorded = ("log", "anomaly", *RECORD)
    assert attack.liza(*recorded).code == 0
    assert list((attack.board / "inbox").iterdir()), "the report waits until it can be entered"


@pytest.mark.parametrize("name", ["log.yaml", "rules.yaml"])
def test_sparse_file_beside_the_board_does_not_prevent_the_halt(attack: Attack, name: str) -> None:
    attack.write(HEAD)
    with open(attack.board / name, "ab"):
        os.truncate(attack.board / name, 8 << 30)
    assert (attack.liza("analyze").code, attack.halted) == (3, True)
    assert attack.megabytes < MEGABYTES
    attack.effect = "halted"


def test_too_many_records(attack: Attack) -> None:
    attack.write(HEAD + "- {type: x}\n" * 20_000)
    degraded(attack)


def test_too_many_values(attack: Attack) -> None:
    attack.write(HEAD + f"x: [{'[],' * 500_000}]\n")
    degraded(attack)


def test_limit_can_be_raised_and_the_environment_overrides_it(attack: Attack) -> None:
    attack.write(HEAD + "- {type: x}\n" * 20_000)
    (attack.board / "rules.yaml").write_text("limits: {records: 30000}\n")
    assert (attack.liza("analyze").code, attack.halted) == (3, True)
    assert attack.liza("status", LIZA_LIMIT_RECORDS="10").code == 4
    attack.effect = "halted once the limit was raised"


def test_rules_and_reader_have_the_same_limits() -> None:
    assert {name: limit.default for name, limit in FILE_LIMITS.items() if name in DEFAULT._fields} == DEFAULT._asdict()


def test_on_degraded_halt_lasts_until_the_board_is_readable(attack: Attack) -> None:
    (attack.board / "rules.yaml").write_text("on_degraded: halt\n")
    attack.write("anomalies: [\n")
    assert attack.liza("analyze").code == 4
    lines = (attack.board / "CHECKPOINT").read_text().splitlines()
    assert (lines[1].startswith("degraded: "), any(line.startswith("trip:") for line in lines)) == (True, False)
    gate = attack.liza("gate")
    assert (gate.code, "degraded" in gate.err) == (2, True)
    attack.write("version: 1\nanomalies: []\n")
    halt = json.loads(attack.liza("status", "--json").out)["checkpoint"]
    assert (halt["by"], halt["trip_id"], "YAML" in halt["degraded"]) == ("liza", None, True)
    assert (attack.liza("analyze").code, attack.halted, attack.liza("gate").code) == (0, False, 0)
    attack.effect = "halted, and lifted by itself"


def test_on_degraded_halt_gives_way_to_trips_and_persons_halts(attack: Attack) -> None:
    (attack.board / "rules.yaml").write_text("on_degraded: halt\n")
    attack.write("anomalies: [\n")
    attack.liza("analyze")
    attack.write(HEAD)
    assert attack.liza("analyze").code == 3
    assert "trip: " in (attack.board / "CHECKPOINT").read_text()
    (attack.board / "CHECKPOINT").write_text("hold\n")
    attack.write("anomalies: [\n")
    attack.liza("analyze")
    assert (attack.board / "CHECKPOINT").read_text() == "hold\n"
    attack.effect = "halted"


def custom_rule(attack: Attack, condition: str, **limits: float) -> None:
    rule = f"rules: [{{name: own, condition: '{condition}', severity: SPEC_FLAW}}]\n"
    (attack.board / "rules.yaml").write_text(f"limits: {json.dumps(limits)}\n{rule}" if limits else rule)


def test_catastrophic_pattern(attack: Attack) -> None:
    attack.write(HEAD + f"- {{type: x, details: {{what: {'a' * 5000}!}}}}\n" * 50)
    custom_rule(attack, 'count(what =~ "(a+)+$") >= 1')
    assert (attack.liza("analyze").code, attack.halted, attack.seconds < SECONDS) == (3, True, True)
    attack.effect = "halted"


def test_combinations_of_three_lists(attack: Attack) -> None:
    lists = ", ".join(f"{name}: [{', '.join(f'{name}{n}' for n in range(200))}]" for name in "abc")
    record = f"- {{type: x, details: {{{lists}}}}}\n"
    custom_rule(attack, "count(per(a, b, c)) >= 9")
    attack.write("version: 1\nanomalies:\n" + record)
    ran = attack.liza("analyze")
    assert (ran.code, "own" in ran.err, attack.megabytes < MEGABYTES) == (4, True, True)
    attack.write(HEAD + record)
    assert (attack.liza("analyze").code, attack.halted) == (3, True)
    attack.effect = "DEGRADED names the rule; halted by shipped rules"


def test_slow_custom_rules_are_named_and_the_shipped_ones_halt(attack: Attack) -> None:
    custom_rule(attack, 'count(type =~ "x") >= 9', own_rules_seconds=0)
    attack.write("version: 1\nanomalies:\n- {type: x, details: {what: a}}\n" + "- {type: x}\n" * 200)
    problems = json.loads(attack.liza("analyze", "--json").out)["problems"]
    assert "rule own " in problems[0]["message"]
    assert attack.liza("status").code == 4
    attack.write(HEAD + "- {type: x}\n" * 200)
    assert (attack.liza("analyze").code, attack.halted) == (3, True)
    attack.effect = "DEGRADED names the rule; halted by shipped rules"


def test_duplicate_key_beside_a_long_literal_block(attack: Attack) -> None:
    attack.write("version: 1\nnote: |\n" + "  version: 2\n" * 60_000 + "anomalies: []\nversion: 3\n")
    ran = attack.liza("validate")
    assert (ran.code, "state.yaml:60004:1: " in ran.err + ran.out, attack.seconds < SECONDS) == (4, True, True)
    attack.effect = "DEGRADED with the line"


def test_thousands_of_webhooks(attack: Attack) -> None:
    hooks = ", ".join(f"'http://127.0.0.1:9/{n}'" for n in range(5_000))
    (attack.board / "rules.yaml").write_text(f"notify: {{webhook: [{hooks}]}}\n")
    attack.write(HEAD)
    attack.liza("watch", "--once", limit=60)
    assert (attack.halted, attack.seconds < SECONDS) == (True, True)
    attack.effect = "halted"


# Three million additions take a fifth of a second or more, so this is less than two seconds on an idle machine. A limit
# in seconds would not work: beside other programs the same work takes twice the processor time.
REFERENCES = 9


@pytest.mark.slow
@pytest.mark.parametrize("name", BOARDS)
def test_hostile_board(attack: Attack, name: str) -> None:
    """The halt counts; the paperwork after it may take longer, and is not waited for."""
    attack.write(BOARDS[name]())
    before = reference()
    attack.liza("analyze", "-q", limit=60, until=lambda: attack.halted)
    assert attack.halted
    assert attack.processor < REFERENCES * max(before, reference())
    assert attack.megabytes < 400
    attack.effect = f"halted after {attack.processor:.1f} s of processor time"


def test_hostile_boards_begin_with_the_tripping_records() -> None:
    assert HEAD.endswith(TRIPPING)
