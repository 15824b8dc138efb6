"""The team: whether its database is reached, and whether the clocks of its hosts agree. Nothing where there is none."""

import os
from collections.abc import Iterator
from datetime import datetime

from liza.doctor.finding import Finding, Level
from liza.model import mappings_in
from liza.store.paths import Paths
from liza.store.team_files import read_view
from liza.text import plural, printable

_TOLERATED = 2.0  # seconds between the clocks of two machines
_NTP = "timedatectl set-ntp true"


def team(paths: Paths, now: datetime) -> Iterator[Finding]:
    if not os.path.isdir(paths.team):
        return
    view = read_view(paths)
    if not view:
        yield Finding("team", Level.WARNING, "not seen yet", "liza watch --background")
        return
    if why := view.get("degraded") or view.get("error"):
        yield Finding("team", Level.ERROR, printable(str(why)), "liza team status")
    skews: list[str] = []
    hosts = mappings_in(view.get("hosts"))
    for each in hosts:
        skew, name = each.get("skew"), printable(str(each.get("host")))
        if not isinstance(skew, int | float):
            continue
        skews.append(f"{name} {skew:+.1f} s")
        if abs(skew) > _TOLERATED:
            text = f"the clock of {name} is {abs(skew):.1f} s {'ahead of' if skew > 0 else 'behind'} the server's"
            yield Finding("team", Level.WARNING, text, f"{_NTP}   (on {name})")
    if not why:
        yield Finding("team", Level.OK, f"{plural(len(hosts), 'host')}; clocks: {', '.join(skews)}")
