"""What the file system below a blackboard is, as far as liza's promises depend on it."""

import errno
import os
from typing import NamedTuple

# Kinds on which other machines write, too: the kernel reports no changes that are made elsewhere.
NETWORKS = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs", "ceph", "glusterfs")

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


class Mount(NamedTuple):
    """Where a file system is mounted, and which kind it is, as in `mount`."""

    point: str
    kind: str


def mount_of(folder: str) -> Mount | None:
    """The mount that a folder is in; None if the kernel does not report it."""
    try:
        device = os.stat(folder).st_dev
        wanted = f"{os.major(device)}:{os.minor(device)}"
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                words = line.split()
                if words[2] == wanted:
                    return Mount(words[4], words[words.index("-") + 1])
    except (OSError, ValueError, IndexError):
        pass
    return None


def network_kind(folder: str) -> str | None:
    """The kind of a file system whose remote changes the kernel does not report; None if it does."""
    mount = mount_of(folder)
    return mount.kind if mount is not None and mount.kind in NETWORKS else None


def exchange(one: str, other: str) -> bool:
    """Swap two names in one step; False where the kernel or the file system cannot."""
    import _ctypes  # what `ctypes` is made of: that one takes five times as long to import, for unused types

    class Function(_ctypes.CFuncPtr):
        _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO

    try:
        program = _ctypes.dlopen(None, 0)  # type: ignore[arg-type] # all that is loaded already
        rename = Function(_ctypes.dlsym(program, "renameat2"))
    except OSError:
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    code = _ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
        return False
    raise OSError(code, os.strerror(code), one)
