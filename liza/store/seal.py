"""How liza knows what it wrote: a keyed digest, with a key that is not in the repository.

Agents can write `.liza/`, so a file there that names commands is run only if liza wrote it as it is, or a person looked
at it. The key is the user's, in `$XDG_STATE_HOME/liza/key`. A program that runs as the same user and may read that file
can make the digest, too: this holds against agents in a sandbox, in a container or under another user, and against
edits by accident; for others it is one more step, not a wall.
"""

import hmac
import os
import secrets
import stat
from contextlib import suppress

_SIZE = 32


def seal(*parts: bytes) -> str | None:
    """The digest of these parts; None where no key can be kept."""
    key = _key()
    return None if key is None else hmac.new(key, _joined(parts), "sha256").hexdigest()


def is_sealed(digest: object, *parts: bytes) -> bool:
    """Whether liza made this digest of these parts, for this user."""
    known = seal(*parts)
    return known is not None and isinstance(digest, str) and hmac.compare_digest(known.encode(), digest.encode())


def _joined(parts: tuple[bytes, ...]) -> bytes:
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def _key() -> bytes | None:
    path = os.path.join(_folder(), "key")
    with suppress(OSError):
        found = _read(path)
        if found is None:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            draft = f"{path}.{secrets.token_hex(8)}"
            fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                with open(fd, "wb") as file:
                    file.write(secrets.token_bytes(_SIZE))
                with suppress(FileExistsError):  # another process was faster: its key counts
                    os.link(draft, path)
            finally:
                os.unlink(draft)
            found = _read(path)
        return found
    return None


def _read(path: str) -> bytes | None:
    """The key, if only the user can have read or written it."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise PermissionError(f"{path} is not the user's alone")
        found = file.read(_SIZE + 1)
    if len(found) != _SIZE:
        raise PermissionError(f"{path} is not a key")
    return found


def _folder() -> str:
    home = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(home, "liza")
