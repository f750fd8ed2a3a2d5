"""E-mail addresses, as far as their form tells whether a letter could reach them."""

import re

_ADDRESS = re.compile(r"[^\s@<>(),;:\\\"\[\]]{1,64}@[^\s@<>(),;:\\\"\[\].]+(\.[^\s@<>(),;:\\\"\[\].]+)+")


def is_email_address(text: str) -> bool:
    """Whether the text is one address with a dot in its domain; quoted names and addresses of machines are not."""
    return _ADDRESS.fullmatch(text) is not None
