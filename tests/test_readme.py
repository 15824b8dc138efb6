"""What the README says to type is typed here, from the first line to the last, in one new folder."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.run import environment, liza

ROOT = Path(__file__).parent.parent
PAGES = {name: (ROOT / name).read_text() for name in ("README.md", "docs/operations.md")}
NOT_HERE = ("make ", "pip ")  # what sets the project up is not tried inside a test


def blocks(page: str) -> list[str]:
    return [text for text in re.findall(r"```sh\n(.*?)```", PAGES[page], re.DOTALL) if not text.startswith(NOT_HERE)]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_the_page_works(tmp_path: Path, page: str) -> None:
    if page != "README.md":
        assert liza(tmp_path, "init").code == 0
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    try:
        for text in blocks(page):
            if "current_trigger" in text:  # the other way to resolve: there must be something open again
                assert liza(tmp_path, "trip", "-m", "once more").code == 3
            ran = subprocess.run(
                ["sh", "-u", "-c", text],
                cwd=tmp_path,
                env=environment(tmp_path),
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            expected = (2,) if text == "liza-gate\n" else (0, 3)
            assert ran.returncode in expected, f"{text}{ran.stdout}{ran.stderr}"
            assert "a bug in liza" not in ran.stderr
    finally:
        liza(tmp_path, "watch", "--stop")


def test_the_readme_shows_what_it_links_to() -> None:
    for page, text in PAGES.items():
        links = re.findall(r"\]\(([^)#:]+)\)", text)
        assert all(((ROOT / page).parent / link).exists() for link in links)
    assert len(blocks("README.md")) > 10
