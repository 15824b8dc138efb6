"""Replacing a whole file, and cleaning up after an interrupted replacement."""

import errno
import os
import stat
import tempfile
from pathlib import Path

import pytest

from liza.errors import Refused
from liza.store import filesystem
from liza.store.replace import Changed, _label, replace, sweep
from liza.store.versions import read_stable
from tests.store.files import as_other_user, old


def test_replaced_file_leaves_no_temporary_file(state: Path) -> None:
    replace(str(old(state)), read_stable(str(state)), b"a: 2\n")
    assert state.read_bytes() == b"a: 2\n"
    assert os.listdir(state.parent) == ["state.yaml"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o444, 0o755, 0o4777, 0o2660])
def test_mode_is_kept_whatever_the_umask(state: Path, mode: int) -> None:
    old(state).chmod(mode)
    umask = os.umask(0o077)
    try:
        replace(str(state), read_stable(str(state)), b"a: 2\n")
    finally:
        os.umask(umask)
    assert stat.S_IMODE(state.stat().st_mode) == mode & 0o666, "never setuid, never a program"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_owner_and_group_are_kept(state: Path) -> None:
    os.chown(old(state), 1234, 2345)
    os.chown(state.parent, 1234, 2345)
    replace(str(state), read_stable(str(state)), b"a: 2\n")
    assert (state.stat().st_uid, state.stat().st_gid) == (1234, 2345)


def test_symlink_is_kept_and_its_target_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / ".liza").mkdir()
    real = old(tmp_path / "real" / "state.yaml")
    link = tmp_path / ".liza" / "state.yaml"
    link.symlink_to("../real/state.yaml")
    replace(str(link), read_stable(str(link)), b"a: 2\n")
    assert os.readlink(link) == "../real/state.yaml"
    assert real.read_bytes() == b"a: 2\n"
    assert [os.listdir(tmp_path / each) for each in ("real", ".liza")] == [["state.yaml"]] * 2


def test_unseen_version_is_put_back(state: Path) -> None:
    seen = read_stable(str(old(state)))
    old(state.with_suffix(".draft"), "b: 2\n").rename(state)
    theirs = state.stat().st_ino
    with pytest.raises(Changed):
        replace(str(state), seen, b"a: 2\n")
    assert (state.read_bytes(), state.stat().st_ino) == (b"b: 2\n", theirs)
    assert os.listdir(state.parent) == ["state.yaml"]


def test_file_written_in_place_meanwhile_is_put_back(state: Path) -> None:
    seen = read_stable(str(old(state)))
    state.write_text("c: 3\n")
    with pytest.raises(Changed):
        replace(str(state), seen, b"a: 2\n")
    assert state.read_bytes() == b"c: 3\n"


def test_file_open_for_writing_is_put_back(state: Path) -> None:
    """Its writer would go on writing into a file that has lost its name."""

    seen = read_stable(str(old(state)))
    with state.open("r+b") as writer:
        with pytest.raises(Changed):
            replace(str(state), seen, b"a: 2\n")
        writer.write(b"d: 4\n")
    assert state.read_bytes() == b"d: 4\n"


def test_file_deleted_meanwhile_is_not_restored(state: Path) -> None:
    seen = read_stable(str(old(state)))
    state.unlink()
    with pytest.raises((Changed, Refused)):
        replace(str(state), seen, b"a: 2\n")
    assert os.listdir(state.parent) == []


def test_resaving_the_same_bytes_is_not_a_change(state: Path) -> None:
    seen = read_stable(str(old(state)))
    old(state.with_suffix(".draft")).rename(state)
    replace(str(state), seen, b"a: 2\n")
    assert state.read_bytes() == b"a: 2\n"


def test_unwritable_folder_is_refused_with_a_hint(public: Path) -> None:
    (public / "inner").mkdir()
    state = old(public / "inner" / "state.yaml")
    (public / "inner").chmod(0o555)
    with as_other_user(), pytest.raises(Refused) as caught:
        replace(str(state), read_stable(str(state)), b"a: 2\n")
    assert "permission" in (caught.value.hint or "")
    assert state.read_bytes() == b"a: 1\n"
    (public / "inner").chmod(0o755)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_failing_disk_keeps_the_old_version_and_leaves_no_draft(
    state: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    seen = read_stable(str(old(state)))

    def fail(fd: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(Refused, match="unchanged"):
        replace(str(state), seen, b"a: 2\n")
    assert (state.read_bytes(), os.listdir(state.parent)) == (b"a: 1\n", ["state.yaml"])


# --- sweeping -------------------------------------------------------------------------------------------------------


def leftover(state: Path, label: str, text: str = "left\n") -> Path:
    return old(state.with_name(f".state.yaml.{label}"), text)


def test_sweep_removes_drafts_and_superseded_versions(state: Path, tmp_path: Path) -> None:
    old(state)
    leftover(state, "123-456.new")
    for number, text in enumerate((b"ours\n", b"base\n")):
        # Drafts are named for the bytes that were to be put there and those that were to go.
        label = f"{_label(b'ours' + bytes([10]))}-{_label(b'base' + bytes([10]))}{'' if number else '-'}.swap"
        state.with_name(f".state.yaml.{label}").write_bytes(text)
    assert sweep(str(state), str(tmp_path / "backups")) == []
    assert os.listdir(tmp_path) == ["state.yaml"]


@pytest.mark.parametrize("label", ["1-2-3-4.swap", "not-a-label.swap", ".swap", "1.swap"])
def test_sweep_rescues_a_version_of_another_writer(state: Path, tmp_path: Path, label: str) -> None:
    old(state)
    leftover(state, label, "theirs\n")
    (kept,) = sweep(str(state), str(tmp_path / "backups"))
    assert Path(kept).read_text() == "theirs\n"
    assert Path(kept).parent == tmp_path / "backups"
    assert sorted(os.listdir(tmp_path)) == ["backups", "state.yaml"]


def test_two_rescued_versions_do_not_overwrite_each_other(state: Path, tmp_path: Path) -> None:
    for number in range(5):
        leftover(state, f"1-2-3-{number}.swap", f"{number}\n")
    kept = sweep(str(old(state)), str(tmp_path / "backups"))
    assert sorted(Path(each).read_text() for each in kept) == [f"{number}\n" for number in range(5)]


def test_sweep_leaves_other_files_alone(state: Path, tmp_path: Path) -> None:
    others = [".state.yaml.swp", "state.yaml.new", ".state.yaml", ".log.yaml.1-2.new", "state.yaml~", ".new"]
    for name in others:
        old(state.with_name(name))
    assert sweep(str(old(state)), str(tmp_path / "backups")) == []
    assert sorted(os.listdir(tmp_path)) == sorted([*others, "state.yaml"])


def test_version_is_rescued_across_file_systems(tmp_path: Path) -> None:
    here = tmp_path.stat().st_dev
    others = [each for each in ("/dev/shm", "/tmp") if os.path.isdir(each) and os.stat(each).st_dev != here]
    if not others:
        pytest.skip("there is one file system only")
    with tempfile.TemporaryDirectory(dir=others[0]) as far:
        real = old(Path(far) / "state.yaml")
        leftover(real, "1-2-3-4.swap", "theirs\n")
        (kept,) = sweep(str(real), str(tmp_path / "backups"))
        assert Path(kept).read_text() == "theirs\n"
        assert os.listdir(far) == ["state.yaml"]


def test_save_before_the_exchange_stays_visible(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exchanged and put back, the newer version would be gone for a moment, and a reader would see an older one."""
    seen = read_stable(str(old(state)))
    rename, exchanged = os.rename, []

    def save_then_rename(source: str, target: str) -> None:
        (state.parent / "theirs").write_text("a: theirs\n")
        rename(state.parent / "theirs", state)
        rename(source, target)

    monkeypatch.setattr(os, "rename", save_then_rename)
    monkeypatch.setattr(filesystem, "exchange", lambda *names: exchanged.append(names))
    with pytest.raises(Changed):
        replace(str(state), seen, b"a: 2\n")
    assert exchanged == []
    assert state.read_text() == "a: theirs\n"
    assert os.listdir(state.parent) == ["state.yaml"]
