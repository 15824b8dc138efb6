"""Every block in README.md and docs/ works as shown, from the first to the last."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import KINDS, PAGES, ROOT, Place, blocks

each_page = pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])


@each_page
def test_every_block_works(tmp_path: Path, page: Path) -> None:
    place = Place(tmp_path)
    try:
        for block in blocks(page.read_text()):
            place.try_block(block)
    finally:
        place.close()


@each_page
def test_every_block_has_a_known_kind(page: Path) -> None:
    text = page.read_text()
    found = list(blocks(text))
    assert {block.kind for block in found} <= set(KINDS)
    hidden = text.count("<!-- sh\n")
    assert text.count("```") == 2 * (len(found) - hidden), "a block that was not found is not run"


@each_page
def test_every_link_has_a_target(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"\w+:", target):
            continue
        file, _, heading = target.partition("#")
        linked = page.parent / file if file else page
        assert linked.exists(), target
        if heading:
            assert heading in _anchors(linked.read_text()), target


def _anchors(text: str) -> set[str]:
    """The headings of a page as links name them."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_only_setup_blocks_are_not_run() -> None:
    left = {block.text.split()[0] for page in PAGES for block in blocks(page.read_text()) if not block.is_run}
    assert left <= {"make", "pip", "liza"}  # `liza install` writes to the settings of a client


def test_every_page_is_linked_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [str(page.relative_to(ROOT)) for page in PAGES[1:] if f"({page.relative_to(ROOT)})" not in readme] == []
