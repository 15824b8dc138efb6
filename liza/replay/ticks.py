"""A time axis: round moments between two others, and their labels."""

from datetime import UTC, datetime, timedelta

from liza.replay.svg_elements import wide

EPOCH = datetime(1, 1, 1, tzinfo=UTC)  # a Monday, so that weeks begin with one
_MICROSECOND, _SECOND, _DAY = timedelta(microseconds=1), 10**6, 86400 * 10**6
_STEPS = (
    *(n * 10**power for power in range(6) for n in (1, 2, 5)),
    *(n * _SECOND for n in (1, 2, 5, 10, 15, 30)),
    *(n * 60 * _SECOND for n in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720)),
    *(n * _DAY for n in (1, 2, 7, 14)),
)
_MONTHS = (1, 3, 6, *(12 * n * 10**power for power in range(4) for n in (1, 2, 5)))
_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def ticks(first: datetime, last: datetime, room: float) -> list[tuple[datetime, str, str]]:
    """Round moments, as many as fit, each with its label and the label of its day or year."""
    low, high = ((at - EPOCH) // _MICROSECOND for at in (first, last))
    if first == last:
        return [(first, *_tick(first, 1 if first.microsecond else _SECOND))]
    for step in _STEPS:
        text, _ = _tick(first, step)
        if (high - low) / step * (wide(text, 11) + 40) <= room:
            moments = (EPOCH + number * _MICROSECOND for number in range(-(-low // step) * step, high + 1, step))
            return [(at, *_tick(at, step)) for at in moments]
    start, end = ((at.year * 12 + at.month - 1) for at in (first, last))
    months = next(n for n in _MONTHS if (end - start) / n * 70 <= room)
    numbers = range(-(-start // months) * months, end + 1, months)
    found = [datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC) for number in numbers if number >= 12]
    return [(at, *_tick(at, months * 31 * _DAY)) for at in found if at >= first]


def _tick(at: datetime, step: int) -> tuple[str, str]:
    month = _NAMES[at.month - 1]
    if step >= 372 * _DAY:
        return f"{at.year}", ""
    if step > 14 * _DAY:
        return month, f"{at.year}"
    if step >= _DAY:
        return f"{at.day} {month}", f"{at.year}"
    text = f"{at:%H:%M}" if step >= 60 * _SECOND else f"{at:%H:%M:%S}"
    if step < _SECOND:
        digits = next(n for n in range(1, 7) if step % 10 ** (6 - n) == 0)
        text += f".{at.microsecond:06}"[: digits + 1]
    return text, f"{at.day} {month} {at.year}"


def time_text(at: datetime, fine: str = "auto") -> str:
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat(' ', fine)} UTC"
