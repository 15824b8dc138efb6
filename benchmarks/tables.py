"""Results of the benchmarks, as text for a terminal or as Markdown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.timing import Measured

_HEADER = ("", "time", "rounds", "ratio", "target", "")


@dataclass(frozen=True)
class Target:
    """The bound of a ratio."""

    bound: float
    at_least: bool = False

    def met(self, ratio: float) -> bool:
        return ratio >= self.bound if self.at_least else ratio <= self.bound

    def __str__(self) -> str:
        return f"{'at least' if self.at_least else 'at most'} {self.bound:g}"


@dataclass(frozen=True)
class Row:
    """One measurement with its ratio and target."""

    measured: Measured
    ratio: float | None = None
    target: Target | None = None

    @property
    def name(self) -> str:
        return self.measured.name

    @property
    def found(self) -> str:
        return "" if self.ratio is None else number(self.ratio)

    @property
    def verdict(self) -> str:
        return _verdict(self.ratio, self.target)

    def cells(self) -> tuple[str, ...]:
        return (
            self.name,
            duration(self.measured.seconds),
            str(self.measured.rounds),
            self.found,
            "" if self.target is None else str(self.target),
            self.verdict,
        )


@dataclass(frozen=True)
class Figure:
    """A score or a size, and the same of another program beside it."""

    name: str
    value: float | None
    beside: float | None = None
    target: Target | None = None
    digits: int = 4

    @property
    def found(self) -> str:
        return "" if self.value is None else f"{self.value:.{self.digits}f}"

    @property
    def verdict(self) -> str:
        return _verdict(self.value, self.target)

    def cells(self, compared: bool) -> tuple[str, ...]:
        beside = "-" if self.beside is None else f"{self.beside:.{self.digits}f}"
        target = "" if self.target is None else str(self.target)
        return (self.name, self.found, *([beside] if compared else []), target, self.verdict)


def _verdict(value: float | None, target: Target | None) -> str:
    if target is None:
        return ""
    if value is None:
        return "not measured"
    return "met" if target.met(value) else "missed"


@dataclass(frozen=True)
class Table:
    """Rows with the same kind of ratio."""

    title: str
    ratio: str  # numerator / denominator
    rows: Sequence[Row]
    note: str = ""

    def text(self, markdown: bool) -> str:
        about = f"ratio: {self.ratio}" + (f"; {self.note}" if self.note else "")
        return _text(self.title, [_HEADER, *(row.cells() for row in self.rows)], about, markdown)


@dataclass(frozen=True)
class Figures:
    """Figures of one kind. `beside` names the other program, if there is one."""

    title: str
    rows: Sequence[Figure]
    note: str
    beside: str = ""

    def text(self, markdown: bool) -> str:
        header = ("", "liza", *([self.beside] if self.beside else []), "target", "")
        return _text(self.title, [header, *(row.cells(bool(self.beside)) for row in self.rows)], self.note, markdown)


@dataclass(frozen=True)
class Sheet:
    """A table of texts, without targets; the first row is its header. Without rows, only the note."""

    title: str
    cells: Sequence[tuple[str, ...]]
    note: str
    rows: tuple[Figure, ...] = ()

    def text(self, markdown: bool) -> str:
        return _text(self.title, self.cells, self.note, markdown) if self.cells else f"{self.title}: {self.note}\n"


def _text(title: str, cells: Sequence[tuple[str, ...]], about: str, markdown: bool) -> str:
    if markdown:
        return f"### {title}\n\n{_markdown(cells)}\n\n{about}\n"
    return f"{title}\n{_aligned(cells)}\n  {about}\n"


def summary(tables: Iterable[Table | Figures | Sheet]) -> str:
    """The last lines: every target, and whether it was met."""
    rows = [(table, row) for table in tables for row in table.rows if row.target is not None]
    lines = [
        f"  {row.verdict:<13}{table.title}: {row.name}: "
        + (f"{row.found}, " if row.found else "")
        + f"target {row.target}"
        for table, row in rows
    ]
    missed = sum(row.verdict == "missed" for _, row in rows)
    skipped = sum(row.verdict == "not measured" for _, row in rows)
    met = len(rows) - missed - skipped
    total = f"{met} of {len(rows)} targets met" + (f", {missed} missed" if missed else "")
    return "\n".join(["summary", *lines, total + (f", {skipped} not measured" if skipped else "")])


def duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


def number(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.1f}" if ratio >= 10 else f"{ratio:.2f}"


def _aligned(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]

    def line(row: tuple[str, ...]) -> str:
        first, *middle, last = (
            cell.ljust(width) if index in (0, len(row) - 1) else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return "  " + "  ".join([first, *middle, last]).rstrip()

    return "\n".join(map(line, rows))


def _markdown(rows: Sequence[tuple[str, ...]]) -> str:
    header, *rest = ("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    return "\n".join([header, "|---|" + "---:|" * (len(rows[0]) - 2) + "---|", *rest])
