"""Files old enough to be read at once, and folders open to every user."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LONG_AGO = 1_000_000_000
NOBODY = 65534


def old(file: Path, text: str = "a: 1\n") -> Path:
    """A file that was written long ago."""
    file.write_bytes(text.encode())
    os.utime(file, (LONG_AGO, LONG_AGO))
    return file


@contextmanager
def as_other_user() -> Iterator[None]:
    """Act as another user, because root may read and write everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def public_folder() -> Iterator[Path]:
    """A folder that every user can enter and write, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        yield Path(folder)
