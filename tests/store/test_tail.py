"""Files of lines that other programs append to."""

import os
from pathlib import Path

import pytest

from liza.store import tail
from liza.store.tail import GrowingFile, NotOurs, open_own


def append(file: Path, raw: bytes) -> None:
    with file.open("ab") as stream:
        stream.write(raw)


def read_all(file: GrowingFile) -> list[bytes]:
    found = file.read()
    while file.has_more:
        found += file.read()
    return found


@pytest.mark.parametrize("piece", [1, 3, 7, 100])
def test_each_line_is_read_once_however_it_is_written(tmp_path: Path, piece: int) -> None:
    file, wanted = tmp_path / "a", [b"%d" % n * (n % 9) for n in range(50)]
    raw = b"".join(line + b"\n" for line in wanted)
    file.write_bytes(b"")
    growing_file, found = GrowingFile(str(file)), list[bytes]()
    for start in range(0, len(raw), piece):
        append(file, raw[start : start + piece])
        found += read_all(growing_file)
    assert found == wanted
    assert growing_file.end == len(raw)


def test_long_lines_are_read_in_chunks_and_longer_ones_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "CHUNK", 10)
    monkeypatch.setattr(tail, "LONGEST", 40)
    file = tmp_path / "a"
    file.write_bytes(b"a\n" + b"b" * 35 + b"\nc\n" + b"d" * 500 + b"\ne\n" + b"f" * 500)
    growing_file = GrowingFile(str(file))
    assert read_all(growing_file) == [b"a", b"b" * 35, b"c", b"e"]
    append(file, b"\ng\n")
    assert read_all(growing_file) == [b"g"]


def test_of_a_file_that_was_not_read_before_the_end_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "TAIL", 10)
    file = tmp_path / "a"
    file.write_bytes(b"first line\nsecond\nthird\n")
    growing_file = GrowingFile(str(file))
    assert (read_all(growing_file), growing_file.start) == ([b"third"], 14)


def test_another_file_in_its_place_is_read_from_its_beginning(tmp_path: Path) -> None:
    file, other = tmp_path / "a", tmp_path / "b"
    file.write_bytes(b"one\ntwo\n")
    growing_file = GrowingFile(str(file))
    assert read_all(growing_file) == [b"one", b"two"]
    other.write_bytes(b"one\ntwo\nthree\n")
    os.replace(other, file)
    assert read_all(growing_file) == [b"one", b"two", b"three"]
    file.write_bytes(b"x\n")  # cut off, then written anew
    assert read_all(growing_file) == [b"x"]
    file.unlink()
    with pytest.raises(FileNotFoundError):
        growing_file.read()


def test_only_regular_files_of_this_user_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "real").write_bytes(b"a\n")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "link", "folder"):
        with pytest.raises(NotOurs):
            open_own(str(tmp_path / name))
    with open_own(str(tmp_path / "link"), is_named=True) as file:  # a person has named it
        assert file.read() == b"a\n"
    if os.geteuid() == 0:
        os.chown(tmp_path / "real", 12345, 12345)
        with pytest.raises(NotOurs):
            open_own(str(tmp_path / "real"))
