"""The `liza` command: its help, and loading the command that was asked for and no other."""

from collections.abc import Mapping
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from liza import __version__
from liza.cli.commands import COMMANDS, GROUPS
from liza.text import value_text, with_meant

if TYPE_CHECKING:
    from datetime import datetime

    from click.shell_completion import CompletionItem

    from liza.store.board import Board


class Family(click.Group):
    """A command with subcommands; a misspelt one is reported with the one that was meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-") and not ctx.resilient_parsing:
            ctx.fail(with_meant(f"unknown command {value_text(args[0])}", args[0], known))
        return super().resolve_command(ctx, args)


class LazyFamily(Family):
    """Knows its commands by name only, until one is called: `places` has the module and the attribute of each."""

    def __init__(self, *args: Any, places: Mapping[str, tuple[str, str]], **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        self.places = places

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.places:
            return None
        module, attribute = self.places[cmd_name]
        command: click.Command = getattr(import_module(module), attribute)
        return command


class Liza(LazyFamily):
    """The program itself."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem[str]]":
        """Names from the table: click would load every command to see whether it is hidden."""
        from click.shell_completion import CompletionItem

        names = [CompletionItem(each.name, help=each.help) for each in COMMANDS if each.name.startswith(incomplete)]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for group in GROUPS:
            rows = [(command.name, command.help) for command in COMMANDS if command.group == group]
            if rows:
                with formatter.section(group.capitalize()):
                    formatter.write_dl(rows, col_max=12)


def common(command: Any) -> Any:
    """The options that every command takes, before or after its name."""
    command = click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")(command)
    return click.option(
        "--root",
        metavar="DIR",
        expose_value=False,
        callback=_remember_root,
        help="Folder that contains .liza/; default: $LIZA_ROOT, else the nearest parent.",
    )(command)


class Call(NamedTuple):
    """How a command was called: what nearly every one of them takes."""

    root: str | None
    as_json: bool
    now: str | None = None

    @property
    def board(self) -> "Board":
        from liza.store.board import Board

        return Board.find(self.root)

    @property
    def at(self) -> "datetime":
        """The time that --now gives, else the clock's."""
        from liza.cli.options import moment

        return moment(self.now)


def untimed(command: Any) -> Any:
    """The common options, and --json; these come last in the help. The command gets a `Call` in their place."""

    @wraps(command)
    def called(as_json: bool, now: str | None = None, **options: Any) -> Any:
        return command(Call(root_of(click.get_current_context()), as_json, now), **options)

    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(common(called))


def plain(command: Any) -> Any:
    """What nearly every command takes: the same, and --now."""
    return click.option("--now", metavar="TIME", help="Evaluate as of this time.")(untimed(command))


by_option = click.option("--by", metavar="NAME", help="Who decides; default: the user of this machine.")
exact_option = click.option("--exact", is_flag=True, help="Compare texts for equality only.")
rules_option = click.option("--rules", "rules_file", metavar="FILE", help="Use this file instead of .liza/rules.yaml.")
window_option = click.option("--window", metavar="W", help="Which anomalies count: current_sprint, all, 24h, last 50.")


def _remember_root(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.find_root().ensure_object(dict)["root"] = value


def root_of(ctx: click.Context) -> str | None:
    """What --root named, on whichever side of the command's name it stood."""
    root: str | None = ctx.find_root().ensure_object(dict).get("root")
    return root


@click.group(
    cls=Liza,
    places={command.name: (command.module, "command") for command in COMMANDS},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 OK, 1 refused, 2 wrong usage, 3 a breaker is open, 4 could not evaluate, "
    "70 a bug, 130 interrupted.",
)
@click.version_option(__version__, prog_name="liza", message="%(prog)s %(version)s")
@common
def liza() -> None:
    """The circuit breaker for teams of coding agents.

    liza watches coding agents through hooks and a shared blackboard, the .liza/ folder. It stops a session that is
    stuck, and halts all agents when a problem is systemic.
    """
