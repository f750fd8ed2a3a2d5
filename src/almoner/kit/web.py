"""Web addresses as people write them."""

import re
from typing import Final

_DOT: Final = "[.\u3002\uff0e\uff61]"
"""The full stop, and those that East Asian keyboards write in its place."""
_SIGN: Final = "[^\\s/?#@:.\u3002\uff0e\uff61,;!$%&'()*+=<>\"\\[\\]{}|\\\\^`~-]"
_LABEL: Final = f"{_SIGN}(?:-*{_SIGN})*"
_ADDRESS: Final = re.compile(
    rf"(?:https?://)?{_LABEL}(?:{_DOT}{_LABEL})*{_DOT}(?!\d+{_DOT}?(?:[:/?#]|$)){_LABEL}{_DOT}?"
    r"(?::[0-9]{1,5})?(?:[/?#]\S*)?",
    re.IGNORECASE,
)


def is_web_address(text: str) -> bool:
    """Whether the text is an address of the web, with or without ``https://``: a host with a dot in it, at least."""
    return _ADDRESS.fullmatch(text) is not None
