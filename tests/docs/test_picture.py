"""The picture in the README is what liza prints, and speaks to nobody."""

import re
import runpy
from html import unescape

from rich.text import Text

from tests.docs.pages import ROOT

PICTURE = runpy.run_path(str(ROOT / "docs" / "picture.py"))


def words(svg: str) -> list[str]:
    """What is written in the picture, but for what differs from run to run: the times."""
    texts = re.findall(r"<text [^>]*>(.*?)</text>", svg)
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", unescape("".join(texts))).replace("\xa0", " ").split()


def test_it_shows_what_liza_prints_today() -> None:
    session = PICTURE["session"]()
    assert words((ROOT / "docs" / "trip.svg").read_text()) == words(PICTURE["picture"](session)), (
        "python docs/picture.py"
    )
    said = Text.from_ansi(session).plain
    assert all(word in said for word in ("TRIGGERED: retry_cluster", "halted by", "resolved: retry_cluster"))


def test_it_fetches_nothing() -> None:
    svg = (ROOT / "docs" / "trip.svg").read_text().replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|<script|@import|@font-face", svg)
