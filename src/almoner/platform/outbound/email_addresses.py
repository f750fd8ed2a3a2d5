"""The one rule for email addresses (U6, U7).

An address is stored as typed and used in ASCII: non-ASCII domains as A-labels. A non-ASCII local part is refused, since
few mail servers accept it (SMTPUTF8), and the recipient would never know.
"""

import re
from functools import lru_cache
from typing import Final

import idna

from almoner.kit.text import clean_ascii_code

MAX_LENGTH: Final = 254
"""The maximum length of an address in ASCII (RFC 5321, erratum 1690)."""
_MAX_LOCAL: Final = 64
_MAX_DOMAIN: Final = 253
_LOCAL: Final = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_TOP: Final = re.compile(r"[A-Za-z]{2,63}|xn--[A-Za-z0-9-]{1,59}", re.IGNORECASE)
"""A top-level domain (RFC 3696): without it the address is cut off or has a slip, such as ``ada@example.c0m``."""
_LABEL: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")


def clean_email_address(text: str) -> str:
    """The address without invisible characters and with ASCII forms of wide letters."""
    return clean_ascii_code(text)


def is_email_address(text: str) -> bool:
    """Whether an email can be sent to the address, and nothing in it is invisible."""
    return clean_email_address(text) == text and ascii_email_address(text) is not None


@lru_cache(4096)
def ascii_email_address(text: str) -> str | None:
    """The ASCII form of the address for the SMTP envelope; None if invalid."""
    local, _, domain = text.rpartition("@")
    if len(text) > MAX_LENGTH or len(local) > _MAX_LOCAL or not _LOCAL.fullmatch(local):
        return None
    try:
        named = domain if domain.isascii() else idna.encode(domain, uts46=True, transitional=False).decode()
    except (idna.IDNAError, UnicodeError):
        return None
    labels = named.split(".")
    if len(labels) < 2 or not _TOP.fullmatch(labels[-1]) or not all(map(_LABEL.fullmatch, labels)):
        return None
    address = f"{local}@{named}"
    return address if len(named) <= _MAX_DOMAIN and len(address) <= MAX_LENGTH else None
