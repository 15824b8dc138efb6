"""The picture in the README shows liza's output, and loads nothing."""

import re
import runpy
from html import unescape

from rich.text import Text

from tests.docs.pages import ROOT

PICTURE = runpy.run_path(str(ROOT / "docs" / "picture.py"))


def words(svg: str) -> list[str]:
    """The words of the picture, with the times masked because they differ from run to run."""
    texts = re.findall(r"<text [^>]*>(.*?)</text>", svg)
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", unescape("".join(texts))).replace("\xa0", " ").split()


def test_picture_shows_the_current_output() -> None:
    session = PICTURE["session"]()
    assert words((ROOT / "docs" / "trip.svg").read_text()) == words(PICTURE["picture"](session)), (
        "python docs/picture.py"
    )
    shown = Text.from_ansi(session).plain
    assert all(word in shown for word in ("TRIGGERED: retry_cluster", "halted by", "resolved: retry_cluster"))


def test_picture_fetches_nothing() -> None:
    svg = (ROOT / "docs" / "trip.svg").read_text().replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|<script|@import|@font-face", svg)
