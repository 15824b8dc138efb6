"""`liza completion`: the script for a shell, and the answers to it when TAB is pressed.

click knows the protocols of the shells, and which commands and options there are. What is on the blackboard it
learns here, in one table, so that no command carries anything of it when it is run.
"""

from collections.abc import Callable, Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from liza.cli.group import common, liza, root_of
from liza.scope_names import ON_BOARD

VARIABLE = "_LIZA_COMPLETE"
SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
@common
def command(shell: str) -> int:
    """Print the completion script for bash, zsh or fish.

    TAB then completes commands, options, and the names of loops, claims, slices, tasks and rules. Install it
    once, into an existing folder; new shells then have it. For zsh, the folder must be in its fpath before compinit.
    With eval, the current shell has it at once.

    \b
    Examples:
      eval "$(liza completion bash)"
      liza completion bash > ~/.local/share/bash-completion/completions/liza
      liza completion zsh > ~/.zfunc/_liza
      liza completion fish > ~/.config/fish/completions/liza.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(liza, {}, "liza", VARIABLE).source(), nl=False)
    return 0


def answer(instruction: str) -> int:
    """What may come next, as the shell's script asks for it. Whatever goes wrong, nothing is printed: a line is
    being typed, and there is no place for an error."""
    shell, _, wanted = instruction.partition("_")
    kind = get_completion_class(shell)
    if kind is None or wanted != "complete":
        return 1
    asked = kind(liza, {}, "liza", VARIABLE)
    try:
        args, incomplete = asked.get_completion_args()
        _teach(args)
        items = asked.get_completions(args, incomplete)
        click.echo("\n".join(asked.format_completion(item) for item in items))
    except Exception:  # noqa: BLE001 - the boundary, as described above
        return 1
    return 0


class Known(click.types.StringParamType):
    """A text of which some are known: they are offered, and every other is taken as well."""

    def __init__(self, known: Callable[[str | None], Iterable[str]]) -> None:
        self.known = known

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        return [CompletionItem(name) for name in self.known(root_of(ctx)) if name.startswith(incomplete)]


def _teach(args: Iterable[str]) -> None:
    """Give the parameters of the command that is being typed their known values."""
    found: click.Command = liza
    ctx = click.Context(liza, resilient_parsing=True)
    for word in args:
        if isinstance(found, click.Group) and word in found.list_commands(ctx):
            found = found.get_command(ctx, word) or found
    for param in found.params:
        kind = _kind(param, args)
        if kind is not None and param.type is click.STRING:
            param.type = kind


def _kind(param: click.Parameter, args: Iterable[str]) -> "click.ParamType[Any] | None":
    about = next((name for name in param.opts if name in _OPTIONS), None)
    if about is not None:
        return Known(_OPTIONS[about])
    metavar = str(getattr(param, "metavar", "") or "").strip("[].")
    if metavar in _FILES:
        return click.Path(dir_okay=metavar == "DIR", file_okay=metavar != "DIR")
    if metavar == "ID" and isinstance(param, click.Argument):
        family = next((word for word in args if word in ("claim", "silence")), "")
        return Known(_on_board(f"{family}s")) if family and "add" not in args else None
    return Known(_METAVARS[metavar]) if metavar in _METAVARS else None


def _on_board(section: str) -> Callable[[str | None], Iterable[str]]:
    def names(root: str | None) -> Iterable[str]:
        from liza.store import names as glimpse
        from liza.store.paths import find

        return glimpse.read_names(find(root), section)

    return names


def _rules(root: str | None) -> Iterable[str]:
    from liza.errors import LizaError
    from liza.scopes.rules_file import read_rules
    from liza.store.paths import find

    try:
        rules = read_rules(find(root).rules)
    except LizaError:
        rules = read_rules(None)  # there is no blackboard, or its rules cannot be used: the shipped ones
    return [each.rule.name for each in rules.all]


def _types(root: str | None) -> Iterable[str]:
    from liza.schema import anomalies

    return anomalies.TYPES


_FILES = ("DIR", "FILE", "LEDGER.md", "REPORT.xml")
_METAVARS: dict[str, Callable[[str | None], Iterable[str]]] = {
    "LOOP": _on_board("loops"),
    "STAGE": _on_board("stages"),
    "RULE": _rules,
}
_OPTIONS: dict[str, Callable[[str | None], Iterable[str]]] = {
    **{f"--{each.scope}": _on_board(each.section) for each in ON_BOARD},
    "--stage": _on_board("stages"),
    "--task": _on_board("tasks"),
    "--agent": _on_board("agents"),
    "--reporter": _on_board("agents"),
    "--type": _types,
}
