"""Problems with the files of a blackboard, each produced for real."""

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from liza.doctor.checks import apply_fixes, examine, exit_code
from liza.doctor.finding import Level
from liza.store.paths import Paths
from tests.cli.run import LIZA, environment, liza
from tests.doctor.findings import board, found, is_well, wrong
from tests.faults.holders import held_by_flock
from tests.store.files import as_other_user, public_folder
from tests.tools import needs

GONE = 2**22 + 1  # no process can have this number


# --- the blackboard -------------------------------------------------------------------------------------------------


def test_good_board_has_no_problems(tmp_path: Path) -> None:
    folder = board(tmp_path)
    for about in ("blackboard", "rules", "leftovers", "lock", "filesystem", "clock"):
        assert is_well(tmp_path, about), about
    assert "anomalies 1" in found(tmp_path, "blackboard")[0].message
    assert sorted(os.listdir(folder)) == ["state.yaml"], "and nothing was written"


def test_machine_is_checked_without_a_blackboard(tmp_path: Path) -> None:
    findings = examine(str(tmp_path), datetime.now(UTC))
    assert [each.level for each in findings if each.about == "blackboard"] == [Level.ERROR]
    assert {"inotify", "versions", "tools"} <= {each.about for each in findings}
    assert exit_code(findings) == 1


@pytest.mark.parametrize("text", ["anomalies: [", "", "\0", "- a\n- b\n"])
def test_unreadable_board_is_degraded(tmp_path: Path, text: str) -> None:
    (board(tmp_path) / "state.yaml").write_text(text)
    assert wrong(tmp_path, "blackboard").level is Level.DEGRADED
    assert exit_code(found(tmp_path, "blackboard")) == 4


@pytest.mark.parametrize("name", ["state.yaml", "log.yaml", "rules.yaml"])
def test_folder_in_place_of_a_file_is_reported(tmp_path: Path, name: str) -> None:
    path = board(tmp_path) / name
    path.unlink(missing_ok=True)
    path.mkdir()
    problems = [each for each in examine(str(tmp_path), datetime.now(UTC)) if each.file == str(path)]
    assert Level.DEGRADED in {each.level for each in problems}
    assert any(f"mv {path}" in (each.hint or "") for each in problems) or name == "rules.yaml"


def test_unusable_records_are_reported_with_their_position(tmp_path: Path) -> None:
    (board(tmp_path) / "state.yaml").write_text("anomalies:\n- nonsense\n- more\n")
    finding = wrong(tmp_path, "blackboard")
    assert (finding.level, finding.line) == (Level.ERROR, 2)
    assert "and 1 more" in finding.message
    assert finding.hint is not None
    assert liza(tmp_path, *finding.hint.split()[1:]).code == 1, "the hint is a command that works"


@pytest.mark.parametrize("name", ["reports", "backups", "runs"])
def test_file_in_place_of_a_folder_is_reported(tmp_path: Path, name: str) -> None:
    (board(tmp_path) / name).write_text("")
    finding = wrong(tmp_path, "blackboard")
    assert (finding.level, finding.file) == (Level.ERROR, str(tmp_path / ".liza" / name))
    assert finding.hint is not None
    subprocess.run(finding.hint, shell=True, check=True)
    assert is_well(tmp_path, "blackboard"), "the hint fixes it"


def test_halt_that_resolve_cannot_lift_is_reported(tmp_path: Path) -> None:
    (board(tmp_path) / "CHECKPOINT").mkdir()
    finding = wrong(tmp_path, "blackboard")
    assert (finding.level, finding.hint) == (
        Level.WARNING,
        f"when they may continue: rmdir {tmp_path / '.liza' / 'CHECKPOINT'}",
    )
    (tmp_path / ".liza" / "CHECKPOINT").rmdir()
    (tmp_path / ".liza" / "CHECKPOINT").symlink_to("nowhere")
    assert "not a regular file" in wrong(tmp_path, "blackboard").message


def test_unwritable_folder_is_reported() -> None:
    with public_folder() as folder:
        mine = board(folder)
        mine.chmod(0o555)
        with as_other_user():
            assert wrong(folder, "blackboard").hint == f"chmod u+rwx {mine}   (or ask its owner)"
            assert "no file can be created here" in wrong(folder, "filesystem").message


@pytest.mark.parametrize("name", ["backups", "reports", "log.yaml", "watch.lock"])
def test_unwritable_file_inside_is_reported(name: str) -> None:
    with public_folder() as folder:
        path = board(folder) / name
        path.touch() if "." in name else path.mkdir()
        path.chmod(0o555)
        with as_other_user():
            (finding,) = [each for each in found(folder, "blackboard") if each.file == str(path)]
        assert (finding.level, f" {path} " in str(finding.hint)) == (Level.ERROR, True)


def test_open_breaker_without_a_halt_is_reported(tmp_path: Path) -> None:
    folder = board(tmp_path)
    (folder / "state.yaml").write_text("circuit_breaker: {status: TRIGGERED, current_trigger: {pattern: own_check}}\n")
    (finding,) = [each for each in found(tmp_path, "blackboard") if each.file == str(folder / "CHECKPOINT")]
    assert (finding.level, "not halted" in finding.message) == (Level.WARNING, True)
    (folder / "CHECKPOINT").touch()
    assert all(each.file != str(folder / "CHECKPOINT") for each in found(tmp_path, "blackboard"))


def test_inaccessible_folder_is_named_in_the_hint(tmp_path: Path) -> None:
    with public_folder() as folder:
        mine = board(folder)
        mine.chmod(0o000)
        with as_other_user():
            assert wrong(folder, "blackboard").hint == f"fix its permissions: chmod u+rwx {mine}"
        mine.chmod(0o755)


def test_unreadable_board_gives_no_finding_about_its_times(tmp_path: Path) -> None:
    folder = board(tmp_path)
    assert "nothing on the blackboard is from the future" in found(tmp_path, "clock")[0].message
    (folder / "state.yaml").write_text("anomalies: [")
    assert "blackboard" not in found(tmp_path, "clock")[0].message


# --- rules ----------------------------------------------------------------------------------------------------------


def test_all_faults_in_the_rules_are_reported(tmp_path: Path) -> None:
    (board(tmp_path) / "rules.yaml").write_text("rules:\n- {name: a, condition: count( >= 1}\n- {nme: b}\n")
    findings = found(tmp_path, "rules")
    assert {each.level for each in findings} == {Level.DEGRADED}
    assert len(findings) > 1
    assert is_well(tmp_path, "lock"), "the rest is checked, too"


def test_changed_rules_are_reported(tmp_path: Path) -> None:
    (board(tmp_path) / "rules.yaml").write_text("rules:\n- {name: retry_cluster, enabled: false}\n")
    finding = wrong(tmp_path, "rules")
    assert finding.level is Level.WARNING
    assert "retry_cluster" in finding.message


def test_unknown_notification_target_is_reported(tmp_path: Path) -> None:
    (board(tmp_path) / "rules.yaml").write_text("notify: {pigeon: true}\n")
    assert "pigeon" in wrong(tmp_path, "rules").message


# --- the lock -------------------------------------------------------------------------------------------------------


def test_held_lock_is_reported_with_its_holder(tmp_path: Path) -> None:
    paths = Paths(str(board(tmp_path)))
    with held_by_flock(paths) as holder:
        finding = wrong(tmp_path, "lock")
    assert finding.level is Level.ERROR
    assert f"process {holder.pid} (flock)" in finding.message
    assert f"ps -fp {holder.pid}" in str(finding.hint)
    assert is_well(tmp_path, "lock"), "the file is still there, which means nothing"


def test_lock_inherited_by_a_child_is_reported_without_a_process(tmp_path: Path) -> None:
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


def test_lock_path_that_is_not_a_file_is_reported(tmp_path: Path) -> None:
    (board(tmp_path) / "state.yaml.lock").mkdir()
    assert "not a regular file" in wrong(tmp_path, "lock").message


def test_lock_of_another_user_is_reported() -> None:
    with public_folder() as folder:
        lock = board(folder) / "state.yaml.lock"
        lock.touch(0o600)
        if os.geteuid() != 0:
            lock.chmod(0o400)
        with as_other_user():
            assert wrong(folder, "lock").hint == f"sudo chmod a+rw {lock}"


def test_invalid_lock_timeout_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board(tmp_path)
    monkeypatch.setenv("LIZA_LOCK_TIMEOUT", "soon")
    assert wrong(tmp_path, "lock").hint == "unset LIZA_LOCK_TIMEOUT"


# --- leftovers ------------------------------------------------------------------------------------------------------


def test_leftovers_are_reported_and_removed_by_fix(tmp_path: Path) -> None:
    folder = board(tmp_path)
    (folder / "reports").mkdir()
    left = [f".state.yaml.{GONE}-7.new", f".watch.json.{GONE}-8.new", f"reports/.a.md.{GONE}-9.new"]
    for name in left:
        (folder / name).touch()
    finding = wrong(tmp_path, "leftovers")
    assert (finding.level, finding.hint) == (Level.WARNING, "liza doctor --fix")
    (fixed,) = apply_fixes([finding])
    assert (fixed.level, fixed.message) == (Level.FIXED, "removed 3 of 3 leftover files of interrupted writes")
    assert [name for name in left if (folder / name).exists()] == []
    assert is_well(tmp_path, "leftovers")


def test_fix_restores_a_halt_that_was_moved_aside(tmp_path: Path) -> None:
    folder = board(tmp_path)
    (folder / f".CHECKPOINT.{GONE}-7.aside").write_text("2025-01-18T10:00:00Z\n")
    (fixed,) = apply_fixes([wrong(tmp_path, "leftovers")])
    assert fixed.level is Level.FIXED
    assert (folder / "CHECKPOINT").read_text() == "2025-01-18T10:00:00Z\n"


def test_fix_keeps_a_rescued_version_and_names_it(tmp_path: Path) -> None:
    folder = board(tmp_path)
    (folder / ".state.yaml.12-34.swap").write_text("other: version\n")
    (fixed,) = apply_fixes([wrong(tmp_path, "leftovers")])
    (saved,) = (folder / "backups").iterdir()
    assert str(saved) in fixed.message
    assert saved.read_text() == "other: version\n"
    later = wrong(tmp_path, "leftovers")
    assert (later.file, later.fix) == (str(saved), None), "for a person to look at"


def test_drafts_of_a_live_process_are_not_leftovers(tmp_path: Path) -> None:
    draft = board(tmp_path) / f".state.yaml.{os.getpid()}-7.new"
    draft.touch()
    assert is_well(tmp_path, "leftovers")


def test_failed_fix_is_not_reported_as_fixed(tmp_path: Path) -> None:
    folder = board(tmp_path)
    (folder / f".state.yaml.{GONE}-7.new").touch()
    with held_by_flock(Paths(str(folder))):
        (finding,) = apply_fixes([wrong(tmp_path, "leftovers")])
    assert finding.level is Level.WARNING
    assert "not fixed: process" in finding.message


# --- as a command ---------------------------------------------------------------------------------------------------


def test_doctor_works_without_home_and_path(tmp_path: Path) -> None:
    board(tmp_path)
    done = subprocess.run(
        [LIZA, "doctor"], cwd=tmp_path, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "jq is not installed" in done.stdout


def test_doctor_works_in_a_deleted_folder(tmp_path: Path) -> None:
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


def test_json_has_the_same_findings_as_the_text(tmp_path: Path) -> None:
    folder = board(tmp_path)
    (folder / f".state.yaml.{GONE}-7.new").touch()
    (folder / "reports").touch()
    plain, problems = liza(tmp_path, "doctor"), liza(tmp_path, "doctor", "--json").json
    assert plain.code == 1
    assert (problems["schema"], problems["command"], problems["status"]) == (1, "doctor", "unwell")
    for problem in problems["problems"]:
        assert problem["message"] in plain.out
        assert f"hint: {problem['hint']}" in plain.out
    assert [each["about"] for each in problems["findings"] if each["fixable"]] == ["leftovers"]
    assert "fixed: removed 1 of 1" in liza(tmp_path, "doctor", "--fix").out


def test_agents_text_is_escaped_on_the_terminal(tmp_path: Path) -> None:
    (board(tmp_path) / "rules.yaml").write_text('rules:\n- {name: "\\e[31mred", condition: "count(type=a) >= 1"}\n')
    assert "\x1b[31mred" not in liza(tmp_path, "doctor").out
