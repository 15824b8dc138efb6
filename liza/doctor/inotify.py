"""Whether the kernel still has events to give: its limits, what is used of them, and a watch that is really set."""

import ctypes
import errno
import os
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from liza.doctor.finding import Finding, Level
from liza.store.paths import Paths

_MOST = 0.9  # of a limit, from which on the next program may be one too many
_EVERYTHING = 0x00000FFF  # IN_ALL_EVENTS
# Each limit has two names: the machine's, and that of the user namespace, as a container may have it.
_LIMITS = {
    "instances": ("fs/inotify/max_user_instances", "user/max_inotify_instances"),
    "watches": ("fs/inotify/max_user_watches", "user/max_inotify_watches"),
}


class Used(NamedTuple):
    """What the processes of this user have, as far as we may see."""

    instances: int
    watches: int


def inotify(paths: Paths | None, now: datetime) -> Iterator[Finding]:
    if not os.path.isdir("/proc/sys/fs/inotify"):
        yield Finding("inotify", Level.WARNING, "not available: the daemon polls once a second instead")
        return
    used = _used()
    limits = {what: _limit(what) for what in _LIMITS}
    usage = ", ".join(
        f"{getattr(used, what):,} of {limit:,} {what}" for what, limit in limits.items() if limit is not None
    )
    failed = _try(paths.folder if paths is not None else "/")
    full = [what for what, limit in limits.items() if limit is not None and getattr(used, what) >= _MOST * limit]
    if failed is not None:
        what = "instances" if failed in (errno.EMFILE, errno.ENFILE) else "watches"
        text = f"no watch can be set ({os.strerror(failed)}), so a daemon polls once a second; {usage} in use"
        yield Finding("inotify", Level.WARNING, text, _raised(what, limits[what]))
    elif full:
        yield Finding("inotify", Level.WARNING, f"nearly used up: {usage}", _raised(full[0], limits[full[0]]))
    else:
        yield Finding("inotify", Level.OK, f"{usage} in use")


def _raised(what: str, limit: int | None) -> str:
    return f"sudo sysctl {_LIMITS[what][0].replace('/', '.')}={max(4 * (limit or 0), 512)}"


def _limit(what: str) -> int | None:
    """The lower of the two, which is the one that is felt."""
    found = []
    for name in _LIMITS[what]:
        try:
            with open(f"/proc/sys/{name}", encoding="ascii") as file:
                found.append(int(file.read()))
        except (OSError, ValueError):
            continue
    return min(found, default=None)


def _used() -> Used:
    instances = watches = 0
    for process in os.listdir("/proc"):
        try:
            if not process.isdecimal() or os.stat(f"/proc/{process}").st_uid != os.geteuid():
                continue
            for fd in os.listdir(f"/proc/{process}/fd"):
                if os.readlink(f"/proc/{process}/fd/{fd}") == "anon_inode:inotify":
                    instances += 1
                    with open(f"/proc/{process}/fdinfo/{fd}", encoding="ascii", errors="replace") as info:
                        watches += sum(line.startswith("inotify ") for line in info)
        except OSError:
            continue  # it has ended since, or is not ours to look into
    return Used(instances, watches)


def _try(folder: str) -> int | None:
    """Set a watch and take it away again; the error number if that cannot be done."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
    if fd < 0:
        return ctypes.get_errno()
    try:
        return ctypes.get_errno() if libc.inotify_add_watch(fd, os.fsencode(folder), _EVERYTHING) < 0 else None
    finally:
        os.close(fd)
