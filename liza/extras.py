"""Optional parts of liza: which packages each needs, and the one command that installs them."""

import sys
from importlib.util import find_spec

from liza.errors import Refused

# A module of each extra in pyproject.toml by which it is known to be installed.
EXTRAS = {
    "mcp": ("mcp",),
    "metrics": ("prometheus_client", "opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
}


def has_extra(name: str) -> bool:
    """Whether the packages of an extra are installed; none of them is imported."""
    try:
        return all(find_spec(module) is not None for module in EXTRAS[name])
    except ModuleNotFoundError:  # a package above one of them is missing
        return False


def require_extra(name: str, what: str) -> None:
    """Raise `Refused` with the command that installs an extra; `what` is what needs it."""
    if not has_extra(name):
        raise Refused(f"{what} needs packages that are not installed", hint=install_command(name))


def install_command(name: str) -> str:
    return f"{sys.executable} -m pip install 'liza[{name}]'"
