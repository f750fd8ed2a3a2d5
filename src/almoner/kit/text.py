"""What people type, and what a terminal may be given of it."""

import unicodedata
from typing import Final

_UNTYPED: Final = ("Cc", "Cs")
_STEERING: Final = ("Cc", "Cf", "Cs", "Zl", "Zp")


def typed(text: str, *, lines: bool = False) -> str:
    """Trimmed, without control characters; ``lines`` keeps line breaks. Joiners stay: some names need them."""
    text = text.replace("\r\n", "\n")
    return "".join(c for c in text if unicodedata.category(c) not in _UNTYPED or (lines and c == "\n")).strip()


def one_line(text: str) -> str:
    """For a terminal: what breaks a line, moves the cursor or turns the writing around is a space."""
    return "".join(" " if unicodedata.category(c) in _STEERING else c for c in text)
