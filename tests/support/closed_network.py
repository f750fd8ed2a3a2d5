"""Restrict tests to this machine: an audit hook refuses every other address and name."""

import ipaddress
import socket
import sys
from typing import Any

LOCAL_NAMES = frozenset({"localhost", "", "ip6-localhost"})


class OutsideAddress(RuntimeError):
    """A test tried to call another machine."""


def _is_local(host: object) -> bool:
    if host is None or host in LOCAL_NAMES or host == b"localhost":
        return True
    text = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return text == socket.gethostname()
    return address.is_loopback or address.is_unspecified


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect":
        connection, address = arguments
        if connection.family in (socket.AF_INET, socket.AF_INET6) and not _is_local(address[0]):
            raise OutsideAddress(f"a test connects to {address[0]}")
    elif event == "socket.getaddrinfo" and str(arguments[0]).endswith(".invalid"):  # RFC 6761: never exists
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    elif event == "socket.getaddrinfo" and not _is_local(arguments[0]):
        raise OutsideAddress(f"a test looks up {arguments[0]}")


def close() -> None:
    """Refuse everything outside for the life of the process."""
    sys.addaudithook(_refuse)
