"""Communication with a service manager such as systemd: inherited sockets (LISTEN_FDS) and status notifications."""

import os
import socket
from contextlib import suppress
from typing import Final

from almoner import settings

_FIRST: Final = 3
"""The number of the first file that is handed over (sd_listen_fds)."""


def passed_sockets() -> list[socket.socket]:
    """The listening sockets that were handed to this process; none where nobody hands any over."""
    passed = []
    for number in range(_FIRST, _FIRST + settings.passed_file_count(os.getpid())):
        one = socket.socket(fileno=number)
        one.set_inheritable(False)
        one.setblocking(False)
        passed.append(one)
    return passed


def notify(state: str) -> None:
    """Say ``READY=1`` or ``STOPPING=1`` to who started this process, if it listens (sd_notify)."""
    if (address := settings.notify_socket()) is None:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.connect(f"\0{address[1:]}" if address.startswith("@") else address)
        told.send(state.encode())
