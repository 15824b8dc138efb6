"""`liza session stop` and `liza session resume`."""

import click

from liza.cli import envelope
from liza.cli.group import Call, Family, by_option, common, plain
from liza.cli.options import person, plain_words
from liza.clients.caller import alarm_if_no_terminal, require_person
from liza.scopes.sessions.monitor import Monitor
from liza.scopes.sessions.stop_and_resume import resume_by_hand, stop_by_hand
from liza.store.board import Board
from liza.text import printable


@click.group("session", cls=Family)
@common
def command() -> None:
    """Stop one session of an agent, or let it continue.

    \b
    Examples:
      liza session stop coder-1 -m "it works on the wrong branch"
      liza session resume coder-1 -m "branch changed"
    """


@command.command("stop")
@click.argument("name", metavar="SESSION")
@click.option("-m", "--message", metavar="WHY", required=True, help="Why; shown to the agent.")
@by_option
@plain
def stop_command(call: Call, name: str, message: str, by: str | None) -> int:
    """Stop SESSION, and the sessions that it started.

    SESSION is its id, the first characters of it, or its name. Its next call is held or refused. Exit code 3.

    \b
    Examples:
      liza session stop c98c850d -m "it works on the wrong branch"
    """
    board = call.board
    monitor = _monitor(board)
    session, earlier = stop_by_hand(board, monitor, name, plain_words(message, "-m"), person(by), call.at)
    if call.as_json:
        envelope.write("session stop", "open", session=session, session_status="STOPPED")
    else:
        if earlier is None:
            click.echo(f"session {printable(session)} is stopped")
        else:
            click.echo(f"session {printable(session)} is already stopped: {printable(earlier)}")
            click.echo(f"  not recorded: {printable(message)}")
        click.echo(f"  to continue: liza session resume {printable(name)} -m 'what was decided'")
    return 3


@command.command("resume")
@click.argument("name", metavar="SESSION")
@click.option("-m", "--message", metavar="WHY", required=True, help="What was decided.")
@by_option
@plain
def resume_command(call: Call, name: str, message: str, by: str | None) -> int:
    """Let a stopped SESSION continue. What it did before no longer counts.

    \b
    Examples:
      liza session resume c98c850d -m "the fixture was wrong"
    """
    board = call.board
    require_person(board.paths, "liza session resume")
    at = call.at
    session = resume_by_hand(board, _monitor(board), name, plain_words(message, "-m"), person(by), at)
    alarm_if_no_terminal(board.paths, f"liza session resume {session}", person(by), at)
    if call.as_json:
        envelope.write("session resume", "ok", session=session, session_status="ACTIVE")
    else:
        click.echo(f"session {printable(session)} may continue")
    return 0


def _monitor(board: Board) -> Monitor:
    monitor = Monitor(board.paths)
    monitor.windows.refresh()
    return monitor
