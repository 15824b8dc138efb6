"""Elements of SVG, and texts that fit into their room."""

from bisect import bisect
from html import escape
from itertools import accumulate
from unicodedata import east_asian_width, normalize

from liza.text import printable

_KEY = 200  # characters of an untrusted text that are shown


def wide(text: str, size: float = 11) -> float:
    """The greatest width of a text in the fonts of browsers."""
    return size * sum(map(_ems, normalize("NFKC", text)))


def _ems(char: str) -> float:
    if char in "iljtfrI.,:;'|!()[] ·":
        return 0.42
    return 1.3 if east_asian_width(char) in "WF" else 0.98 if char in "mwMW@%…—" else 0.74 if char.isupper() else 0.64


def cut(text: str, room: float, size: float = 11) -> str:
    """As much of the text as fits."""
    if wide(text, size) <= room:
        return text
    widths = list(accumulate(wide(char, size) for char in text))
    kept = text[: bisect(widths, room - wide("…", size))].rstrip(" ·")
    return f"{kept}…" if kept else ""


def clean(text: str | None) -> str:
    """Untrusted text on one line, without characters that a browser would act on or XML forbids."""
    text = text or ""
    return printable(text if len(text) <= _KEY else f"{text[: _KEY - 1]}…")


def bar(start: float, end: float, y: float, height: int, **attributes: object) -> str:
    return tag("rect", x=start, y=y - height / 2, width=max(end - start, 0.5), height=height, **attributes)


def plate(x: float, y: float, text: str, ground: str) -> str:
    """A label that is readable in front of a line."""
    plate = tag("rect", x=x - 1, y=y - 10, width=wide(text), height=13, fill=ground, fill_opacity=0.8)
    return plate + words(x, y, text, 11, class_="label")


def words(x: float, y: float, text: str, size: int, **attributes: object) -> str:
    return tag("text", escape(text), x=x, y=y, font_size=size, **attributes) if text else ""


def tag(name: str, content: str = "", /, **attributes: object) -> str:
    """An element; its content is escaped already, and its attributes are trusted."""
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{_short(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def _short(value: object) -> object:
    return f"{round(value, 2):g}" if isinstance(value, float) else value
