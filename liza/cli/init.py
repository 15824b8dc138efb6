"""`liza init`."""

import os

import click

from liza.cli.group import Call, untimed
from liza.store import create
from liza.text import printable


@click.command("init")
@click.option("--goal", metavar="TEXT", help="What the team builds, in one sentence.")
@untimed
def command(call: Call, goal: str | None) -> int:
    """Create a blackboard in this folder.

    Writes a starter .liza/ with state.yaml, log.yaml and rules.yaml, and a .gitignore for what git should not keep.
    Existing files are never overwritten.

    \b
    Examples:
      liza init --goal "Ship the importer"
    """
    made = create.create(call.root or os.environ.get("LIZA_ROOT") or os.getcwd(), goal)
    files = [os.path.relpath(file) for file in made.files]
    if call.as_json:
        from liza.cli import envelope

        envelope.write("init", "created", files=files, above=made.above)
        return 0
    for file in files:
        click.echo(f"created {printable(file)}")
    if made.above:
        click.echo(
            f"\nNote: {printable(made.above)} is a blackboard, too. From here on, agents in this folder see this one."
        )
    click.echo("\nNext: liza install   (adds liza's hook to your coding agents; for others see docs/agents.md)")
    click.echo("Then: liza watch --background   (the first session of an agent with the hook also starts it)")
    return 0
