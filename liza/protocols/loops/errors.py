"""draft until the real one is merged"""

from typing import NamedTuple


class Error(NamedTuple):
    signature: str
    file: str | None = None


def errors_of(output: str) -> tuple[Error, ...]:
    line = output.strip().splitlines()[:1]
    return (Error(line[0][:500]),) if line else ()
