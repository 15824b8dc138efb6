"""Pictures of playbacks, parsed again, with the events to draw."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from types import MappingProxyType
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from liza.replay.playback import RECORD, RESOLVE, Event, Trip, play
from liza.replay.svg_elements import wide
from liza.replay.timeline import LEFT, RIGHT, WIDTH, draw_timeline
from liza.rules.evaluate import RuleSet
from liza.scopes.rules_file import read_rules
from tests.rules.boards import rule

SHIPPED = read_rules(None)
NOON = datetime(2025, 1, 18, 12, 0, tzinfo=UTC)


def minute(number: float) -> datetime:
    return NOON + timedelta(minutes=number)


def record(at: datetime, kind: str = "a", **details: Any) -> Event:
    fields = {"timestamp": at.isoformat(), "task": "task-1", "type": kind, "details": details}
    return Event(at, RECORD, "anomalies", fields)


def retry(number: float, text: str = "timeout after 30 s") -> Event:
    return record(minute(number), "retry_loop", error_pattern=text)


def resolve(number: float, by: str = "ann") -> Event:
    return Event(minute(number), RESOLVE, text="ADR-3", by=by)


def counting(number: int, kind: str = "a", **fields: Any) -> dict[str, Any]:
    return rule(f"count(type={kind}, same(k)) >= {number}", fields.pop("name", kind), **fields)


class Drawn:
    """A picture that was parsed again."""

    def __init__(
        self,
        events: Sequence[Event],
        *sets: RuleSet,
        title: str = "a sprint",
        heading: str = "now",
        board: Mapping[str, Any] = MappingProxyType({}),
        trips: tuple[Trip, ...] = (),
    ) -> None:
        played = [play(each, board, events) for each in sets or (SHIPPED,)]
        plays = [(heading, each._replace(trips=trips or each.trips)) for each in played]
        self.text = draw_timeline(plays, events, title)
        self.root = ElementTree.fromstring(self.text)

    def all(self, name: str, within: Element | None = None) -> list[Element]:
        """Every element of a class."""
        return [each for each in (self.root if within is None else within).iter() if each.get("class") == name]

    def one(self, name: str, within: Element | None = None) -> Element:
        (found,) = self.all(name, within)
        return found

    @property
    def height(self) -> float:
        box = self.root.attrib["viewBox"].split()
        assert box[:3] == ["0", "0", f"{WIDTH}"]
        return float(box[3])

    def texts(self, name: str | None = None) -> list[Element]:
        return [each for each in self.root.iter() if tag(each) == "text" and name in (None, each.get("class"))]


def tag(element: Element) -> str:
    return element.tag.removeprefix("{http://www.w3.org/2000/svg}")


def words(element: Element) -> str:
    """The visible words of a text, without its hover text."""
    hover = {id(each) for each in element.iter() if tag(each) == "title"}
    shown = "" if id(element) in hover else element.text or ""
    return shown + "".join(words(each) + (each.tail or "") for each in element)


def number(element: Element, name: str) -> float:
    return float(element.attrib[name])


def place(mark: Element) -> float:
    """The horizontal position of a marker."""
    found = re.fullmatch(r"translate\(([\d.]+) ([\d.]+)\)", mark.attrib["transform"])
    assert found is not None
    return float(found[1])


def hover(element: Element) -> str:
    return next(each.text or "" for each in element if tag(each) == "title")


def at(share: float) -> float:
    """Where that share of the time has passed."""
    return LEFT + share * (RIGHT - LEFT)


def extent(text: Element) -> tuple[float, float]:
    width = wide(words(text), number(text, "font-size"))
    x = number(text, "x") - width * {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor", "start")]
    return x, x + width


def assert_readable(picture: Drawn) -> None:
    """All texts inside, and those of one row beside each other."""
    rows: dict[str, list[tuple[float, float]]] = {}
    for text in picture.texts():
        start, end = extent(text)
        assert start >= 0
        assert end <= WIDTH
        assert 0 < number(text, "y") < picture.height
        rows.setdefault(text.attrib["y"], []).append((start, end))
    for row in rows.values():
        row.sort()
        assert all(left[1] <= right[0] for left, right in pairwise(row)), row
