"""The page of a blackboard, asked over HTTP by a client in the same process."""

import html.parser
from pathlib import Path

from starlette.testclient import TestClient

from liza.store.paths import find
from liza.web.access import Access
from liza.web.app import make_app
from liza.web.decide import Desk

PORT = 8642
ADDRESS = f"http://127.0.0.1:{PORT}"


def stranger(folder: Path) -> tuple[TestClient, Access]:
    """A client that has not been given the address."""
    paths, access = find(str(folder)), Access("127.0.0.1", PORT)
    app = make_app(paths, access, Desk(paths, None, lambda code: None))
    return TestClient(app, base_url=ADDRESS, follow_redirects=False), access


def visitor(folder: Path) -> TestClient:
    """A client that has opened the address with the token."""
    client, access = stranger(folder)
    assert client.get("/", params={"token": access.token}).status_code == 303
    return client


class Elements(html.parser.HTMLParser):
    """The elements of a page: each with its attributes, and the text in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]
