"""Talk to a service manager such as systemd: use inherited sockets (LISTEN_FDS) and send status notifications."""

import os
import socket
from contextlib import suppress
from typing import Final

from almoner import settings

_FIRST: Final = 3
"""The number of the first file descriptor that a service manager passes (see sd_listen_fds)."""


def inherited_sockets() -> list[socket.socket]:
    """The listening sockets that a service manager passed to this process. Empty if there are none."""
    passed = []
    for number in range(_FIRST, _FIRST + settings.inherited_socket_count(os.getpid())):
        one = socket.socket(fileno=number)
        one.set_inheritable(False)
        one.setblocking(False)
        passed.append(one)
    return passed


def notify_service_manager(state: str) -> None:
    """Send ``READY=1`` or ``STOPPING=1`` to the service manager, if there is one (see sd_notify)."""
    if (address := settings.systemd_notify_socket()) is None:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.connect(f"\0{address[1:]}" if address.startswith("@") else address)
        told.send(state.encode())
