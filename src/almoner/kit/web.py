"""Web addresses as people write them."""

import re
from typing import Final

_DOT: Final = "[.\u3002\uff0e\uff61]"
"""The full stop, and those that East Asian keyboards write in its place."""
_SIGN: Final = "[^\\s/?#@:.\u3002\uff0e\uff61,;!$%&'()*+=<>\"\\[\\]{}|\\\\^`~-]"
_LABEL: Final = f"{_SIGN}(?:-*{_SIGN})*"
_ADDRESS: Final = re.compile(
    rf"(?:https?://)?{_LABEL}(?:{_DOT}{_LABEL})*{_DOT}(?!\d+{_DOT}?(?:[:/?#]|$)){_LABEL}{_DOT}?"
    r"(?::(?P<port>[0-9]{1,5}))?(?:[/?#]\S*)?",
    re.IGNORECASE,
)


_PORTS: Final = range(1, 65_536)
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_END_OF_HOST: Final = re.compile(r"[/?#\\]")


def add_missing_url_scheme(web_address: str) -> str:
    """The address with a scheme before it, as browsers complete it; a scheme further on, as in a query, is none."""
    return web_address if _SCHEME.match(web_address) else f"https://{web_address}"


def host_of_web_address(web_address: str) -> str:
    """The host of an address with or without a scheme, in lower case, without port and user."""
    rest = add_missing_url_scheme(web_address.strip()).partition("://")[2]
    return _END_OF_HOST.split(rest, maxsplit=1)[0].rpartition("@")[2].partition(":")[0].rstrip(".").lower()


def is_web_address(text: str) -> bool:
    """Whether the text is an address of the web, with or without ``https://``: a host with a dot in it, at least."""
    found = _ADDRESS.fullmatch(text)
    return found is not None and (found["port"] is None or int(found["port"]) in _PORTS)
