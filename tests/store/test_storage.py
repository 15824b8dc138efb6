"""Reading files that others are writing.

Whatever happens "meanwhile" is done by the test itself in the very moment it should happen: in place of a wait, or
between two system calls. No test waits for a clock.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from liza.errors import Unreadable
from liza.store import versions
from liza.store.replace import replace
from liza.store.versions import read_stable
from tests.faults.children import no_leaked_files
from tests.store.files import as_other_user, old


def young(file: Path, text: str) -> Path:
    """Written in place just now: the time of its last byte is that of its last change."""
    file.write_text(text)
    status = file.stat()
    assert status.st_mtime_ns == status.st_ctime_ns
    return file


Meanwhile = Callable[..., list[float]]


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """What happens while `read` waits for quiet: one step each time, then nothing; the waits are noted."""

    def install(*steps: Callable[[], object]) -> list[float]:
        waited: list[float] = []
        left = list(steps)

        def sleep(seconds: float) -> None:
            waited.append(seconds)
            if left:
                left.pop(0)()

        monkeypatch.setattr(time, "sleep", sleep)
        return waited

    return install


def test_old_file_is_read_without_waiting(state: Path, waits: Meanwhile) -> None:
    waited = waits()
    assert read_stable(str(old(state))).raw == b"a: 1\n"
    assert waited == []


def test_young_file_is_read_after_a_quiet_interval(state: Path, waits: Meanwhile) -> None:
    waited = waits()
    assert read_stable(str(young(state, "a: 1\n"))).raw == b"a: 1\n"
    assert len(waited) == 1


def test_file_being_written_in_place_is_read_once_complete(state: Path, waits: Meanwhile) -> None:
    whole = "tasks:\n- id: a\n- id: b\n"

    def go_on() -> None:
        with state.open("a") as file:
            file.write(whole[len(state.read_text()) :][:8])

    waited = waits(go_on, go_on)
    assert read_stable(str(young(state, whole[:7]))).raw == whole.encode()
    assert len(waited) == 3


def test_tail_truncated_later_is_waited_for(state: Path, waits: Meanwhile) -> None:
    # As yq does: new text over the old, the rest of the old one cut off afterwards.
    young(state, "tasks: []\n- id: b\n")
    waits(lambda: os.truncate(state, len("tasks: []\n")))
    assert read_stable(str(state)).raw == b"tasks: []\n"


def test_file_open_for_writing_is_waited_for(state: Path, waits: Meanwhile) -> None:
    """However long a writer rests between two of its writes, it is not done while it keeps the file open."""
    young(state, "")
    with state.open("r+") as file:

        def go_on() -> None:
            file.write("b: 2\n")
            file.close()

        file.write("a: 1\n")
        file.flush()
        waited = waits(lambda: None, lambda: None, go_on)
        assert read_stable(str(state)).raw == b"a: 1\nb: 2\n"
    assert len(waited) == 4


def test_file_kept_open_is_accepted_after_a_limit(state: Path) -> None:
    started = time.monotonic()
    with state.open("w") as file:
        file.write("a: 1\n")
        file.flush()
        assert read_stable(str(state)).raw == b"a: 1\n"
        assert versions.YOUNG <= time.monotonic() - started < versions.YOUNG + 1


def test_file_moved_into_place_is_read_at_once(state: Path, waits: Meanwhile) -> None:
    waited = waits()
    draft = young(state.with_suffix(".draft"), "a: 2\n")
    os.utime(draft, ns=(0, draft.stat().st_mtime_ns - 1))  # written a tick before it is moved
    draft.rename(state)
    assert read_stable(str(state)).raw == b"a: 2\n"
    assert waited == []


def test_version_seen_being_moved_is_read_at_once(state: Path, waits: Meanwhile) -> None:
    waited = waits()
    moved = versions.identity(young(state, "a: 1\n").stat())
    assert read_stable(str(state), whole=moved).raw == b"a: 1\n"
    assert waited == []


def test_file_written_after_its_move_is_read_after_a_quiet_interval(state: Path, waits: Meanwhile) -> None:
    moved = versions.identity(young(state, "a: 1\n").stat())
    young(state, "a: 1\nb:")
    waited = waits(lambda: young(state, "a: 1\nb: 2\n"))
    assert read_stable(str(state), whole=moved).raw == b"a: 1\nb: 2\n"
    assert len(waited) == 2


def test_version_written_by_liza_is_read_at_once(state: Path, waits: Meanwhile) -> None:
    waited = waits()
    replace(str(old(state)), read_stable(str(state)), b"a: 2\n")
    assert read_stable(str(state)).raw == b"a: 2\n"
    assert waited == []


def test_any_file_can_be_read_with_a_forced_wait(state: Path, waits: Meanwhile) -> None:
    waited = waits()
    read_stable(str(old(state)), again=True)
    assert len(waited) == 1


def test_file_replaced_during_the_read_is_read_again(
    state: Path, waits: Meanwhile, monkeypatch: pytest.MonkeyPatch
) -> None:
    old(state, "a: 1\n")
    newer = old(state.with_suffix(".draft"), "b: 22\n")
    fstat = os.fstat

    def between(fd: int) -> os.stat_result:
        if newer.exists():
            newer.rename(state)
        return fstat(fd)

    waits()
    monkeypatch.setattr(os, "fstat", between)
    reading = read_stable(str(state))
    assert reading.raw == b"b: 22\n"
    assert reading.identity == versions.identity(os.stat(state))


def test_file_that_changes_during_every_read_is_degraded(
    state: Path, waits: Meanwhile, monkeypatch: pytest.MonkeyPatch
) -> None:
    old(state)
    waits()
    fstat, ticks = os.fstat, iter(range(1000))

    def between(fd: int) -> os.stat_result:
        with state.open("a") as file:
            file.write("x")
        return fstat(fd)

    monkeypatch.setattr(os, "fstat", between)
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks) / 10)
    with pytest.raises(Unreadable, match="kept changing"):
        read_stable(str(state))


def unreadable(file: Path) -> Unreadable:
    with pytest.raises(Unreadable) as caught:
        read_stable(str(file))
    assert caught.value.exit_code == 4
    assert caught.value.hint
    assert caught.value.file == str(file)
    return caught.value


def test_path_that_is_not_a_file_is_degraded_without_waiting(tmp_path: Path) -> None:
    assert "file not found" in unreadable(tmp_path / "missing").message
    (tmp_path / "folder").mkdir()
    assert "folder" in unreadable(tmp_path / "folder").message
    os.mkfifo(tmp_path / "fifo")
    assert "not a regular file" in unreadable(tmp_path / "fifo").message
    (tmp_path / "dangling").symlink_to("nowhere")
    assert "file not found" in unreadable(tmp_path / "dangling").message
    (tmp_path / "knot").symlink_to("knot")
    unreadable(tmp_path / "knot")
    unreadable(Path("/dev/null"))


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "FIFO"])
def test_path_that_is_not_a_file_is_not_left_open(state: Path, make: Callable[[Path], None]) -> None:
    make(state)
    with no_leaked_files():
        unreadable(state)


def test_unreadable_file_mode_is_degraded(public: Path) -> None:
    state = old(public / "state.yaml")
    state.chmod(0)
    with as_other_user():
        error = unreadable(state)
    assert "permission" in error.message
    assert "chmod" in (error.hint or "")


def test_unreadable_folder_mode_is_degraded(public: Path) -> None:
    (public / "inner").mkdir(mode=0o755)
    state = old(public / "inner" / "state.yaml")
    (public / "inner").chmod(0)
    with as_other_user():
        error = unreadable(state)
    (public / "inner").chmod(0o755)
    assert "permission" in error.message
