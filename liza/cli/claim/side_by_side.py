"""Two texts side by side, as wide as the terminal; a letter of Asia takes two columns, an accent none."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

import click

from liza.cli.show import columns
from liza.cli.terminal import width_of
from liza.text import printable

LONGEST = 10_000  # characters of a text that are shown
NARROW = 70  # below that, one text is above the other
WIDE = 120


def wrapped(text: str, width: int) -> Iterator[str]:
    """The lines of a text, none wider than that. Nothing of it is left out but the space at which a line breaks."""
    for line in text[:LONGEST].splitlines() or [""]:
        yield from _wrapped(printable(line.expandtabs(4)), width)
    if len(text) > LONGEST:
        yield from _wrapped(f"… and {len(text) - LONGEST:,} more characters, see --json", width)


def _wrapped(line: str, width: int) -> Iterator[str]:
    while width_of(line) > width:
        taken = used = 0
        for taken, char in enumerate(line):  # noqa: B007 - where it breaks off is what is looked for
            used += width_of(char)
            if used > width:
                break
        space = line.rfind(" ", 0, taken + 1)
        cut = space if space > width // 3 else max(taken, 1)
        yield line[:cut]
        line = line[cut + 1 :] if cut == space else line[cut:]
    yield line


def side_by_side(titles: tuple[str, str], texts: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Pairs of texts under two titles."""
    total = min(columns(), WIDE)
    if total < NARROW:
        for pair in texts:
            for title, text in zip(titles, pair, strict=True):
                yield f"  {click.style(title, bold=True)}"
                yield from (f"    {line}" for line in wrapped(text, max(total - 5, 20)))
        return
    width = (total - 7) // 2
    yield f"  {_bold(titles[0], width)} │ {_bold(titles[1], width)}".rstrip()
    for pair in texts:
        yield f"  {'─' * width}─┼─{'─' * width}"
        left, right = (list(wrapped(text, width)) for text in pair)
        for one, other in zip_longest(left, right, fillvalue=""):
            yield f"  {one}{' ' * (width - width_of(one))} │ {other}".rstrip()


def _bold(title: str, width: int) -> str:
    return click.style(title, bold=True) + " " * (width - width_of(title))
