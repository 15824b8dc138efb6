"""`liza serve`."""

import gc
import os
from importlib.util import find_spec

import click

from liza.cli.group import common, root_of
from liza.clients.caller import agent_sign
from liza.errors import Refused
from liza.store.paths import find
from liza.text import printable

PORT = 8642
_PORTS = click.IntRange(0, 65535)


@click.command("serve")
@click.option("--port", metavar="N", type=_PORTS, default=PORT, show_default=True, help="0 takes a free one.")
@click.option("--host", metavar="ADDR", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
@click.option("--read-only", is_flag=True, help="Make no decisions on the page.")
@common
@click.pass_context
def command(ctx: click.Context, port: int, host: str, opens: bool, read_only: bool) -> int:
    """Serve a live page of the breaker and the sessions, and decide there.

    The address that is printed has a token: only someone who can see this terminal can open the page. A decision
    also needs the code that is printed. Without a terminal, or inside an agent, the page is read-only. Runs until
    Ctrl-C.

    \b
    Examples:
      liza serve
      liza serve --port 0 --open
    """
    paths = find(root_of(ctx))
    if missing := [name for name in ("starlette", "uvicorn", "sse_starlette") if find_spec(name) is None]:
        raise Refused(f"liza serve needs {', '.join(missing)}", hint="install what it needs: pip install 'liza[web]'")
    from liza.web.access import Access
    from liza.web.server import serve

    def announce(access: Access, address: str) -> None:
        click.echo(f"{printable(paths.project)}: {address}?token={access.token}")
        if host not in ("127.0.0.1", "::1", "localhost"):
            click.echo("! not encrypted: use it only on a network that you trust, or over SSH (docs/dashboard.md)")
        if opens:
            import webbrowser

            webbrowser.open(f"{address}?token={access.one_time_token()}")

    def show_code(code: str) -> None:
        click.echo(f"code for decisions: {code}", err=terminal == 2)

    terminal = None if read_only else _terminal()
    no_terminal = "the code for decisions is shown only on a terminal; to decide on the page, run liza serve in one"
    why = "--read-only" if read_only else no_terminal if terminal is None else agent_sign(paths)
    if why is not None:
        click.echo(f"read-only: {why}")
        terminal = None
    gc.enable()  # unlike other commands this one runs for long
    serve(paths, host, port, announce, terminal, show_code)
    return 0


def _terminal() -> int | None:
    """The stream of ours that a person sees, and no program reads."""
    return next((fd for fd in (1, 2) if os.isatty(fd)), None)
