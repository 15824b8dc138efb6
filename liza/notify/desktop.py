"""The notifications of the desktop, over D-Bus; no program is started for it."""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from liza.model import Fault, Path
from liza.notify.message import TIMEOUT, Message, NotSent
from liza.notify.settings import shown
from liza.text import escape_angles

_WHERE = "org.freedesktop.Notifications"


class Desktop(NamedTuple):
    """The notification service on the session bus."""

    name: str = "desktop"

    def send(self, message: Message) -> None:
        if not has_bus():
            raise NotSent("no session bus on this machine", retry=False, is_fault=False)
        from jeepney import DBusErrorResponse

        try:
            connection = _connected()
        except Exception as error:  # noqa: BLE001 - the address parser, the socket, the greeting: treated alike
            raise NotSent(f"no session bus ({type(error).__name__})", retry=True) from None
        try:
            marked_up = "body-markup" in _ask(connection, "GetCapabilities", None, ())[0]
            text = escape_angles(message.text) if marked_up else message.text
            urgent = {"urgency": ("y", 2 if message.kind == "tripped" else 1)}
            values: tuple[Any, ...] = ("liza", 0, "", message.title, text, [], urgent, -1)
            _ask(connection, "Notify", "susssasa{sv}i", values)
        except DBusErrorResponse as error:
            raise NotSent(f"no notification service ({error.name.rpartition('.')[2]})", retry=True) from None
        except OSError as error:
            raise NotSent(f"no answer ({type(error).__name__}), so it may have been shown", retry=False) from None
        finally:
            connection.close()


def _connected() -> Any:
    """A connection to the bus; a `TimeoutError` from one that takes the connection and never greets."""
    from jeepney.bus import get_bus
    from jeepney.io.blocking import DBusConnection, prep_socket

    class Impatient(DBusConnection):  # type: ignore[misc, unused-ignore]
        """Times out on every receive; jeepney would wait for the greeting without end."""

        def receive(self, *, timeout: float | None = None) -> Any:
            return super().receive(timeout=TIMEOUT if timeout is None else timeout)

    socket = prep_socket(get_bus(_address()), timeout=TIMEOUT)
    try:
        return Impatient(socket)
    except BaseException:
        socket.close()
        raise


def _ask(connection: Any, method: str, signature: str | None, values: tuple[Any, ...]) -> Any:
    """What it answers; `DBusErrorResponse` where that is an error, which jeepney gives back like any other answer."""
    from jeepney import DBusAddress, new_method_call
    from jeepney.wrappers import unwrap_msg

    address = DBusAddress("/" + _WHERE.replace(".", "/"), bus_name=_WHERE, interface=_WHERE)
    call = new_method_call(address, method, signature, values)
    return unwrap_msg(connection.send_and_get_reply(call, timeout=TIMEOUT))


def _address() -> str:
    """A daemon started over ssh or by cron has no address in its environment; the bus is there nevertheless."""
    return os.environ.get("DBUS_SESSION_BUS_ADDRESS") or f"unix:path={_usual_socket()}"


def _usual_socket() -> str:
    return os.path.join(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}", "bus")


def has_bus() -> bool:
    """Whether this machine seems to have a session bus; servers and containers mostly have none."""
    return bool(os.environ.get("DBUS_SESSION_BUS_ADDRESS")) or os.path.exists(_usual_socket())


def read(given: Any, path: Path, project: str) -> Iterator[Desktop | Fault]:
    if given is True:
        yield Desktop()
    elif given not in (None, False):
        yield Fault(path, f"{'.'.join(map(str, path))}: expected true or false, got {shown(given)}")
