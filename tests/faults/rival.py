"""Programs that write state.yaml without asking for the lock, as editors and agents' own tools do."""

import ctypes
import os

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_libc = ctypes.CDLL(None, use_errno=True)


def exchange(one: str, other: str) -> None:
    """Swap two names. Not liza's own function: a detector that shared it would share its faults."""
    if _libc.renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), one, None, other)


def write_file(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def replace_without_lock(path: str, text: str) -> None:
    """Save as most editors do: a new file, moved over the old one."""
    draft = f"{path}.rival"
    write_file(draft, text)
    os.utime(draft, (1e9, 1e9))  # as if it had been written long ago: readers need not wait for it
    os.rename(draft, path)


def write_in_place(path: str, text: str) -> None:
    """Save as `yq -i` and `vim -es` do: the new text over the old, the tail cut off afterwards."""
    with open(path, "r+", encoding="utf-8") as file:
        file.write(text)
        file.truncate()
