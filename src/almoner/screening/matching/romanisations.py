"""Other ways to write a Cyrillic or Greek name in Latin letters than letter by letter, as lists have foreign names.

Both alphabets lack letters that other languages have: Х stands for H as well as for KH, ΜΠ for B, ΝΤ for D. Korean and
Chinese names are written by syllables.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Final

from anyascii import anyascii

from almoner.screening.matching.cyrillic_syllables import syllable_readings
from almoner.screening.matching.nonprofit_forms import strip_native_forms

_CYRILLIC: Final[Mapping[str, str]] = {"дж": "j", "х": "h", "ҳ": "h"}
_GREEK: Final[Mapping[str, str]] = {
    "μπ": "b", "ντ": "d", "γκ": "g", "τζ": "j", "τσ": "ch", "ου": "u", "χ": "h",
}  # fmt: skip
_BY_SOUND: Final = {**_CYRILLIC, **_GREEK}
_WRITTEN_OTHERWISE: Final = re.compile("|".join(_BY_SOUND))


def other_romanisations(name: str) -> Iterator[str]:
    """The name as it sounds, where that is written otherwise than its letters are."""
    if name.isascii():
        return
    letters = filter(_is_no_accent, unicodedata.normalize("NFD", strip_native_forms(name)[0]))
    plain = unicodedata.normalize("NFC", "".join(letters)).lower()
    if _WRITTEN_OTHERWISE.search(plain):
        yield anyascii(_WRITTEN_OTHERWISE.sub(lambda found: _BY_SOUND[found[0]], plain))
    yield from syllable_readings(plain)


def _is_no_accent(sign: str) -> bool:
    """Whether it is no accent of a Greek vowel: ΟΥ is one sound with it and without."""
    return sign not in "\u0301\u0342\u0300"
