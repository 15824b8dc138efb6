"""A session bus for tests, and a service on it that shows notifications."""

import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jeepney import DBusAddress, HeaderFields, MessageType, new_error, new_method_call, new_method_return
from jeepney.io.blocking import open_dbus_connection
from jeepney.wrappers import unwrap_msg

from tests.tools import needs

NAME = "org.freedesktop.Notifications"
CONFIG = """\
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={socket}</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""


@contextmanager
def session_bus(folder: Path) -> Iterator[str]:
    """The address of a bus without any service."""
    needs("dbus-daemon")
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "session.conf"
    config.write_text(CONFIG.format(socket=folder / "bus"))
    command = ["dbus-daemon", f"--config-file={config}", "--nofork", "--print-address=1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as bus:
        try:
            assert bus.stdout is not None
            yield bus.stdout.readline().strip()
        finally:
            bus.terminate()


@contextmanager
def mute_bus(folder: Path) -> Iterator[str]:
    """The address of a bus that accepts connections, and then stays silent."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "mute"))
        listening.listen()

        def let_in() -> None:
            connection, _ = listening.accept()
            with connection:
                heard = b""
                while piece := connection.recv(1024):
                    heard += piece
                    if heard.endswith(b"\r\n") and b"BEGIN" not in heard:
                        connection.sendall(b"OK 0123456789abcdef0123456789abcdef\r\n")

        thread = threading.Thread(target=let_in)
        thread.start()
        yield f"unix:path={folder / 'mute'}"
        thread.join()


class Shown:
    """The notifications that were shown: title, text and urgency."""

    def __init__(self) -> None:
        self.notices: list[tuple[str, str, int]] = []


@contextmanager
def notifications(
    address: str, *, can: Sequence[str] = ("body",), error: str = "", silent: bool = False
) -> Iterator[Shown]:
    """A service that shows notifications, with these capabilities; or answers with an error, or not at all."""
    shown = Shown()
    connection = open_dbus_connection(address)
    bus = DBusAddress("/org/freedesktop/DBus", bus_name="org.freedesktop.DBus", interface="org.freedesktop.DBus")
    unwrap_msg(connection.send_and_get_reply(new_method_call(bus, "RequestName", "su", (NAME, 0))))
    ending = threading.Event()

    def serve() -> None:
        while not ending.is_set():
            try:
                call = connection.receive(timeout=0.05)
            except TimeoutError:
                continue
            if call.header.message_type is MessageType.method_call and not silent:
                connection.send(_answer(call, shown, can, error))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield shown
    finally:
        ending.set()
        thread.join()
        connection.close()


def _answer(call: Any, shown: Shown, can: Sequence[str], error: str) -> Any:
    if error:
        return new_error(call, error)
    if call.header.fields[HeaderFields.member] == "GetCapabilities":
        return new_method_return(call, "as", (list(can),))
    _, _, _, title, text, _, hints, _ = call.body
    shown.notices.append((title, text, hints["urgency"][1]))
    return new_method_return(call, "u", (len(shown.notices),))
