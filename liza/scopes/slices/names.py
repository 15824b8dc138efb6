"""Names of slices and tests, as they may stand in the name of a file or of a reference of git."""

from liza.errors import Refused

LONGEST = 80  # characters of such a name, before what makes it unique
SLICE = 120  # a longer name is no key of YAML that anybody reads
TEST = 1_000


def file_name(name: str) -> str:
    """The name with all that is special escaped; a long one is cut, and told from others by a digest."""
    safe = "".join(
        char
        if char.isascii() and (char.isalnum() or char in "-_")
        else "".join(f"%{byte:02X}" for byte in _bytes(char))
        for char in name
    )
    if len(safe) <= LONGEST:
        return safe
    import hashlib

    return f"{safe[:LONGEST]}-{hashlib.sha256(_bytes(name)).hexdigest()[:12]}"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def checked_slice(name: str) -> str:
    if not name.strip() or not name.isprintable() or len(name) > SLICE:
        hint = f"a name on one line, of at most {SLICE} characters, like S-3"
        raise Refused(f"{name[:60]!r} is no name for a slice", hint=hint)
    return name


def checked_test(name: str) -> str:
    if not name.strip() or len(name) > TEST:
        hint = f"its exact name as the test runner prints it, of at most {TEST} characters"
        raise Refused(f"{name[:60]!r} is no name for a test", hint=hint)
    return name
