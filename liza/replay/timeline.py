"""Draw a playback: when each rule matched, when its trip was open, and who closed it.

One SVG without scripts, fonts or addresses, with its own background, so that any page can show it. Text in records is
untrusted: it is cut, made printable and escaped. The picture has a fixed number of columns; events in the same column
are drawn once.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from itertools import zip_longest
from typing import NamedTuple

from liza.model import Match, Reason, Record, Verdict
from liza.replay.playback import RECORD, RESOLVE, Event, Played
from liza.replay.svg_elements import bar, clean, cut, plate, tag, wide, words
from liza.replay.ticks import EPOCH, ticks, time_text
from liza.text import of_text, plural

WIDTH, LEFT, RIGHT = 1000, 196, 906  # of the picture, and x of the first and the last event
_EDGE = RIGHT + 8  # of the lanes
_GAP = 6  # between two texts
_COLUMN = 2  # events that are closer are drawn once
_LANE = 34

# Colours that colour-blind people can distinguish (Okabe and Ito), and always with a shape.
_INK, _GREY, _LINE, _BANDS = "#1f2937", "#5f6773", "#e2e5ea", ("#f5f6f8", "#fff")
_RED, _BLUE, _GREEN, _PURPLE = "#d55e00", "#0072b2", "#009e73", "#a3447a"

TRIP, JOINED, OBSERVED, SILENCED = "trip", "joined", "observed", "silenced"
_SHAPES: Mapping[str, Mapping[str, object]] = {
    TRIP: {"d": "M0-7 7 0 0 7-7 0z", "fill": _RED, "stroke": "#fff"},
    JOINED: {"d": "M0-6 6 5H-6z", "fill": "#fff", "stroke": _PURPLE, "stroke_width": 2},
    OBSERVED: {"d": "M-5-5H5V5H-5z", "fill": "#fff", "stroke": _GREEN, "stroke_width": 2},
    SILENCED: {"d": "M-5-5 5 5M-5 5 5-5", "fill": "none", "stroke": _INK, "stroke_width": 2},
}
_LEGEND = {
    "evidence": "evidence",
    "elsewhere": "evidence in another panel",
    TRIP: "trip, and how long open",
    JOINED: "joined an open trip",
    OBSERVED: "only observed",
    SILENCED: "silenced",
    "resolution": "resolution, by whom",
}


def draw_timeline(plays: Sequence[tuple[str, Played]], events: Sequence[Event], title: str) -> str:
    """A timeline of playbacks of the same events, one panel below the other with the same lanes."""
    return _Picture(plays, events).draw(title)


class _Mark(NamedTuple):
    at: datetime
    kind: str
    match: Match
    since: datetime  # and until: while the trip is open or the silence in force
    until: datetime | None

    @property
    def label(self) -> tuple[str, str]:
        """The full label, and its least form."""
        count = of_text(self.match.value, self.match.threshold)
        return (f"{count} · {clean(self.match.key)}" if self.match.key else count), count

    def hover(self, more: int) -> str:
        lines = [f"{self.kind}: {clean(self.match.rule.name)}", time_text(self.at), self.label[0]]
        return "\n".join([*lines, *([f"and {more} more here"] if more else [])])


class _Picture:
    def __init__(self, plays: Sequence[tuple[str, Played]], events: Sequence[Event]) -> None:
        self.plays = plays
        self.events = events
        moments = [event.at.astimezone(UTC) for event in events]
        self.first, self.last = (min(moments), max(moments)) if moments else (EPOCH, EPOCH)
        self.written = {id(event.fields): event.at for event in events if event.kind == RECORD}
        self.ends = [played.last for _, played in plays if events]  # each evaluates the rules
        self.marks = [list(self._marks(played)) for _, played in plays]
        self.evidence = [self._evidence(marks, end) for marks, end in zip_longest(self.marks, self.ends)]
        self.lanes, self.unseen = self._lanes()
        self.drawn = self._drawn()

    def draw(self, title: str) -> str:
        legend, strip = 22 if self.drawn else 0, 34 if self.written else 0
        body, top = [], 62 + legend + strip
        y = top
        for index in range(len(self.plays)):
            panel, height = self._panel(index, y)
            body.append(panel)
            y += height
        grid, height = self._axis(top - strip, y)
        y += height
        if self.unseen:
            names = cut(f"nothing seen: {', '.join(map(clean, self.unseen))}", WIDTH - 32, 11)
            body.append(words(16, y + 8, names, 11, fill=_GREY, class_="unseen"))
            y += 18
        head = [
            tag("title", escape(clean(title))),
            tag("rect", width=WIDTH, height=y + 8, rx=8, fill="#fff", stroke="#d0d5dc"),
            words(16, 30, cut(clean(title), WIDTH - 32, 17), 17, font_weight="bold"),
            words(16, 50, self._subtitle(), 12, fill=_GREY),
            self._legend(72),
            self._strip(top - 12),
        ]
        attributes = (
            f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 8}" width="{WIDTH}" height="{y + 8}"'
            f' role="img" font-family="system-ui, sans-serif" fill="{_INK}"'
        )
        return f"<svg {attributes}>\n" + "\n".join([*head, grid, *body]) + "\n</svg>\n"

    # --- the content -----------------------------------------------------------------------------------------------

    def _marks(self, played: Played) -> Iterator[_Mark]:
        for trip in played.trips:
            until = trip.resolution.at if trip.resolution else None
            yield _Mark(trip.at, TRIP, trip.match, trip.at, until)
            yield from (_Mark(each.at, JOINED, each.match, each.at, until) for each in trip.joined)
        yield from (_Mark(each.at, OBSERVED, each.match, each.at, each.at) for each in played.observed)
        for match, silence in played.silenced:
            newest = max(filter(None, map(self._moment, match.evidence)), default=silence.created)
            at = min(max(newest, silence.created), silence.until)
            yield _Mark(at, SILENCED, match, silence.created, silence.until)

    def _evidence(self, marks: Sequence[_Mark], end: Verdict | None) -> dict[str, set[int]]:
        """The columns of the records that made each rule match."""
        matches = [mark.match for mark in marks]
        if end is not None:
            matches += (*end.matches, *end.observed, *(each.match for each in end.silenced))
        found: dict[str, set[int]] = {}
        for match in matches:
            moments = {self._moment(record) for record in match.evidence}
            columns = (_column(self._x(at)) for at in moments if at is not None and self.first <= at <= self.last)
            found.setdefault(match.rule.name, set()).update(columns)
        return found

    def _moment(self, record: Record) -> datetime | None:
        return self.written.get(id(record.fields)) or record.timestamp

    def _lanes(self) -> tuple[list[str], list[str]]:
        """The rules with evidence in any of the playbacks, in their order, and the others."""
        progress = [each for end in self.ends for each in end.progress]
        known = dict.fromkeys(each.rule.name for each in progress)
        marked = dict.fromkeys(mark.match.rule.name for marks in self.marks for mark in marks)
        counting = {each.rule.name for each in progress if each.value}
        seen = {*marked, *counting, *(name for each in self.evidence for name in each)}
        names = known | marked
        return [name for name in names if name in seen], [name for name in names if name not in seen]

    def _anywhere(self, name: str) -> set[int]:
        return set[int]().union(*(each.get(name, ()) for each in self.evidence))

    def _drawn(self) -> set[str]:
        found = {mark.kind for marks in self.marks for mark in marks}
        resolved = self.lanes and any(event.kind == RESOLVE for event in self.events)
        evidence = {name: self._anywhere(name) for name in self.lanes}
        differs = any(columns != each.get(name, set()) for name, columns in evidence.items() for each in self.evidence)
        drawn = {"resolution": resolved, "evidence": any(evidence.values()), "elsewhere": differs}
        return found | {word for word, holds in drawn.items() if holds}

    def _x(self, at: datetime) -> float:
        """The x of a moment; the middle if there is only one."""
        if self.first == self.last:
            return (LEFT + RIGHT) / 2
        return LEFT + (RIGHT - LEFT) * ((min(max(at, self.first), self.last) - self.first) / (self.last - self.first))

    # --- panels -----------------------------------------------------------------------------------------------------

    def _panel(self, index: int, top: int) -> tuple[str, int]:
        heading, played = self.plays[index]
        trips = len(played.trips)
        closed = sum(trip.resolution is not None for trip in played.trips)
        summary = f"{plural(trips, 'trip')}, {closed} resolved" if trips else "no trip"
        ends = words(WIDTH - 16, top + 18, "at the end", 11, fill=_GREY, text_anchor="end") if self.lanes else ""
        name = cut(clean(heading), 560, 14)
        line = f'{escape(name)}<tspan dx="12" font-weight="normal" fill="{_GREY}">{summary}</tspan>'
        lanes = top + 46 if any(event.kind == RESOLVE for event in self.events) else top + 30
        bottom = lanes + _LANE * len(self.lanes)
        parts = [
            tag("text", line, x=16, y=top + 18, font_size=14, font_weight="bold"),
            ends,
            *(self._ground(index, name, lanes + _LANE * row, row) for row, name in enumerate(self.lanes)),
            self._resolutions(played, top + 38, bottom) if bottom > lanes else "",
            *(self._lane(index, name, lanes + _LANE * row, _BANDS[row % 2]) for row, name in enumerate(self.lanes)),
        ]
        return tag("g", "\n".join(filter(None, parts)), class_="panel"), bottom - top + 14

    def _ground(self, index: int, name: str, top: int, row: int) -> str:
        """The name of a lane, and how close its rule is in the end."""
        state = next(
            (each for end in self.ends[index : index + 1] for each in end.progress if each.rule.name == name), None
        )
        end = "" if state is None else of_text(state.value, state.threshold)
        end = "disabled" if state is not None and state.reason is Reason.DISABLED else end
        label = escape(cut(clean(name), LEFT - 26, 12))
        return "".join(
            (
                tag("rect", x=8, y=top, width=WIDTH - 16, height=_LANE, fill=_BANDS[row % 2], opacity=0.7),
                tag("text", tag("title", escape(clean(name))) + label, x=16, y=top + 24, font_size=12, class_="lane"),
                words(WIDTH - 16, top + 24, cut(end, WIDTH - _EDGE - 20, 11), 11, fill=_GREY, text_anchor="end"),
            )
        )

    def _resolutions(self, played: Played, top: int, bottom: int) -> str:
        """A line and a name for each; fainter if there was nothing to resolve."""
        closing = {trip.resolution.at for trip in played.trips if trip.resolution}
        lines: dict[int, tuple[bool, Event]] = {}
        for event in sorted((each for each in self.events if each.kind == RESOLVE), key=lambda each: each.at):
            column = _column(self._x(event.at))
            if column not in lines or (event.at in closing and not lines[column][0]):
                lines[column] = (event.at in closing, event)
        parts = []
        for closes, event in lines.values():
            heading = "resolved" if closes else "nothing open to resolve"
            hover = f"{heading}\n{time_text(event.at)}\nby {clean(event.by)}\n{clean(event.text)}"
            look = {"stroke": _BLUE} if closes else {"stroke": _GREY, "stroke_dasharray": "1 4"}
            d = f"M{self._x(event.at):.1f} {top - 9}V{bottom}"
            parts.append(tag("path", tag("title", escape(hover)), d=d, fill="none", class_="resolution", **look))
        wanted = [(self._x(event.at) + 4, clean(event.by), "") for _, event in lines.values()]
        who = (words(x, top, text, 11, fill=_BLUE, class_="who") for x, text in _labels(wanted, WIDTH - 16))
        return "".join((*parts, *who))

    def _lane(self, index: int, name: str, top: int, ground: str) -> str:
        y = top + 22
        columns: dict[tuple[str, int], list[_Mark]] = {}
        for mark in sorted((each for each in self.marks[index] if each.match.rule.name == name), key=lambda m: m.at):
            columns.setdefault((mark.kind, _column(self._x(mark.at))), []).append(mark)
        shapes = []
        for (kind, _), marks in columns.items():
            hover = tag("title", escape(marks[0].hover(len(marks) - 1)))
            where = f"translate({self._x(marks[0].at):.1f} {y})"
            shapes.append(tag("path", hover, class_=kind, transform=where, **_SHAPES[kind]))
        firsts = [marks[0] for marks in columns.values()]
        labels = _labels([(max(self._x(mark.at) - 6, LEFT - 6), *mark.label) for mark in firsts])
        return tag(
            "g",
            "".join(
                (
                    *self._bars(columns.values(), y),
                    self._dots(index, name, y),
                    *shapes,
                    *(plate(x, top + 11, text, ground) for x, text in labels),
                )
            ),
            class_="lane-of",
        )

    def _bars(self, columns: Iterable[Sequence[_Mark]], y: int) -> Iterator[str]:
        """A bar from each match to its end; an arrow if it has none."""
        for marks in columns:
            kind, until = marks[0].kind, marks[-1].until
            start, end = self._x(marks[0].since), _EDGE if until is None else self._x(until)
            if kind == TRIP:
                yield bar(start, end, y, 12, fill=_RED, fill_opacity=0.28, class_="open")
            elif kind == JOINED:
                yield bar(start, end, y, 4, fill=_PURPLE, fill_opacity=0.35, class_="open")
            elif kind == SILENCED:
                d = f"M{start:.1f} {y}H{end:.1f}"
                yield tag("path", d=d, stroke=_GREY, stroke_width=2, stroke_dasharray="4 4", class_="silence")
            if until is None:
                fill = _RED if kind == TRIP else _PURPLE
                yield tag("path", d=f"M{_EDGE} {y - 8}l9 8-9 8z", fill=fill, fill_opacity=0.6, class_="unresolved")

    def _dots(self, index: int, name: str, y: int) -> str:
        mine = self.evidence[index].get(name, set())
        others = self._anywhere(name) - mine
        rings = "".join(tag("circle", cx=x, cy=y, r=3) for x in sorted(others))
        dots = "".join(tag("circle", cx=x, cy=y, r=3) for x in sorted(mine))
        return (tag("g", rings, class_="elsewhere", fill="#fff", stroke=_GREY) if rings else "") + (
            tag("g", dots, class_="evidence", fill=_INK, stroke="#fff", stroke_width=0.8) if dots else ""
        )

    # --- the frame --------------------------------------------------------------------------------------------------

    def _subtitle(self) -> str:
        if not self.events:
            return "no events"
        records = sum(event.kind == RECORD for event in self.events)
        fine = "auto" if self.last - self.first < timedelta(seconds=10) else "seconds"
        return f"{time_text(self.first, fine)} to {time_text(self.last, fine)} · {plural(records, 'record')}"

    def _legend(self, y: int) -> str:
        parts, x = [], 22.0
        for kind in (each for each in _LEGEND if each in self.drawn):
            if kind == "evidence":
                parts.append(tag("circle", cx=x, cy=y, r=3))
            elif kind == "elsewhere":
                parts.append(tag("circle", cx=x, cy=y, r=3, fill="#fff", stroke=_GREY))
            elif kind == "resolution":
                parts.append(tag("path", d=f"M{x:.1f} {y - 7}v14", stroke=_BLUE))
            else:
                parts.append(bar(x, x + 26, y, 12, fill=_RED, fill_opacity=0.28) if kind == TRIP else "")
                parts.append(tag("path", transform=f"translate({x:.1f} {y})", **_SHAPES[kind]))
                x += 22 if kind == TRIP else 0
            parts.append(words(x + 11, y + 4, _LEGEND[kind], 11))
            x += 11 + wide(_LEGEND[kind], 11) + 18
        return tag("g", "".join(parts), class_="legend")

    def _strip(self, y: int) -> str:
        """A bar for all records in a column: the more, the taller."""
        columns = Counter(_column(self._x(event.at)) for event in self.events if event.kind == RECORD)
        if not columns:
            return ""
        d = "".join(f"M{x} {y}v{-min(5 + 3 * count, 22)}" for x, count in sorted(columns.items()))
        label = words(16, y, "all records", 12, fill=_GREY)
        return label + tag("path", d=d, stroke=_GREY, stroke_width=1.2, stroke_opacity=0.6, class_="records")

    def _axis(self, top: int, bottom: int) -> tuple[str, int]:
        if not self.events:
            return "", 0
        parts = [words(16, bottom + 8, "UTC", 11, fill=_GREY)]
        lines, before = [], ""
        for at, text, context in ticks(self.first, self.last, RIGHT - LEFT):
            x = self._x(at)
            lines.append(f"M{x:.1f} {top}V{bottom - 6}")
            parts.append(words(x, bottom + 8, text, 11, fill=_GREY, text_anchor="middle", class_="tick"))
            if context != before:
                parts.append(words(x, bottom + 22, context, 10, fill=_GREY, text_anchor="middle", class_="date"))
            before = context
        return tag("path", d="".join(lines), stroke=_LINE, fill="none") + "".join(parts), 30


def _labels(wanted: Sequence[tuple[float, str, str]], edge: float = _EDGE) -> Iterator[tuple[float, str]]:
    """Texts in one row, each cut to the room up to the next; left out if its least form does not fit."""
    taken = float(LEFT - 8)
    nexts = [*(x for x, _, _ in wanted[1:]), float("inf")]
    for (x, full, least), after in zip(wanted, nexts, strict=False):
        text = cut(full, min(after - _GAP, edge) - x)
        if after > edge and text != full and x >= taken:
            text = cut(full, edge - taken)  # the last one may begin before its place
        elif not text.startswith(least):
            text = least
        start = min(x, edge - wide(text))
        if text and text.startswith(least) and start >= taken:
            yield start, text
            taken = start + wide(text) + _GAP


def _column(x: float) -> int:
    return round(x / _COLUMN) * _COLUMN
