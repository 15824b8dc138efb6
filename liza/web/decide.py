"""A decision from the page: checked, then run as the command that it is, and its outcome shown."""

import asyncio
import contextlib
import os
import secrets
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from liza.errors import WrongUsage
from liza.model import format_time
from liza.store import alerts
from liza.store.paths import Paths
from liza.text import cut, printable
from liza.web.access import Access, Limit, refused, same
from liza.web.decisions import DECISIONS, command_line

LONGEST = 65_536  # bytes of a form
_KEPT = 5  # outcomes that are shown
_SECONDS = 60.0  # that a command may take
_OUTPUT = 4_000  # characters of what it printed
_WRONG_CODES = 5  # after which there is another code
_RUN = "from liza.cli.main import main; raise SystemExit(main())"
_FORM = "application/x-www-form-urlencoded"


class Outcome(NamedTuple):
    """What became of a decision."""

    at: str
    command: str  # as a person would type it; empty if none was run
    output: str
    done: bool  # whether the command did what it was asked to
    status: int = 200  # of the answer


class Desk:
    """Where decisions are made: knows the code that only the terminal shows, and one decision is made at a time."""

    def __init__(self, paths: Paths, terminal: int | None, show_code: Callable[[str], None]) -> None:
        self.outcomes: deque[Outcome] = deque(maxlen=_KEPT)
        self._paths = paths
        self._terminal = terminal  # a descriptor of it; without one there are no decisions
        self._show_code = show_code
        self._code, self._wrong = "", 0
        self._limit = Limit(20, 60.0)
        self._one = asyncio.Lock()
        if terminal is not None:
            self._renew_code()

    @property
    def is_open(self) -> bool:
        return self._terminal is not None

    def _renew_code(self) -> None:
        self._code, self._wrong = f"{secrets.randbelow(10**6):06}", 0
        self._show_code(self._code)

    def check_code(self, given: str) -> str | None:
        """Why a code is not accepted. After some wrong ones there is another code, so that it cannot be guessed."""
        if not self._limit.allows():
            return "too many attempts: wait a minute"
        self._limit.count()
        if same("".join(given.split()), self._code):
            self._wrong = 0
            return None
        self._wrong += 1
        if self._wrong < _WRONG_CODES:
            return "the code is wrong: it is on the terminal that runs liza serve"
        text = f"{_WRONG_CODES} wrong codes were entered on the page of liza serve: check that it was a person"
        alerts.append_alerts(self._paths, [("alarm", text)], datetime.now(UTC), always=True)
        self._renew_code()
        return "the code is wrong, and was replaced: the terminal that runs liza serve shows another one"

    async def decide(self, form: Mapping[str, str]) -> Outcome:
        """Run the decision of a form."""
        decision = DECISIONS.get(form.get("decision", ""))
        if decision is None:
            return _refused(400, "there is no such decision")
        if any("\0" in text for text in form.values()):
            return _refused(400, "the words of a command cannot have a NUL character")
        if (why := self.check_code(form.get("code", ""))) is not None:
            return _refused(403, why)
        try:
            arguments = decision.arguments(form.get("subject", ""), form)
        except WrongUsage as error:
            return _refused(400, "; ".join(filter(None, (error.message, error.hint))))
        async with self._one:
            outcome = await self._run(arguments)
        self.outcomes.appendleft(outcome)
        return outcome

    async def _run(self, arguments: Sequence[str]) -> Outcome:
        """Run liza with these arguments, on the person's terminal: a program of its own, which sees no difference."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-c", _RUN, *arguments),  # -P: a module in the project's folder is not ours
            stdin=self._terminal,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=self._paths.project,
            env={**os.environ, "LIZA_ROOT": self._paths.project, "NO_COLOR": "1"},
        )
        try:
            printed, _ = await asyncio.wait_for(process.communicate(), _SECONDS)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            printed = f"no answer within {_SECONDS:g} s: see on the page whether it was done".encode()
        lines = printed.decode(errors="replace").splitlines()
        text = cut("\n".join(map(printable, lines)), _OUTPUT)
        done = process.returncode in (0, 3)  # 3: what it is about is stopped, as it may be meant
        return Outcome(format_time(datetime.now(UTC)), command_line(arguments), text, done)


async def decide(request: Request) -> Response:
    """The form of a decision: an answer for our script, or the page again."""
    access: Access = request.app.state.access
    desk: Desk = request.app.state.desk
    outcome = await _outcome(request, access, desk)
    request.app.state.site.forget()
    if "application/json" in request.headers.get("accept", ""):
        return JSONResponse(outcome._asdict(), outcome.status)
    if outcome.status == 200:
        return RedirectResponse("/#outcomes", 303)
    return refused(outcome.status, "Refused", outcome.output)


async def _outcome(request: Request, access: Access, desk: Desk) -> Outcome:
    if not desk.is_open:
        return _refused(403, "this page is read-only: run the command that it shows")
    form = await _read_form(request)
    if form is None:
        return _refused(400, "this is not a form of the page")
    if not same(form.get("form_token", ""), access.form_token):
        return _refused(403, "this form is of another start of liza serve: load the page again")
    return await desk.decide(form)


async def _read_form(request: Request) -> dict[str, str] | None:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        return None
    raw = b""
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > LONGEST:
            return None
    try:
        return dict(parse_qsl(raw.decode(), keep_blank_values=True, max_num_fields=20, errors="strict"))
    except ValueError:
        return None


def _refused(status: int, why: str) -> Outcome:
    return Outcome(format_time(datetime.now(UTC)), "", why, done=False, status=status)
