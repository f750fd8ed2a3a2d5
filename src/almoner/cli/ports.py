"""Open the sockets on which the service listens."""

import errno
import os
import socket

_BACKLOG = 2048


class PortBusy(Exception):
    """The service cannot listen on this address or port. The message explains what to do."""


def open_listening_sockets(
    host: str, port: int, *, error_purpose: str = "", port_setting_name: str = "ALMONER_PORT"
) -> list[socket.socket]:
    """Open a listening socket for each address of the host.

    ``localhost`` means the loopback addresses of both IPv4 and IPv6, if available. Raises PortBusy if a port is in use
    or the host is not an address of this machine.
    """
    opened: list[socket.socket] = []
    try:
        for family, address in _addresses(host, port):
            try:
                opened.append(_open(family, address))
            except OSError as error:
                if error.errno not in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}:
                    raise
        if not opened:
            raise OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
    except OSError as error:
        for one in opened:
            one.close()
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            raise PortBusy(
                f"ALMONER_HOST is {host}, which is not an address of this machine ({error.strerror}): set it to "
                "localhost, 0.0.0.0 or one of its addresses."
            ) from None
        if error.errno == errno.EADDRINUSE:
            raise PortBusy(
                f"Port {port}{error_purpose} is in use: stop the program that uses it, or choose another port, such as "
                f"{port_setting_name}={port + 100 if port < 65000 else 8080}."
            ) from None
        if error.errno == errno.EACCES:
            raise PortBusy(
                f"Port {port}{error_purpose} needs more privileges: choose a port above 1023 with {port_setting_name}."
            ) from None
        raise
    return opened


def _addresses(host: str, port: int) -> list[tuple[socket.AddressFamily, tuple[str, int]]]:
    if host == "localhost":
        return [(socket.AF_INET, ("127.0.0.1", port)), (socket.AF_INET6, ("::1", port))]
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except UnicodeError as error:  # a part of the name is empty or too long
        raise socket.gaierror(socket.EAI_NONAME, str(error)) from None
    return list(dict.fromkeys((entry[0], (str(entry[4][0]), port)) for entry in found))


def _open(family: socket.AddressFamily, address: tuple[str, int]) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
        made.listen(_BACKLOG)
        made.setblocking(False)
    except OSError:
        made.close()
        raise
    return made
