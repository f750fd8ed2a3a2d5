"""Creditor references by ISO 11649: ``RF``, two check digits, and a body that people can type; pure."""

import re
from typing import Final

from almoner.kit.text import normalise_code_for_search

LENGTH: Final = 10
_MARK: Final = "RF"
_MODULUS: Final = 97
# Overlapping, for what stands before a reference may end like the beginning of one.
_LIKE: Final = re.compile(rf"(?=RF([0-9]{{2}}[0-9A-Z]{{{LENGTH}}}))", re.ASCII)
_MISREAD: Final = str.maketrans("OIL", "011")
"""Letters that Crockford's base32 does not have, typed for the similar digit."""


def build_creditor_reference(reference_body: str) -> str:
    """The reference with this body of ten characters of Crockford's base32, in capitals."""
    return f"{_MARK}{98 - _remainder(reference_body + _MARK + '00'):02d}{reference_body}"


def format_creditor_reference(creditor_reference: str) -> str:
    """A reference in groups of four, as the standard prints it."""
    return " ".join(creditor_reference[at : at + 4] for at in range(0, len(creditor_reference), 4))


def find_creditor_references(text: str) -> list[str]:
    """The valid references in a text, each once, with any spacing and case."""
    dense = normalise_code_for_search(text)
    found = (one[1].translate(_MISREAD) for one in _LIKE.finditer(dense))
    return list(dict.fromkeys(f"{_MARK}{one}" for one in found if is_valid_creditor_reference(f"{_MARK}{one}")))


def is_valid_creditor_reference(creditor_reference: str) -> bool:
    """Whether the check digits are right."""
    return _remainder(creditor_reference[4:] + creditor_reference[:4]) == 1


def _remainder(text: str) -> int:
    return int("".join(str(int(one, 36)) for one in text)) % _MODULUS
