"""The application: its routes, behind the guard that every request passes."""

from collections.abc import Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from liza.cli.envelope import plain
from liza.extras import has_extra, install_command
from liza.store.paths import Paths
from liza.web.access import Access, Guard
from liza.web.decide import Desk, decide
from liza.web.live import Live, show_events
from liza.web.page import asset, render_page
from liza.web.site import Site


def make_app(paths: Paths, access: Access, desk: Desk) -> Starlette:
    """The dashboard of a blackboard. What a route needs is in `request.app.state`: `site`, `live`, `desk`, `access`."""

    def extra() -> dict[str, Any]:
        return {"decides": desk.is_open, "form_token": access.form_token, "outcomes": tuple(desk.outcomes)}

    app = Starlette(routes=routes(), middleware=[Middleware(Guard, access=access)])
    site = Site(paths, extra=extra)
    app.state.site, app.state.live, app.state.desk, app.state.access = site, Live(site), desk, access
    return app


def routes() -> Sequence[BaseRoute]:
    """Every address of the server; none of them opens a file that a request names."""
    return [
        Route("/", show_page),
        Route("/status.json", show_model),
        Route("/events", show_events),
        Route("/decide", decide, methods=["POST"]),
        Route("/metrics", show_metrics),
        Route("/page.css", show_style),
        Route("/page.js", show_script),
    ]


async def show_page(request: Request) -> Response:
    site: Site = request.app.state.site
    view = await run_in_threadpool(site.view)
    return HTMLResponse(render_page(view.model, view.sections, version=view.version, **site.extra()))


async def show_model(request: Request) -> Response:
    view = await run_in_threadpool(request.app.state.site.view)
    return JSONResponse(plain(view.model))


async def show_metrics(request: Request) -> Response:
    """For Prometheus, where its packages are installed."""
    if not has_extra("metrics"):
        return PlainTextResponse(f"it needs: {install_command('metrics')}\n", 501)
    site: Site = request.app.state.site
    return Response(await run_in_threadpool(site.metrics), media_type="text/plain; version=1.0.0; charset=utf-8")


async def show_style(request: Request) -> Response:
    return Response(asset("page.css"), media_type="text/css")


async def show_script(request: Request) -> Response:
    return Response(asset("page.js"), media_type="text/javascript")
