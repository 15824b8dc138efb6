"""The page as HTML, from the model alone. Every text is escaped by the template engine, and made printable before."""

import hashlib
import os
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from liza.clients.event import call_text
from liza.model import format_time, parse_time, span_text
from liza.schema.severities import SEVERITIES
from liza.templates import read_template, template_path
from liza.text import of_text, one_line, plural, printable, shell_quoted
from liza.web.decisions import DECISIONS
from liza.web.markdown import render_markdown

# In the order of the page: first what a person has to know and decide.
SECTIONS = ("banner", "decisions", "sessions", "patterns", "timeline", "report", "history", "usage", "health")
OUTCOMES = ("ok", "failed", "refused", "unknown")
STEPS, _CELL = 50, 6  # of a strip: how many, and how wide each is


def render_sections(model: Mapping[str, Any], **more: Any) -> dict[str, str]:
    """The HTML of each section, by its id."""
    return {name: _template(f"{name}.html").render(m=model, **{**_NOTHING, **more}) for name in SECTIONS}


def render_page(model: Mapping[str, Any], sections: Mapping[str, str], **more: Any) -> str:
    """The whole page for `liza serve`."""
    return _template("page.html").render(
        m=model, title=title_of(model), sections=_trusted(sections), **{**_NOTHING, **more}
    )


def title_of(model: Mapping[str, Any]) -> str:
    """What the browser's tab says: the state first."""
    return f"{str(model['status']).upper()} · {one_line(model['project'], 60)} · liza"


def render_file(model: Mapping[str, Any]) -> str:
    """The page as one file that needs no other, for a person to keep or send."""
    style = asset("page.css")
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return render_page(model, render_sections(model), style=Markup(style), digest=digest)


def render_message(title: str, text: str, hint: str = "") -> str:
    """A page that says one thing, such as why a request is refused."""
    return _template("message.html").render(title=title, text=text, hint=hint)


# Whether decisions can be made, and what the page of a server has that a file has not.
_NOTHING = {"decides": False, "version": None, "form_token": "", "style": None, "digest": None, "outcomes": ()}


@cache
def asset(name: str) -> str:
    """A file of the page: its style or its script."""
    return read_template(f"web/{name}")


def _trusted(sections: Mapping[str, str]) -> dict[str, Markup]:
    return {name: Markup(html) for name, html in sections.items()}


@cache
def _environment() -> Environment:
    """Without custom templates: what agents may write must not decide what a person sees here."""
    environment = Environment(
        loader=FileSystemLoader(os.path.dirname(template_path("web/page.html"))),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "iso": iso,
        "id": lambda text: hashlib.sha256(str(text).encode(errors="replace")).hexdigest()[:10],
        "line": one_line,
        "printable": printable,
        "markdown": render_markdown,
        "seconds": lambda value: span_text(timedelta(seconds=value)),
        "plural": plural,
        "quoted": lambda text: printable(shell_quoted(one_line(text, 200))),
        "of": of_text,
        "strip": strip_of,
        "call": _call,
        "urgent": most_urgent,
        "severity": lambda name: SEVERITIES.get(str(name)),
        "utc": _utc,
        "money": lambda value: f"${value:,.2f}",
        "tokens": _tokens,
    }
    environment.globals |= {"outcome_names": OUTCOMES, "decisions": DECISIONS}
    return environment


def _template(name: str) -> Template:
    return _environment().get_template(name)


# --- filters -------------------------------------------------------------------------------------------------------


def strip_of(outcomes: Sequence[str]) -> dict[str, Any]:
    """The last steps, the newest at the right, as one SVG path for each outcome, and in words."""
    known = [each if each in OUTCOMES else "unknown" for each in outcomes]
    first = STEPS - len(known)
    paths = {name: "".join(_cell(at) for at, each in enumerate(known, first) if each == name) for name in OUTCOMES}
    counts = Counter(known)
    said = ", ".join(f"{counts[name]} {name}" for name in OUTCOMES if counts[name])
    return {"paths": paths, "width": STEPS * _CELL, "text": f"last {plural(len(known), 'call')}: {said}"}


def _cell(place: int) -> str:
    return f"M{place * _CELL} 0h{_CELL - 1}v14h-{_CELL - 1}z"


def most_urgent(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Stopped sessions first, then running ones, then those that have ended."""
    return sorted(rows, key=lambda row: (row["reason"] is None, row["state"] == "ended"))


def _call(step: str | None) -> str:
    tool, _, given = (step or "").partition(" ")
    return one_line(call_text(tool, given, 160), 160) if tool else ""


def _utc(stamp: Any) -> str:
    """A time as people read it: `Nov 19, 14:05:12`; what is no time as it is."""
    moment = parse_time(stamp)
    return one_line(stamp, 40) if moment is None else f"{moment:%b} {moment.day}, {moment:%H:%M:%S}"


def _tokens(number: int) -> str:
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number)


def iso(stamp: Any) -> str:
    moment = parse_time(stamp)
    return format_time(moment) if moment is not None else ""
