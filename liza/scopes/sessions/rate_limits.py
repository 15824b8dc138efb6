"""The limit of a provider, as its error states it: a session that has met it can only wait until it is reset."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from liza.model import format_time, parse_time

UNKNOWN = timedelta(minutes=15)  # until a limit whose reset is not given counts as over
LONGEST = timedelta(days=8)  # a reset further ahead is not one
_SEARCHED = 4000  # characters of a result that are searched

_LIMIT = re.compile(
    r"\busage limit\b|\brate_limit_error\b|\boverloaded_error\b|\binsufficient_quota\b|\bhit your .{0,40}limit\b"
    r"|\bAPI Error\W{0,3}(?:\w+ )?(?:429|529)\b|\berror code:? (?:429|529)\b",
    re.IGNORECASE,
)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def limited_until(result: str, time: str) -> str | None:
    """When the limit that a failure shows is reset; None if it shows none."""
    text, now = result[:_SEARCHED], parse_time(time)
    found = _LIMIT.search(text)
    if found is None or now is None:
        return None
    for pattern, read in _RESETS:
        reset = read(match, now) if (match := pattern.search(text)) is not None else None
        if reset is not None and now <= reset <= now + LONGEST:
            return format_time(reset)
    return format_time(now + UNKNOWN)


def _after(match: re.Match[str], now: datetime) -> datetime | None:
    unit = (match.group(2) or "s")[0].lower()
    return now + timedelta(seconds=int(match.group(1)) * _UNITS[unit])


def _at_hour(match: re.Match[str], now: datetime) -> datetime | None:
    """The next time that a clock shows it, in the zone that is given."""
    hour, minute, half, zone = match.groups()
    wanted = int(hour) % 12 + 12 * (half.lower() == "pm")
    try:
        local = now.astimezone(ZoneInfo(zone or "UTC"))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        local = now
    reset = local.replace(hour=wanted % 24, minute=int(minute or 0) % 60, second=0, microsecond=0)
    return reset if reset > local else reset + timedelta(days=1)


_RESETS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], datetime], datetime | None]], ...] = (
    (re.compile(r"\|(\d{10})\b"), lambda match, now: datetime.fromtimestamp(int(match.group(1)), UTC)),
    (re.compile(r"(?i)\bresets? (?:at )?(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d))"),
     lambda match, now: parse_time(match.group(1))),
    (re.compile(r"(?i)\bretry[-_ ]after\W{1,4}(\d{1,6})\s?(s|m|h)?"), _after),
    (re.compile(r"(?i)\b(?:try again|resets?|retry) in (\d{1,6})\s?(s|m|h|d)"), _after),
    (re.compile(r"(?i)\bresets? (?:at )?(\d{1,2})(?::(\d\d))? ?(am|pm)\b(?: \(([\w/+-]{1,40})\))?"), _at_hour),
)  # fmt: skip
