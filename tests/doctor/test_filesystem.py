"""Problems with the file system, the clock and the installation, produced as far as a test can."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path

import pytest

from liza.doctor import filesystem
from liza.doctor.finding import Finding, Level
from liza.store.filesystem import Mount
from tests.cli.run import LIZA, installed
from tests.doctor.findings import STATE, board, found, is_well, wrong
from tests.tools import needs

# --- the file system ------------------------------------------------------------------------------------------------

_ON_A_DISK_OF_ITS_OWN = """
set -e
mount -t tmpfs -o "$OPTIONS" tmpfs "$DISK"
cp -r "$BOARD" "$DISK/.liza"
case "$KIND" in
  read-only) mount -o remount,ro "$DISK" ;;
  files) n=0; while touch "$DISK/filler-$n" 2> /dev/null; do n=$((n + 1)); done ;;
esac
cd "$DISK"
set +e
"$LIZA" doctor
echo "code $?"
"""


@pytest.mark.parametrize(
    ("kind", "options", "code", "shown"),
    [
        ("read-only", "size=1g", 1, "tmpfs, mounted read-only: agents cannot be halted"),
        ("full", "size=64k", 1, "free, and a trip may need 1.0 MB"),
        ("files", "size=1g,nr_inodes=20", 1, "no free inodes"),
        ("scarce", "size=20m", 0, "free"),
        ("good", "size=1g", 0, "1.1 GB free"),
    ],
)
def test_unwritable_disk_is_reported(tmp_path: Path, kind: str, options: str, code: int, shown: str) -> None:
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("only root may mount a disk on this system")
    (tmp_path / "disk").mkdir()
    env = {**os.environ, "DISK": str(tmp_path / "disk"), "BOARD": str(board(tmp_path / "project")), "LIZA": LIZA}
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", _ON_A_DISK_OF_ITS_OWN],
        env={**env, "OPTIONS": options, "KIND": kind}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.endswith(f"code {code}\n"), done
    (line, *_) = [line for line in done.stdout.splitlines() if "filesystem" in line]
    assert shown in line, done.stdout
    assert line.startswith({0: "○!", 1: "●"}[code][kind == "scarce"])


def test_file_system_without_exchange_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = board(tmp_path)
    monkeypatch.setattr(filesystem, "exchange", lambda *_: False)  # as the kernel answers there
    finding = wrong(tmp_path, "filesystem")
    assert finding.level is Level.WARNING
    assert f"flock -x {folder / 'state.yaml.lock'}" in str(finding.hint)


def test_network_file_system_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board(tmp_path)
    monkeypatch.setattr(filesystem, "mount_of", lambda _: Mount("/mnt", "nfs4"))
    (warning,) = [each for each in found(tmp_path, "filesystem") if each.level is Level.WARNING]
    assert warning.message.startswith("nfs4 is a network file system")


# --- the clock ------------------------------------------------------------------------------------------------------


def test_future_times_on_the_board_are_reported_with_their_position(tmp_path: Path) -> None:
    folder = board(tmp_path)
    later = "- {timestamp: 2031-01-01T00:00:00Z, task: t, reporter: r, type: workaround, details: {what: y}}\n"
    lines = STATE.splitlines(keepends=True)
    (folder / "state.yaml").write_text("".join([*lines[:3], later, later.replace("2031", "2033"), *lines[3:]]))
    finding = wrong(tmp_path, "clock")
    assert (finding.level, finding.line) == (Level.WARNING, 5)
    assert "2 times are in the future, the last anomalies[2].timestamp 2033-01-01T00:00:00Z" in finding.message


def test_lease_or_silence_may_end_in_the_future(tmp_path: Path) -> None:
    with (board(tmp_path) / "state.yaml").open("a") as state:
        state.write("agents: {a: {role: coder, status: WORKING, lease_expires: 2099-01-01T00:00:00Z}}\n")
    assert is_well(tmp_path, "clock")


def test_future_log_entry_is_reported(tmp_path: Path) -> None:
    (board(tmp_path) / "log.yaml").write_text("- {timestamp: 2031-01-01T00:00:00Z, agent: a, action: b, detail: c}\n")
    assert wrong(tmp_path, "clock").file == str(tmp_path / ".liza" / "log.yaml")


@pytest.mark.parametrize("name", ["state.yaml", "watch.lock", "CHECKPOINT"])
def test_file_from_the_future_is_reported_and_the_hint_fixes_it(tmp_path: Path, name: str) -> None:
    file = board(tmp_path) / name
    file.touch()
    os.utime(file, (2e9, 2e9))
    finding = wrong(tmp_path, "clock")
    assert (finding.level, finding.file) == (Level.WARNING, str(file))
    subprocess.run(str(finding.hint).partition(": ")[2], shell=True, check=True)
    assert is_well(tmp_path, "clock")


def test_clock_set_back_is_reported(tmp_path: Path) -> None:
    board(tmp_path)
    messages = [each.message for each in found(tmp_path, "clock", datetime(2001, 9, 9, tzinfo=UTC))]
    assert any("before liza was installed here" in message for message in messages)


def test_file_system_with_its_own_clock_is_reported(tmp_path: Path) -> None:
    board(tmp_path)
    finding = wrong(tmp_path, "clock", datetime.now(UTC) + timedelta(minutes=5))
    assert finding.level is Level.ERROR
    assert "on the file system" in finding.message


# --- installation ---------------------------------------------------------------------------------------------------


def programs(folder: Path, **scripts: str) -> str:
    """A folder for the PATH with these programs in it and no others; a script may be a path to link to."""
    folder.mkdir()
    for name, script in scripts.items():
        if script.startswith("/"):
            (folder / name).symlink_to(script)
        else:
            (folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (folder / name).chmod(0o755)
    return str(folder)


GO_YQ = 'case "$1" in --version) echo "yq (https://github.com/mikefarah/yq/) version v4.44.1";; *) exit 1;; esac'
JQ_YQ = "echo 'a: 2'"


@pytest.mark.parametrize(
    ("scripts", "shown"),
    [
        ({"jq": "exit 0"}, "yq is not on PATH"),
        ({"yq": JQ_YQ}, "jq is not installed"),
        ({"jq": "exit 0", "yq": GO_YQ}, "is mikefarah/yq, which has no -Y"),
        ({"jq": "exit 0", "yq": "exit 1"}, "does not do what the documented edits need"),
        ({"jq": "exit 0", "yq": "echo 'a: 1'"}, "does not do what the documented edits need"),
    ],
)
def test_missing_programs_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scripts: dict[str, str], shown: str
) -> None:
    board(tmp_path)
    monkeypatch.setenv("PATH", programs(tmp_path / "bin", **scripts, **{"liza-gate": "exit 0"}))
    finding = wrong(tmp_path, "tools")
    assert finding.level is Level.WARNING
    assert shown in finding.message
    if "yq" in shown:  # pip would install it beside a liza that pipx installed, off the PATH
        assert Path(str(finding.hint).partition(": ")[2]).exists(), "the yq that came with liza"


def test_yq_that_comes_with_liza_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("jq")
    board(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert is_well(tmp_path, "tools")


def test_gate_not_on_the_path_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board(tmp_path)
    monkeypatch.setenv("PATH", programs(tmp_path / "bin", jq="exit 0", yq=JQ_YQ))
    finding = wrong(tmp_path, "tools")
    assert "liza-gate" in finding.message
    assert Path(str(finding.hint).partition(": ")[2]).exists(), "the path that it names is there"


def with_library(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, version: str) -> Finding:
    """As if that version were the installed one: found first, as Python finds any."""
    info = folder / "site" / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    monkeypatch.syspath_prepend(str(folder / "site"))
    board(folder)
    return wrong(folder, "versions")


def test_library_newer_than_tested_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = with_library(tmp_path, monkeypatch, "rich", "99.0")
    assert (finding.level, finding.message) == (Level.WARNING, "rich 99.0 is newer than tested (<16,>=13)")


def test_library_older_than_tested_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = with_library(tmp_path, monkeypatch, "rapidfuzz", "2.9.1")
    assert (finding.level, finding.message) == (Level.ERROR, "rapidfuzz 2.9.1 is older than tested (<4,>=3.10)")
    assert str(finding.hint).endswith("-m pip install 'rapidfuzz<4,>=3.10'")


def test_missing_library_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version

    def version(name: str) -> str:
        if name == "rich":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", version)
    board(tmp_path)
    assert wrong(tmp_path, "versions").message == "rich is not installed"


def test_broken_yaml_reader_is_degraded_and_the_rest_is_checked(tmp_path: Path) -> None:
    board(tmp_path)
    (tmp_path / "yaml_rs").mkdir()
    (tmp_path / "yaml_rs" / "__init__.py").write_text("raise ImportError('broken by an upgrade')\n")
    needs("jq")
    result = installed(tmp_path, "doctor", PYTHONPATH=str(tmp_path))
    assert (result.code, result.err) == (4, "")
    assert "could not be checked: broken by an upgrade" in result.out
    assert "jq is" in result.out


def test_every_required_library_is_compared() -> None:
    asked = [each for each in metadata.requires("liza") or [] if "extra ==" not in each]
    assert len(asked) > 8
    assert all(">=" in each and "<" in each for each in asked), "a range of the only kind that is understood"
