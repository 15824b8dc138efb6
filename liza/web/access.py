"""Who may see the page, and from where: checked for every request, before any route.

Other programs of this machine can connect, and so can any web site that a person has open. So a request needs the
token that is shown on the terminal (in the first address, then as a cookie), or is refused; the Host header must be an
address of this server, so that no other site's name leads here; and what changes something must come from our page.
"""

import os
import secrets
import time
from collections import deque
from collections.abc import Callable
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from liza.web.page import render_message

METRICS = "/metrics"
PUBLIC = ("/page.css",)  # what says nothing about the blackboard
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Limit:
    """At most `most` in a span of seconds."""

    def __init__(self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._times: deque[float] = deque(maxlen=most)
        self._seconds, self._clock = seconds, clock

    def allows(self) -> bool:
        return len(self._times) < (self._times.maxlen or 0) or self._clock() - self._times[0] > self._seconds

    def count(self) -> None:
        self._times.append(self._clock())


class Access:
    """The secrets of one server, and the rules by which a request is let in."""

    def __init__(self, host: str, port: int) -> None:
        self.token = secrets.token_urlsafe(24)
        self.cookie_name = f"liza-{port}"  # cookies are shared by all ports of a host
        self.cookie = secrets.token_urlsafe(24)
        self.form_token = secrets.token_urlsafe(24)
        self._host = host
        self._scraper = os.environ.get("LIZA_METRICS_TOKEN") or ""
        self._once: set[str] = set()
        self._wrong = Limit(30, 60.0)

    def one_time_token(self) -> str:
        """For an address that other programs may see, as in the arguments of a browser."""
        token = secrets.token_urlsafe(24)
        self._once.add(token)
        return token

    def is_own_host(self, header: str) -> bool:
        """Whether a Host header is an address of this server; another name may be a site that leads here."""
        try:
            name = urlsplit(f"//{header}").hostname or ""
        except ValueError:
            return False
        if name == "localhost" or name == self._host.lower():
            return True
        try:
            address = ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or self._host in ("0.0.0.0", "::")  # which listen on every address

    def refusal(self, request: Request) -> Response | None:
        """Why a request is not let in, or where it goes first; None if it is."""
        if not self.is_own_host(request.headers.get("host", "")):
            return refused(421, "Wrong address", "This server does not answer to that name.")
        if request.url.path in PUBLIC or (request.url.path == METRICS and self._is_scraper(request)):
            return None
        if (token := request.query_params.get("token")) is not None:
            return self._enter(request, token)
        if not self._is_known(request):
            return self._wrong_token()
        if request.method not in ("GET", "HEAD") and not self._is_ours(request):
            return refused(403, "Refused", "This request comes from another site.")
        return None

    def _enter(self, request: Request, token: str) -> Response:
        """The first address: its token becomes a cookie, and leaves the address."""
        if not same(token, self.token) and token not in self._once:
            return self._wrong_token()
        self._once.discard(token)
        response = RedirectResponse(request.url.path, 303)
        response.set_cookie(self.cookie_name, self.cookie, httponly=True, samesite="lax", path="/")
        return response

    def _wrong_token(self) -> Response:
        """Too many of these are refused as such; who has the cookie is not held up."""
        if not self._wrong.allows():
            return refused(429, "Too many attempts", "Wait a minute, then open the address of liza serve.")
        self._wrong.count()
        hint = "It has a token that only that terminal shows, and each start has another one."
        return refused(403, "Not signed in", "Open the address that liza serve has printed.", hint)

    def _is_known(self, request: Request) -> bool:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return same(given, self.token)
        return same(request.cookies.get(self.cookie_name, ""), self.cookie)

    def _is_scraper(self, request: Request) -> bool:
        """Whether Prometheus sent its own token, which stays the same over restarts and opens the metrics alone."""
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        return bool(self._scraper) and scheme.lower() == "bearer" and same(given, self._scraper)

    def _is_ours(self, request: Request) -> bool:
        """Whether our own page sent it, as the browser says. A form token is checked with the form."""
        origin = request.headers.get("origin")
        if origin is None:
            return request.headers.get("sec-fetch-site") == "same-origin"
        return origin == f"{request.url.scheme}://{request.headers.get('host')}"


class Guard:
    """The middleware: refuses what `Access` refuses, and sets the same headers on every answer."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refusal = self.access.refusal(Request(scope))
        await (refusal or self.app)(scope, receive, send_guarded)


def refused(code: int, title: str, text: str, hint: str = "") -> Response:
    return Response(render_message(title, text, hint), code, media_type="text/html")


def same(given: str, known: str) -> bool:
    return secrets.compare_digest(given.encode(errors="replace"), known.encode())
