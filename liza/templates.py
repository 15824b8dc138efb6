"""The files of `templates/`: at the top of the source tree, inside the package once it is installed.

Custom ones in LIZA_TEMPLATES take precedence. Agents may have written those, so every template runs in a sandbox.
"""

import os

TYPE_CHECKING = False  # not typing's, which not every caller has imported yet
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from jinja2 import Template

_MAX_CACHED = 8
_COMPILED: "dict[tuple[str, tuple[tuple[str, Callable[..., Any]], ...]], Template]" = {}


def read_template(name: str) -> str:
    with open(template_path(name), encoding="utf-8") as file:
        return file.read()


def template_path(name: str) -> str:
    here = os.path.dirname(os.path.abspath(__file__))
    installed = os.path.join(here, "templates", name)
    return installed if os.path.exists(installed) else os.path.join(os.path.dirname(here), "templates", name)


def custom_template(name: str) -> str | None:
    """The path of a custom template that replaces a shipped one, or None."""
    folder = os.environ.get("LIZA_TEMPLATES")
    file = os.path.join(folder or "", name)
    return file if folder and os.path.exists(file) else None


def render_custom(
    name: str, facts: "Mapping[str, Any]", filters: "Mapping[str, Callable[..., Any]]"
) -> "tuple[str | None, str | None]":
    """What the custom template makes of the facts; else None, and why it cannot be used if there is one."""
    from liza.store.files import open_regular

    own = custom_template(name)
    if own is None:
        return None, None
    try:
        with open(own, encoding="utf-8", opener=open_regular) as file:
            return render(file.read(), facts, filters), None
    except Exception as error:  # noqa: BLE001 - a template may do anything
        return None, f"the template {own} failed, so this is the shipped one: {error}"


def render(template: str, facts: "Mapping[str, Any]", filters: "Mapping[str, Callable[..., Any]]") -> str:
    """A template filled with the facts; any fault of the template raises an exception."""
    return str(compile_template(template, filters).render(facts))


def compile_template(template: str, filters: "Mapping[str, Callable[..., Any]]") -> "Template":
    """The compiled template, cached: compiling takes most of the time of a trip, which renders it three times."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    key = (template, tuple(filters.items()))
    if key not in _COMPILED:
        environment = ImmutableSandboxedEnvironment(
            undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
        )
        environment.filters.update(filters)
        if len(_COMPILED) >= _MAX_CACHED:  # custom templates may change while a daemon runs
            _COMPILED.clear()
        _COMPILED[key] = environment.from_string(template)
    return _COMPILED[key]
