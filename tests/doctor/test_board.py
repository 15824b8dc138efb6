"""What is wrong with the files of a blackboard, each made so for real."""

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from liza.doctor.examine import apply_fixes, examine, exit_code
from liza.doctor.finding import Level
from liza.store.paths import Paths
from tests.cli.run import LIZA, environment, liza
from tests.doctor.looking import board, found, is_well, wrong
from tests.faults.holders import held_by_flock
from tests.store.files import as_other_user, public_folder
from tests.tools import needs

GONE = 2**22 + 1  # no process can have this number


# --- the blackboard -------------------------------------------------------------------------------------------------


def test_of_a_good_board_nothing_is_wrong(tmp_path: Path) -> None:
    folder = board(tmp_path)
    for about in ("blackboard", "rules", "leftovers", "lock", "filesystem", "clock"):
        assert is_well(tmp_path, about), about
    assert "anomalies 1" in found(tmp_path, "blackboard")[0].message
    assert sorted(os.listdir(folder)) == ["state.yaml"], "and nothing was written"


def test_without_a_blackboard_the_machine_is_looked_at_all_the_same(tmp_path: Path) -> None:
    findings = examine(str(tmp_path), datetime.now(UTC))
    assert [each.level for each in findings if each.about == "blackboard"] == [Level.ERROR]
    assert {"inotify", "versions", "tools"} <= {each.about for each in findings}
    assert exit_code(findings) == 1


@pytest.mark.parametrize("text", ["anomalies: [", "", "\0", "- a\n- b\n"])
def test_a_board_that_cannot_be_judged_is_degraded(tmp_path: Path, text: str) -> None:
    (board(tmp_path) / "state.yaml").write_text(text)
    assert wrong(tmp_path, "blackboard").level is Level.DEGRADED
    assert exit_code(found(tmp_path, "blackboard")) == 4


@pytest.mark.parametrize("name", ["state.yaml", "log.yaml", "rules.yaml"])
def test_a_folder_in_place_of_a_file_is_told(tmp_path: Path, name: str) -> None:
    path = board(tmp_path) / name
    path.unlink(missing_ok=True)
    path.mkdir()
    told = [each for each in examine(str(tmp_path), datetime.now(UTC)) if each.file == str(path)]
    assert Level.DEGRADED in {each.level for each in told}
    assert any(f"mv {path}" in (each.hint or "") for each in told) or name == "rules.yaml"


def test_records_that_cannot_be_used_are_named_with_their_place(tmp_path: Path) -> None:
    (board(tmp_path) / "state.yaml").write_text("anomalies:\n- nonsense\n- more\n")
    finding = wrong(tmp_path, "blackboard")
    assert (finding.level, finding.line) == (Level.ERROR, 2)
    assert "and 1 more" in finding.message
    assert finding.hint is not None
    assert liza(tmp_path, *finding.hint.split()[1:]).code == 1, "the hint is a command that works"


@pytest.mark.parametrize("name", ["reports", "backups", "runs"])
def test_a_file_in_place_of_a_folder_is_told(tmp_path: Path, name: str) -> None:
    (board(tmp_path) / name).write_text("")
    finding = wrong(tmp_path, "blackboard")
    assert (finding.level, finding.file) == (Level.ERROR, str(tmp_path / ".liza" / name))
    assert finding.hint is not None
    subprocess.run(finding.hint, shell=True, check=True)
    assert is_well(tmp_path, "blackboard"), "the hint mends it"


def test_a_halt_that_resolve_will_not_lift_is_told(tmp_path: Path) -> None:
    (board(tmp_path) / "CHECKPOINT").mkdir()
    finding = wrong(tmp_path, "blackboard")
    assert (finding.level, finding.hint) == (
        Level.WARNING,
        f"when they may continue: rmdir {tmp_path / '.liza' / 'CHECKPOINT'}",
    )
    (tmp_path / ".liza" / "CHECKPOINT").rmdir()
    (tmp_path / ".liza" / "CHECKPOINT").symlink_to("nowhere")
    assert "not a regular file" in wrong(tmp_path, "blackboard").message


def test_a_folder_that_may_not_be_written_is_told() -> None:
    with public_folder() as folder:
        mine = board(folder)
        mine.chmod(0o555)
        with as_other_user():
            assert wrong(folder, "blackboard").hint == f"chmod u+rwx {mine}   (or ask its owner)"
            assert "no file can be made here" in wrong(folder, "filesystem").message


@pytest.mark.parametrize("name", ["backups", "reports", "log.yaml", "watch.lock"])
def test_what_is_inside_and_may_not_be_written_is_told(name: str) -> None:
    with public_folder() as folder:
        path = board(folder) / name
        path.touch() if "." in name else path.mkdir()
        path.chmod(0o555)
        with as_other_user():
            (finding,) = [each for each in found(folder, "blackboard") if each.file == str(path)]
        assert (finding.level, f" {path} " in str(finding.hint)) == (Level.ERROR, True)


def test_an_open_breaker_without_a_halt_is_told(tmp_path: Path) -> None:
    folder = board(tmp_path)
    (folder / "state.yaml").write_text("circuit_breaker: {status: TRIGGERED, current_trigger: {pattern: own_check}}\n")
    (finding,) = [each for each in found(tmp_path, "blackboard") if each.file == str(folder / "CHECKPOINT")]
    assert (finding.level, "not halted" in finding.message) == (Level.WARNING, True)
    (folder / "CHECKPOINT").touch()
    assert all(each.file != str(folder / "CHECKPOINT") for each in found(tmp_path, "blackboard"))


def test_a_folder_that_nobody_may_enter_is_what_is_to_be_opened(tmp_path: Path) -> None:
    with public_folder() as folder:
        mine = board(folder)
        mine.chmod(0o000)
        with as_other_user():
            assert wrong(folder, "blackboard").hint == f"give yourself permission: chmod u+rwx {mine}"
        mine.chmod(0o755)


def test_nothing_is_said_of_times_that_could_not_be_read(tmp_path: Path) -> None:
    folder = board(tmp_path)
    assert "nothing on the blackboard is from the future" in found(tmp_path, "clock")[0].message
    (folder / "state.yaml").write_text("anomalies: [")
    assert "blackboard" not in found(tmp_path, "clock")[0].message


# --- rules ----------------------------------------------------------------------------------------------------------


def test_rules_that_cannot_be_used_are_all_named(tmp_path: Path) -> None:
    (board(tmp_path) / "rules.yaml").write_text("rules:\n- {name: a, condition: count( >= 1}\n- {nme: b}\n")
    findings = found(tmp_path, "rules")
    assert {each.level for each in findings} == {Level.DEGRADED}
    assert len(findings) > 1
    assert is_well(tmp_path, "lock"), "and the rest is looked at"


def test_what_somebody_changed_about_the_rules_is_shown(tmp_path: Path) -> None:
    (board(tmp_path) / "rules.yaml").write_text("rules:\n- {name: retry_cluster, enabled: false}\n")
    finding = wrong(tmp_path, "rules")
    assert finding.level is Level.WARNING
    assert "retry_cluster" in finding.message


def test_nobody_waits_in_vain_for_a_message(tmp_path: Path) -> None:
    (board(tmp_path) / "rules.yaml").write_text("notify: {pigeon: true}\n")
    assert "pigeon" in wrong(tmp_path, "rules").message


# --- the lock -------------------------------------------------------------------------------------------------------


def test_a_lock_that_is_held_is_told_with_who_holds_it(tmp_path: Path) -> None:
    paths = Paths(str(board(tmp_path)))
    with held_by_flock(paths) as holder:
        finding = wrong(tmp_path, "lock")
    assert finding.level is Level.ERROR
    assert f"process {holder.pid} (flock)" in finding.message
    assert f"ps -fp {holder.pid}" in str(finding.hint)
    assert is_well(tmp_path, "lock"), "the file is still there, and that says nothing"


def test_a_lock_that_a_child_has_inherited_is_told_without_a_process_that_has_ended(tmp_path: Path) -> None:
    paths = Paths(str(board(tmp_path)))
    needs("flock")
    script = f"exec 9>{paths.lock}; flock -x 9; sleep 60 > /dev/null & echo $!"
    done = subprocess.run(
        ["sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, timeout=30
    )
    child = int(done.stdout)
    try:
        assert wrong(tmp_path, "lock").hint == f"see who has it open: fuser -v {paths.lock}"
    finally:
        os.kill(child, 9)


def test_a_lock_that_nobody_can_take_is_told(tmp_path: Path) -> None:
    (board(tmp_path) / "state.yaml.lock").mkdir()
    assert "not a regular file" in wrong(tmp_path, "lock").message


def test_a_lock_of_somebody_else_is_told() -> None:
    with public_folder() as folder:
        lock = board(folder) / "state.yaml.lock"
        lock.touch(0o600)
        if os.geteuid() != 0:
            lock.chmod(0o400)
        with as_other_user():
            assert wrong(folder, "lock").hint == f"sudo chmod a+rw {lock}"


def test_a_time_limit_that_is_none_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board(tmp_path)
    monkeypatch.setenv("LIZA_LOCK_TIMEOUT", "soon")
    assert wrong(tmp_path, "lock").hint == "unset LIZA_LOCK_TIMEOUT"


# --- leftovers ------------------------------------------------------------------------------------------------------


def test_leftovers_are_told_and_fix_sweeps_them_up(tmp_path: Path) -> None:
    folder = board(tmp_path)
    (folder / "reports").mkdir()
    left = [f".state.yaml.{GONE}-7.new", f".watch.json.{GONE}-8.new", f"reports/.a.md.{GONE}-9.new"]
    for name in left:
        (folder / name).touch()
    finding = wrong(tmp_path, "leftovers")
    assert (finding.level, finding.hint) == (Level.WARNING, "liza doctor --fix")
    (fixed,) = apply_fixes([finding])
    assert (fixed.level, fixed.message) == (Level.FIXED, "swept up 3 of 3 leftovers of interrupted writes")
    assert [name for name in left if (folder / name).exists()] == []
    assert is_well(tmp_path, "leftovers")


def test_fix_brings_a_halt_back_that_was_only_taken_aside(tmp_path: Path) -> None:
    folder = board(tmp_path)
    (folder / f".CHECKPOINT.{GONE}-7.aside").write_text("2025-01-18T10:00:00Z\n")
    (fixed,) = apply_fixes([wrong(tmp_path, "leftovers")])
    assert fixed.level is Level.FIXED
    assert (folder / "CHECKPOINT").read_text() == "2025-01-18T10:00:00Z\n"


def test_fix_keeps_what_was_somebodys_and_says_where(tmp_path: Path) -> None:
    folder = board(tmp_path)
    (folder / ".state.yaml.12-34.swap").write_text("somebody: wrote this\n")
    (fixed,) = apply_fixes([wrong(tmp_path, "leftovers")])
    (saved,) = (folder / "backups").iterdir()
    assert str(saved) in fixed.message
    assert saved.read_text() == "somebody: wrote this\n"
    later = wrong(tmp_path, "leftovers")
    assert (later.file, later.fix) == (str(saved), None), "which a person has to look at"


def test_drafts_of_a_process_that_lives_are_not_leftovers(tmp_path: Path) -> None:
    draft = board(tmp_path) / f".state.yaml.{os.getpid()}-7.new"
    draft.touch()
    assert is_well(tmp_path, "leftovers")


def test_what_fix_cannot_do_it_does_not_claim(tmp_path: Path) -> None:
    folder = board(tmp_path)
    (folder / f".state.yaml.{GONE}-7.new").touch()
    with held_by_flock(Paths(str(folder))):
        (finding,) = apply_fixes([wrong(tmp_path, "leftovers")])
    assert finding.level is Level.WARNING
    assert "not fixed: process" in finding.message


# --- as people call it ----------------------------------------------------------------------------------------------


def test_without_a_home_and_with_nothing_on_the_path_it_still_answers(tmp_path: Path) -> None:
    board(tmp_path)
    done = subprocess.run(
        [LIZA, "doctor"], cwd=tmp_path, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "jq is not installed" in done.stdout


def test_in_a_folder_that_is_gone_it_still_answers(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    script = 'rmdir "$PWD"; exec liza doctor'
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=tmp_path / "gone",
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "the working folder is gone" in done.stdout


def test_people_see_what_was_found_and_programs_the_same(tmp_path: Path) -> None:
    folder = board(tmp_path)
    (folder / f".state.yaml.{GONE}-7.new").touch()
    (folder / "reports").touch()
    said, told = liza(tmp_path, "doctor"), liza(tmp_path, "doctor", "--json").json
    assert said.code == 1
    assert (told["schema"], told["command"], told["status"]) == (1, "doctor", "unwell")
    for problem in told["problems"]:
        assert problem["message"] in said.out
        assert f"hint: {problem['hint']}" in said.out
    assert [each["about"] for each in told["findings"] if each["fixable"]] == ["leftovers"]
    assert "fixed: swept up 1 of 1" in liza(tmp_path, "doctor", "--fix").out


def test_text_that_agents_wrote_reaches_no_terminal_raw(tmp_path: Path) -> None:
    (board(tmp_path) / "rules.yaml").write_text('rules:\n- {name: "\\e[31mred", condition: "count(type=a) >= 1"}\n')
    assert "\x1b[31mred" not in liza(tmp_path, "doctor").out
