"""The live page: each browser gets the sections that have changed, when they change."""

import asyncio
import json
from collections.abc import AsyncIterator

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from liza.web.access import refused
from liza.web.page import title_of
from liza.web.site import Site, View

LOOK = 0.25  # seconds between two looks at the files, while a browser watches
_MOST = 200  # browsers


class Live:
    """Looks at the files once for all browsers, and only while there is one."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._waiting: set[asyncio.Event] = set()
        self._looking: asyncio.Task[None] | None = None
        self._written: tuple[int, int, str] | None = None  # the last message: of a version, for a known one

    @property
    def is_full(self) -> bool:
        return len(self._waiting) >= _MOST

    async def views(self) -> AsyncIterator[View]:
        """The view now, and every newer one."""
        changed = asyncio.Event()
        self._waiting.add(changed)
        try:
            if self._looking is None or self._looking.done():
                self._looking = asyncio.create_task(self._look())
            while True:
                yield await run_in_threadpool(self._site.view)
                await changed.wait()
                changed.clear()
        finally:
            self._waiting.discard(changed)

    def message(self, view: View, known: int) -> str:
        """What is newer than a known version; most browsers know the same one, so it is written once for them."""
        if self._written is None or self._written[:2] != (view.version, known):
            newer = {name: html for name, html in view.sections.items() if view.changed[name] > known}
            message = {"version": view.version, "title": title_of(view.model), "sections": newer}
            self._written = view.version, known, json.dumps(message)
        return self._written[2]

    async def _look(self) -> None:
        version = 0
        while self._waiting:
            view = await run_in_threadpool(self._site.view)
            if view.version != version:
                version = view.version
                for each in self._waiting:
                    each.set()
            await asyncio.sleep(LOOK)


async def show_events(request: Request) -> Response:
    """The sections that are newer than the version that the browser has."""
    live: Live = request.app.state.live
    if live.is_full:
        return refused(503, "Too many pages are open", "Close some of them.")
    given = request.headers.get("last-event-id") or request.query_params.get("version", "")

    async def events() -> AsyncIterator[ServerSentEvent]:
        sent = int(given) if given.isdecimal() and len(given) < 12 else 0
        async for view in live.views():
            if view.version != sent:
                known = sent if sent < view.version else 0  # a higher one is of a server that has ended
                sent = view.version
                yield ServerSentEvent(live.message(view, known), event="page", id=str(sent))

    return EventSourceResponse(events(), ping=15)
