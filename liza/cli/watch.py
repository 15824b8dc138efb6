"""`liza watch`."""

import gc
import os
import signal
import sys
from datetime import UTC, datetime
from typing import Any

import click

from liza.cli import daemon_status, envelope, show
from liza.cli.followers import Followers
from liza.cli.group import common, root_of
from liza.cli.watch_screen import View
from liza.clients.install import program_path
from liza.daemon import background
from liza.daemon.changes import POLLED
from liza.daemon.daemon import Watcher
from liza.daemon.notifier import Event, EventKind
from liza.daemon.options import Options
from liza.daemon.status import DaemonState, read_daemon
from liza.daemon.systemd_unit import systemd_unit
from liza.daemon.test_message import send_test_message
from liza.errors import NoBlackboard, Refused, WrongUsage
from liza.extras import require_extra
from liza.model import format_time
from liza.store.locate import FOLDER
from liza.store.paths import Paths, find
from liza.text import printable

_EXIT_CODES = {DaemonState.RUNNING: 0, DaemonState.WAITING: 0, DaemonState.DEGRADED: 4, DaemonState.STUCK: 4}


@click.command("watch")
@click.argument("directory", metavar="[DIR]", required=False)
@click.option("--background", "detached", is_flag=True, help="Detach; the log is .liza/watch.log.")
@click.option("--stop", is_flag=True, help="Stop the daemon of this blackboard.")
@click.option("--restart", is_flag=True, help="Stop it if it runs, and start it again in the background.")
@click.option("--status", is_flag=True, help="Show the daemon of this blackboard.")
@click.option("--once", is_flag=True, help="One check, as the daemon would make it.")
@click.option("--poll", is_flag=True, help="Poll the files instead of using inotify.")
@click.option(
    "--interval",
    metavar="SECONDS",
    type=float,
    default=Options().interval,
    show_default=True,
    help="Seconds between two checks.",
)
@click.option("--observe", is_flag=True, help="Evaluate and notify, never halt.")
@click.option("--metrics", metavar="FILE", help="Keep FILE up to date for node_exporter's textfile collector.")
@click.option("--test-message", is_flag=True, help="Send a message to every target under notify: in rules.yaml.")
@click.option("--print-unit", is_flag=True, help="Print a systemd user unit for this blackboard.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line; with --status one object.")
@common
@click.pass_context
def command(
    ctx: click.Context,
    directory: str | None,
    detached: bool,
    stop: bool,
    restart: bool,
    status: bool,
    once: bool,
    poll: bool,
    interval: float,
    observe: bool,
    metrics: str | None,
    test_message: bool,
    print_unit: bool,
    as_json: bool,
) -> int:
    """Watch the blackboard, and check it on every change.

    Runs in the foreground until Ctrl-C, or with --background as a daemon; there is one per blackboard. It waits for
    a blackboard that does not exist yet, and survives one that is deleted and comes back.

    \b
    Examples:
      liza watch --background
      liza watch --status
      liza watch --restart
      liza watch --stop
    """
    if sum((detached, stop, restart, status, once, test_message, print_unit)) > 1:
        several = "--background, --stop, --restart, --status, --once, --test-message and --print-unit"
        raise WrongUsage(f"only one of {several} at a time")
    options = _checked(Options(interval, poll, observe, metrics), once)
    paths = find(directory or root_of(ctx)) if once or test_message else _paths(directory or root_of(ctx))
    if print_unit:
        click.echo(systemd_unit(paths, program_path()), nl=False)
        return 0
    if test_message:
        return _send_test_message(paths, as_json)
    if stop:
        return _stop(paths, as_json)
    if status:
        return _status(paths, as_json)
    if once:
        return _once(paths, options, as_json)
    if restart:
        return _restart(ctx, paths, options, as_json)
    if detached:
        return _start(paths, options, as_json)
    return _foreground(paths, options, as_json)


def _paths(root: str | None) -> Paths:
    """The blackboard, or where it will be: a daemon may be started before there is anything to watch."""
    try:
        return find(root)
    except NoBlackboard:
        folder = root or os.environ.get("LIZA_ROOT") or os.getcwd()
        if not os.path.isdir(folder):
            raise
        return Paths(os.path.join(os.path.abspath(folder), FOLDER))


def _checked(options: Options, once: bool) -> Options:
    """The options as the daemon takes them, wherever its own folder is."""
    if not 0.05 <= options.interval <= 3600:
        raise WrongUsage(f"--interval: expected 0.05 to 3600 seconds, got {options.interval:g}")
    if options.metrics is None:
        return options
    if once:
        raise WrongUsage("--metrics is for a daemon that keeps running, not for --once")
    require_extra("metrics", "--metrics")
    file = os.path.abspath(options.metrics)
    if not os.path.isdir(os.path.dirname(file)):
        hint = "create it, or name the folder of node_exporter's textfile collector"
        raise Refused(f"--metrics: there is no folder for {file}", hint=hint)
    return options._replace(metrics=file)


def _watch(watcher: Watcher) -> int:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: watcher.stop())
    signal.signal(signal.SIGHUP, lambda *_: watcher.renew())
    gc.enable()  # unlike other commands this one runs for long
    followers, draw = Followers(watcher), watcher.after_tick

    def after_tick() -> None:
        draw()
        followers.look()

    watcher.after_tick = after_tick
    try:
        watcher.run()
    finally:
        followers.stop()
    return 0


def _foreground(paths: Paths, options: Options, as_json: bool) -> int:
    if as_json or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return _watch(Watcher(paths, options, _json_line if as_json else _line))
    view = View()
    view.watcher = watcher = Watcher(paths, options, view.add_event, after_tick=view.draw)

    def suspend(*_: Any) -> None:
        view.hide()
        os.kill(os.getpid(), signal.SIGSTOP)

    signal.signal(signal.SIGTSTP, suspend)
    for number in (signal.SIGWINCH, signal.SIGCONT):
        signal.signal(number, lambda *_: watcher.changes.wake())
    try:
        return _watch(watcher)
    finally:
        view.hide()
        for each in view.last:
            _line(each)  # the events stay on the terminal


def _start(paths: Paths, options: Options, as_json: bool) -> int:
    pid = background.start(paths, lambda on_event: _watch(Watcher(paths, options, on_event)))
    if as_json:
        envelope.write("watch", "started", pid=pid, log=os.path.relpath(paths.watch_log))
    elif os.path.isdir(paths.folder):
        log = printable(os.path.relpath(paths.watch_log))
        click.echo(f"watching in the background, process {pid}; log: {log}")
    else:
        where = printable(os.path.relpath(paths.folder))
        click.echo(f"process {pid} waits in the background for {where}/ to be created (to end it: liza watch --stop)")
    return 0


def _restart(ctx: click.Context, paths: Paths, options: Options, as_json: bool) -> int:
    """Another daemon in the place of the one that runs, with its options where the call gives none."""
    facts = read_daemon(paths).facts
    given = {
        name for name in Options._fields if ctx.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
    }
    interval = facts.get("interval")
    if "interval" not in given and isinstance(interval, int | float) and not isinstance(interval, bool):
        options = options._replace(interval=float(interval))
    if "poll" not in given:
        options = options._replace(poll=facts.get("backend") == POLLED)
    if "observe" not in given:
        options = options._replace(observe=facts.get("observe") is True)
    background.stop(paths)
    return _start(paths, options, as_json)


def _once(paths: Paths, options: Options, as_json: bool) -> int:
    events: list[Event] = []
    watcher = Watcher(paths, options, events.append)
    watcher.once()
    for each in events:
        (_json_line if as_json else _line)(each)
    errors = watcher.notifier.health.errors.values()
    for failure in errors:
        (_json_line if as_json else _line)(Event(datetime.now(UTC), EventKind.DEGRADED, failure.text))
    if watcher.found is not None and watcher.found.trigger is not None:
        return 3
    return 4 if errors else 0


def _stop(paths: Paths, as_json: bool) -> int:
    pid = background.stop(paths)
    if as_json:
        envelope.write("watch", "stopped" if pid is not None else "not running", pid=pid)
    else:
        click.echo(f"daemon stopped, process {pid}" if pid is not None else "no daemon is running")
    return 0


def _status(paths: Paths, as_json: bool) -> int:
    daemon = read_daemon(paths)
    if as_json:
        envelope.write("watch", daemon.state, pid=daemon.pid, daemon=daemon.facts)
    else:
        for line in daemon_status.lines(daemon, paths):
            click.echo(line)
        show.warnings(daemon_status.warnings(daemon))
    return _EXIT_CODES.get(daemon.state, 1)


def _send_test_message(paths: Paths, as_json: bool) -> int:
    sent = send_test_message(paths, datetime.now(UTC))
    if as_json:
        problems = [{"message": fault.message, "hint": fault.hint} for fault in sent.faults]
        places = [{"place": name, "sent": why is None, "why": why} for name, why in sent.outcome.items()]
        envelope.write("watch", "sent" if sent.is_complete else "not sent", problems, places=places)
    else:
        for name, why in sent.outcome.items():
            click.echo(f"{name}: " + (click.style("sent", fg="green") if why is None else show.bold(why, "red")))
        show.warnings(fault.message + (f" ({fault.hint})" if fault.hint else "") for fault in sent.faults)
    return 0 if sent.is_complete else 1


# --- printing --------------------------------------------------------------------------------------------------------


def _line(event: Event) -> None:
    click.echo(event.line)
    sys.stdout.flush()


def _json_line(event: Event) -> None:
    envelope.write("watch", str(event.kind), at=format_time(event.at), text=event.text)
    sys.stdout.flush()
